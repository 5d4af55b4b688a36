// text/print_attribute.cpp: printer of attributes.
#include "text/print_attribute.h"

#include <fmt/format.h>

#include "opyard/detail/value/dict_object.h"
#include "opyard/jit/graph.h"
#include "text/generator_text.h"

namespace opyard::jit::detail {
namespace {

constexpr std::size_t kMostValueNesting = 256;

std::string number_text(const Tensor& tensor) {
  const void* const at = tensor.raw();
  switch (tensor.dtype()) {
    case DType::Bool:
      return *static_cast<const bool*>(at) ? "True" : "False";
    case DType::UInt8:
      return std::to_string(*static_cast<const std::uint8_t*>(at));
    case DType::Int8:
      return std::to_string(*static_cast<const std::int8_t*>(at));
    case DType::Int16:
      return std::to_string(*static_cast<const std::int16_t*>(at));
    case DType::Int32:
      return std::to_string(*static_cast<const std::int32_t*>(at));
    case DType::Int64:
      return std::to_string(*static_cast<const std::int64_t*>(at));
    case DType::UInt16:
      return std::to_string(*static_cast<const std::uint16_t*>(at));
    case DType::UInt32:
      return std::to_string(*static_cast<const std::uint32_t*>(at));
    case DType::UInt64:
      // A literal is an int64: what is above is not shown.
      if (*static_cast<const std::uint64_t*>(at) > std::uint64_t(INT64_MAX)) return {};
      return std::to_string(*static_cast<const std::uint64_t*>(at));
    case DType::Float32:
      return float_text(double(*static_cast<const float*>(at)));
    case DType::Float64:
      return float_text(*static_cast<const double*>(at));
    case DType::Half:
    case DType::BFloat16:
    case DType::ComplexFloat:
    case DType::ComplexDouble:
      return {};
  }
  return {};
}

std::string tensor_text(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.device().is_cpu() || tensor.numel() != 1) return "<Tensor>";
  const std::string number = number_text(tensor);
  return number.empty() ? "<Tensor>" : "{" + number + "}";
}

void append_value(std::string& out, const opyard::Value& value, std::size_t depth);

void append_items(std::string& out, const std::vector<opyard::Value>& items, std::size_t depth) {
  const char* separator = "";
  for (const opyard::Value& item : items) {
    out += separator;
    append_value(out, item, depth + 1);
    separator = ", ";
  }
}

void append_dict(std::string& out, const DictObject& dict, std::size_t depth) {
  out += '{';
  const char* separator = "";
  for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
    out += separator;
    append_value(out, dict.key_at(at), depth + 1);
    out += ": ";
    append_value(out, dict.value_at(at), depth + 1);
    separator = ", ";
  }
  out += '}';
}

void append_value(std::string& out, const opyard::Value& value, std::size_t depth) {
  if (depth > kMostValueNesting) {
    out += "...";
    return;
  }
  switch (value.kind()) {
    case Kind::List:
      out += '[';
      append_items(out, value.items_unchecked(), depth);
      out += ']';
      return;
    case Kind::Tuple:
      out += '(';
      append_items(out, value.items_unchecked(), depth);
      if (value.items_unchecked().size() == 1) out += ',';
      out += ')';
      return;
    case Kind::Dict:
      return append_dict(out, value.to_dict(), depth);
    case Kind::Tensor:
      out += tensor_text(value.tensor_unchecked());
      return;
    case Kind::Generator:
      out += generator_text(value);
      return;
    default:
      out += repr(value);
  }
}

struct ConstantPrinter {
  const GraphNames& names;

  std::string operator()(double number) const { return float_text(number); }
  std::string operator()(std::complex<double> number) const { return complex_text(number); }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(const std::string& text) const { return quoted_text(text); }
  std::string operator()(const Tensor& tensor) const { return tensor_text(tensor); }
  std::string operator()(const GraphPtr& graph) const {
    return graph == nullptr ? "None" : names(*graph);
  }
  std::string operator()(const TypePtr& type) const { return type_text(*type); }
  std::string operator()(const opyard::Value& value) const { return literal_text(value); }
  template <typename T>
  std::string operator()(const std::vector<T>& items) const {
    std::string out = "[";
    const char* separator = "";
    for (const auto& item : items) {
      out += separator;
      out += (*this)(item);
      separator = ", ";
    }
    return out + ']';
  }
};

}  // namespace

std::string attribute_text(const Attribute& attribute, const GraphNames& names) {
  return std::visit(ConstantPrinter{names}, attribute.value);
}

std::string literal_text(const opyard::Value& value) {
  std::string out;
  append_value(out, value, 0);
  return out;
}

}  // namespace opyard::jit::detail
