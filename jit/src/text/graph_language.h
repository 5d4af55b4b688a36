// text/graph_language.h: the tokens of graphs, and the parts that their parsers share.
//
// Depends on: detail/text/cursor.h, jit/parse.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/detail/text/cursor.h"
#include "opyard/jit/attribute.h"
#include "opyard/jit/parse.h"

namespace opyard::jit::detail {

using opyard::detail::Cursor;
using opyard::detail::describe;
using opyard::detail::Faults;
using opyard::detail::GiveUp;
using opyard::detail::Language;
using opyard::detail::Span;
using opyard::detail::Token;
using opyard::detail::TokenKind;

extern const Language kGraphLanguage;

// Whether a name is a number, as of a value that has no name.
bool is_number(std::string_view name);

// The items between `open`, which is taken here, and `close`. Fails past the limit of items.
void parse_list(Cursor& cursor, std::string_view open, std::string_view close,
                const std::function<void()>& item);

// Raises what was found, with the name of the text in front of line and column if it was given one.
void raise_if_any(const Faults& faults, const std::string& source, const std::string& unnamed);

// parse_type.cpp
TypePtr parse_type(Cursor& cursor, std::size_t depth = 1);
// Whether a type can begin with this token.
bool begins_type(const Token& token);

// parse_constant.cpp: the value behind the "=" of an attribute of a node with this output type.
// `next_tensor` gives what <Tensor> stands for.
struct ConstantContext {
  const Type* type;
  std::function<Tensor(Span)> next_tensor;
};
AttributeValue parse_attribute(Cursor& cursor, const ConstantContext& context);
opyard::Value parse_literal_value(Cursor& cursor, const ConstantContext& context,
                                  std::size_t depth = 1);

// An int, a float or a complex number, with its sign.
opyard::Value parse_number(Cursor& cursor);

// parse_tensor.cpp: {1}, of the element type and number of dimensions that the output says, if it
// says them.
Tensor tensor_of(Cursor& cursor, Span span, const opyard::Value& number, const Type* type);
// A tensor that is printed with its numbers: whether it begins here, or goes on behind a number
// that was read, and the tensor, with the numbers that were read already. `begin` is where it is.
bool is_printed_tensor(const Cursor& cursor);
bool is_printed_tensor_behind_number(const Cursor& cursor);
Tensor parse_printed_tensor(Cursor& cursor, const Type* type, std::size_t begin,
                            std::vector<double> numbers);
// Whether it is a word of one, and not the name of a graph.
bool begins_printed_tensor(const Token& token);

}  // namespace opyard::jit::detail
