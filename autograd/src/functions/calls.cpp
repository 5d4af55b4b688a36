// autograd/functions/calls.cpp: typed handles of the operators that autograd calls.
#include "functions/calls.h"

#include <string>

#include "opyard/registry/found_operator.h"
#include "opyard/registry/library.h"

namespace opyard::autograd::calls {
namespace {

const Operator& require(std::string_view name) {
  if (const Operator* const op = Registry::instance().find(parse_operator_name(name))) return *op;
  fail(ErrorKind::NotFound,
       "gradients need the operator " + std::string(name) +
           ", which is in the plugin opyard_kernels: load it, as the first use of opyard.ops.aten "
           "does, or load_library() in C++");
}

// One of the plugin's; see registry/found_operator.h for why none is a static handle.
template <typename Signature>
struct Found : FoundOperator<Signature> {
  explicit constexpr Found(const char* name) noexcept : FoundOperator<Signature>(name, &require) {}
};

using MaybeDType = std::optional<DType>;
using MaybeLayout = std::optional<Layout>;
using MaybeDevice = std::optional<Device>;
using MaybeBool = std::optional<bool>;
using MaybeFormat = std::optional<MemoryFormat>;
using One = Tensor(const Tensor&);
using Strided = Tensor(const Tensor&, IntSpan, IntSpan, std::int64_t);
using StridedOf = Tensor(const Tensor&, std::int64_t, IntSpan, IntSpan, std::int64_t);
using StridedIn = Tensor(const Tensor&, const Tensor&, IntSpan, IntSpan, std::int64_t);

}  // namespace

bool are_there() {
  return Registry::instance().find(parse_operator_name("aten::mul.Tensor")) != nullptr;
}
Tensor add(const Tensor& a, const Tensor& b) {
  static constinit Found<Tensor(const Tensor&, const Tensor&, const Scalar&)> op(
      "aten::add.Tensor");
  return op.call(a, b, Scalar(std::int64_t{1}));
}
void add_in_place(Tensor& a, const Tensor& b) {
  static constinit Found<Tensor&(Tensor&, const Tensor&, const Scalar&)> op("aten::add_.Tensor");
  op.call(a, b, Scalar(std::int64_t{1}));
}
Tensor real_part(const Tensor& tensor) {
  static constinit Found<One> op("aten::real");
  return op.call(tensor);
}
Tensor clone(const Tensor& tensor) {
  static constinit Found<Tensor(const Tensor&, MaybeFormat)> op("aten::clone");
  return op.call(tensor, std::nullopt);
}
Tensor alias(const Tensor& tensor) {
  static constinit Found<One> op("aten::alias");
  return op.call(tensor);
}
Tensor empty_like(const Tensor& tensor) {
  static constinit Found<Tensor(const Tensor&, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool,
                                MaybeFormat)>
      op("aten::empty_like");
  return op.call(tensor, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}
Tensor expand(const Tensor& tensor, IntSpan sizes) {
  static constinit Found<Tensor(const Tensor&, IntSpan, bool)> op("aten::expand");
  return op.call(tensor, sizes, false);
}
void copy_in_place(const Tensor& to, const Tensor& from) {
  static constinit Found<Tensor&(Tensor&, const Tensor&, bool)> op("aten::copy_");
  Tensor written = to;
  op.call(written, from, false);
}
void zero_in_place(const Tensor& tensor) {
  static constinit Found<Tensor&(Tensor&)> op("aten::zero_");
  Tensor written = tensor;
  op.call(written);
}
Tensor contiguous_copy(const Tensor& tensor) {
  static constinit Found<Tensor(const Tensor&, MaybeFormat)> op("aten::clone");
  return op.call(tensor, MemoryFormat::Contiguous);
}
Tensor zeros(const Expected& like) {
  static constinit Found<Tensor(IntSpan, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool)> op(
      "aten::zeros");
  return op.call(like.sizes, like.dtype, std::nullopt, like.device, std::nullopt);
}
Tensor ones_like(const Tensor& tensor) {
  static constinit Found<Tensor(const Tensor&, MaybeDType, MaybeLayout, MaybeDevice, MaybeBool,
                                MaybeFormat)>
      op("aten::ones_like");
  return op.call(tensor, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}
Tensor to_dtype(const Tensor& tensor, DType dtype) {
  static constinit Found<Tensor(const Tensor&, DType, bool, bool, MaybeFormat)> op(
      "aten::to.dtype");
  return op.call(tensor, dtype, false, false, std::nullopt);
}
Tensor to_device(const Tensor& tensor, Device device) {
  static constinit Found<Tensor(const Tensor&, Device, DType, bool, bool, MaybeFormat)> op(
      "aten::to.device");
  return op.call(tensor, device, tensor.dtype(), false, false, std::nullopt);
}
Tensor sum_to(const Tensor& tensor, IntSpan sizes) {
  static constinit Found<Tensor(const Tensor&, std::optional<IntSpan>)> op("opyard::sum_to.sizes");
  return op.call(tensor, sizes);
}
bool has_nan(const Tensor& tensor) {
  static constinit Found<Tensor(const Tensor&, const Tensor&)> differ("aten::ne.Tensor");
  static constinit Found<One> any("aten::any");
  const Tensor found = any.call(differ.call(tensor, tensor));
  return *static_cast<const bool*>(found.raw());
}

namespace {

// Between the elements of a tensor and those of a row.
Tensor of_parts(const Tensor& parts, const Geometry& at) {
  static constinit Found<One> op("aten::view_as_complex");
  return at.is_of_complex ? op.call(parts) : parts;
}
Tensor as_parts(const Tensor& elements, const Geometry& at) {
  static constinit Found<One> op("aten::view_as_real");
  return at.is_of_complex ? op.call(elements) : elements;
}

}  // namespace

Tensor gather_strided(const Tensor& row, const Geometry& at) {
  static constinit Found<Strided> op("opyard::gather_strided");
  return of_parts(op.call(row, at.sizes, at.strides, at.offset), at);
}
Tensor scatter_strided(const Tensor& values, std::int64_t count, const Geometry& at) {
  static constinit Found<StridedOf> op("opyard::scatter_strided");
  return op.call(as_parts(values, at), count, at.sizes, at.strides, at.offset);
}
Tensor replace_strided(const Tensor& row, const Tensor& values, const Geometry& at) {
  static constinit Found<StridedIn> op("opyard::replace_strided");
  return op.call(row, as_parts(values, at), at.sizes, at.strides, at.offset);
}

}  // namespace opyard::autograd::calls
