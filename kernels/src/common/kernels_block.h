// kernels/common/kernels_block.h: kernels that serve CPU and Meta.
//
//   OPYARD_KERNELS(m) {
//     m.impl("sin", &sin);
//   }
//
// See check.h [Meta].
//
// Depends on: opyard/library.h.
#pragma once

#include <opyard/library.h>

#define OPYARD_KERNELS_BLOCK(m, unique)                                                 \
  static void OPYARD_JOIN(opyard_kernels_, unique)(::opyard::Library&);                 \
  OPYARD_LIBRARY_IMPL(aten, CPU, cpu) { OPYARD_JOIN(opyard_kernels_, unique)(cpu); }    \
  OPYARD_LIBRARY_IMPL(aten, Meta, meta) { OPYARD_JOIN(opyard_kernels_, unique)(meta); } \
  static void OPYARD_JOIN(opyard_kernels_, unique)(::opyard::Library & m)
#define OPYARD_KERNELS(m) OPYARD_KERNELS_BLOCK(m, __LINE__)
