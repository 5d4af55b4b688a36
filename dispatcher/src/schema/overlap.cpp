// schema/overlap.cpp: search for a call that two schemas accept.
//
// Overview
//   A call is a number of positional arguments and a set of names. For each such number, the names
//   are those that one of the schemas requires behind it; the other has to know them. Leaving out
//   what has a default never makes a call unacceptable, so no call with more needs a look.
//
// Types
//   A type stands for a set of Python objects; common_object() names one of two sets, and
//   takes_all() says whether one set is in the other. Each pair of parts of two types is looked
//   at once, so that deep types cost no more than the product of their sizes.
#include "opyard/detail/schema/overlap.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "schema/base_types.h"

namespace opyard {
namespace {

using detail::is_anything;

using detail::base_entry;
using detail::is_base;
using detail::runtime_kind;

constexpr std::uint64_t bit(TypeKind kind) { return std::uint64_t{1} << int(kind); }

// The objects that a base type takes: a bit for each base type that has objects of its own. 0 for
// a compound type.
std::uint64_t objects_of(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Scalar:
      return bit(TypeKind::Int) | bit(TypeKind::Float) | bit(TypeKind::Bool) |
             bit(TypeKind::Complex);
    case TypeKind::ScalarType:
      return bit(TypeKind::ScalarType);  // an int at run time, but a dtype in Python
    default:
      return is_base(type.kind()) ? bit(runtime_kind(type.kind())) : 0;
  }
}

std::string name_of_object(TypeKind kind) {
  return kind == TypeKind::None ? "None" : base_entry(kind).text;
}

bool is_list(const Type& type) { return type.kind() == TypeKind::List; }
// int[2] also takes one int.
bool takes_one(const Type& list) { return list.size_hint() != 0 && !is_list(list.element()); }

// The types that a T?, a union or a T[N] is made of, the likeliest first; else the type itself.
std::vector<TypePtr> alternatives(const TypePtr& type) {
  std::vector<TypePtr> all;
  switch (type->kind()) {
    case TypeKind::Optional:
      all = alternatives(type->elements()[0]);
      all.push_back(base_type(TypeKind::None));
      break;
    case TypeKind::Union:
      for (const TypePtr& member : type->elements()) {
        for (TypePtr& each : alternatives(member)) all.push_back(std::move(each));
      }
      break;
    case TypeKind::List:
      if (takes_one(*type)) {
        all = alternatives(type->elements()[0]);
        all.push_back(list_of(type->elements()[0]));
        break;
      }
      [[fallthrough]];
    default:
      all.push_back(type);
  }
  return all;
}

std::optional<std::string> common_object(const TypePtr& a, const TypePtr& b);

// The same of the elements of two tuples, or of a tuple and a list.
std::optional<std::string> common_tuple(const Type& a, const Type& b) {
  const Type& tuple = a.kind() == TypeKind::Tuple ? a : b;
  if (!is_list(a) && !is_list(b) && a.elements().size() != b.elements().size()) return {};
  std::string text = "(";
  for (std::size_t i = 0; i < tuple.elements().size(); ++i) {
    const auto each =
        common_object(a.elements()[is_list(a) ? 0 : i], b.elements()[is_list(b) ? 0 : i]);
    if (!each) return {};
    text += (i == 0 ? "" : ", ") + *each;
  }
  return text + (tuple.elements().size() == 1 ? ",)" : ")");
}

// Neither is a T?, a union, a T[N] or takes everything.
std::optional<std::string> common_plain(const Type& a, const Type& b) {
  const auto either = [&](TypeKind kind) { return a.kind() == kind || b.kind() == kind; };
  if (is_list(a) && is_list(b)) {
    return "[" + common_object(a.elements()[0], b.elements()[0]).value_or("") + "]";
  }
  const auto is_sequence = [](const Type& type) {
    return is_list(type) || type.kind() == TypeKind::Tuple;
  };
  if (either(TypeKind::Tuple)) {
    return is_sequence(a) && is_sequence(b) ? common_tuple(a, b) : std::nullopt;
  }
  if (a.kind() == TypeKind::Dict && b.kind() == TypeKind::Dict) return "{}";
  const std::uint64_t shared = objects_of(a) & objects_of(b);
  if (shared != 0) return name_of_object(TypeKind(std::countr_zero(shared)));
  if (objects_of(a) == 0 && equal(a, b)) return to_string(a);
  return {};
}

// An object that both types take, by its type; nothing if there is none.
std::optional<std::string> common_object(const TypePtr& a, const TypePtr& b) {
  const bool any_a = is_anything(*a);
  const bool any_b = is_anything(*b);
  if (any_a && any_b) return "Tensor";
  if (any_a) return common_object(b, b);
  if (any_b) return common_object(a, a);
  for (const TypePtr& x : alternatives(a)) {
    for (const TypePtr& y : alternatives(b)) {
      const bool any_x = is_anything(*x);
      if (any_x || is_anything(*y))
        return any_x && is_anything(*y) ? "Tensor" : to_string(any_x ? *y : *x);
      if (auto found = common_plain(*x, *y)) return found;
    }
  }
  return {};
}

// Whether `wide` takes every object that `narrow` takes.
bool takes_all(const Type& wide, const Type& narrow) {
  if (is_anything(wide)) return true;
  if (is_anything(narrow)) return false;
  const auto takes = [&](const TypePtr& part) { return takes_all(wide, *part); };
  if (narrow.kind() == TypeKind::Union) {
    return std::all_of(narrow.elements().begin(), narrow.elements().end(), takes);
  }
  if (narrow.kind() == TypeKind::Optional) {
    return takes_all(wide, *base_type(TypeKind::None)) && takes_all(wide, narrow.element());
  }
  const auto is_taken_by = [&](const TypePtr& part) { return takes_all(*part, narrow); };
  if (wide.kind() == TypeKind::Union) {
    return std::any_of(wide.elements().begin(), wide.elements().end(), is_taken_by);
  }
  if (wide.kind() == TypeKind::Optional) {
    return narrow.kind() == TypeKind::None || takes_all(wide.element(), narrow);
  }
  if (is_list(wide)) {
    if (is_list(narrow)) {
      return (!takes_one(narrow) || takes_one(wide)) && takes_all(wide.element(), narrow.element());
    }
    const auto is_element = [&](const TypePtr& part) { return takes_all(wide.element(), *part); };
    if (narrow.kind() == TypeKind::Tuple) {
      return std::all_of(narrow.elements().begin(), narrow.elements().end(), is_element);
    }
    return takes_one(wide) && takes_all(wide.element(), narrow);
  }
  if (wide.kind() == narrow.kind() &&
      (wide.kind() == TypeKind::Tuple || wide.kind() == TypeKind::Dict)) {
    return std::equal(wide.elements().begin(), wide.elements().end(), narrow.elements().begin(),
                      narrow.elements().end(),
                      [](const TypePtr& w, const TypePtr& n) { return takes_all(*w, *n); });
  }
  const std::uint64_t objects = objects_of(narrow);
  return objects == 0 ? equal(wide, narrow) : (objects & ~objects_of(wide)) == 0;
}

std::size_t positional_count(const Schema& schema) {
  return std::size_t(std::count_if(schema.arguments.begin(), schema.arguments.end(),
                                   [](const Argument& each) { return !each.keyword_only; }));
}
// How many positional arguments have to be given, by position or by name.
std::size_t required_count(const Schema& schema) {
  std::size_t count = 0;
  for (const Argument& each : schema.arguments) {
    if (!each.keyword_only && !each.default_value) ++count;
  }
  return count;
}

// The argument that may be given by name if `positional` are given by position, or null.
const Argument* find_behind(const Schema& schema, std::size_t positional, const std::string& name) {
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    if (schema.arguments[i].name != name) continue;
    return i < positional && !schema.arguments[i].keyword_only ? nullptr : &schema.arguments[i];
  }
  return nullptr;
}

// A call that both accept, piece by piece.
class CommonCall {
 public:
  bool add(const Argument& first, const Argument& second, bool by_name) {
    const auto object = common_object(first.type, second.type);
    if (!object) return false;
    text_ += (text_.empty() ? "" : ", ") + (by_name ? first.name + "=" : "") + *object;
    first_in_second_ = first_in_second_ && takes_all(*second.type, *first.type);
    second_in_first_ = second_in_first_ && takes_all(*first.type, *second.type);
    return true;
  }
  // The first overload asks for more than the second: it is the better fit.
  bool is_expected() const { return first_in_second_ && !second_in_first_; }
  std::string text() const { return "(" + text_ + ")"; }

 private:
  std::string text_;
  bool first_in_second_ = true;
  bool second_in_first_ = true;
};

// What `schema` requires behind the positional arguments, given by name.
bool add_names(const Schema& first, const Schema& second, bool of_first, std::size_t positional,
               CommonCall& call) {
  const Schema& schema = of_first ? first : second;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (argument.default_value || (i < positional && !argument.keyword_only)) continue;
    const Argument* const in_first = find_behind(first, positional, argument.name);
    const Argument* const in_second = find_behind(second, positional, argument.name);
    if (in_first == nullptr || in_second == nullptr) return false;
    if (!of_first && !in_first->default_value) continue;  // added for the first one
    if (!call.add(*in_first, *in_second, true)) return false;
  }
  return true;
}

// Every argument of the first is one of the second, which has more: a call that leaves those out
// means the first. A call that both take is then acceptable without those that are more.
bool is_extended_by(const Schema& first, const Schema& second) {
  if (first.arguments.size() >= second.arguments.size()) return false;
  const std::size_t positional = positional_count(first);
  for (std::size_t i = 0; i < first.arguments.size(); ++i) {
    const Argument& argument = first.arguments[i];
    const Argument* const same = find_behind(second, 0, argument.name);
    if (same == nullptr || same->keyword_only != argument.keyword_only ||
        !equal(*same->type, *argument.type) || (i < positional && same != &second.arguments[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::string> find_ambiguous_call(const Schema& first, const Schema& second) {
  for (const Schema* schema : {&first, &second}) {
    if (schema->variadic_arguments || schema->variadic_results) return {};
  }
  if (is_extended_by(first, second)) return {};
  const std::size_t most = std::min({positional_count(first), positional_count(second),
                                     std::max(required_count(first), required_count(second))});
  for (std::size_t positional = most + 1; positional-- > 0;) {
    CommonCall call;
    bool fits = true;
    for (std::size_t i = 0; fits && i < positional; ++i) {
      fits = call.add(first.arguments[i], second.arguments[i], false);
    }
    if (fits && add_names(first, second, true, positional, call) &&
        add_names(first, second, false, positional, call) && !call.is_expected()) {
      return call.text();
    }
  }
  return {};
}

}  // namespace opyard
