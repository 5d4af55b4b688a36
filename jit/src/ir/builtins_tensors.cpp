// ir/builtins_tensors.cpp: built-in functions between tensors and numbers.
#include <fmt/format.h>

#include "ir/builtins.h"
#include "ir/scalar_math.h"
#include "opyard/registry/registry.h"

namespace opyard::jit::detail {
namespace {

// The only element of a tensor, by the operator that kernels implement, so on every device.
opyard::Value item_of(const opyard::Value& tensor) {
  static const Operator& item = require_operator("aten::item");
  InlineStack<1> stack;
  stack.push(tensor);
  item.call_boxed(stack);
  return stack.pop();
}

// The result of an operator.
opyard::Value call(const char* name, std::initializer_list<opyard::Value> arguments) {
  InlineStack<8> stack;
  for (const opyard::Value& argument : arguments) stack.push(argument);
  require_operator(name).call_boxed(stack);
  return stack.pop();
}

std::int64_t as_int(const opyard::Value& number) {
  if (number.is_bool()) return number.to_bool() ? 1 : 0;
  return number.is_double() ? to_int(number.to_double()) : number.to_int();
}

double as_float(const opyard::Value& number) {
  if (number.is_bool()) return number.to_bool() ? 1 : 0;
  return number.is_int() ? double(number.to_int()) : number.to_double();
}

}  // namespace

void int_of_tensor(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = as_int(item_of(*arguments[0]));
}
void float_of_tensor(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = as_float(item_of(*arguments[0]));
}
void bool_of_tensor(const opyard::Value* const* arguments, opyard::Value* result) {
  const opyard::Value item = item_of(*arguments[0]);
  *result = item.kind() == Kind::Complex ? item.to_complex() != 0.0 : as_float(item) != 0;
}
void int_of_scalar(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = as_int(*arguments[0]);
}
void float_of_scalar(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = as_float(*arguments[0]);
}
void scalar_of_tensor(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = item_of(*arguments[0]);
}

void tensor_of_number(const opyard::Value* const* arguments, opyard::Value* result) {
  const opyard::Value& number = *arguments[0];
  Tensor tensor;
  if (number.is_bool()) {
    tensor = Tensor::empty({}, DType::Bool);
    *tensor.mutable_data<bool>() = number.to_bool();
  } else if (number.is_int()) {
    tensor = Tensor::empty({}, DType::Int64);
    *tensor.mutable_data<std::int64_t>() = number.to_int();
  } else if (number.kind() == Kind::Complex) {
    tensor = Tensor::empty({}, DType::ComplexDouble);
    *tensor.mutable_data<std::complex<double>>() = number.to_complex();
  } else {
    tensor = Tensor::empty({}, DType::Float64);
    *tensor.mutable_data<double>() = number.to_double();
  }
  *result = opyard::Value(std::move(tensor));
}

// With TorchScript's default dtypes.
void tensor_of_literal(const opyard::Value* const* arguments, opyard::Value* result) {
  OPYARD_CHECK(!arguments[3]->to_bool(), Unsupported,
               "aten::tensor with requires_grad=True: a constant of a graph takes no gradient");
  const opyard::Value& number = *arguments[0];
  const DType usual = number.is_bool()  ? DType::Bool
                      : number.is_int() ? DType::Int64
                                        : DType::Float32;
  const opyard::Value dtype =
      arguments[1]->is_none() ? opyard::Value(std::int64_t(usual)) : *arguments[1];
  *result = call("aten::full", {opyard::Value::list({}), number, dtype, opyard::Value(),
                                *arguments[2], opyard::Value()});
}
void bits_and(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = call("aten::bitwise_and.Tensor", {*arguments[0], *arguments[1]});
}
void bits_or(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = call("aten::bitwise_or.Tensor", {*arguments[0], *arguments[1]});
}
void bits_xor(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = call("aten::bitwise_xor.Tensor", {*arguments[0], *arguments[1]});
}

void size_at(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = arguments[0]->to_tensor().size(arguments[1]->to_int());
}
void dtype_of_tensor(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = std::int64_t(arguments[0]->to_tensor().dtype());
}
void device_of_tensor(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = arguments[0]->to_tensor().device();
}
void tensor_length(const opyard::Value* const* arguments, opyard::Value* result) {
  const Tensor& tensor = arguments[0]->to_tensor();
  OPYARD_CHECK(tensor.dim() > 0, BadShape, "a tensor without dimensions has no length");
  *result = tensor.size(0);
}

}  // namespace opyard::jit::detail
