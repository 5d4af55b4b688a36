// schema/compatible.cpp: backward compatibility of schemas.
#include <fmt/format.h>

#include <algorithm>

#include "opyard/schema/relations.h"

namespace opyard {
namespace {

using Reason = std::optional<std::string>;

bool is_number(TypeKind kind) {
  return kind == TypeKind::Int || kind == TypeKind::Float || kind == TypeKind::Bool ||
         kind == TypeKind::Complex || kind == TypeKind::Scalar;
}

bool is_subtuple(const Type& narrow, const Type& wide) {
  return std::equal(narrow.elements().begin(), narrow.elements().end(), wide.elements().begin(),
                    wide.elements().end(),
                    [](const TypePtr& a, const TypePtr& b) { return is_subtype(*a, *b); });
}

// An int may be given if a symbolic one is taken; at run time they are the same.
bool is_symbolic_of(TypeKind narrow, TypeKind wide) {
  return (narrow == TypeKind::Int && wide == TypeKind::SymInt) ||
         (narrow == TypeKind::Float && wide == TypeKind::SymFloat) ||
         (narrow == TypeKind::Bool && wide == TypeKind::SymBool);
}

// Lists are shared and can be written, so what is in them must be the same at run time.
bool is_sublist(const Type& narrow, const Type& wide) {
  const Type& a = narrow.element();
  const Type& b = wide.element();
  return narrow.size_hint() == 0 && (equal(a, b) || is_symbolic_of(a.kind(), b.kind()));
}

// The same default, or none, on both sides.
bool same_argument_default(const Argument& a, const Argument& b) {
  Argument x;
  Argument y;
  x.type = y.type = base_type(TypeKind::Any);
  x.default_value = a.default_value;
  y.default_value = b.default_value;
  return x == y;
}

Reason compare_frames(const Schema& fresh, const Schema& old) {
  if (fresh.name != old.name) {
    return fmt::format("The names differ: '{}' was '{}'.", to_string(fresh.name),
                       to_string(old.name));
  }
  if (fresh.results.size() != old.results.size()) {
    return fmt::format("The number of results is {} and was {}.", fresh.results.size(),
                       old.results.size());
  }
  if (old.variadic_arguments && !fresh.variadic_arguments) {
    return std::string("It took further arguments ('...') and does no more.");
  }
  if (old.variadic_results != fresh.variadic_results) {
    return std::string("It had or has any number of results ('...').");
  }
  return std::nullopt;
}

// What must stay as it was in an argument, its type apart.
Reason compare_argument(const Argument& fresh, const Argument& old) {
  if (fresh.name != old.name) {
    return fmt::format("Argument '{}' was named '{}'.", fresh.name, old.name);
  }
  if (old.default_value && !same_argument_default(fresh, old)) {
    return fmt::format("The default value of argument '{}' has changed.", old.name);
  }
  if (fresh.alias != old.alias) {
    return fmt::format("The alias sets of argument '{}' have changed.", old.name);
  }
  return std::nullopt;
}

Reason compare_positional(const Schema& fresh, const Schema& old) {
  for (std::size_t i = 0; i < old.arguments.size(); ++i) {
    const Argument& before = old.arguments[i];
    if (before.keyword_only) continue;
    if (i >= fresh.arguments.size() || fresh.arguments[i].keyword_only) {
      return fmt::format("Positional argument '{}' is missing.", before.name);
    }
    if (auto reason = compare_argument(fresh.arguments[i], before)) return reason;
  }
  return std::nullopt;
}

Reason compare_keyword_only(const Schema& fresh, const Schema& old) {
  for (const Argument& before : old.arguments) {
    if (!before.keyword_only) continue;
    const auto position = fresh.find_argument(before.name);
    if (!position) return fmt::format("Argument '{}' is missing.", before.name);
    if (auto reason = compare_argument(fresh.arguments[*position], before)) return reason;
  }
  return std::nullopt;
}

Reason compare_types(const Schema& fresh, const Schema& old) {
  for (const Argument& before : old.arguments) {
    const Argument& now = fresh.arguments[*fresh.find_argument(before.name)];
    if (!is_subtype(*before.type, *now.type)) {
      return fmt::format("Argument '{}' is of type '{}' and took '{}'.", now.name,
                         to_string(*now.type), to_string(*before.type));
    }
  }
  for (std::size_t i = 0; i < old.results.size(); ++i) {
    if (!is_subtype(*fresh.results[i].type, *old.results[i].type)) {
      return fmt::format("Result {} is of type '{}' and was '{}'.", i + 1,
                         to_string(*fresh.results[i].type), to_string(*old.results[i].type));
    }
    if (fresh.results[i].alias != old.results[i].alias) {
      return fmt::format("The alias sets of result {} have changed.", i + 1);
    }
  }
  return std::nullopt;
}

// A boxed call goes by position alone: an argument that moved gets what was meant for another one.
Reason compare_positions(const Schema& fresh, const Schema& old) {
  for (std::size_t i = 0; i < old.arguments.size(); ++i) {
    const std::string& name = old.arguments[i].name;
    const auto now = fresh.find_argument(name);
    if (now && *now != i) {
      return fmt::format(
          "Argument '{}' is at position {} and was at {}, where boxed calls give it; calls that "
          "name "
          "it still work.",
          name, *now, i);
    }
  }
  return std::nullopt;
}

enum class SchemaPart { Positional, KeywordOnly, Out };

std::vector<Argument> arguments_of(const Schema& schema, SchemaPart part) {
  std::vector<Argument> found;
  for (const Argument& argument : schema.arguments) {
    const SchemaPart its = argument.is_out()       ? SchemaPart::Out
                           : argument.keyword_only ? SchemaPart::KeywordOnly
                                                   : SchemaPart::Positional;
    if (its == part) found.push_back(argument);
  }
  return found;
}

// An argument that the old schema does not have.
Reason compare_added(const Argument& now) {
  if (!now.default_value) {
    return fmt::format("Argument '{}' is new and has no default value.", now.name);
  }
  if (now.default_value->is_list()) {
    return fmt::format("Argument '{}' is new and its default value is a list.", now.name);
  }
  return std::nullopt;
}

// One that the fresh schema does not have.
Reason compare_dropped(const Argument& before) {
  if (before.default_value) return std::nullopt;
  return fmt::format("Argument '{}' is missing and had no default value.", before.name);
}

Reason not_as_it_was(const Argument& before) {
  return fmt::format("Argument '{}' is not as it was; only new ones may be added, behind it.",
                     before.name);
}

Reason compare_positional_forward(const std::vector<Argument>& now,
                                  const std::vector<Argument>& before) {
  for (std::size_t i = 0; i < std::max(now.size(), before.size()); ++i) {
    Reason reason;
    if (i >= now.size()) {
      reason = compare_dropped(before[i]);
    } else if (i >= before.size()) {
      reason = compare_added(now[i]);
    } else if (!(now[i] == before[i])) {
      reason = not_as_it_was(before[i]);
    }
    if (reason) return reason;
  }
  return std::nullopt;
}

Reason compare_keyword_only_forward(const std::vector<Argument>& now,
                                    const std::vector<Argument>& before) {
  const auto find = [](const std::vector<Argument>& in, const std::string& name) {
    const auto found =
        std::find_if(in.begin(), in.end(), [&](const Argument& one) { return one.name == name; });
    return found == in.end() ? nullptr : &*found;
  };
  for (const Argument& old : before) {
    const Argument* const fresh = find(now, old.name);
    if (fresh == nullptr) {
      if (auto reason = compare_dropped(old)) return reason;
    } else if (!(*fresh == old)) {
      return not_as_it_was(old);
    }
  }
  for (const Argument& fresh : now) {
    if (find(before, fresh.name) != nullptr) continue;
    if (auto reason = compare_added(fresh)) return reason;
  }
  return std::nullopt;
}

// What both schemas have, but not in the same part: a call that gives it by position has to find it
// there, and one that leaves it out its default.
Reason compare_moved_forward(const Schema& fresh, const Schema& old) {
  for (const Argument& now : fresh.arguments) {
    const auto position = old.find_argument(now.name);
    if (!position) continue;
    Argument before = old.arguments[*position];
    if (before.keyword_only == now.keyword_only) continue;
    if (before.keyword_only) {
      return fmt::format("Argument '{}' may be given by position, and was keyword-only.", now.name);
    }
    before.keyword_only = true;
    if (!(now == before)) return not_as_it_was(before);
  }
  return std::nullopt;
}

// A boxed call with another number of values is refused, so only one with as many can be read
// otherwise.
Reason compare_positions_forward(const Schema& fresh, const Schema& old) {
  if (fresh.arguments.size() != old.arguments.size()) return std::nullopt;
  for (std::size_t i = 0; i < old.arguments.size(); ++i) {
    if (fresh.arguments[i].name == old.arguments[i].name) continue;
    return fmt::format(
        "Argument '{}' is where '{}' was, so that boxed calls are read otherwise; calls by name "
        "still work.",
        fresh.arguments[i].name, old.arguments[i].name);
  }
  return std::nullopt;
}

}  // namespace

bool is_subtype(const Type& narrow, const Type& wide) {
  if (equal(narrow, wide) || wide.kind() == TypeKind::Any) return true;
  const auto in_wide = [&](const TypePtr& member) { return is_subtype(narrow, *member); };
  const auto in_narrow = [&](const TypePtr& member) { return is_subtype(*member, wide); };
  if (narrow.kind() == TypeKind::Union) {
    return std::all_of(narrow.elements().begin(), narrow.elements().end(), in_narrow);
  }
  if (wide.kind() == TypeKind::Union) {
    return std::any_of(wide.elements().begin(), wide.elements().end(), in_wide);
  }
  if (wide.kind() == TypeKind::Optional) {
    if (narrow.kind() == TypeKind::None) return true;
    return is_subtype(narrow.kind() == TypeKind::Optional ? narrow.element() : narrow,
                      wide.element());
  }
  if (wide.kind() == TypeKind::Scalar) return is_number(narrow.kind());
  if (is_symbolic_of(narrow.kind(), wide.kind())) return true;
  if (narrow.kind() != wide.kind()) return false;
  if (wide.kind() == TypeKind::Tuple) return is_subtuple(narrow, wide);
  if (wide.kind() == TypeKind::Future || wide.kind() == TypeKind::RRef ||
      wide.kind() == TypeKind::Await) {
    return is_subtype(narrow.element(), wide.element());
  }
  return wide.kind() == TypeKind::List && is_sublist(narrow, wide);
}

std::optional<std::string> why_not_backward_compatible(const Schema& fresh, const Schema& old,
                                                       Callers callers) {
  if (auto reason = compare_frames(fresh, old)) return reason;
  if (auto reason = compare_positional(fresh, old)) return reason;
  if (auto reason = compare_keyword_only(fresh, old)) return reason;
  for (const Argument& now : fresh.arguments) {
    if (!now.default_value && !old.find_argument(now.name)) {
      return fmt::format("Argument '{}' is new and has no default value.", now.name);
    }
  }
  if (auto reason = compare_types(fresh, old)) return reason;
  return callers == Callers::All ? compare_positions(fresh, old) : std::nullopt;
}

std::optional<std::string> why_not_forward_compatible(const Schema& fresh, const Schema& old,
                                                      Callers callers) {
  if (auto reason = compare_frames(fresh, old)) return reason;
  if (fresh.variadic_arguments != old.variadic_arguments) {
    return std::string("It takes further arguments ('...') and did not.");
  }
  if (auto reason = compare_moved_forward(fresh, old)) return reason;
  if (auto reason = compare_positional_forward(arguments_of(fresh, SchemaPart::Positional),
                                               arguments_of(old, SchemaPart::Positional))) {
    return reason;
  }
  if (auto reason = compare_keyword_only_forward(arguments_of(fresh, SchemaPart::KeywordOnly),
                                                 arguments_of(old, SchemaPart::KeywordOnly))) {
    return reason;
  }
  if (arguments_of(fresh, SchemaPart::Out) != arguments_of(old, SchemaPart::Out)) {
    return std::string("The out arguments have changed.");
  }
  if (fresh.results != old.results) return std::string("The results have changed.");
  return callers == Callers::All ? compare_positions_forward(fresh, old) : std::nullopt;
}

}  // namespace opyard
