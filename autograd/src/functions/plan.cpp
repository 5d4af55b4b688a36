// autograd/functions/plan.cpp: reading an operator's schema and derivative for the tape.
#include "functions/plan.h"

#include <algorithm>
#include <memory>

#include "functions/names.h"
#include "opyard/inspect/inspect.h"

namespace opyard::autograd {
namespace {

bool is_list(const Type& type) {
  return type.kind() == TypeKind::List ||
         (type.kind() == TypeKind::Optional && is_list(type.element()));
}

bool has_tag(const Operator& op, std::string_view tag) {
  const std::vector<std::string> tags = inspect::tags(op.name());
  return std::ranges::find(tags, tag) != tags.end();
}

void read_schema(Plan& plan, const Schema& schema) {
  bool lists = schema.variadic_arguments || schema.variadic_results;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    if (carries_keys(*argument.type)) {
      plan.tensors.push_back({i, is_list(*argument.type)});
      lists = lists || plan.tensors.back().is_list;
    }
    if (argument.is_write()) plan.written.push_back(i);
    if (argument.is_out()) plan.has_out = true;
  }
  plan.view_of = viewed_arguments(schema);
  plan.is_view = !plan.view_of.empty();
  plan.view_of.resize(schema.results.size(), kNone);
  for (const Argument& result : schema.results) {
    lists = lists || result.type->kind() != TypeKind::Tensor;
  }
  plan.is_detach = is_detach(schema.name);
  plan.is_plain =
      !lists && plan.written.empty() && !schema.results.empty() && plan.tensors.size() <= 64;
}

}  // namespace

CountedPtr<Plan> make_plan(const Operator& op, const CountedPtr<const Derivative>& registered) {
  auto plan = make_counted<Plan>();
  plan->op = &op;
  read_schema(*plan, op.schema());
  plan->is_restriding = !plan->written.empty() && has_tag(op, "inplace_view");
  plan->derivatives.store(inspect::derivatives_changed());
  const CountedPtr<const Derivative> derivative = registered ? registered : find_derivative(op);
  if (!registered) {
    plan->borrows = op.name().name.ends_with('_');
    plan->borrowed = derivative;
  }
  if (derivative && derivative->function) {
    auto* const custom = dynamic_cast<CustomDerivative*>(derivative->function.get());
    OPYARD_CHECK(custom != nullptr, BadRegistration,
                 to_string(op.name()) + " has a derivative that this library cannot read");
    plan->custom = CountedPtr<CustomDerivative>::share(custom);
  }
  if (!derivative || derivative->function) {
    plan->is_plain = false;
    return plan;
  }
  auto formulas = make_counted<FormulaSet>(op, *derivative);
  for (const Source& source : formulas->sources) {
    const bool is_argument = source.kind == Source::Kind::Argument;
    if (is_argument && std::find(plan->written.begin(), plan->written.end(), source.index) !=
                           plan->written.end()) {
      plan->reads_original = true;
    }
  }
  plan->formulas = std::move(formulas);
  return plan;
}

const Plan& newest(const Plan& plan) {
  const Plan* at = &plan;
  while (const Plan* const next = at->renewed.get()) at = next;
  const std::uint64_t changes = inspect::derivatives_changed();
  if (at->derivatives.load(std::memory_order_acquire) == changes) return *at;
  if (find_derivative(*at->op) == at->borrowed) {
    at->derivatives.store(changes, std::memory_order_release);
    return *at;
  }
  return at->renewed.set(make_plan(*at->op, nullptr));
}

const Needs& Plan::add(std::uint64_t of) const {
  auto fresh = std::make_unique<Needs>(of);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if ((of >> i & 1) == 0) continue;
    const int code = formulas->code_of[tensors[i].argument];
    if (code == FormulaSet::kNoFormula) fresh->is_plain = false;
    if (code < 0) continue;
    fresh->edges |= std::uint64_t{1} << i;
    fresh->codes |= std::uint64_t{1} << code;
  }
  for (std::uint32_t i = 0; i < formulas->sources.size(); ++i) {
    if ((formulas->used_by[i] & fresh->codes) == 0) continue;
    const Source& source = formulas->sources[i];
    switch (source.kind) {
      case Source::Kind::Gradient:
        break;
      case Source::Kind::Argument:
        fresh->before.push_back(i);
        for (std::size_t j = 0; j < tensors.size(); ++j) {
          if (tensors[j].argument == source.index) fresh->saved |= std::uint64_t{1} << j;
        }
        break;
      case Source::Kind::Answer:
        if (source.asks_results()) fresh->is_plain = false;
        fresh->before.push_back(i);
        break;
      case Source::Kind::Result:
      case Source::Kind::OtherSizes:
        fresh->after.push_back(i);
        break;
    }
  }
  if (fresh->codes == 0) fresh->is_plain = false;  // no gradient flows through
  const Needs* head = needs_.load(std::memory_order_relaxed);
  do {
    fresh->next = head;
  } while (!needs_.compare_exchange_weak(head, fresh.get(), std::memory_order_release));
  return *fresh.release();
}

Plan::~Plan() {
  for (const Needs* one = needs_.load(std::memory_order_relaxed); one != nullptr;) {
    const std::unique_ptr<const Needs> dead(one);
    one = one->next;
  }
}

}  // namespace opyard::autograd
