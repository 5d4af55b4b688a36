// passes/common_subexpressions.cpp: common-subexpression elimination, and pooling of
// equal constants.
//
// A node may take the place of a later one of the same stage, in its block or a block below, if
// both do the same with the same inputs, no memory that they take or give is written anywhere in
// the graph, and not both results get out of the graph: the caller would have one tensor instead of
// two. Of a graph of several stages neither may.
#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "ir/callee.h"
#include "opyard/jit/aliases.h"
#include "opyard/jit/constant.h"
#include "opyard/jit/operation.h"
#include "opyard/jit/passes.h"
#include "passes/pass.h"

namespace opyard::jit {
namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// 0.0 and -0.0 differ, and a nan is what its bits are.
bool same_constant(const opyard::Value& a, const opyard::Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::None:
      return true;
    case Kind::Bool:
      return a.bool_unchecked() == b.bool_unchecked();
    case Kind::Int:
      return a.int_unchecked() == b.int_unchecked();
    case Kind::Double:
      return same_bits(a.double_unchecked(), b.double_unchecked());
    case Kind::Complex:
      return same_bits(a.to_complex().real(), b.to_complex().real()) &&
             same_bits(a.to_complex().imag(), b.to_complex().imag());
    case Kind::String:
      return a.to_string_view() == b.to_string_view();
    case Kind::Device:
      return a.device_unchecked() == b.device_unchecked();
    case Kind::Tensor:
      return a.tensor_unchecked().impl().get() == b.tensor_unchecked().impl().get();
    case Kind::List: {
      const auto& left = a.items_unchecked();
      const auto& right = b.items_unchecked();
      return std::equal(left.begin(), left.end(), right.begin(), right.end(), same_constant);
    }
    default:
      return false;
  }
}

// A value for each constant that is equal to others, if it may stand for them: a number, a text, or
// a list of such that a node only reads.
class EqualConstants {
 public:
  explicit EqualConstants(const Aliases& aliases) : aliases_(aliases) {}

  const Value* first_of(const Value* value, const Node& user) {
    if (value->node()->kind() != prim::Constant || !may_stand_for_others(value, user)) return value;
    const opyard::Value held = constant_value(*value->node());
    // The text of a float may be that of another one.
    std::vector<const Value*>& known =
        by_text_[type_text(*value->type()) + ' ' + opyard::to_string(held)];
    for (const Value* const one : known) {
      if (same_constant(constant_value(*one->node()), held)) return one;
    }
    known.push_back(value);
    return value;
  }

 private:
  bool may_stand_for_others(const Value* value, const Node& user) const {
    const Type& type = *value->type();
    if (!detail::has_memory(type)) return true;
    if (type.kind() != TypeKind::List || detail::has_memory(type.element())) return false;
    return !aliases_.is_written(value) &&
           std::ranges::all_of(user.outputs(), [](const Value* output) {
             return output->type()->kind() == TypeKind::Tensor ||
                    !detail::has_memory(*output->type());
           });
  }

  const Aliases& aliases_;
  std::unordered_map<std::string, std::vector<const Value*>> by_text_;
};

class Common {
 public:
  Common(Graph& graph, bool constants)
      : graph_(graph), aliases_(graph), constants_(constants), equal_(aliases_) {}

  void run() { block(graph_.block()); }

 private:
  using Known = std::unordered_multimap<std::string, Node*>;

  // What a node is, but for what it holds: kind, overload, inputs and the types of its outputs.
  std::string node_key_of(const Node& node) {
    std::string key(node.kind().qual_string());
    key += '.';
    if (node.overload().defined()) key += node.overload().name();
    for (const Value* const input : node.inputs()) {
      key += ' ' + std::to_string(equal_.first_of(input, node)->unique());
    }
    for (const Value* const output : node.outputs()) key += " : " + type_text(*output->type());
    return key;
  }

  bool may_share_result(const Node* a, const Node* b) const {
    for (std::size_t i = 0; i < a->outputs().size(); ++i) {
      const Value* const left = a->outputs()[i];
      const Value* const right = b->outputs()[i];
      if (!detail::has_memory(*left->type())) continue;
      if (aliases_.is_written(left) || aliases_.is_written(right)) return false;
      if (is_shared_constant(a)) continue;
      if (gets_out(left) && gets_out(right)) return false;
      // A loop around the later one gives a tensor each trip, and the former one is one tensor.
      if (a->owning_block() != b->owning_block() && gets_out(right)) return false;
      // Between two stages the caller may write the one, and the other may be needed behind it.
      if (graph_.stage() > 0 && (gets_out(left) || gets_out(right))) return false;
    }
    return true;
  }

  bool gets_out(const Value* value) const {
    return out_.contains(value) || aliases_.escapes_itself(value);
  }

  // The tensor of two constants is one already.
  static bool is_shared_constant(const Node* node) {
    return node->kind() == prim::Constant && node->output()->type()->kind() == TypeKind::Tensor;
  }

  bool is_candidate(const Node* node) const {
    if (node->kind() == prim::Constant) return constants_;
    if (constants_ || !node->blocks().empty() || node->outputs().empty()) return false;
    if (operation_of(*node) != nullptr || aliases_.has_effects(node) || aliases_.writes(node)) {
      return false;
    }
    if (!node->attributes().empty()) return false;
    if (node->kind() != prim::ListConstruct && node->kind() != prim::TupleConstruct &&
        !detail::find_callee(*node)) {
      return false;
    }
    return std::none_of(node->inputs().begin(), node->inputs().end(),
                        [&](const Value* input) { return aliases_.is_written(input); });
  }

  bool is_same(const Node* a, const Node* b) const {
    if (a->kind() == prim::Constant) {
      return same_constant(constant_value(*a), constant_value(*b)) && may_share_result(a, b);
    }
    return a->stage() == b->stage() && may_share_result(a, b);
  }

  void block(Block* block) {
    std::vector<std::pair<std::string, Node*>> added;
    for (auto next = block->nodes().begin(); next != block->nodes().end();) {
      Node* const node = *next;
      ++next;
      for (Block* const inner : node->blocks()) this->block(inner);
      if (!is_candidate(node)) continue;
      const std::string key = node_key_of(*node);
      Node* former = nullptr;
      const auto [first, last] = known_.equal_range(key);
      for (auto at = first; at != last && former == nullptr; ++at) {
        if (is_same(at->second, node)) former = at->second;
      }
      if (former == nullptr) {
        known_.emplace(key, node);
        added.emplace_back(key, node);
      } else {
        // What got out by the later one gets out by the former one now.
        for (std::size_t i = 0; i < node->outputs().size(); ++i) {
          if (gets_out(node->outputs()[i])) out_.insert(former->outputs()[i]);
        }
        node->replace_all_uses_with(former);
        node->destroy();
      }
    }
    for (const auto& [key, node] : added) {
      auto at = known_.equal_range(key).first;
      while (at->second != node) ++at;
      known_.erase(at);
    }
  }

  Graph& graph_;
  const Aliases aliases_;
  const bool constants_;  // these alone, else all but these
  EqualConstants equal_;
  std::unordered_set<const Value*> out_;
  Known known_;  // of this block and those around it
};

}  // namespace

bool passes::eliminate_common_subexpressions(Graph& graph) {
  return detail::run_pass(graph, [&] { Common(graph, false).run(); });
}

bool passes::pool_constants(Graph& graph) {
  return detail::run_pass(graph, [&] { Common(graph, true).run(); });
}

}  // namespace opyard::jit
