// ir/value.cpp: names, types and uses of values.
#include "opyard/jit/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/edge_list.h"
#include "opyard/jit/graph.h"

namespace opyard::jit {
namespace {

bool is_name(std::string_view text) {
  bool only_digits = true;
  if (text.size() > kLongestName) return false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
    if (!digit && !letter && c != '-') return false;
    only_digits = only_digits && digit;
  }
  return !only_digits && !text.starts_with('-') && !text.ends_with('-');
}

}  // namespace

std::string Value::printed_name() const { return name_.empty() ? std::to_string(unique_) : name_; }

Value* Value::set_debug_name(std::string_view name) {
  OPYARD_CHECK(!is_erased(), BadValue, fmt::format("value %{} was erased", unique_));
  OPYARD_CHECK(name.empty() || is_name(name), BadValue,
               fmt::format("'{}' is no name of a value; use letters, digits, '_', '.' and, inside, "
                           "'-', not digits alone, and at most {} bytes",
                           name.substr(0, 200), kLongestName));
  graph().rename(this, name);
  return this;
}

Value* Value::set_type(TypePtr type) {
  OPYARD_CHECK(type != nullptr, BadValue, "a value has a type, not null");
  OPYARD_CHECK(!is_erased(), BadValue, fmt::format("value %{} was erased", unique_));
  type_ = std::move(type);
  graph().note_change();
  return this;
}

Graph& Value::graph() const noexcept { return node_->graph(); }

int Value::stage() const noexcept {
  if (node_ == nullptr || node_ == node_->graph().param_node()) return stage_;
  return node_->stage();
}

Value* Value::set_stage(int stage) {
  OPYARD_CHECK(node_ != nullptr && node_ == graph().param_node(), BadValue,
               "the stage of a value that is no input of the graph is that of its node");
  OPYARD_CHECK(stage >= 0, BadValue, fmt::format("stage {} is negative", stage));
  if (stage > graph().stage()) graph().set_stage(stage);
  stage_ = stage;
  graph().note_change();
  return this;
}

void Value::drop_use(Use use) noexcept {
  // The newest is the likeliest.
  for (std::size_t i = uses_.size(); i-- > 0;) {
    if (uses_[i] == use) return detail::erase_at(uses_, i);
  }
}

void Value::move_use(Use from, std::size_t offset) noexcept {
  const auto found = std::find(uses_.begin(), uses_.end(), from);
  if (found != uses_.end()) found->offset = offset;
}

void Value::replace_all_uses_with(Value* other) {
  OPYARD_CHECK(other != nullptr && !other->is_erased() && !is_erased(), BadValue,
               "a value that was erased has no uses and cannot be used");
  OPYARD_CHECK(&graph() == &other->graph(), BadValue,
               fmt::format("values %{} and %{} belong to different graphs", printed_name(),
                           other->printed_name()));
  if (other == this) return;
  other->uses_.reserve(other->uses_.size() + uses_.size());
  for (const Use& use : uses_) other->uses_.push_back(use);
  for (const Use& use : uses_) use.user->inputs_[use.offset] = other;
  uses_.clear();
  graph().note_change();
}

void Value::replace_all_uses_after(const Node* node, Value* other) {
  OPYARD_CHECK(other != nullptr && !other->is_erased() && !is_erased(), BadValue,
               "a value that was erased has no uses and cannot be used");
  std::vector<Use> later;
  for (const Use& use : uses_) {
    if (use.user->is_after(node)) later.push_back(use);
  }
  for (const Use& use : later) use.user->replace_input(use.offset, other);
}

Value* Value::copy_metadata(const Value* from) {
  set_type(from->type());
  if (from->has_debug_name()) set_debug_name(from->debug_name());
  return this;
}

}  // namespace opyard::jit
