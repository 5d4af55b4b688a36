// opyard/base/export.h: symbol visibility of libopyard.
//
// Everything is hidden unless it carries OPYARD_API. A class that is thrown, or
// whose type information crosses a library, carries it as well.
//
// Depends on: nothing.
#pragma once

// Names that a shared library exports, and names that it keeps to itself.
#define OPYARD_API __attribute__((visibility("default")))
#define OPYARD_HIDDEN __attribute__((visibility("hidden")))
// For a call of a function through another type than its own, if that is meant.
#ifdef __clang__
#define OPYARD_CALLS_OTHER_TYPE __attribute__((no_sanitize("function")))
#else
#define OPYARD_CALLS_OTHER_TYPE
#endif
#define OPYARD_COLD __attribute__((cold, noinline))
