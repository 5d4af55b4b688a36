// opyard/plugin/c_plugin.h: plugins written in C. C99 and C++.
//
// A plugin in C exports one function, opyard_c_plugin_v1, which a macro writes. It leads to a list
// of blocks; load_library() runs each of them with a library of its own, and unregisters them
// together. Where one fails, nothing of the plugin is registered.
//
//   static int register_demo(opyard_library* library) {
//     return opyard_define(library, "twice(int n) -> int", NULL);
//   }
//   OPYARD_C_LIBRARY(demo, register_demo)
//
// Several blocks are given as an array:
//
//   static const opyard_block blocks[] = {
//       {sizeof(opyard_block), OPYARD_DEFINE, "demo", NULL, register_demo, __FILE__, __LINE__},
//       {sizeof(opyard_block), OPYARD_IMPLEMENT, "_", "Tracer", register_tracer, __FILE__, __LINE__},
//   };
//   OPYARD_C_LIBRARIES(blocks)
//
// A C library that a program links to is run by no one; the program hands its blocks to
// opyard_library_create(). What a block may do is in opyard/c_api.h, which includes this.
//
// Depends on: version.h, base/export.h.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "opyard/base/export.h"
#include "opyard/version.h"

// Changes when something that C programs have compiled in changes its meaning. Functions, and
// fields at the end of structs, are added without.
#define OPYARD_C_ABI 1

#ifdef __cplusplus
#define OPYARD_C_LINKAGE extern "C"
extern "C" {
#else
#define OPYARD_C_LINKAGE
#endif

// A batch of registrations with one lifetime.
typedef struct opyard_library opyard_library;

// What a library may do.
enum opyard_library_kind {
  OPYARD_DEFINE = 0,     // defines operators, and is the only one of its namespace that claims it
  OPYARD_FRAGMENT = 1,   // defines operators in a namespace that another library may hold
  OPYARD_IMPLEMENT = 2,  // registers kernels only; in the namespace "_" fallbacks
  OPYARD_LIBRARY_KIND_COUNT
};

// A library that is to be made. The texts and the function outlive it.
typedef struct opyard_block {
  size_t bytes;            // sizeof(opyard_block)
  int kind;                // an opyard_library_kind
  const char* name_space;  // "demo"
  const char* key;         // with OPYARD_IMPLEMENT: the key of kernels that name none; or null
  // Registers what the library has, and gives OPYARD_OK or what failed; or null.
  int (*run)(opyard_library* library);
  const char* file;  // where the block is written, for people; or null
  int line;
} opyard_block;

// What opyard_c_plugin_v1 leads to.
typedef struct opyard_c_plugin {
  size_t bytes;            // sizeof(opyard_c_plugin)
  uint32_t abi;            // OPYARD_C_ABI
  uint32_t version_major;  // the Opyard that it was built with
  uint32_t version_minor;
  uint32_t version_patch;
  size_t count;
  const opyard_block* blocks;  // each as long as the first says
} opyard_c_plugin;

#ifdef __cplusplus
}
#endif

// A plugin of the blocks in an array. Once in a shared library, outside of functions.
#define OPYARD_C_LIBRARIES(array)                                              \
  OPYARD_C_LINKAGE OPYARD_API const opyard_c_plugin* opyard_c_plugin_v1(void); \
  OPYARD_C_LINKAGE const opyard_c_plugin* opyard_c_plugin_v1(void) {           \
    static const opyard_c_plugin plugin = {sizeof(opyard_c_plugin),            \
                                           OPYARD_C_ABI,                       \
                                           OPYARD_VERSION_MAJOR,               \
                                           OPYARD_VERSION_MINOR,               \
                                           OPYARD_VERSION_PATCH,               \
                                           sizeof(array) / sizeof((array)[0]), \
                                           array};                             \
    return &plugin;                                                            \
  }

// A plugin of one block, which defines the operators of a namespace.
#define OPYARD_C_LIBRARY(ns, function)                                                 \
  static const opyard_block opyard_c_blocks[] = {                                      \
      {sizeof(opyard_block), OPYARD_DEFINE, #ns, NULL, function, __FILE__, __LINE__}}; \
  OPYARD_C_LIBRARIES(opyard_c_blocks)
