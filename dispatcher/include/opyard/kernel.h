// opyard/kernel.h: umbrella header for authors of kernels.
//
//   opyard::Tensor twice(const opyard::Tensor& x) {
//     const opyard::Tensor y = opyard::empty_like(x);
//     opyard::dispatch_dtypes<float, double>(x.dtype(), "demo::twice", [&]<typename T>() {
//       opyard::transform(y, [](T a) { return 2 * a; }, x);     // x may be a slice, transposed, broadcast
//     });
//     return y;
//   }
//
//   tensor/tensor.h           Tensor, is_meta
//   tensor/make.h             contiguous, empty_like, zeros, flatten
//   tensor/views.h            select, narrow, transpose, permute, unsqueeze, expand, view
//   tensor/accessor.h         accessor<const T, N>(x) to read, accessor<T, N>(x) to write
//   tensor/strided_loop.h     transform, fill, copy, reduce, for_each
//   tensor/dispatch_dtypes.h  dispatch_dtypes<float, double>(…)
//   tensor/half.h             accumulate_t<T>: loops over float16 and bfloat16
//   value/message.h           OPYARD_REQUIRE(condition, Kind, pieces…)
//   library.h                 OPYARD_LIBRARY, releases_gil, cpu_only
//
// Compile a library with -DOPYARD_CHECKED while you write it: accessors then check indices, and
// data() that the tensor is contiguous. docs/guides/kernels.md is the guide.
//
// Depends on: the headers it includes.
#pragma once

#if __cplusplus < 202002L
#error \
    "Opyard's headers are C++20: compile with -std=c++20; in CMake target_compile_features(demo PRIVATE cxx_std_20)"
#else

#include "opyard/library.h"
#include "opyard/tensor/accessor.h"
#include "opyard/tensor/dispatch_dtypes.h"
#include "opyard/tensor/half.h"
#include "opyard/tensor/make.h"
#include "opyard/tensor/strided_loop.h"
#include "opyard/tensor/views.h"
#include "opyard/value/message.h"

#endif
