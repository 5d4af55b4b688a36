// tensor/make.cpp: new tensors like others, and copies of elements by their strides.
//
// A copy moves whole elements of 1, 2, 4, 8 or 16 bytes and does not look inside, so it serves
// every dtype. Bytes move through an array of that size, which compilers turn into one load and one
// store.
#include "opyard/tensor/make.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "opyard/detail/tensor/symbolic_loops.h"
#include "opyard/tensor/strided_loop.h"
#include "opyard/tensor/views.h"

namespace opyard {
namespace {

template <std::size_t Bytes>
void copy_bytes(const detail::LoopPlan<2>& plan, std::byte* to, const std::byte* from) {
  struct Element {
    std::byte bytes[Bytes];
  };
  auto body = [](Element& written, const Element& read) { written = read; };
  detail::run_loop<Element, const Element>(plan, std::index_sequence<0, 1>(), body,
                                           reinterpret_cast<Element*>(to),
                                           reinterpret_cast<const Element*>(from));
}

void copy_strided(const Tensor& to, const Tensor& from, void* first) {
  const auto plan = detail::plan_loop<2>(to.sizes(), {{&to, &from}});
  auto* const written = static_cast<std::byte*>(first);
  const auto* const read = static_cast<const std::byte*>(from.raw());
  switch (item_size(to.dtype())) {
    case 1:
      return copy_bytes<1>(plan, written, read);
    case 2:
      return copy_bytes<2>(plan, written, read);
    case 4:
      return copy_bytes<4>(plan, written, read);
    case 8:
      return copy_bytes<8>(plan, written, read);
    default:
      return copy_bytes<16>(plan, written, read);
  }
}

// A dimension from the front, of a tensor that is taken to have at least one. Raises BadIndex.
std::int64_t from_front(std::int64_t dim, std::int64_t count) {
  const std::int64_t limit = count == 0 ? 1 : count;
  if (dim < -limit || dim >= limit) {
    fail(ErrorKind::BadIndex,
         fmt::format("flatten: dimension {} is out of range; accepted are {} to {}", dim, -limit,
                     limit - 1));
  }
  return dim < 0 ? dim + limit : dim;
}

}  // namespace

Tensor empty_like(const Tensor& x, std::optional<DType> dtype) {
  if (detail::is_symbolic(x))
    return detail::symbolic_loops().empty_like(x, dtype.value_or(x.dtype()));
  return Tensor::empty(x.sizes(), dtype.value_or(x.dtype()), x.device());
}

Tensor zeros(IntSpan sizes, DType dtype, Device device) {
  Tensor made = Tensor::empty(sizes, dtype, device);
  if (made.numel() == 0 || made.impl()->data() == nullptr) return made;
  require_elements("zeros", made);
  std::memset(made.impl()->data(), 0, std::size_t(made.numel()) * item_size(dtype));
  return made;
}

Tensor zeros_like(const Tensor& x, std::optional<DType> dtype) {
  return zeros(x.sizes(), dtype.value_or(x.dtype()), x.device());
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  if (is_meta(x)) return empty_like(x);
  require_elements("contiguous", x);
  Tensor made = empty_like(x);
  copy_strided(made, x, made.impl()->data());
  return made;
}

void copy(const Tensor& result, const Tensor& from) {
  void* const to = detail::elements_to_write("copy", result, result.dtype());
  detail::require_loop_input("copy", from, result.dtype());
  if (to == nullptr) return detail::require_loop_sizes(from, result);
  require_elements("copy", from);
  copy_strided(result, from, to);
}

Tensor flatten(const Tensor& x, std::int64_t start, std::int64_t end) {
  const std::int64_t first = from_front(start, x.dim()), last = from_front(end, x.dim());
  if (first > last) {
    fail(ErrorKind::BadValue,
         fmt::format("flatten: start is {} and end is {}; start must not come after end", start,
                     end));
  }
  DimVector sizes;
  if (x.dim() == 0) sizes.push_back(1);
  for (std::int64_t i = 0; i < x.dim(); ++i) {
    const std::int64_t size = x.sizes()[std::size_t(i)];
    if (i > first && i <= last) {
      sizes.back() *= size;
    } else {
      sizes.push_back(size);
    }
  }
  return view(find_view_strides(x, sizes) ? x : contiguous(x), sizes);
}

Tensor Tensor::contiguous() const { return opyard::contiguous(*this); }
Tensor Tensor::flatten(std::int64_t start, std::int64_t end) const {
  return opyard::flatten(*this, start, end);
}

}  // namespace opyard
