// opyard/base/export.h: which symbols leave libopyard.
//
// Everything is hidden unless it carries OPYARD_API. A class that is thrown, or
// whose type information crosses a library, carries it as well.
//
// Depends on: nothing.
#pragma once

#define OPYARD_API __attribute__((visibility("default")))
#define OPYARD_HIDDEN __attribute__((visibility("hidden")))
#define OPYARD_COLD __attribute__((cold, noinline))
