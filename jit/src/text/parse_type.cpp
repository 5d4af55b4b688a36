// text/parse_type.cpp: graph parser: types.
#include <fmt/format.h>

#include "opyard/detail/text/literal.h"
#include "opyard/detail/text/near_names.h"
#include "text/graph_language.h"

namespace opyard::jit {
namespace detail {
namespace {

constexpr std::string_view kTypeSymbols[] = {"::", "->", "(", ")", "[", "]", "{",
                                             "}",  ",",  "=", ":", "?", "*", "-",
                                             "+",  ".",  "^", "<", ">", "/", "!"};

// Of all but compounds, element types and what TorchScript alone prints.
constexpr std::string_view kBaseNames[] = {
#define OPYARD_BASE_TYPE(kind, text, ...) text,
#include "opyard/schema/types.def"
#undef OPYARD_BASE_TYPE
};

TypePtr find_base(std::string_view name) {
#define OPYARD_BASE_TYPE(kind, text, ...) \
  if (name == text) return base_type(TypeKind::kind);
#include "opyard/schema/types.def"
#undef OPYARD_BASE_TYPE
  // Other names, which TorchScript prints or reads.
  if (name == "number") return base_type(TypeKind::Scalar);
  if (name == "None") return base_type(TypeKind::None);
  if (name == "string") return base_type(TypeKind::Str);
  if (name == "Pullback") return pullback_type();
  return {};
}

std::optional<TypeKind> find_compound(std::string_view name) {
  if (name == "Dict") return TypeKind::Dict;
  if (name == "Future") return TypeKind::Future;
  if (name == "RRef") return TypeKind::RRef;
  if (name == "Await") return TypeKind::Await;
  if (name == "Union") return TypeKind::Union;
  return std::nullopt;
}

std::int64_t parse_size(Cursor& cursor) {
  if (cursor.take_if("*")) return kUnknownSize;
  if (cursor.peek().kind != TokenKind::Integer) cursor.fail_expected("a size or '*'");
  const Token token = cursor.take();
  const auto number = opyard::detail::read_integer(token.text);
  if (!number) cursor.fail_at(token.span(), fmt::format("{} is too large", describe(token)));
  return *number;
}

Device parse_device_name(Cursor& cursor) {
  const Token token = cursor.expect_name("a device");
  std::string text(token.text);
  if (cursor.take_if(":")) {
    if (cursor.peek().kind != TokenKind::Integer) cursor.fail_expected("the index of a device");
    text += ':';
    text += cursor.take().text;
  }
  try {
    return parse_device(text);
  } catch (const Error& error) {
    cursor.fail_at({token.offset, cursor.last_end()}, error.what());
  }
}

// strides=[…], requires_grad=…, device=…, in any order.
void parse_property(Cursor& cursor, TensorShape& shape) {
  const Token name = cursor.expect_name("a size, 'strides', 'requires_grad' or 'device'");
  cursor.expect("=");
  if (name.text == "strides") {
    shape.strides.emplace();
    parse_list(cursor, "[", "]", [&] { shape.strides->push_back(parse_size(cursor)); });
  } else if (name.text == "requires_grad") {
    const Token flag = cursor.take();
    if (flag.text != "0" && flag.text != "1") {
      cursor.fail_at(flag.span(), fmt::format("expected 0 or 1 but found {}", describe(flag)));
    }
    shape.requires_grad = flag.text == "1";
  } else if (name.text == "device") {
    shape.device = parse_device_name(cursor);
  } else {
    cursor.fail_at(name.span(), fmt::format("a tensor type has no property {}; it has 'strides', "
                                            "'requires_grad' and 'device'",
                                            describe(name)));
  }
}

TypePtr parse_tensor(Cursor& cursor, std::optional<DType> dtype) {
  const Token first = cursor.take();
  TensorShape shape;
  shape.dtype = dtype;
  if (cursor.peek().is("(")) {
    bool properties = false;
    std::vector<std::int64_t> sizes;
    parse_list(cursor, "(", ")", [&] {
      if (cursor.peek().kind == TokenKind::Name) {
        properties = true;
        return parse_property(cursor, shape);
      }
      if (properties) cursor.fail_expected("'strides', 'requires_grad' or 'device'");
      sizes.push_back(parse_size(cursor));
    });
    // Without sizes the number of dimensions is not known, unless there is nothing at all:
    // "Long()".
    if (!sizes.empty() || !properties || (shape.strides && shape.strides->empty())) {
      shape.sizes = std::move(sizes);
    }
  }
  try {
    return shaped_tensor(std::move(shape));
  } catch (const Error& error) {
    cursor.fail_at({first.offset, cursor.last_end()}, error.what());
  }
}

TypePtr parse_compound(Cursor& cursor, TypeKind kind, std::size_t depth) {
  const Span begin = cursor.peek().span();
  if (kind != TypeKind::Tuple) cursor.take();
  std::vector<TypePtr> elements;
  // PyTorch writes Future[Tensor] as well.
  const bool square = kind != TypeKind::Tuple && cursor.peek().is("[");
  parse_list(cursor, square ? "[" : "(", square ? "]" : ")",
             [&] { elements.push_back(parse_type(cursor, depth + 1)); });
  const std::size_t wanted = kind == TypeKind::Dict ? 2 : 1;
  const bool right = kind == TypeKind::Tuple   ? !elements.empty()
                     : kind == TypeKind::Union ? elements.size() >= 2
                                               : elements.size() == wanted;
  if (!right) {
    cursor.fail_at({begin.begin, cursor.last_end()}, "a type with a wrong number of element types");
  }
  try {
    return compound_type(kind, std::move(elements));
  } catch (const Error& error) {
    cursor.fail_at({begin.begin, cursor.last_end()}, error.what());
  }
}

// "NamedTuple(values : Tensor, indices : Tensor)": a tuple, whose items have no names here.
TypePtr parse_named_tuple(Cursor& cursor, std::size_t depth) {
  const Token first = cursor.take();
  std::vector<TypePtr> elements;
  parse_list(cursor, "(", ")", [&] {
    cursor.expect_name("the name of an item");
    cursor.expect(":");
    elements.push_back(parse_type(cursor, depth + 1));
  });
  if (elements.empty()) {
    cursor.fail_at({first.offset, cursor.last_end()}, "a named tuple without items");
  }
  return compound_type(TypeKind::Tuple, std::move(elements));
}

// "__torch__.Net": a module. A graph knows nothing of modules; what is printed of a frozen one
// takes it and does not use it.
TypePtr parse_module(Cursor& cursor) {
  cursor.take();
  while (cursor.take_if(".")) cursor.expect_name("the name of a class");
  return base_type(TypeKind::Any);
}

TypePtr parse_simple(Cursor& cursor, std::size_t depth) {
  const Token first = cursor.peek();
  if (first.is("(")) return parse_compound(cursor, TypeKind::Tuple, depth);
  if (first.kind != TokenKind::Name) cursor.fail_expected("a type");
  if (const auto kind = find_compound(first.text)) return parse_compound(cursor, *kind, depth);
  if (first.text == "Tensor") return parse_tensor(cursor, std::nullopt);
  if (first.text == "NamedTuple") return parse_named_tuple(cursor, depth);
  // A function is a constant that nothing uses behind inlining.
  if (first.text == "__torch__" || first.text == "Function") return parse_module(cursor);
  if (const auto dtype = find_element_name(first.text)) return parse_tensor(cursor, dtype);
  const TypePtr base = find_base(first.text);
  if (base == nullptr) {
    const std::string_view meant = opyard::detail::near_name(first.text, kBaseNames);
    cursor.fail_at(first.span(),
                   fmt::format("there is no type {}{}", describe(first),
                               meant.empty() ? "" : fmt::format("; '{}' may be meant", meant)));
  }
  cursor.take();
  return base;
}

}  // namespace

const Language kGraphLanguage = {.what = "graph",
                                 .nodes = "nodes, types and literals",
                                 .error = ErrorKind::BadGraph,
                                 .symbols = kTypeSymbols,
                                 .variable_mark = '%',
                                 .complex_sums = true};

bool is_number(std::string_view name) {
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

void raise_if_any(const Faults& faults, const std::string& source, const std::string& unnamed) {
  try {
    faults.raise_if_any();
  } catch (const Error& error) {
    if (source == unnamed) throw;
    opyard::fail(error.kind(), fmt::format("{}:{}", opyard::detail::shown(source), error.what()));
  }
}

void parse_list(Cursor& cursor, std::string_view open, std::string_view close,
                const std::function<void()>& item) {
  cursor.expect(open);
  if (cursor.take_if(close)) return;
  std::size_t count = 0;
  for (;;) {
    if (++count > cursor.limits().items) {
      cursor.fail_at(cursor.peek().span(), fmt::format("a list of more than {} items is too long",
                                                       cursor.limits().items));
    }
    item();
    if (!cursor.take_if(",")) break;
    // "(1,)" is a tuple of one.
    if (cursor.peek().is(close)) break;
  }
  cursor.expect_close(close);
}

TypePtr parse_type(Cursor& cursor, std::size_t depth) {
  cursor.check_depth(depth);
  cursor.count_node();
  TypePtr type = parse_simple(cursor, depth);
  for (;;) {
    if (cursor.take_if("?")) {
      type = optional_of(std::move(type));
    } else if (cursor.peek().is("[") && cursor.peek_second().is("]")) {
      cursor.take();
      cursor.take();
      cursor.check_depth(++depth);
      cursor.count_node();
      type = list_of(std::move(type));
    } else {
      return type;
    }
  }
}

bool begins_type(const Token& token) {
  if (token.kind != TokenKind::Name || token.text == "None") return false;  // None is a value
  return find_base(token.text) != nullptr || find_compound(token.text) ||
         find_element_name(token.text);
}

}  // namespace detail

TypePtr parse_type(std::string_view text, const ParseOptions& options) {
  detail::Faults faults(text, detail::kGraphLanguage, options.limits);
  TypePtr type;
  try {
    detail::Cursor cursor(text, detail::kGraphLanguage, options.limits, faults);
    type = detail::parse_type(cursor);
    cursor.expect_end();
  } catch (const detail::GiveUp&) {
    // What ended the reading is among the faults.
  }
  faults.raise_if_any();
  return type;
}

}  // namespace opyard::jit
