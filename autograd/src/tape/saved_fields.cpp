// autograd/tape/saved_fields.cpp: names of what functions with formulas saved.
#include "opyard/autograd/saved_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "functions/gradient_error.h"
#include "tape/formula_function.h"

namespace opyard::autograd {
namespace {

FormulaFunction& formula_function_of(Function& function) {
  auto* const known = dynamic_cast<FormulaFunction*>(&function);
  if (known == nullptr) {
    fail(ErrorKind::NotFound,
         function.name() + " is of no operator with formulas, and has no saved values by name");
  }
  return *known;
}

std::size_t source_named(const FormulaFunction& function, const std::string& name) {
  const auto& names = function.formulas().source_names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end() || name.empty()) {
    fail(ErrorKind::NotFound,
         fmt::format("{} saves nothing that is called '{}'; it has: {}", function.name(), name,
                     fmt::join(saved_names(function), ", ")));
  }
  return std::size_t(found - names.begin());
}

}  // namespace

std::vector<std::string> saved_names(const Function& function) {
  std::vector<std::string> names;
  const auto* const known = dynamic_cast<const FormulaFunction*>(&function);
  if (known == nullptr) return names;
  for (const std::string& name : known->formulas().source_names) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

Value saved_value(Function& function, const std::string& name) {
  FormulaFunction& known = formula_function_of(function);
  return known.saved_of(source_named(known, name));
}

void pack_saved(Function& function, const std::string& name, std::size_t position,
                SavedHooks& hooks) {
  FormulaFunction& known = formula_function_of(function);
  known.pack_saved_of(source_named(known, name), position, hooks);
}

}  // namespace opyard::autograd
