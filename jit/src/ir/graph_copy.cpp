// ir/graph_copy.cpp: copies of nodes with their blocks, and of whole graphs.
#include <fmt/format.h>

#include "ir/index_table.h"
#include "opyard/jit/graph.h"

namespace opyard::jit {
namespace {

using CopyNumbers = std::vector<Graph::Numbered>;

void take_numbers(std::span<Value* const> from, std::span<Value* const> to, CopyNumbers& numbers) {
  for (std::size_t i = 0; i < from.size(); ++i) numbers.push_back({from[i]->unique(), to[i]});
}

// Of a block and its copy.
void take_numbers(const Block* from, const Block* to, CopyNumbers& numbers) {
  take_numbers(from->inputs(), to->inputs(), numbers);
  auto copy = to->nodes().begin();
  for (const Node* const node : from->nodes()) {
    take_numbers(node->outputs(), (*copy)->outputs(), numbers);
    for (std::size_t i = 0; i < node->blocks().size(); ++i) {
      take_numbers(node->blocks()[i], (*copy)->blocks()[i], numbers);
    }
    ++copy;
  }
}

}  // namespace

Node* Graph::create_copy(const Node* node, const Mapping& map) {
  GraphCopies known;
  return create_copy(node, map, known);
}

Node* Graph::create_copy(const Node* node, const Mapping& map, GraphCopies& known) {
  Node* const copy = create(node->kind(), std::initializer_list<Value*>{}, 0);
  try {
    copy->overload_ = node->overload_;
    copy->stage_ = node->stage_;
    copy->source_ = node->source_;
    copy->scope_ = node->scope_;
    copy->payload_ = node->payload_;
    copy->copy_attributes(node, known);
    for (Value* const input : node->inputs()) copy->add_input(map(input));
    for (const Value* const output : node->outputs()) {
      copy->add_output(output->type())->copy_metadata(output);
    }
    std::unordered_map<const Value*, Value*> inner;
    const Mapping map_inner = [&](Value* value) {
      const auto found = inner.find(value);
      return found != inner.end() ? found->second : map(value);
    };
    const auto remember = [&](const Node* from, const Node* to) {
      for (std::size_t i = 0; i < from->outputs().size(); ++i) {
        inner[from->outputs()[i]] = to->outputs()[i];
      }
    };
    for (const Block* const block : node->blocks()) {
      Block* const fresh = copy->add_block();
      for (const Value* const input : block->inputs()) {
        fresh->add_input({}, input->type())->copy_metadata(input);
      }
      remember(block->param_node(), fresh->param_node());
      for (const Node* const below : block->nodes()) {
        remember(below, fresh->append_node(create_copy(below, map_inner, known)));
      }
      for (Value* const output : block->outputs()) fresh->register_output(map_inner(output));
    }
  } catch (...) {
    copy->discard();
    throw;
  }
  return copy;
}

GraphPtr Graph::copy() const {
  GraphCopies known;
  return copy(known);
}

GraphPtr Graph::copy(GraphCopies& known) const {
  GraphPtr fresh = make_graph();
  ValueTable<Value*> values(values_made());
  CopyNumbers numbers;
  fresh->stage_ = stage_;
  for (const Value* const input : inputs()) {
    Value* const made = fresh->add_input({}, input->type())->copy_metadata(input);
    made->stage_ = input->stage_;
    values[input] = made;
  }
  const Mapping map = [&](Value* value) {
    Value* const* const found = values.find(value);
    OPYARD_CHECK(found != nullptr, BadGraph,
                 fmt::format("%{} is used before it is defined, so the graph cannot be copied",
                             value->printed_name()));
    return *found;
  };
  for (const Node* const node : nodes()) {
    Node* const made = fresh->append_node(fresh->create_copy(node, map, known));
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      values[node->outputs()[i]] = made->outputs()[i];
    }
  }
  for (Value* const output : outputs()) fresh->register_output(map(output));
  fresh->output_stages_ = output_stages_;
  fresh->restricted_ = restricted_;
  fresh->allowed_ = allowed_;
  take_numbers(block_, fresh->block_, numbers);
  fresh->renumber(numbers);
  fresh->insert_point_ = fresh->return_node();
  return fresh;
}

}  // namespace opyard::jit
