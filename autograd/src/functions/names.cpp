// autograd/functions/names.cpp: in-place forms and their functional forms.
#include "functions/names.h"

#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"

namespace opyard::autograd {

const Operator* functional_form(const Operator& op) {
  OperatorName name = op.name();
  if (name.name.empty() || name.name.back() != '_') return nullptr;
  name.name.pop_back();
  const Operator* const form = Registry::instance().find(name);
  if (form == nullptr) return nullptr;
  const auto& ours = op.schema().arguments;
  const auto& theirs = form->schema().arguments;
  if (ours.size() != theirs.size()) return nullptr;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].name != theirs[i].name) return nullptr;
  }
  return form;
}

CountedPtr<const Derivative> find_derivative(const Operator& op) {
  if (auto own = inspect::derivative(op.name())) return own;
  const Operator* const form = functional_form(op);
  return form == nullptr ? nullptr : inspect::derivative(form->name());
}

}  // namespace opyard::autograd
