// exported/control.cpp: cond, while_loop, scan, map and modes of gradients and autocast; see
// [Control flow].
#include <limits>

#include <fmt/format.h>

#include "exported/names.h"
#include "exported/nodes.h"
#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";

void check_count(const std::vector<const Json*>& arguments, std::size_t least) {
  OPYARD_CHECK(arguments.size() >= least, Unsupported,
               fmt::format("has {} arguments, and {} are taken", arguments.size(), least));
}

// What a branch or a loop gives has one type, whichever way it came.
void check_branch_types(std::span<Value* const> left, std::span<Value* const> right) {
  OPYARD_CHECK(left.size() == right.size(), Unsupported,
               fmt::format("has graphs that give {} and {} results", left.size(), right.size()));
  for (std::size_t i = 0; i < left.size(); ++i) {
    OPYARD_CHECK(left[i]->type()->kind() == right[i]->type()->kind(), Unsupported,
                 fmt::format("has graphs whose results {} are of other types", i));
  }
}

void register_outputs(Block* block, std::span<Value* const> outputs) {
  for (Value* const output : outputs) block->register_output(output);
}

}  // namespace

bool NodeConverter::is_control_flow(const std::string& target) {
  const std::string_view name = target;
  return name.starts_with(kHigherOrder) &&
         (name.ends_with(".cond") || name.ends_with(".while_loop") || name.ends_with(".scan") ||
          name.ends_with(".map_impl") || name.ends_with(".wrap_with_set_grad_enabled") ||
          name.ends_with(".wrap_with_autocast"));
}

// False for a target that is no operator on graphs.
bool NodeConverter::convert_control_flow(const std::string& target, const Json& node,
                                         const SourceRange& place, ExportedValues& values) {
  if (!target.starts_with(kHigherOrder)) return false;
  const std::string_view name = std::string_view(target).substr(kHigherOrder.size());
  std::vector<const Json*> arguments;
  for (const Json& input : require_array(member(node, "inputs"), what_)) {
    arguments.push_back(&member(input, "arg"));
  }
  if (name == "cond") {
    convert_cond(arguments, node, place, values);
  } else if (name == "while_loop") {
    convert_while(arguments, node, place, values);
  } else if (name == "scan") {
    convert_scan(arguments, 1, node, place, values);
  } else if (name == "map_impl") {
    convert_scan(arguments, 0, node, place, values);
  } else if (name == "wrap_with_set_grad_enabled") {
    convert_grad_mode(arguments, node, values);
  } else if (name == "wrap_with_autocast") {
    convert_autocast(arguments, node, values);
  } else {
    fail(ErrorKind::Unsupported,
         "of the operators on graphs, cond, while_loop, scan, map, wrap_with_set_grad_enabled and "
         "wrap_with_autocast are taken");
  }
  return true;
}

// cond(truth, graph, graph, [operands])
void NodeConverter::convert_cond(const std::vector<const Json*>& arguments, const Json& node,
                                 const SourceRange& place, ExportedValues& values) {
  check_count(arguments, 4);
  Value* const given = values.argument(*arguments[0], *base_type(TypeKind::Any));
  const std::vector<Value*> operands = operands_of(*arguments[3], values);
  Node* const branch = graph_.create(prim::If, {truth_of(given)}, 0);
  branch->set_source_range(place);
  branch->set_scope(scope_of(node));
  graph_.insert_node(branch);
  std::vector<std::vector<Value*>> results;
  for (std::size_t i = 0; i < 2; ++i) {
    Block* const block = branch->add_block();
    const InsertPointGuard guard(block);
    results.push_back(convert_graph(*arguments[i + 1], operands));
    register_outputs(block, results.back());
  }
  if (!refusals_.empty()) return refusals_.refuse_outputs(node);
  check_branch_types(results[0], results[1]);
  for (const Value* const result : results[0]) branch->add_output(result->type());
  define_outputs(branch->outputs(), node, values);
}

// while_loop(graph, graph, [carried], [further])
void NodeConverter::convert_while(const std::vector<const Json*>& arguments, const Json& node,
                                  const SourceRange& place, ExportedValues& values) {
  check_count(arguments, 3);
  const std::vector<Value*> carried = operands_of(*arguments[2], values);
  std::vector<Value*> further;
  if (arguments.size() > 3) further = operands_of(*arguments[3], values);
  const auto all = [&](std::span<Value* const> first) {
    std::vector<Value*> operands(first.begin(), first.end());
    operands.insert(operands.end(), further.begin(), further.end());
    return operands;
  };
  const auto test = [&](std::span<Value* const> first) {
    const std::vector<Value*> truth = convert_graph(*arguments[0], all(first));
    if (!refusals_.empty()) return static_cast<Value*>(nullptr);
    OPYARD_CHECK(truth.size() == 1, Unsupported, "has a test of several results");
    return truth_of(truth.front());
  };
  Value* const enters = test(carried);
  if (enters == nullptr) {
    look_up_inside(*arguments[1]);
    return refusals_.refuse_outputs(node);
  }
  Node* const loop = graph_.create(
      prim::Loop, {graph_.insert_constant(std::numeric_limits<std::int64_t>::max()), enters}, 0);
  loop->set_source_range(place);
  loop->set_scope(scope_of(node));
  graph_.insert_node(loop);
  Block* const body = loop->add_block();
  body->add_input({}, base_type(TypeKind::Int));
  std::vector<Value*> inside;
  for (Value* const value : carried) {
    loop->add_input(value);
    loop->add_output(value->type());
    inside.push_back(body->add_input({}, value->type()));
  }
  const InsertPointGuard guard(body);
  const std::vector<Value*> next = convert_graph(*arguments[1], all(inside));
  Value* const goes_on = refusals_.empty() ? test(next) : nullptr;
  if (goes_on == nullptr) return refusals_.refuse_outputs(node);
  check_branch_types(carried, next);
  body->register_output(goes_on);
  register_outputs(body, next);
  define_outputs(loop->outputs(), node, values);
}

// scan(graph, [carried], [scanned], [further]), map_impl(graph, [scanned], [further])
void NodeConverter::convert_scan(const std::vector<const Json*>& arguments,
                                 std::size_t carried_lists, const Json& node,
                                 const SourceRange& place, ExportedValues& values) {
  check_count(arguments, 2 + carried_lists);
  std::vector<Value*> carried;
  if (carried_lists > 0) carried = operands_of(*arguments[1], values);
  const std::vector<Value*> scanned = operands_of(*arguments[1 + carried_lists], values);
  std::vector<Value*> further;
  if (arguments.size() > 2 + carried_lists) {
    further = operands_of(*arguments[2 + carried_lists], values);
  }
  OPYARD_CHECK(!scanned.empty(), Unsupported, "has nothing to go through");
  const std::size_t results = require_array(member(node, "outputs"), what_).size();
  OPYARD_CHECK(results >= carried.size(), Unsupported, "gives fewer results than it carries");
  std::vector<Value*> lists;
  for (std::size_t i = carried.size(); i < results; ++i) {
    Node* const list = graph_.create(prim::ListConstruct, {}, 1);
    list->output()->set_type(list_of(base_type(TypeKind::Tensor)));
    lists.push_back(graph_.insert_node(list)->output());
  }
  Value* const first = graph_.insert_constant(std::int64_t{0});
  Value* const count = insert("aten::size", {scanned.front(), first});
  Node* const loop =
      graph_.create(prim::Loop, {count, graph_.insert_constant(opyard::Value(true))}, 0);
  loop->set_source_range(place);
  graph_.insert_node(loop);
  Block* const body = loop->add_block();
  std::vector<Value*> inside;
  Value* const at = body->add_input({}, base_type(TypeKind::Int));
  for (Value* const value : carried) {
    loop->add_input(value);
    loop->add_output(value->type());
    inside.push_back(body->add_input({}, value->type()));
  }
  std::vector<Value*> next;
  {
    const InsertPointGuard guard(body);
    for (Value* const value : scanned) inside.push_back(insert("aten::select", {value, first, at}));
    inside.insert(inside.end(), further.begin(), further.end());
    next = convert_graph(*arguments[0], inside);
    if (!refusals_.empty()) return refusals_.refuse_outputs(node);
    OPYARD_CHECK(next.size() == results, Unsupported,
                 fmt::format("gives {} results, and its graph {}", results, next.size()));
    for (std::size_t i = 0; i < lists.size(); ++i) {
      insert("aten::append", {lists[i], next[carried.size() + i]});
    }
    body->register_output(graph_.insert_constant(opyard::Value(true)));
  }
  next.resize(carried.size());
  check_branch_types(carried, next);
  register_outputs(body, next);
  std::vector<Value*> given(loop->outputs().begin(), loop->outputs().end());
  for (Value* const list : lists) given.push_back(insert("aten::stack", {list, first}));
  define_outputs(given, node, values);
}

// wrap_with_set_grad_enabled(enabled, graph, operands…)
void NodeConverter::convert_grad_mode(const std::vector<const Json*>& arguments, const Json& node,
                                      ExportedValues& values) {
  check_count(arguments, 2);
  const bool is_enabled = require_bool(member(*arguments[0], "as_bool"), what_);
  std::vector<Value*> operands;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    Value* const given = values.argument(*arguments[i], *base_type(TypeKind::Any));
    const bool cuts = !is_enabled && given->type()->kind() == TypeKind::Tensor;
    operands.push_back(cuts ? insert("aten::detach", {given}) : given);
  }
  const std::vector<Value*> results = convert_graph(*arguments[1], operands);
  if (!refusals_.empty()) return refusals_.refuse_outputs(node);
  define_outputs(results, node, values);
}

// wrap_with_autocast(device, dtype, enabled, caches, graph, operands…)
void NodeConverter::convert_autocast(const std::vector<const Json*>& arguments, const Json& node,
                                     ExportedValues& values) {
  check_count(arguments, 5);
  if (require_bool(member(*arguments[2], "as_bool"), what_)) {
    look_up_inside(*arguments[4]);
    fail(ErrorKind::Unsupported,
         "has dtypes that are chosen while it runs; export the model without autocast, in its "
         "dtype, or with run_decompositions(), which writes the casts down");
  }
  std::vector<Value*> operands;
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    operands.push_back(values.argument(*arguments[i], *base_type(TypeKind::Any)));
  }
  const std::vector<Value*> results = convert_graph(*arguments[4], operands);
  if (!refusals_.empty()) return refusals_.refuse_outputs(node);
  define_outputs(results, node, values);
}

// {"as_graph": {"graph": …}} at the insert point; what it gives. Some of it may be refused: then
// nothing.
std::vector<Value*> NodeConverter::convert_graph(const Json& argument,
                                                 std::span<Value* const> inputs) {
  const Json& graph = member(member(argument, "as_graph"), "graph");
  const Json& names = require_array(member(graph, "inputs"), what_);
  OPYARD_CHECK(names.size() == inputs.size(), BadValue,
               fmt::format("{}: a graph in a node takes {} inputs, and {} are passed", what_,
                           names.size(), inputs.size()));
  ExportedValues values(graph_, what_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto [kind, value] = kind_and_value(names[i], what_);
    const bool is_tensor = kind == "as_tensor";
    OPYARD_CHECK(is_tensor || kind == "as_sym_int", Unsupported,
                 "has a graph with an input of the kind " + kind);
    values.define(text(*value, is_tensor ? "name" : "as_name"), inputs[i]);
  }
  convert_nodes(graph, values);
  std::vector<Value*> results;
  if (!refusals_.empty()) return results;
  for (const Json& output : require_array(member(graph, "outputs"), what_)) {
    results.push_back(values.argument(output, *base_type(TypeKind::Any)));
  }
  return results;
}

// A list of operands, each by itself: they are of several types.
std::vector<Value*> NodeConverter::operands_of(const Json& argument, ExportedValues& values) {
  const auto [kind, items] = kind_and_value(argument, what_);
  std::vector<Value*> operands;
  for (const Json& item : require_array(*items, what_)) {
    const Json* const name = find_member(item, "name");
    if (name != nullptr) {
      operands.push_back(values.require(*name));
    } else if (item.is_number_integer() && kind == "as_ints") {
      operands.push_back(graph_.insert_constant(require_int(item, what_)));
    } else {
      operands.push_back(values.argument(item, *base_type(TypeKind::Any)));
    }
  }
  return operands;
}

Value* NodeConverter::truth_of(Value* value) {
  return value->type()->kind() == TypeKind::Bool ? value : insert("aten::Bool", {value});
}

}  // namespace opyard::jit
