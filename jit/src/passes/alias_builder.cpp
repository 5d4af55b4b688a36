// passes/alias_builder.cpp: alias sets by schemas, blocks and containers.
#include <algorithm>
#include <optional>
#include <string_view>

#include "fusion/fusible.h"
#include "ir/builtins.h"
#include "ir/callee.h"
#include "ir/node_rules.h"
#include "opyard/jit/aliases.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/resolve.h"

namespace opyard::jit {
namespace {

const Type& without_optional(const Type& type) {
  return type.kind() == TypeKind::Optional ? without_optional(type.element()) : type;
}
bool is_container(const Type& type) {
  const TypeKind kind = without_optional(type).kind();
  return kind == TypeKind::List || kind == TypeKind::Dict || kind == TypeKind::Tuple;
}
// A value of such a type without a set in its schema may be anything that the operator was given.
bool says_nothing(const Type& type) {
  const Type& plain = without_optional(type);
  if (plain.kind() == TypeKind::Tensor) return false;
  if (plain.kind() != TypeKind::List) return true;
  return detail::has_memory(plain.element()) && says_nothing(plain.element());
}

}  // namespace

// Numbers are those of sets_, and roots after find().
class AliasBuilder {
  static constexpr std::uint32_t kOutside = Aliases::kOutside;
  static constexpr std::uint32_t kNone = Aliases::kNone;

 public:
  // Whether inputs belong to [Outside]; if they are apart, so is what a function without a schema
  // gets, and it writes nothing.
  enum class Inputs : bool { Outside, Apart };

  AliasBuilder(Aliases& to, const Graph& graph, Inputs inputs = Inputs::Outside)
      : to_(to), graph_(graph), inputs_(inputs) {
    to_.sets_.push_back({.parent = kOutside, .contents = kOutside, .escapes = true});
  }

  void run() {
    for (const Value* const input : graph_.inputs()) {
      if (inputs_ == Inputs::Outside) join_outside(input);
    }
    block(graph_.block());
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Value* const output = graph_.outputs()[i];
      const bool is_of_earlier = graph_.output_stage(i) < graph_.stage();
      if (is_of_earlier && inputs_ == Inputs::Outside) join_outside(output);
      escape(output);
    }
    for (const auto& [node, sets] : to_.writes_) {
      for (const std::uint32_t set : sets) to_.sets_[to_.find(set)].written = true;
    }
  }

 private:
  std::uint32_t fresh() {
    const auto number = std::uint32_t(to_.sets_.size());
    to_.sets_.push_back({.parent = number, .contents = kNone});
    return number;
  }
  // kNone for a value without memory.
  std::uint32_t set_of(const Value* value) {
    if (!detail::has_memory(*value->type())) return kNone;
    const auto [found, is_new] = to_.values_.try_emplace(value, 0);
    if (is_new) found->second = fresh();
    return to_.find(found->second);
  }
  std::uint32_t contents(std::uint32_t set) {
    set = to_.find(set);
    if (to_.sets_[set].contents == kNone) {
      const std::uint32_t made = fresh();
      to_.sets_[set].contents = made;
    }
    return to_.find(to_.sets_[set].contents);
  }
  void join(std::uint32_t a, std::uint32_t b) {
    if (a == kNone || b == kNone) return;
    a = to_.find(a);
    b = to_.find(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);  // so that the outside stays the root
    const std::uint32_t below = to_.sets_[b].contents;
    to_.sets_[b].parent = a;
    to_.sets_[a].escapes |= to_.sets_[b].escapes;
    if (to_.sets_[a].contents == kNone) {
      to_.sets_[a].contents = below;
    } else if (below != kNone) {
      join(to_.sets_[a].contents, below);
    }
  }
  void join(const Value* a, const Value* b) { join(set_of(a), set_of(b)); }
  void join_outside(const Value* value) { join(set_of(value), kOutside); }
  void put_into(const Value* container, const Value* item) {
    const std::uint32_t set = set_of(container);
    if (set != kNone) join(contents(set), set_of(item));
  }
  // With all that is in it by now, also if it had escaped before.
  void escape(const Value* value) {
    set_of(value);
    for (const std::uint32_t set : to_.sets_of(value)) to_.sets_[set].escapes = true;
  }

  void block(const Block* block) {
    for (const Node* const node : block->nodes()) this->node(node);
  }

  void node(const Node* node) {
    const Symbol kind = node->kind();
    if (operation_of(*node) != nullptr) return unknown(node);
    if (kind == prim::Constant) return constant(node);
    if (kind == prim::Undefined || kind == detail::rare_names().uninitialized) return;
    if (kind == detail::rare_names().isinstance) return;
    if (kind == prim::FusionGroup && detail::is_fused(*node)) return;  // gives new tensors
    if (kind == prim::If) return branch(node);
    if (kind == prim::Loop) return loop(node);
    if (kind == prim::ListConstruct || kind == prim::TupleConstruct ||
        kind == prim::DictConstruct) {
      for (const Value* const input : node->inputs()) put_into(node->output(), input);
      return;
    }
    if (kind == prim::ListUnpack || kind == prim::TupleUnpack || kind == prim::TupleIndex) {
      for (const Value* const output : node->outputs()) put_into(node->input(0), output);
      return;
    }
    if (kind == prim::unchecked_cast) return join(node->input(), node->output());
    if (const std::optional<Callee> callee = detail::find_callee(*node)) return call(node, *callee);
    unknown(node);
  }

  void constant(const Node* node) {
    const Type& type = without_optional(*node->output()->type());
    const bool is_own = type.kind() == TypeKind::List && !detail::has_memory(type.element());
    if (!is_own) join_outside(node->output());
  }

  void branch(const Node* node) {
    for (const Block* const inner : node->blocks()) {
      block(inner);
      for (std::size_t i = 0; i < node->outputs().size(); ++i) {
        join(node->outputs()[i], inner->outputs()[i]);
      }
    }
  }

  void loop(const Node* node) {
    const Block* const body = node->blocks()[0];
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      join(node->outputs()[i], node->inputs()[i + 2]);
      join(node->outputs()[i], body->inputs()[i + 1]);
    }
    block(body);
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      join(node->outputs()[i], body->outputs()[i + 1]);
    }
  }

  // May keep, write and give back all that it can reach.
  void unknown(const Node* node) {
    if (inputs_ == Inputs::Apart) return subgraph(node);
    for (const Value* const input : node->inputs()) join_outside(input);
    for (const Value* const output : node->outputs()) join_outside(output);
    to_.writes_[node].push_back(kOutside);
    to_.effects_[node] = true;
  }

  // What the graph of a fork, or of a group, writes of what it gets.
  void subgraph(const Node* node) {
    const Graph* const graph = detail::find_subgraph(*node);
    if (graph == nullptr) return;
    const std::vector<bool> written = find_written_inputs(*graph);
    for (std::size_t i = 0; i < std::min(written.size(), node->inputs().size()); ++i) {
      if (!written[i] || set_of(node->inputs()[i]) == kNone) continue;
      for (const std::uint32_t set : to_.sets_of(node->inputs()[i])) {
        to_.writes_[node].push_back(set);
      }
    }
  }

  using Bound = std::vector<std::pair<std::string_view, std::uint32_t>>;

  void bind(const AliasInfo& info, std::uint32_t set, Bound& bound, std::uint32_t wildcard,
            const Node* node) {
    for (const std::vector<std::string>* const names : {&info.before, &info.after}) {
      for (const std::string& name : *names) {
        if (name == "*") {
          join(set, wildcard);
          continue;
        }
        const auto known = std::find_if(bound.begin(), bound.end(),
                                        [&](const auto& one) { return one.first == name; });
        if (known != bound.end()) {
          join(set, known->second);
        } else {
          bound.emplace_back(name, set);
        }
      }
    }
    if (info.is_write) to_.writes_[node].push_back(set);
    for (const AliasInfo& inner : info.contained) {
      bind(inner, contents(set), bound, wildcard, node);
    }
  }

  // What built-in functions take out of containers and put into them is not in their schemas.
  std::uint32_t join_contents(const Node* node) {
    std::uint32_t common = kNone;
    const auto add = [&](const Value* value) {
      const std::uint32_t set = set_of(value);
      if (set == kNone || !is_container(*value->type())) return;
      if (common == kNone) common = contents(set);
      join(common, contents(set));
    };
    for (const Value* const input : node->inputs()) add(input);
    for (const Value* const output : node->outputs()) add(output);
    return common == kNone ? kOutside : common;
  }

  // What is in the tuples of a list is not what join_contents() sees.
  static bool gives_pairs(const Node* node, const Callee& callee) {
    if (callee.builtin == nullptr || callee.builtin->run != &detail::dict_items) return false;
    const auto& elements = node->inputs()[0]->type()->elements();
    return std::any_of(elements.begin(), elements.end(),
                       [](const TypePtr& type) { return detail::has_memory(*type); });
  }

  void call(const Node* node, const Callee& callee) {
    const Schema& schema = callee.schema();
    const bool is_open = schema.variadic_arguments || schema.variadic_results;
    if ((is_open && callee.op != nullptr) || gives_pairs(node, callee)) return unknown(node);
    Bound bound;
    const std::uint32_t wildcard = callee.builtin != nullptr ? join_contents(node) : kOutside;
    const auto visit = [&](const Value* value, const Argument& argument) {
      const std::uint32_t set = set_of(value);
      if (set == kNone) return;
      if (argument.alias) {
        bind(*argument.alias, set, bound, wildcard, node);
      } else if (callee.op != nullptr && says_nothing(*argument.type)) {
        join(set, kOutside);
      }
    };
    for (std::size_t i = 0; i < std::min(node->inputs().size(), schema.arguments.size()); ++i) {
      visit(node->inputs()[i], schema.arguments[i]);
    }
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      visit(node->outputs()[i], schema.results[i]);
    }
    // Which object a value is must not change if someone asks.
    if (node->kind().qual_string().starts_with("aten::__is")) {
      for (const Value* const input : node->inputs()) escape(input);
    }
    const bool gives_nothing = node->outputs().empty() && !to_.writes_.contains(node);
    if (gives_nothing || detail::is_random(callee)) to_.effects_[node] = true;
  }

  Aliases& to_;
  const Graph& graph_;
  const Inputs inputs_;
};

Aliases::Aliases(const Graph& graph) { AliasBuilder(*this, graph).run(); }

std::vector<bool> find_written_inputs(const Graph& graph) {
  Aliases aliases;
  AliasBuilder(aliases, graph, AliasBuilder::Inputs::Apart).run();
  std::vector<bool> written;
  for (const Value* const input : graph.inputs()) {
    const std::vector<std::uint32_t> sets = aliases.sets_of(input);
    written.push_back(std::any_of(sets.begin(), sets.end(), [&](std::uint32_t set) {
      return aliases.sets_[set].written && !aliases.is_outside(set);
    }));
  }
  return written;
}

}  // namespace opyard::jit
