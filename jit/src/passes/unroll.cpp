// passes/unroll.cpp: loop unrolling: full for a few known trips, else several trips at a
// time.
//
// Both conditions are always true: propagate_constants() makes constants of what is known. Other
// loops stay, and so do long ones, since a code gets no faster by being larger than the cache.
//
// [Rounds] A small loop of n trips, an int that is not known, becomes two loops. The first makes
// max(n, 0) // 8 rounds of eight trips each, the second what is left of the same trips. Neither is
// unrolled again: the number of trips of one is a quotient, of the other a remainder, by 8.
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/callee.h"
#include "ir/count_nodes.h"
#include "opyard/jit/passes.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

constexpr std::int64_t kMostTrips = 64;
constexpr std::size_t kMostUnrolledNodes = 1024;  // of all trips of one loop
constexpr std::int64_t kTripsOfRound = 8;
constexpr std::size_t kMostNodesOfTrip = 32;  // of a loop whose trips are not known

bool is_always_true(const Value* condition) {
  const std::optional<opyard::Value> known = detail::known_value(condition);
  return known && known->to_bool();
}

bool always_goes_on(const Node* loop) {
  return is_always_true(loop->input(1)) && is_always_true(loop->blocks()[0]->outputs()[0]);
}

bool keeps_types(const Node* loop) {
  const Block* const body = loop->blocks()[0];
  const auto carried = loop->inputs().subspan(2);
  return detail::have_types_of(carried, loop->outputs()) &&
         detail::have_types_of(carried, body->inputs().subspan(1)) &&
         detail::have_types_of(carried, body->outputs().subspan(1));
}

// A trip of a loop's body: its nodes are copied and given to `insert`, and what is carried becomes
// what they give. `number_of_trip` is asked for if the body reads it.
template <typename Insert, typename Number>
void copy_trip(Graph& graph, const Block* body, std::vector<Value*>& carried, const Insert& insert,
               const Number& number_of_trip) {
  std::unordered_map<const Value*, Value*> values;
  const Graph::Mapping map = [&](Value* value) {
    const auto found = values.find(value);
    return found == values.end() ? value : found->second;
  };
  if (body->inputs()[0]->has_uses()) values[body->inputs()[0]] = number_of_trip();
  for (std::size_t i = 0; i < carried.size(); ++i) values[body->inputs()[i + 1]] = carried[i];
  for (const Node* const node : body->nodes()) {
    Node* const copy = insert(graph.create_copy(node, map));
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      values[node->outputs()[i]] = copy->outputs()[i];
    }
  }
  for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = map(body->outputs()[i + 1]);
}

void unroll_wholly(Graph& graph, Node* loop, std::int64_t trips) {
  const auto first = loop->inputs().subspan(2);
  std::vector<Value*> carried(first.begin(), first.end());
  const auto insert = [&](Node* node) {
    return node->set_stage(loop->stage())->insert_before(loop);
  };
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    copy_trip(graph, loop->blocks()[0], carried, insert,
              [&] { return insert(graph.create_constant(trip))->output(); });
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    loop->outputs()[i]->replace_all_uses_with(carried[i]);
  }
  loop->destroy();
}

// ---- [Rounds]

bool is_unrolled_already(const Value* trips) {
  const Node* const node = trips->node();
  const std::string_view kind = node->kind().qual_string();
  if (kind != "aten::floordiv" && kind != "aten::remainder") return false;
  const std::optional<opyard::Value> by = detail::known_value(node->input(1));
  return by && by->is_int() && by->to_int() == kTripsOfRound;
}

// Puts functions of ints in front of a node, or at the end of a block.
template <typename Insert>
class Ints {
 public:
  Ints(Graph& graph, Insert insert) : graph_(graph), insert_(std::move(insert)) {}
  Value* constant(std::int64_t number) { return insert_(graph_.create_constant(number))->output(); }
  Value* call(const char* function, Value* left, Value* right) {
    Node* const node = graph_.create(Symbol::from_qual_string(function), {left, right}, 1);
    node->output()->set_type(base_type(TypeKind::Int));
    return insert_(node)->output();
  }

 private:
  Graph& graph_;
  Insert insert_;
};

void unroll_in_rounds(Graph& graph, Node* loop) {
  const Block* const body = loop->blocks()[0];
  const auto before = [&](Node* node) {
    return node->set_stage(loop->stage())->insert_before(loop);
  };
  Ints outside(graph, before);
  Value* const by = outside.constant(kTripsOfRound);
  Value* const trips = outside.call("prim::max", loop->input(0), outside.constant(0));
  Value* const rounds = outside.call("aten::floordiv", trips, by);
  std::vector<Value*> inputs(loop->inputs().begin(), loop->inputs().end());
  inputs[0] = rounds;
  Node* const whole = before(graph.create(prim::Loop, inputs, 0));
  whole->set_source_range(loop->source_range());
  Block* const round = whole->add_block();
  Value* const number = round->add_input({}, base_type(TypeKind::Int));
  std::vector<Value*> carried;
  for (const Value* const each : loop->outputs()) {
    whole->add_output(each->type());
    carried.push_back(round->add_input({}, each->type()));
  }
  const auto inside = [&](Node* node) {
    return round->append_node(node->set_stage(loop->stage()));
  };
  Ints in_round(graph, inside);
  Value* const first =
      body->inputs()[0]->has_uses() ? in_round.call("aten::mul", number, by) : nullptr;
  for (std::int64_t trip = 0; trip < kTripsOfRound; ++trip) {
    copy_trip(graph, body, carried, inside,
              [&] { return in_round.call("aten::add", first, in_round.constant(trip)); });
  }
  round->register_output(loop->input(1));
  for (Value* const each : carried) round->register_output(each);
  // The rest.
  loop->replace_input(0, outside.call("aten::remainder", trips, by));
  for (std::size_t i = 0; i < carried.size(); ++i) loop->replace_input(i + 2, whole->outputs()[i]);
  if (first == nullptr) return;
  Value* const done = outside.call("aten::mul", rounds, by);
  Node* const node = graph.create(Symbol::from_qual_string("aten::add"), {done, done}, 1);
  node->output()->set_type(base_type(TypeKind::Int));
  loop->blocks()[0]->prepend_node(node->set_stage(loop->stage()));
  loop->blocks()[0]->inputs()[0]->replace_all_uses_with(node->output());
  node->replace_input(1, loop->blocks()[0]->inputs()[0]);
}

void unroll(Graph& graph, Node* loop) {
  if (!always_goes_on(loop) || !keeps_types(loop)) return;
  const std::size_t nodes = count_nodes(loop->blocks()[0]);
  const std::optional<opyard::Value> trips = detail::known_value(loop->input(0));
  if (!trips) {
    if (nodes <= kMostNodesOfTrip && !is_unrolled_already(loop->input(0))) {
      unroll_in_rounds(graph, loop);
    }
  } else if (trips->to_int() >= 1 && trips->to_int() <= kMostTrips &&
             nodes * std::size_t(trips->to_int()) <= kMostUnrolledNodes) {
    unroll_wholly(graph, loop, trips->to_int());
  }
}

// Inner loops first, so that an outer one is judged by what they have become.
void unroll_in_block(Graph& graph, Block* block) {
  for (auto next = block->nodes().begin(); next != block->nodes().end();) {
    Node* const node = *next;
    ++next;
    for (Block* const inner : node->blocks()) unroll_in_block(graph, inner);
    if (node->kind() == prim::Loop) unroll(graph, node);
  }
}

}  // namespace

bool passes::unroll_loops(Graph& graph) {
  return detail::run_pass(graph, [&] { unroll_in_block(graph, graph.block()); });
}

}  // namespace opyard::jit
