// opyard/library.h: registering operators from C++. The header that an operator library needs.
//
//   OPYARD_LIBRARY(demo, m) {
//     m.def("scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor");
//     m.impl("scaled_add", opyard::DispatchKey::CPU, &scaled_add);
//   }
//
// OPYARD_LIBRARY claims a namespace, OPYARD_LIBRARY_FRAGMENT adds to one, and
// OPYARD_LIBRARY_IMPL(ns, Key, m) registers kernels only; its namespace `_` stands for all
// operators, and is where fallbacks go. The blocks do not run at once: they are listed, and
// run when the shared library they are in is loaded or linked in (opyard/plugin/plugin.h).
//
// Depends on: registry/library.h, registry/found_operator.h, plugin/registrar.h, tensor.h.
#pragma once

#include "opyard/plugin/registrar.h"
#include "opyard/registry/found_operator.h"
#include "opyard/registry/library.h"
#include "opyard/tensor.h"

#define OPYARD_JOIN_2(a, b) a##b
#define OPYARD_JOIN(a, b) OPYARD_JOIN_2(a, b)

#define OPYARD_LIBRARY_BLOCK(kind, ns, key, m, unique)                                      \
  static void OPYARD_JOIN(opyard_block_, unique)(::opyard::Library&);                       \
  static ::opyard::detail::Registrar OPYARD_JOIN(opyard_registrar_, unique)(                \
      ::opyard::LibraryKind::kind, #ns, key, &OPYARD_JOIN(opyard_block_, unique), __FILE__, \
      __LINE__);                                                                            \
  static void OPYARD_JOIN(opyard_block_, unique)([[maybe_unused]] ::opyard::Library & m)

// Blocks: operators of a namespace, more operators of one, kernels at one key.
#define OPYARD_LIBRARY(ns, m) OPYARD_LIBRARY_BLOCK(Def, ns, std::nullopt, m, __COUNTER__)
#define OPYARD_LIBRARY_FRAGMENT(ns, m) \
  OPYARD_LIBRARY_BLOCK(Fragment, ns, std::nullopt, m, __COUNTER__)
#define OPYARD_LIBRARY_IMPL(ns, Key, m) \
  OPYARD_LIBRARY_BLOCK(Impl, ns, ::opyard::DispatchKey::Key, m, __COUNTER__)
