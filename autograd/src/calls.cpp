// autograd/calls.cpp: each operator's handle, found at first use.
#include "calls.h"

#include <string>

#include "opyard/registry/library.h"

namespace opyard::autograd::calls {
namespace {

const Operator& require(const char* name) {
  if (const Operator* const op = Registry::instance().find(parse_operator_name(name))) return *op;
  fail(ErrorKind::NotFound,
       std::string("gradients need the operator ") + name +
           ", which is in the plugin opyard_kernels: load it, as the first use of opyard.ops.aten "
           "does, or load_library() in C++");
}

template <typename Signature>
TypedOperator<Signature> handle(const char* name) {
  return require(name).typed<Signature>();
}

using One = Tensor(const Tensor&);
using Strided = Tensor(const Tensor&, IntSpan, IntSpan, std::int64_t);

}  // namespace

bool are_there() {
  return Registry::instance().find(parse_operator_name("aten::mul.Tensor")) != nullptr;
}
Tensor add(const Tensor& a, const Tensor& b) {
  static const auto op =
      handle<Tensor(const Tensor&, const Tensor&, const Scalar&)>("aten::add.Tensor");
  return op.call(a, b, Scalar(std::int64_t{1}));
}
void add_in_place(Tensor& a, const Tensor& b) {
  static const auto op =
      handle<Tensor&(Tensor&, const Tensor&, const Scalar&)>("aten::add_.Tensor");
  op.call(a, b, Scalar(std::int64_t{1}));
}
Tensor clone(const Tensor& tensor) {
  static const auto op = handle<Tensor(const Tensor&, std::optional<MemoryFormat>)>("aten::clone");
  return op.call(tensor, std::nullopt);
}
Tensor zeros(const Expected& like) {
  static const Operator& op = require("aten::zeros");
  Stack stack;
  stack.push(Value::of(std::vector<std::int64_t>(like.sizes.begin(), like.sizes.end())));
  stack.push(Value(std::int64_t(like.dtype)));
  for (std::size_t i = 2; i < op.schema().arguments.size(); ++i) {
    stack.push(op.schema().arguments[i].name == "device" ? Value(like.device) : Value());
  }
  op.call_boxed(stack);
  return stack.pop().take_tensor();
}
Tensor ones_like(const Tensor& tensor) {
  static const Operator& op = require("aten::ones_like");
  Stack stack;
  stack.push(Value(tensor));
  for (std::size_t i = 1; i < op.schema().arguments.size(); ++i) stack.push(Value());
  op.call_boxed(stack);
  return stack.pop().take_tensor();
}
Tensor to_dtype(const Tensor& tensor, DType dtype) {
  static const Operator& op = require("aten::to.dtype");
  Stack stack;
  stack.push(Value(tensor));
  stack.push(Value(std::int64_t(dtype)));
  for (std::size_t i = 2; i < op.schema().arguments.size(); ++i) {
    const auto& given = op.schema().arguments[i].default_value;
    stack.push(given ? *given : Value());
  }
  op.call_boxed(stack);
  return stack.pop().take_tensor();
}
Tensor sum_to(const Tensor& tensor, IntSpan sizes) {
  static const Operator& op = require("opyard::sum_to.sizes");
  Stack stack;
  stack.push(Value(tensor));
  stack.push(Value::of(std::vector<std::int64_t>(sizes.begin(), sizes.end())));
  op.call_boxed(stack);
  return stack.pop().take_tensor();
}
bool has_nan(const Tensor& tensor) {
  static const auto differ = handle<Tensor(const Tensor&, const Tensor&)>("aten::ne.Tensor");
  static const auto any = handle<One>("aten::any");
  const Tensor found = any.call(differ.call(tensor, tensor));
  return *static_cast<const bool*>(found.raw());
}

Tensor gather_strided(const Tensor& row, const Geometry& at) {
  static const auto op = handle<Strided>("opyard::gather_strided");
  return op.call(row, at.sizes, at.strides, at.offset);
}
Tensor scatter_strided(const Tensor& values, std::int64_t count, const Geometry& at) {
  static const auto op =
      handle<Tensor(const Tensor&, std::int64_t, IntSpan, IntSpan, std::int64_t)>(
          "opyard::scatter_strided");
  return op.call(values, count, at.sizes, at.strides, at.offset);
}
Tensor replace_strided(const Tensor& row, const Tensor& values, const Geometry& at) {
  static const auto op =
      handle<Tensor(const Tensor&, const Tensor&, IntSpan, IntSpan, std::int64_t)>(
          "opyard::replace_strided");
  return op.call(row, values, at.sizes, at.strides, at.offset);
}

}  // namespace opyard::autograd::calls
