// test/cpp/aten.h: calling the operators of kernels/ by name, and seeing tensors as text.
//
//   EXPECT_EQ(aten("add.Tensor", {f32({2}, {1, 2}), f32({}, {3})}), "float32[2] 4 5");
//
// Arguments are in the schema's order; what is left out takes its default; keyword("alpha", 2)
// gives one by name. Every call is boxed and checked against the schema, as calls from Python are.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "folder.h"
#include "opyard/library.h"
#include "opyard/plugin/plugin.h"
#include "thrown_by.h"

namespace opyard {

using Sizes = std::vector<std::int64_t>;

template <typename T>
Tensor tensor_of(const Sizes& sizes, const std::vector<T>& values) {
  Tensor tensor = Tensor::empty(sizes, dtype_of<T>);
  EXPECT_EQ(std::size_t(tensor.numel()), values.size());
  T* const data = static_cast<T*>(tensor.impl()->data());
  for (std::size_t i = 0; i < values.size(); ++i) data[i] = values[i];
  return tensor;
}
inline Tensor f32(const Sizes& sizes, const std::vector<float>& v) { return tensor_of(sizes, v); }
inline Tensor f64(const Sizes& sizes, const std::vector<double>& v) { return tensor_of(sizes, v); }
inline Tensor i64(const Sizes& sizes, const std::vector<std::int64_t>& v) {
  return tensor_of(sizes, v);
}
inline Tensor b8(const Sizes& sizes, const std::vector<bool>& v) { return tensor_of(sizes, v); }

// A tensor whose elements are backwards in memory: the values in the given order.
inline Tensor reversed(const std::vector<float>& values) {
  static std::vector<std::vector<float>> kept;
  kept.emplace_back(values.rbegin(), values.rend());
  const std::int64_t size = std::int64_t(values.size()), stride = -1;
  return Tensor::adopt(kept.back().data() + size - 1, {&size, 1}, {&stride, 1}, DType::Float32, {},
                       nullptr, nullptr);
}

inline std::string element_text(DType dtype, const std::byte* at) {
  char text[40];
  switch (dtype) {
    case DType::Bool:
      return *reinterpret_cast<const bool*>(at) ? "True" : "False";
    case DType::Float32:
    case DType::Float64: {
      const bool is_single = dtype == DType::Float32;
      const double value = is_single ? double(*reinterpret_cast<const float*>(at))
                                     : *reinterpret_cast<const double*>(at);
      if (value != value) return "nan";  // whatever its sign
      std::snprintf(text, sizeof(text), is_single ? "%.6g" : "%.10g", value);
      return text;
    }
    case DType::Int64:
      return std::to_string(*reinterpret_cast<const std::int64_t*>(at));
    case DType::Int32:
      return std::to_string(*reinterpret_cast<const std::int32_t*>(at));
    case DType::UInt8:
      return std::to_string(*reinterpret_cast<const std::uint8_t*>(at));
    case DType::Int8:
    case DType::Int16:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
    case DType::Half:
    case DType::BFloat16:
    case DType::ComplexFloat:
    case DType::ComplexDouble:
      break;
  }
  return "?";
}

// "float32[2, 2] 1 2 3 4": dtype, sizes, elements in row-major order.
inline std::string show(const Tensor& tensor) {
  std::string text = describe(tensor);
  if (tensor.numel() == 0) return text;
  DimVector at(tensor.sizes().size(), 0);
  const auto item = std::int64_t(item_size(tensor.dtype()));
  for (std::int64_t n = 0; n < tensor.numel(); ++n) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * tensor.strides()[i];
    text += ' ';
    text +=
        element_text(tensor.dtype(), static_cast<const std::byte*>(tensor.raw()) + offset * item);
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < tensor.sizes()[i]) break;
      at[i] = 0;
    }
  }
  return text;
}

struct Given {
  std::string name;  // empty: by position
  Value value;
  template <typename T>
  Given(T&& v) : value(std::forward<T>(v)) {}  // NOLINT
  Given(std::string n, Value v) : name(std::move(n)), value(std::move(v)) {}
};
inline Given keyword(std::string name, Value value) { return {std::move(name), std::move(value)}; }

inline Value ints(const std::vector<std::int64_t>& items) {
  return Value::list(std::vector<Value>(items.begin(), items.end()));
}
inline Value tensors(const std::vector<Tensor>& items) {
  return Value::list(std::vector<Value>(items.begin(), items.end()));
}
inline Value dtype_value(DType dtype) { return std::int64_t(dtype); }

// Loads the plugin at the first call.
inline std::vector<Value> call_aten(const std::string& name, std::vector<Given> given) {
  load_library(kKernelsLibrary);
  const Operator& op = require_operator("aten::" + name);
  const std::vector<Argument>& arguments = op.schema().arguments;
  std::vector<std::optional<Value>> values(arguments.size());
  std::size_t position = 0;
  for (Given& one : given) {
    const std::size_t at =
        one.name.empty() ? position++ : op.schema().find_argument(one.name).value();
    values.at(at) = std::move(one.value);
  }
  InlineStack<8> stack;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    stack.push(values[i] ? *values[i] : arguments[i].default_value.value());
  }
  op.call_boxed(stack);
  std::vector<Value> results;
  for (Value& value : stack.top(stack.size())) results.push_back(value);
  return results;
}

// The one result, which is a tensor.
inline Tensor aten_tensor(const std::string& name, std::vector<Given> given) {
  const std::vector<Value> results = call_aten(name, std::move(given));
  EXPECT_EQ(results.size(), 1U);
  return results.at(0).to_tensor();
}

// All results as text.
inline std::string aten(const std::string& name, std::vector<Given> given) {
  std::string text;
  for (const Value& value : call_aten(name, std::move(given))) {
    if (!text.empty()) text += "; ";
    text += value.is_tensor() ? show(value.to_tensor()) : to_string(value);
  }
  return text;
}

}  // namespace opyard
