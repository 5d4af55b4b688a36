// ir/type_text.cpp: printer of types.
#include <fmt/format.h>

#include "opyard/jit/types.h"

namespace opyard::jit {
namespace {

void append_numbers(std::string& out, const std::vector<std::int64_t>& numbers) {
  const char* separator = "";
  for (const std::int64_t number : numbers) {
    out += separator;
    out += number == kUnknownSize ? "*" : std::to_string(number);
    separator = ", ";
  }
}

void append_shape(std::string& out, const TensorShape& shape) {
  out += shape.dtype ? element_name(*shape.dtype) : "Tensor";
  std::string inner;
  const auto separate = [&] {
    if (!inner.empty()) inner += ", ";
  };
  if (shape.sizes) append_numbers(inner, *shape.sizes);
  if (shape.strides) {
    separate();
    inner += "strides=[";
    append_numbers(inner, *shape.strides);
    inner += ']';
  }
  if (shape.requires_grad) {
    separate();
    inner += *shape.requires_grad ? "requires_grad=1" : "requires_grad=0";
  }
  if (shape.device) {
    separate();
    inner += "device=" + opyard::to_string(*shape.device);
  }
  // "Float" says less than "Float()", which has no dimensions.
  if (shape.sizes || !inner.empty()) out += '(' + inner + ')';
}

void append_type(std::string& out, const Type& type);

void append_elements(std::string& out, const Type& type, const char* open) {
  out += open;
  const char* separator = "";
  for (const TypePtr& element : type.elements()) {
    out += separator;
    append_type(out, *element);
    separator = ", ";
  }
  out += ')';
}

void append_type(std::string& out, const Type& type) {
  if (const TensorShape* const shape = find_shape(type)) return append_shape(out, *shape);
  if (is_pullback(type)) {
    out += "Pullback";
    return;
  }
  switch (type.kind()) {
    case TypeKind::List:
      append_type(out, type.element());
      out += "[]";
      return;
    case TypeKind::Optional:
      append_type(out, type.element());
      out += '?';
      return;
    case TypeKind::Tuple:
      return append_elements(out, type, "(");
    case TypeKind::Dict:
      return append_elements(out, type, "Dict(");
    case TypeKind::Future:
      return append_elements(out, type, "Future(");
    case TypeKind::RRef:
      return append_elements(out, type, "RRef(");
    case TypeKind::Await:
      return append_elements(out, type, "Await(");
    case TypeKind::Union:
      return append_elements(out, type, "Union(");
    default:
      out += opyard::to_string(type);
  }
}

}  // namespace

std::string type_text(const Type& type) {
  std::string out;
  append_type(out, type);
  return out;
}

const char* element_name(DType dtype) noexcept {
  switch (dtype) {
#define OPYARD_ELEMENT_NAME(dtype, name) \
  case DType::dtype:                     \
    return #name;
#include "opyard/detail/jit/element_names.def"
#undef OPYARD_ELEMENT_NAME
  }
  return "Tensor";
}

std::optional<DType> find_element_name(std::string_view name) noexcept {
#define OPYARD_ELEMENT_NAME(dtype, text) \
  if (name == #text) return DType::dtype;
#include "opyard/detail/jit/element_names.def"
#undef OPYARD_ELEMENT_NAME
  return std::nullopt;
}

}  // namespace opyard::jit
