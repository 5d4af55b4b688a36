// opyard/tensor/accessor.h: element access by indices, for tensors of any strides.
//
//   const auto box = accessor<const float, 2>(boxes);    to read
//   const auto out = accessor<float, 1>(scores);         to write: bumps the version
//   out(i) = (box(i, 2) - box(i, 0)) * (box(i, 3) - box(i, 1));
//
// An accessor is a pointer and N sizes and strides; it holds no reference, so the tensor must
// outlive it. box[i] is the accessor of row i. Indices are counted from 0, and are checked only in
// programs compiled with OPYARD_CHECKED defined.
//
// Depends on: tensor/make.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "opyard/tensor/make.h"

namespace opyard {

namespace detail {

[[noreturn]] OPYARD_API OPYARD_COLD void refuse_element_index(std::int64_t index,
                                                              std::int64_t size);
// Raises BadShape.
OPYARD_API void require_dims(const Tensor& x, std::int64_t count);

}  // namespace detail

template <typename T, std::size_t N>
class Accessor {
 public:
  Accessor(T* data, const std::int64_t* sizes, const std::int64_t* strides) noexcept : data_(data) {
    for (std::size_t i = 0; i < N; ++i) {
      sizes_[i] = sizes[i];
      strides_[i] = strides[i];
    }
  }

  std::int64_t size(std::size_t dim) const noexcept { return sizes_[dim]; }
  std::int64_t stride(std::size_t dim) const noexcept { return strides_[dim]; }
  T* data() const noexcept { return data_; }

  template <typename... Index>
    requires(sizeof...(Index) == N)
  T& operator()(Index... index) const {
    std::int64_t at = 0;
    std::size_t dim = 0;
    ((at += checked(dim, std::int64_t(index)) * strides_[dim], ++dim), ...);
    return data_[at];
  }

  // The element of a single dimension, else the accessor of one element of the first.
  decltype(auto) operator[](std::int64_t index) const {
    T* const found = data_ + checked(0, index) * strides_[0];
    if constexpr (N == 1) {
      return static_cast<T&>(*found);
    } else {
      return Accessor<T, N - 1>(found, sizes_.data() + 1, strides_.data() + 1);
    }
  }

 private:
  std::int64_t checked([[maybe_unused]] std::size_t dim, std::int64_t index) const {
#ifdef OPYARD_CHECKED
    if (__builtin_expect(index < 0 || index >= sizes_[dim], 0)) {
      detail::refuse_element_index(index, sizes_[dim]);
    }
#endif
    return index;
  }

  T* data_;
  std::array<std::int64_t, N> sizes_;
  std::array<std::int64_t, N> strides_;
};

// Raises BadArgument for another dtype, BadShape for another number of dimensions, and what
// require_elements() raises; BadValue for memory that is read-only, if T is not const.
template <typename T, std::size_t N>
Accessor<T, N> accessor(const Tensor& x) {
  static_assert(N >= 1, "a tensor without dimensions has one element: x.data<T>()");
  require_elements("accessor", x);
  detail::require_dims(x, std::int64_t(N));
  T* data;
  if constexpr (std::is_const_v<T>) {
    data = strided_data<std::remove_const_t<T>>(x);
  } else {
    data = mutable_strided_data<T>(x);
  }
  return Accessor<T, N>(data, x.sizes().data(), x.strides().data());
}

}  // namespace opyard
