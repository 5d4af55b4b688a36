// passes/unroll.cpp: a loop that always makes the same few trips becomes its body, as often.
//
// The number of trips and both conditions are constants: propagate_constants() makes them so. Other
// loops stay, and so do long ones, since a code gets no faster by being larger than the cache.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "opyard/jit/passes.h"
#include "passes/callee.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

constexpr std::int64_t kMostTrips = 64;
constexpr std::size_t kMostNodes = 1024;  // of all trips of one loop

std::size_t count_nodes(const Block* block) {
  std::size_t count = 0;
  for (const Node* const node : block->nodes()) {
    ++count;
    for (const Block* const inner : node->blocks()) count += count_nodes(inner);
  }
  return count;
}

bool is_always_true(const Value* condition) {
  const std::optional<opyard::Value> known = detail::known_value(condition);
  return known && known->to_bool();
}

// How many trips the loop makes whenever it is reached; 0 if it is not to be unrolled.
std::int64_t known_trips(const Node* loop) {
  const Block* const body = loop->blocks()[0];
  const std::optional<opyard::Value> trips = detail::known_value(loop->input(0));
  if (!trips || trips->to_int() < 1 || trips->to_int() > kMostTrips) return 0;
  if (!is_always_true(loop->input(1)) || !is_always_true(body->outputs()[0])) return 0;
  const auto carried = loop->inputs().subspan(2);
  if (!detail::have_types_of(carried, loop->outputs()) ||
      !detail::have_types_of(carried, body->inputs().subspan(1)) ||
      !detail::have_types_of(carried, body->outputs().subspan(1))) {
    return 0;
  }
  return count_nodes(body) * std::size_t(trips->to_int()) <= kMostNodes ? trips->to_int() : 0;
}

// One trip in front of the loop: what is carried becomes what the body gives.
void copy_trip(Graph& graph, Node* loop, std::int64_t trip, std::vector<Value*>& carried) {
  const Block* const body = loop->blocks()[0];
  std::unordered_map<const Value*, Value*> values;
  const Graph::Mapping map = [&](Value* value) {
    const auto found = values.find(value);
    return found == values.end() ? value : found->second;
  };
  if (body->inputs()[0]->has_uses()) {
    Node* const number = graph.create_constant(trip)->set_stage(loop->stage());
    values[body->inputs()[0]] = number->insert_before(loop)->output();
  }
  for (std::size_t i = 0; i < carried.size(); ++i) values[body->inputs()[i + 1]] = carried[i];
  for (const Node* const node : body->nodes()) {
    Node* const copy = graph.create_copy(node, map)->insert_before(loop);
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      values[node->outputs()[i]] = copy->outputs()[i];
    }
  }
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = map(body->outputs()[i + 1]);
}

void unroll(Graph& graph, Node* loop) {
  const std::int64_t trips = known_trips(loop);
  if (trips == 0) return;
  const auto first = loop->inputs().subspan(2);
  std::vector<Value*> carried(first.begin(), first.end());
  for (std::int64_t trip = 0; trip < trips; ++trip) copy_trip(graph, loop, trip, carried);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    loop->outputs()[i]->replace_all_uses_with(carried[i]);
  }
  loop->destroy();
}

// Inner loops first, so that an outer one is judged by what they have become.
void visit(Graph& graph, Block* block) {
  for (auto next = block->nodes().begin(); next != block->nodes().end();) {
    Node* const node = *next;
    ++next;
    for (Block* const inner : node->blocks()) visit(graph, inner);
    if (node->kind() == prim::Loop) unroll(graph, node);
  }
}

}  // namespace

bool passes::unroll_loops(Graph& graph) {
  return detail::run_pass(graph, [&] { visit(graph, graph.block()); });
}

}  // namespace opyard::jit
