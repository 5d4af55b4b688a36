// kernels/common/kernels_block.h: kernels that serve CPU and Meta.
//
//   OPYARD_KERNELS(m) {
//     m.impl("sin", &sin);
//   }
//
// OPYARD_KERNELS is for operators of aten, OPYARD_KERNELS_OF for those of another namespace. See
// check.h [Meta].
//
// Depends on: opyard/library.h.
#pragma once

#include <opyard/library.h>

#define OPYARD_KERNELS_BLOCK(ns, m, unique)                                           \
  static void OPYARD_JOIN(opyard_kernels_, unique)(::opyard::Library&);               \
  OPYARD_LIBRARY_IMPL(ns, CPU, cpu) { OPYARD_JOIN(opyard_kernels_, unique)(cpu); }    \
  OPYARD_LIBRARY_IMPL(ns, Meta, meta) { OPYARD_JOIN(opyard_kernels_, unique)(meta); } \
  static void OPYARD_JOIN(opyard_kernels_, unique)(::opyard::Library & m)
#define OPYARD_KERNELS(m) OPYARD_KERNELS_BLOCK(aten, m, __COUNTER__)
#define OPYARD_KERNELS_OF(ns, m) OPYARD_KERNELS_BLOCK(ns, m, __COUNTER__)
