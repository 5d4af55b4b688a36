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
opyard::Value call_operator(const char* name, std::initializer_list<opyard::Value> arguments) {
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
  *result = call_operator("aten::full", {opyard::Value::list({}), number, dtype, opyard::Value(),
                                         *arguments[2], opyard::Value()});
}
namespace {

// Where the numbers of a nested list go, and what sizes it has.
struct NestedNumbers {
  DimVector sizes;
  std::vector<opyard::Value> flat;
};

void flatten_numbers(const opyard::Value& value, std::size_t depth, NestedNumbers& numbers) {
  constexpr std::size_t kMostDimensions = 64;
  if (!value.is_list()) {
    OPYARD_CHECK(depth == numbers.sizes.size(), BadShape,
                 "aten::tensor: the lists in the list are not of one length and depth");
    numbers.flat.push_back(value);
    return;
  }
  OPYARD_CHECK(depth < kMostDimensions, BadShape, "aten::tensor: the list is nested too deep");
  const std::vector<opyard::Value>& items = value.to_list();
  if (depth == numbers.sizes.size() && numbers.flat.empty()) {
    numbers.sizes.push_back(std::int64_t(items.size()));
  }
  OPYARD_CHECK(depth < numbers.sizes.size() && numbers.sizes[depth] == std::int64_t(items.size()),
               BadShape, "aten::tensor: the lists in the list are not of one length and depth");
  for (const opyard::Value& item : items) flatten_numbers(item, depth + 1, numbers);
}

template <typename T, typename Read>
Tensor filled(const NestedNumbers& numbers, Read read) {
  Tensor tensor = Tensor::empty(numbers.sizes, dtype_of<T>);
  if (numbers.flat.empty()) return tensor;
  T* const to = tensor.mutable_data<T>();
  for (std::size_t i = 0; i < numbers.flat.size(); ++i) to[i] = T(read(numbers.flat[i]));
  return tensor;
}

}  // namespace

// The same of a list of numbers, or of lists of them.
void tensor_of_list(const opyard::Value* const* arguments, opyard::Value* result) {
  OPYARD_CHECK(!arguments[3]->to_bool(), Unsupported,
               "aten::tensor with requires_grad=True: a constant of a graph takes no gradient");
  NestedNumbers numbers;
  flatten_numbers(*arguments[0], 0, numbers);
  Tensor tensor;
  if (!numbers.flat.empty() && numbers.flat.front().is_int()) {
    tensor = filled<std::int64_t>(numbers, [](const opyard::Value& each) { return each.to_int(); });
  } else if (!numbers.flat.empty() && numbers.flat.front().is_bool()) {
    tensor = filled<bool>(numbers, [](const opyard::Value& each) { return each.to_bool(); });
  } else {
    tensor = filled<double>(numbers, [](const opyard::Value& each) { return each.to_double(); });
  }
  const DType usual = tensor.dtype() == DType::Float64 ? DType::Float32 : tensor.dtype();
  const opyard::Value dtype =
      arguments[1]->is_none() ? opyard::Value(std::int64_t(usual)) : *arguments[1];
  *result = call_operator("aten::_to_copy",
                          {opyard::Value(std::move(tensor)), dtype, opyard::Value(), *arguments[2],
                           opyard::Value(), opyard::Value(false), opyard::Value()});
}
void bits_and(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = call_operator("aten::bitwise_and.Tensor", {*arguments[0], *arguments[1]});
}
void bits_or(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = call_operator("aten::bitwise_or.Tensor", {*arguments[0], *arguments[1]});
}
void bits_xor(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = call_operator("aten::bitwise_xor.Tensor", {*arguments[0], *arguments[1]});
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
namespace {

// By the operator that kernels implement; None is what the tensor has.
opyard::Value converted_tensor(const opyard::Value& tensor, const opyard::Value& device,
                               const opyard::Value& dtype, const opyard::Value& copy) {
  return call_operator("aten::to.prim_Device", {tensor, device, dtype, opyard::Value(false), copy});
}
opyard::Value in_format(opyard::Value tensor, const opyard::Value& memory_format) {
  if (memory_format.is_none()) return tensor;
  const auto wanted = memory_format.to<MemoryFormat>();
  if (wanted == MemoryFormat::Preserve) return tensor;
  return call_operator("aten::contiguous", {tensor, memory_format});
}

}  // namespace

void to_dtype(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = converted_tensor(*arguments[0], opyard::Value(), *arguments[1], *arguments[3]);
}
void to_other(const opyard::Value* const* arguments, opyard::Value* result) {
  const Tensor& other = arguments[1]->to_tensor();
  *result = in_format(converted_tensor(*arguments[0], opyard::Value(other.device()),
                                       opyard::Value(std::int64_t(other.dtype())), *arguments[3]),
                      *arguments[4]);
}
void to_layout(const opyard::Value* const* arguments, opyard::Value* result) {
  OPYARD_CHECK(arguments[2]->is_none() || arguments[2]->to<Layout>() == Layout::Strided,
               Unsupported, "aten::to: a tensor is dense here; layout is None or strided");
  OPYARD_CHECK(arguments[4]->is_none() || !arguments[4]->to_bool(), Unsupported,
               "aten::to: pin_memory is True; this library has no pinned memory");
  *result = in_format(converted_tensor(*arguments[0], *arguments[3], *arguments[1], *arguments[6]),
                      *arguments[7]);
}
void to_cpu(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = converted_tensor(*arguments[0], opyard::Value(Device{}), opyard::Value(),
                             opyard::Value(false));
}
void is_on_cuda(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = arguments[0]->to_tensor().device().backend == Backend::CUDA;
}
void is_on_cpu(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = arguments[0]->to_tensor().device().backend == Backend::CPU;
}
void is_on_meta(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = arguments[0]->to_tensor().device().backend == Backend::Meta;
}
void is_of_floats(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = is_floating_point(arguments[0]->to_tensor().dtype());
}
void is_of_complex(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = is_complex(arguments[0]->to_tensor().dtype());
}
void element_bytes(const opyard::Value* const* arguments, opyard::Value* result) {
  *result = std::int64_t(item_size(arguments[0]->to_tensor().dtype()));
}
void tensor_length(const opyard::Value* const* arguments, opyard::Value* result) {
  const Tensor& tensor = arguments[0]->to_tensor();
  OPYARD_CHECK(tensor.dim() > 0, BadShape, "a tensor without dimensions has no length");
  *result = tensor.size(0);
}

}  // namespace opyard::jit::detail
