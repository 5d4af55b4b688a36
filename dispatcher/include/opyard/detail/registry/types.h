// opyard/detail/registry/types.h: C++ types that kernels may take and return.
//
//   schema          argument                         result
//   Tensor          const Tensor&, Tensor, Tensor&   Tensor, Tensor&, const Tensor&
//   int, SymInt     std::int64_t                     std::int64_t
//   float           double                           double
//   bool            bool                             bool
//   complex         std::complex<double>             std::complex<double>
//   str             std::string_view, std::string    std::string
//   Scalar          const Scalar&, Scalar            Scalar
//   Device          Device                           Device
//   Stream          Stream                           Stream
//   ScalarType      DType                            DType
//   Layout, …       Layout, MemoryFormat             the same
//   Storage         CountedPtr<Storage>              CountedPtr<Storage>
//   Generator       CountedPtr<Generator>            CountedPtr<Generator>
//   Capsule         CountedPtr<CapsuleObject>        CountedPtr<CapsuleObject>
//   demo.Counter    CountedPtr<Counter>              CountedPtr<Counter>
//   demo.Color      Color, an enum                   Color
//   AnyEnumType     EnumValue                        EnumValue
//   T?              std::optional<T>                 std::optional<T>
//   T[]             std::vector<T>, List<T>,         std::vector<T>, List<T>
//                   std::span<const T>
//   T[N]            std::array<T, N>                 std::array<T, N>
//   Dict(K, V)      Dict<K, V>                       Dict<K, V>
//   Future(T)       Future<T>                        Future<T>
//   (A, B)          std::tuple<A, B>                 -
//   Union(A, B)     std::variant<A, B>, with         the same
//                   opyard/registry/variant.h
//   Any             const Value&, Value              Value
//
// All but Tensor may be taken by value or by const&. A kernel returns several results as a
// std::tuple, whose elements may be Tensor&, and none as void. Classes and enums are registered
// by name first: value/user_type.h.
//
// Any other type does not compile, and the error says what to write instead: registry/refusals.h.
//
// Depends on: registry/argument.h, registry/container_types.h, registry/result.h.
#pragma once

#include "opyard/detail/registry/argument.h"         // IWYU pragma: export
#include "opyard/detail/registry/container_types.h"  // IWYU pragma: export
#include "opyard/detail/registry/result.h"           // IWYU pragma: export
