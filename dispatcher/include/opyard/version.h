// opyard/version.h: the version of the headers that a program was compiled with.
//
// Compare with opyard::version() to see whether the library that was loaded is the
// one that was compiled against. The build refuses to configure when these numbers,
// the project's and Python's disagree.
//
// Depends on: nothing else of ours.
#pragma once

// Of the headers that a program is compiled with.
#define OPYARD_VERSION_MAJOR 0
#define OPYARD_VERSION_MINOR 1
#define OPYARD_VERSION_PATCH 0

// One number that grows with the version: 0.1.0 is 100.
#define OPYARD_VERSION \
  (OPYARD_VERSION_MAJOR * 10000 + OPYARD_VERSION_MINOR * 100 + OPYARD_VERSION_PATCH)
#ifdef __cplusplus
namespace opyard {

// The version of the loaded library, as "0.1.0". Never null; lives as long as the process.
__attribute__((visibility("default"))) const char* version() noexcept;

}  // namespace opyard
#endif
