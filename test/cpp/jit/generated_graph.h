// test/cpp/jit/generated_graph.h: random valid graphs with branches, loops, views, in-place operators and stages,
// and two ways to run them: node by node, and as code.
//
// Depends on: jit.h.
#pragma once

#include <cstdlib>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "../jit.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/interpreter_state.h"
#include "opyard/jit/resolve.h"

namespace opyard::jit {

// How many graphs the longest test makes.
inline constexpr std::uint32_t kGeneratedGraphs = 5000;

// How many a test makes: so many, or more in proportion if the caller of the program asks for more
// than kGeneratedGraphs.
inline std::uint32_t generated_graphs(std::uint32_t usual) {
  const char* const given = std::getenv("OPYARD_GENERATED_GRAPHS");
  if (given == nullptr) return usual;
  return std::uint32_t(std::uint64_t(usual) * std::uint64_t(std::atoi(given)) / kGeneratedGraphs);
}

class Generator {
 public:
  // With `writes_anywhere` inputs and views of them are written as well, not copies alone.
  explicit Generator(std::uint32_t seed, bool writes_anywhere = false)
      : random_(seed), writes_anywhere_(writes_anywhere) {}

  GraphPtr make() {
    graph_ = make_graph();
    tensors_ = {graph_->add_input(), graph_->add_input()};
    bools_ = {graph_->add_input({}, base_type(TypeKind::Bool))};
    ints_ = {graph_->add_input({}, base_type(TypeKind::Int))};
    one_ = graph_->insert_constant(1);
    true_ = graph_->insert_constant(true);
    fill(graph_->block(), 1 + pick(12), 2);
    give();
    for (std::size_t stage = pick(3); stage > 0; --stage) {
      graph_->advance_stage();
      if (pick(2) == 0) tensors_.push_back(graph_->add_input());
      fill(graph_->block(), pick(6), 2);
      give();
    }
    return graph_;
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  Value* any(const std::vector<Value*>& values) { return values[pick(values.size())]; }
  void give() {
    for (std::size_t i = pick(3); i > 0; --i) graph_->register_output(any(tensors_));
  }

  Node* add(Block* block, const char* kind, std::vector<Value*> inputs, std::size_t outputs = 1) {
    return block->append_node(graph_->create(Symbol::from_qual_string(kind), inputs, outputs));
  }

  void fill(Block* block, std::size_t nodes, std::size_t depth) {
    for (std::size_t i = 0; i < nodes; ++i) add_node(block, depth);
  }

  void add_node(Block* block, std::size_t depth) {
    switch (pick(depth > 0 ? 10 : 8)) {
      case 0:
      case 1:
        return tensors_.push_back(
            add(block, "aten::add", {any(tensors_), any(tensors_), one_})->output());
      case 2:
        return tensors_.push_back(
            add(block, "aten::mul", {any(tensors_), any(tensors_)})->output());
      case 3:
        return tensors_.push_back(add(block, "aten::relu", {any(tensors_)})->output());
      case 4:
        return tensors_.push_back(add(block, "aten::t", {any(tensors_)})->output());
      case 5: {
        Value* written = any(tensors_);
        if (!writes_anywhere_ || pick(2) == 0) {
          written = add(block, "aten::clone", {written})->output();
        }
        tensors_.push_back(add(block, "aten::relu_", {written})->output());
        if (pick(2) == 0) tensors_.push_back(written);
        return;
      }
      case 6: {
        Node* const sum = add(block, "aten::add", {any(ints_), one_});
        return ints_.push_back(sum->output()->set_type(base_type(TypeKind::Int)));
      }
      case 7: {
        Node* const less = add(block, "aten::lt", {any(ints_), any(ints_)});
        return bools_.push_back(less->output()->set_type(base_type(TypeKind::Bool)));
      }
      case 8:
        return add_if(block, depth);
      default:
        return add_loop(block, depth);
    }
  }

  // What is made inside is forgotten behind it.
  template <typename Body>
  void inside(Body&& body) {
    const auto sizes = std::tuple(tensors_.size(), ints_.size(), bools_.size());
    body();
    tensors_.resize(std::get<0>(sizes));
    ints_.resize(std::get<1>(sizes));
    bools_.resize(std::get<2>(sizes));
  }

  void add_if(Block* block, std::size_t depth) {
    Node* const branch = add(block, "prim::If", {any(bools_)}, 2);
    for (int i = 0; i < 2; ++i) {
      Block* const inner = branch->add_block();
      inside([&] {
        fill(inner, pick(4), depth - 1);
        inner->register_output(any(tensors_));
        inner->register_output(any(tensors_));
      });
    }
    tensors_.push_back(branch->output(0));
    if (pick(2) == 0) tensors_.push_back(branch->output(1));
  }

  void add_loop(Block* block, std::size_t depth) {
    Node* const loop = add(block, "prim::Loop", {one_, true_, any(tensors_), any(tensors_)}, 2);
    if (pick(2) == 0)
      loop->replace_input(0, graph_->create_constant(3)->insert_before(loop)->output());
    Block* const body = loop->add_block();
    Value* const trip = body->add_input({}, base_type(TypeKind::Int));
    Value* const first = body->add_input();
    Value* const second = body->add_input();
    inside([&] {
      ints_.push_back(trip);
      tensors_.push_back(first);
      tensors_.push_back(second);
      fill(body, pick(4), depth - 1);
      body->register_output(pick(3) == 0 ? any(bools_) : true_);
      body->register_output(any(tensors_));
      body->register_output(any(tensors_));
    });
    tensors_.push_back(loop->output(0));
    tensors_.push_back(loop->output(1));
  }

  std::mt19937 random_;
  const bool writes_anywhere_;
  GraphPtr graph_;
  std::vector<Value*> tensors_, ints_, bools_;
  Value* one_ = nullptr;
  Value* true_ = nullptr;
};

// A graph read node by node: every value of it is kept to the end.
class SlowRun {
 public:
  opyard::Value& operator[](const Value* value) { return values_[value]; }

  void block(const Block* block) {
    for (const Node* const node : block->nodes()) run(node);
  }

  void run(const Node* node) {
    if (node->kind() == prim::Constant) {
      values_[node->output()] = constant_value(*node);
    } else if (node->kind() == prim::If) {
      const Block* const taken = node->blocks()[values_[node->input()].to_bool() ? 0 : 1];
      block(taken);
      for (std::size_t i = 0; i < 2; ++i) values_[node->output(i)] = values_[taken->outputs()[i]];
    } else if (node->kind() == prim::Loop) {
      loop(node);
    } else {
      call(node);
    }
  }

 private:
  void loop(const Node* node) {
    const Block* const body = node->blocks()[0];
    bool more = values_[node->input(1)].to_bool();
    Values carried = {values_[node->input(2)], values_[node->input(3)]};
    for (std::int64_t trip = 0; more && trip < values_[node->input(0)].to_int(); ++trip) {
      values_[body->inputs()[0]] = trip;
      for (std::size_t i = 0; i < 2; ++i) values_[body->inputs()[i + 1]] = carried[i];
      block(body);
      more = values_[body->outputs()[0]].to_bool();
      for (std::size_t i = 0; i < 2; ++i) carried[i] = values_[body->outputs()[i + 1]];
    }
    for (std::size_t i = 0; i < 2; ++i) values_[node->output(i)] = carried[i];
  }

  void call(const Node* node) {
    const Callee callee = resolve(*node);
    if (callee.builtin != nullptr) {
      const std::int64_t a = values_[node->input(0)].to_int();
      const std::int64_t b = values_[node->input(1)].to_int();
      values_[node->output()] = node->output()->type()->kind() == TypeKind::Bool
                                    ? opyard::Value(a < b)
                                    : opyard::Value(a + b);
      return;
    }
    InlineStack<8> stack;
    for (std::size_t i = 0; i < callee.schema().arguments.size(); ++i) {
      stack.push(i < node->inputs().size() ? values_[node->inputs()[i]]
                                           : *callee.schema().arguments[i].default_value);
    }
    callee.op->call_boxed(stack);
    values_[node->output()] = stack.pop();
  }

  std::unordered_map<const Value*, opyard::Value> values_;
};

// Small whole numbers: every way to compute gives the same bits.
inline opyard::Value input_for(const Value* value, std::uint32_t seed) {
  if (value->type()->kind() == TypeKind::Bool) return opyard::Value(seed % 2 == 0);
  if (value->type()->kind() == TypeKind::Int) return opyard::Value(std::int64_t(seed % 3));
  const float base = float(seed % 5) - 2;
  return opyard::Value(f32({2, 2}, {base, 0.5F, -0.25F, base / 2}));
}

inline std::string run_slowly(const Graph& graph, std::uint32_t seed) {
  SlowRun run;
  std::string text;
  auto next = graph.nodes().begin();
  for (int stage = 0; stage <= graph.stage(); ++stage) {
    for (const Value* const input : graph.inputs()) {
      if (input->stage() == stage) run[input] = input_for(input, seed);
    }
    for (; next != graph.nodes().end() && (*next)->stage() == stage; ++next) run.run(*next);
    Values outputs;
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      if (graph.output_stage(i) == stage) outputs.push_back(run[graph.outputs()[i]]);
    }
    text += text_of(outputs) + "\n";
  }
  return text;
}

// With every last use checked.
inline std::string run_as_code(const CodePtr& code, std::uint32_t seed) {
  InterpreterState state(code);
  state.check_frees(true);
  std::string text;
  for (int stage = 0; stage <= code->graph().stage(); ++stage) {
    Values inputs;
    for (const Value* const input : code->graph().inputs()) {
      if (input->stage() == stage) inputs.push_back(input_for(input, seed));
    }
    Values outputs;
    InterpreterState twin = state.clone();
    state.run_one_stage(inputs, outputs);
    text += text_of(outputs) + "\n";
  }
  EXPECT_TRUE(state.live_values().empty());
  return text;
}

}  // namespace opyard::jit
