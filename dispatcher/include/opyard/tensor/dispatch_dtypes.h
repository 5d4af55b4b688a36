// opyard/tensor/dispatch_dtypes.h: dispatch over dtypes: one body for several element types.
//
//   return dispatch_dtypes<float, double>(x.dtype(), "vision::nms", [&]<typename T>() {
//     return suppress<T>(boxes, scores, threshold);
//   });
//
// The body is compiled once for each type, and the one that belongs to the dtype is run; all give
// the same type. Another dtype raises Unsupported, with the operator's name and the dtypes there
// are.
//
// Depends on: tensor/dtype.h.
#pragma once

#include <span>
#include <type_traits>
#include <utility>

#include "opyard/tensor/dtype.h"

namespace opyard {

namespace detail {

[[noreturn]] OPYARD_API OPYARD_COLD void refuse_dispatched_dtype(const char* op, DType came,
                                                                 std::span<const DType> accepted);

template <typename First, typename... Rest, typename Body>
decltype(auto) run_for_dtype(DType dtype, const char* op, std::span<const DType> accepted,
                             Body& body) {
  if (dtype == dtype_of<First>) return body.template operator()<First>();
  if constexpr (sizeof...(Rest) > 0) {
    return run_for_dtype<Rest...>(dtype, op, accepted, body);
  } else {
    refuse_dispatched_dtype(op, dtype, accepted);
  }
}

}  // namespace detail

// Runs the body for the C++ type of the dtype, which is one of T; see above. Raises Unsupported.
template <typename... T, typename Body>
decltype(auto) dispatch_dtypes(DType dtype, const char* op, Body&& body) {
  static_assert(sizeof...(T) > 0, "name the element types: dispatch_dtypes<float, double>(…)");
  static constexpr DType kAccepted[] = {dtype_of<T>...};
  return detail::run_for_dtype<T...>(dtype, op, kAccepted, body);
}

}  // namespace opyard
