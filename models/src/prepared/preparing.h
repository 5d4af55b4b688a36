// prepared/preparing.h: the copy of a model's graph that preparations change, and queries of it.
//
// The copy has the model's state as constant tensors, and as inputs only what is passed. It has one
// stage and no blocks, so a node is before another if it comes first in the list.
//
// Depends on: jit/aliases.h, jit/graph.h.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "opyard/jit/aliases.h"
#include "opyard/jit/graph.h"

namespace opyard::jit::prepared {

// The tensor that a constant has; null for any other value.
const Tensor* find_tensor(const Value* value);
// A number, truth or text that is known; nothing for other values.
std::optional<opyard::Value> find_known(const Value* value);
std::optional<double> find_number(const Value* value);
bool is_none(const Value* value);
bool is_false(const Value* value);

bool is_one_of(const Node& node, std::initializer_list<std::string_view> kinds);

// A convolution that is not transposed: the channels of its result come first in its weight.
bool is_convolution(const Node& node);

// Puts a call before `node`, behind which it is looked up and checked.
Value* insert_call(Node& node, std::string_view kind, std::initializer_list<Value*> inputs,
                   std::string_view overload = {});
Value* insert_constant(Node& node, const opyard::Value& value, TypePtr type = {});

// `other` takes the place of the node's only used output.
void replace(Node& node, Value* other);

#define OPYARD_PREPARATION(name, keeps_bits, words) std::size_t name(Graph& graph);
#include "opyard/detail/models/preparations.def"
#undef OPYARD_PREPARATION

}  // namespace opyard::jit::prepared
