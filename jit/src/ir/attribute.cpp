// ir/attribute.cpp: the attributes of a node.
#include "opyard/jit/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "opyard/jit/graph.h"
#include "opyard/value/deep_copy.h"

namespace opyard::jit {

// A graph that several nodes share has one copy, which their copies share.
struct SharedCopies {
  static GraphPtr copy(const GraphPtr& graph, GraphCopies& known) {
    if (graph == nullptr) return nullptr;
    const auto found = known.find(graph.get());
    if (found != known.end()) return found->second;
    GraphPtr copy = graph->copy(known);
    known.emplace(graph.get(), copy);
    return copy;
  }
};

namespace {

#define OPYARD_ATTRIBUTE_KIND(letters, type, words) \
  static_assert(                                    \
      std::is_same_v<                               \
          std::variant_alternative_t<std::size_t(AttributeKind::letters), AttributeValue>, type>);
#include "opyard/jit/attribute_kinds.def"
#undef OPYARD_ATTRIBUTE_KIND

AttributeValue independent_copy(const AttributeValue& value, GraphCopies& known) {
  if (const auto* const graph = std::get_if<GraphPtr>(&value)) {
    return AttributeValue(std::in_place_type<GraphPtr>, SharedCopies::copy(*graph, known));
  }
  if (const auto* const graphs = std::get_if<std::vector<GraphPtr>>(&value)) {
    std::vector<GraphPtr> copies;
    for (const GraphPtr& graph : *graphs) copies.push_back(SharedCopies::copy(graph, known));
    return copies;
  }
  if (const auto* const held = std::get_if<opyard::Value>(&value)) {
    if (held->is_list() || held->is_dict()) return deep_copy(*held);
  }
  return value;
}

}  // namespace

#define OPYARD_ATTRIBUTE_KIND(letters, type, words)                                         \
  Node* Node::letters##_(Symbol name, type value) {                                         \
    return set_attribute(name, AttributeValue(std::in_place_type<type>, std::move(value))); \
  }
#include "opyard/jit/attribute_kinds.def"
#undef OPYARD_ATTRIBUTE_KIND

const char* letters_of(AttributeKind kind) noexcept {
  switch (kind) {
#define OPYARD_ATTRIBUTE_KIND(letters, type, words) \
  case AttributeKind::letters:                      \
    return #letters;
#include "opyard/jit/attribute_kinds.def"
#undef OPYARD_ATTRIBUTE_KIND
  }
  return "";
}

const char* words_of(AttributeKind kind) noexcept {
  switch (kind) {
#define OPYARD_ATTRIBUTE_KIND(letters, type, words) \
  case AttributeKind::letters:                      \
    return words;
#include "opyard/jit/attribute_kinds.def"
#undef OPYARD_ATTRIBUTE_KIND
  }
  return "";
}

const Attribute* Node::find_attribute(Symbol name) const noexcept {
  const auto found =
      std::find_if(attributes_.begin(), attributes_.end(),
                   [&](const Attribute& attribute) { return attribute.name == name; });
  return found == attributes_.end() ? nullptr : &*found;
}

const AttributeValue& Node::get_attribute(Symbol name, AttributeKind kind) const {
  const Attribute* const found = find_attribute(name);
  OPYARD_CHECK(found != nullptr, NotFound,
               fmt::format("a '{}' node has no attribute '{}'", kind_.qual_string(), name.name()));
  OPYARD_CHECK(found->kind() == kind, BadArgument,
               fmt::format("attribute '{}' of a '{}' node is {} ({}), not {} ({})", name.name(),
                           kind_.qual_string(), words_of(found->kind()), letters_of(found->kind()),
                           words_of(kind), letters_of(kind)));
  return found->value;
}

AttributeKind Node::kind_of(Symbol name) const {
  const Attribute* const found = find_attribute(name);
  OPYARD_CHECK(found != nullptr, NotFound,
               fmt::format("a '{}' node has no attribute '{}'", kind_.qual_string(), name.name()));
  return found->kind();
}

std::vector<Symbol> Node::attribute_names() const {
  std::vector<Symbol> names;
  names.reserve(attributes_.size());
  for (const Attribute& attribute : attributes_) names.push_back(attribute.name);
  return names;
}

namespace {

// Whether `graph` is `wanted`, or holds it at any depth.
bool holds(const Graph& graph, const Graph& wanted, std::unordered_set<const Graph*>& seen);

bool holds(const Block& block, const Graph& wanted, std::unordered_set<const Graph*>& seen) {
  const auto in = [&](const GraphPtr& inner) {
    return inner != nullptr && holds(*inner, wanted, seen);
  };
  for (const Node* const node : block.nodes()) {
    for (const Attribute& attribute : node->attributes()) {
      const auto* const one = std::get_if<GraphPtr>(&attribute.value);
      const auto* const several = std::get_if<std::vector<GraphPtr>>(&attribute.value);
      if (one != nullptr && in(*one)) return true;
      if (several != nullptr && std::any_of(several->begin(), several->end(), in)) return true;
    }
    for (const Block* const inner : node->blocks()) {
      if (holds(*inner, wanted, seen)) return true;
    }
  }
  return false;
}

bool holds(const Graph& graph, const Graph& wanted, std::unordered_set<const Graph*>& seen) {
  return &graph == &wanted || (seen.insert(&graph).second && holds(*graph.block(), wanted, seen));
}

// A graph that holds itself could be neither printed nor freed.
void check_holds_not(const AttributeValue& value, const Graph& own) {
  std::unordered_set<const Graph*> seen;
  const auto check = [&](const GraphPtr& graph) {
    OPYARD_CHECK(graph == nullptr || !holds(*graph, own, seen), BadValue,
                 "a node cannot hold the graph that it is in, nor one that holds it");
  };
  if (const auto* const one = std::get_if<GraphPtr>(&value)) check(*one);
  if (const auto* const several = std::get_if<std::vector<GraphPtr>>(&value)) {
    for (const GraphPtr& graph : *several) check(graph);
  }
}

}  // namespace

Node* Node::set_attribute(Symbol name, AttributeValue value) {
  check_alive();
  OPYARD_CHECK(name.defined(), BadValue, "an attribute has a name");
  check_holds_not(value, *graph_);
  auto* const found = const_cast<Attribute*>(find_attribute(name));
  if (found != nullptr) {
    found->value = std::move(value);
  } else {
    attributes_.push_back({name, std::move(value)});
  }
  graph_->note_change();
  return this;
}

Node* Node::remove_attribute(Symbol name) {
  check_alive();
  const Attribute* const found = find_attribute(name);
  OPYARD_CHECK(found != nullptr, NotFound,
               fmt::format("a '{}' node has no attribute '{}'", kind_.qual_string(), name.name()));
  attributes_.erase(attributes_.begin() + (found - attributes_.data()));
  graph_->note_change();
  return this;
}

Node* Node::copy_attributes(const Node* from) {
  GraphCopies known;
  return copy_attributes(from, known);
}

Node* Node::copy_attributes(const Node* from, GraphCopies& known) {
  check_alive();
  std::vector<Attribute> copies;
  copies.reserve(from->attributes_.size());
  for (const Attribute& attribute : from->attributes_) {
    copies.push_back({attribute.name, independent_copy(attribute.value, known)});
  }
  attributes_ = std::move(copies);
  graph_->note_change();
  return this;
}

}  // namespace opyard::jit
