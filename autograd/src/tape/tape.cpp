// autograd/tape/tape.cpp: the tape: a call is taped if one of its tensors requires a gradient.
//
//   1  what the schema says of the operator is found once (Plan)
//   2  if nothing needs a gradient, or gradients are off, the call goes on below, with notes on views
//   3  writes that must not be are refused
//   4  the function is made: edges, and what it saves of the arguments
//   5  the call goes on below, with autograd excluded
//   6  results get their history, and the function what it saves of them
//
// [Views] A taped view notes its base, for the first write in place. One that is made without
// gradients of something that has a history is marked, so that writes to it can be refused.
//
// [Sizes] A call that changes sizes and strides in place (tag inplace_view) writes no elements, and
// other tensors on the memory stay as they are: the tensor alone gets a history, of a view of what
// it was. The base that it notes, and the next write of its memory, go by its geometry of then.
//
// [Packing] While hooks of saved tensors are in use, on any thread, calls come to a function that
// goes the long way and has the hooks of its thread pack what was saved: see saved_hooks.h. What
// packs nothing is not told of it.
//
// [Versions] What the schema says is written, and no kernel counted, is counted around the call.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "functions/calls.h"
#include "functions/gradient_error.h"
#include "functions/objects.h"
#include "opyard/autograd.h"
#include "opyard/autograd/pullback.h"
#include "opyard/detail/autograd/write.h"
#include "opyard/detail/registry/exchange_tape.h"
#include "opyard/detail/schema/declared_writes.h"
#include "opyard/detail/tensor/exported_tensor.h"
#include "tape/formula_function.h"
#include "tape/packing_tape.h"
#include "tape/plain_tape.h"
#include "tape/tangent.h"
#include "tape/tell.h"

namespace opyard::autograd {
namespace {

// Raises when it runs: the operator has no formula, or not for this argument.
class NoFormula final : public Function {
 public:
  explicit NoFormula(const Operator& op, std::string argument)
      : op_(op), argument_(std::move(argument)) {}
  Gradients apply(Gradients gradients) override {
    const bool any = std::any_of(gradients.begin(), gradients.end(),
                                 [](const Tensor& one) { return one.defined(); });
    if (!any) return {};
    fail(ErrorKind::Unsupported,
         fmt::format("Trying to backward through {}, which has no autograd formula{}. Give it one: "
                     "m.derivative(\"{}\", ...) in C++, register_autograd() or lib.derivative() in "
                     "Python; or call it under no_grad",
                     to_string(op_.name()),
                     argument_.empty() ? "" : " for its argument '" + argument_ + "'",
                     op_.name().base_name()));
  }
  std::string name() const override { return backward_name(op_); }

 private:
  const Operator& op_;
  const std::string argument_;
};

const Plan& plan_of(TapedOperator& taped, const Operator& op, CountedPtr<Plan>& own) {
  if (Counted* const known = taped.plan.get()) {
    const auto& plan = static_cast<const Plan&>(*known);
    if (plan.op == &op) return __builtin_expect(plan.borrows, 0) ? newest(plan) : plan;
  } else {
    CountedPtr<Plan> fresh = make_plan(op, taped.derivative);
    return static_cast<const Plan&>(taped.plan.set(std::move(fresh)));
  }
  own = make_plan(op, taped.derivative);  // a record of another definition of this name
  return *own;
}

[[noreturn]] OPYARD_COLD void refuse_write(const Operator& op, const char* what) {
  fail_gradient(ErrorKind::BadValue, fmt::format("{}: {}", to_string(op.name()), what));
}

// See [Sizes].
[[noreturn]] OPYARD_COLD void refuse_restriding(const Operator& op, std::string why) {
  why.resize(std::min(why.find(". "), why.size()));  // what follows is about elements
  fail_gradient(ErrorKind::BadValue,
                fmt::format("{}: {}. Make a view by the operator without _, or change a detach()",
                            to_string(op.name()), why));
}

// 3. Gradients are on.
void check_write(const Plan& plan, const Tensor& tensor, bool any_needs) {
  const Operator& op = *plan.op;
  if (plan.is_restriding) {
    const char* const why = write_refusal(tensor, false, false);
    if (why != nullptr) refuse_restriding(op, why);
    return;
  }
  if (const char* const why = write_refusal(tensor, any_needs)) refuse_write(op, why);
}

// 2.
void run_below(const Operator& op, DispatchKeySet keys, Stack& stack) {
  op.redispatch_boxed(keys - kAutogradKeys, stack);
}

void note_untaped_view(const Value& value) {
  if (!value.is_tensor() || !value.tensor_unchecked().defined()) return;
  const TensorImpl& impl = *value.tensor_unchecked().impl();
  const bool is_fresh = impl.is_unshared() || ExportedTensor::is_without_memory(impl);
  if (is_fresh && !impl.gradient_state()) {
    const_cast<TensorImpl&>(impl).set_marks(
        std::uint8_t(impl.marks() | TensorImpl::kMadeWithoutGradients));
  }
}

void note_untaped_views(const Plan& plan, bool had_history, std::span<const Value> results) {
  if (!plan.is_view || !had_history) return;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (plan.view_of[i] == kNone) continue;
    if (results[i].is_list()) {
      for (const Value& item : results[i].items_unchecked()) note_untaped_view(item);
    } else {
      note_untaped_view(results[i]);
    }
  }
}

void detach_in_place(const Tensor& tensor) {
  const TensorState* const state = find_state(tensor);
  if (state != nullptr && state->base != nullptr) {
    fail_gradient(
        ErrorKind::BadValue,
        "aten::detach_: can't detach views in-place, and " + describe(tensor) +
            " is one, whose history is that of the memory it shares. Use detach() instead");
  }
  forget_history(tensor);
}

// What a handler gave for detach: it may be the argument itself, or one that it kept. Another
// tensor on the memory of a wrapper would not be of its class.
Value without_history(const Operator& op, Value result) {
  const Tensor& given = result.tensor_unchecked();
  if (!given.defined() || !given.impl()->gradient_state() || !requires_gradient(given))
    return result;
  if (!given.keys().has(DispatchKey::Python)) return Value(detached(given));
  fail(ErrorKind::BadReturn,
       fmt::format("{}: a handler gave {}, which requires a gradient; what is detached has no "
                   "history: let it give another wrapper of the inner tensor",
                   to_string(op.name()), describe(given)));
}

struct Call {
  const Plan& plan;
  const Operator& op;
  DispatchKeySet keys;
  Stack& stack;

  std::span<Value> arguments() { return stack.top(op.schema().arguments.size()); }
  std::span<Value> results() { return stack.top(op.schema().results.size()); }

  // See [Versions].
  void run_counted() {
    DeclaredWrites counted(op.schema(), arguments());
    const ExcludeDispatchKeyGuard below(kAutogradKeys);
    counted.unless_raised([&] { run_below(op, keys, stack); });
  }

  bool needs_gradient() {
    bool needs = false;
    each_tensor(plan, arguments(), [&](std::size_t, const Tensor& tensor) {
      needs = needs || (tensor.defined() && requires_gradient(tensor) && is_differentiable(tensor));
    });
    return needs;
  }

  void pass() {
    bool had_history = false;
    if (plan.is_view) {
      each_tensor(plan, arguments(), [&](std::size_t, const Tensor& tensor) {
        had_history = had_history || (tensor.defined() && requires_gradient(tensor));
      });
    }
    if (gradients_enabled()) {
      for (const std::size_t argument : plan.written) check_untaped_write(arguments()[argument]);
    }
    run_counted();
    note_untaped_views(plan, had_history && !plan.is_detach, results());
  }

  void check_untaped_write(const Value& value) {
    if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) check_untaped_write(item);
    } else if (value.is_tensor()) {
      check_write(plan, value.tensor_unchecked(), false);
    }
  }

  void detach() {
    const Tensor source = arguments()[0].tensor_unchecked();
    if (!plan.written.empty()) detach_in_place(source);
    const ExcludeDispatchKeyGuard below(kAutogradKeys);
    run_below(op, keys, stack);
    Value& value = results()[0];
    if (plan.written.empty()) value = without_history(op, std::move(value));
    const Tensor& result = value.tensor_unchecked();
    if (result.same(source)) return;
    const TensorImpl& impl = *result.impl();
    const bool is_detached = impl.detached_group() != source.impl()->detached_group();
    if (!is_detached && impl.is_unshared() && !impl.gradient_state()) result.impl()->detach();
  }
};

class TapedCall {
 public:
  explicit TapedCall(Call& call) : call_(call), plan_(call.plan), op_(call.op) {}

  void run() {
    refuse_what_cannot_be_taped();
    for (const std::size_t argument : plan_.written) add_written(call_.arguments()[argument]);
    collect_edges();
    const std::span<Value> arguments = call_.arguments();
    if (plan_.custom || !plan_.tensors.empty()) keep_arguments(arguments);
    make_function();
    if (function_) tell_of_call(*function_);
    call_.run_counted();
    finish();
  }

  // After it: see [Packing].
  void pack_saved(SavedHooks& hooks) {
    if (formula_) formula_->pack_saved(hooks);
  }

 private:
  void refuse_what_cannot_be_taped() {
    if (plan_.has_out) {
      fail(ErrorKind::Unsupported,
           fmt::format("{}: functions with out=... arguments don't support automatic "
                       "differentiation, but one of the arguments requires grad. Call the form "
                       "without out, or call it under no_grad",
                       to_string(op_.name())));
    }
    const bool has_formula = plan_.formulas || plan_.custom;
    if (has_formula) return;
    if (!plan_.written.empty() || plan_.is_view) {
      fail(ErrorKind::Unsupported,
           fmt::format("{} {}, one of its tensors requires grad, and it has no autograd formula. "
                       "Give it one with derivative(\"{}\", ...), or call it under no_grad",
                       to_string(op_.name()),
                       plan_.written.empty() ? "gives a view" : "writes an argument",
                       op_.name().base_name()));
    }
  }

  void add_written(const Value& value) {
    if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) add_written(item);
    }
    if (!value.is_tensor() || !value.tensor_unchecked().defined()) return;
    const Tensor& tensor = value.tensor_unchecked();
    check_write(plan_, tensor, true);
    if (!is_differentiable(tensor)) return;
    written_.push_back({tensor});
    if (!plan_.is_restriding) begin_write(tensor);
  }

  void collect_edges() {
    bool lists = false;
    for (const auto& [argument, list] : plan_.tensors) {
      const Value& value = call_.arguments()[argument];
      std::size_t count = 1;
      bool needs = false;
      if (value.is_list()) {
        count = value.items_unchecked().size();
        for (const Value& item : value.items_unchecked()) {
          needs |= add_edge(item.is_tensor() ? item.tensor_unchecked() : Tensor());
        }
      } else {
        needs = add_edge(value.is_tensor() ? value.tensor_unchecked() : Tensor());
      }
      lists = lists || list;
      counts_.push_back(count);
      needs_.push_back(char(needs));
    }
    if (!lists) counts_.clear();
  }
  bool add_edge(const Tensor& tensor) {
    edges_.push_back(tensor.defined() && is_differentiable(tensor) ? edge_of(tensor) : Edge());
    return bool(edges_[edges_.size() - 1]);
  }

  // The stack's arguments are gone after the call, or borrowed by callers that drop them.
  void keep_arguments(std::span<const Value> arguments) {
    for (const Value& argument : arguments) arguments_.push_back(Value(argument));
  }
  std::vector<Value>& arguments() { return arguments_; }

  void make_function() {
    if (plan_.custom) return;
    if (!plan_.formulas) {
      function_ = make_counted<NoFormula>(op_, "");
      return add_edges(*function_);
    }
    std::uint64_t needed = 0;
    std::string missing;
    std::size_t edge = 0;
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      const std::size_t count = counts_.empty() ? 1 : counts_[i];
      if (needs_[i]) {
        const std::size_t argument = plan_.tensors[i].argument;
        const int code = plan_.formulas->code_of[argument];
        if (code >= 0) {
          needed |= std::uint64_t{1} << code;
        } else if (code == FormulaSet::kNoFormula) {
          missing = op_.schema().arguments[argument].name;
        } else {
          for (std::size_t j = 0; j < count; ++j) edges_[edge + j] = Edge();
        }
      }
      edge += count;
    }
    if (!missing.empty()) {
      function_ = make_counted<NoFormula>(op_, missing);
      return add_edges(*function_);
    }
    if (needed == 0 && written_.empty()) return;  // no gradient flows through
    refuse_saved_inference(needed);
    formula_ = make_counted<FormulaFunction>(plan_.formulas, needed, counts_);
    for (Overwritten& one : written_) {
      if (plan_.reads_original || is_given_twice(one.tensor)) one.original = copy_of(one.tensor);
    }
    formula_->save_arguments(arguments(), {written_.data(), written_.size()});
    add_edges(*formula_);
    function_ = formula_;
  }
  void refuse_saved_inference(std::uint64_t needed) {
    for (std::size_t i = 0; i < plan_.formulas->sources.size(); ++i) {
      const Source& source = plan_.formulas->sources[i];
      if (source.kind != Source::Kind::Argument || (plan_.formulas->used_by[i] & needed) == 0) {
        continue;
      }
      each_tensor(plan_, arguments(), [&](std::size_t argument, const Tensor& tensor) {
        if (argument != source.index || !tensor.defined()) return;
        if (!tensor.impl()->has_mark(TensorImpl::kInference)) return;
        fail_gradient(
            ErrorKind::BadValue,
            fmt::format("{}: argument '{}' is an inference tensor, which cannot be saved for "
                        "backward; it was made under inference_mode: clone() it first",
                        to_string(op_.name()), op_.schema().arguments[argument].name));
      });
    }
  }
  // h.mul_(h)
  bool is_given_twice(const Tensor& written) {
    int count = 0;
    each_tensor(plan_, arguments(), [&](std::size_t, const Tensor& tensor) {
      count += tensor.defined() && tensor.same(written) ? 1 : 0;
    });
    return count > 1;
  }
  void add_edges(Function& function) {
    for (std::size_t i = 0; i < edges_.size(); ++i) function.add_edge(edges_[i]);
  }
  // With the history that it has, for double backward.
  static Tensor copy_of(const Tensor& tensor) {
    Edge history = edge_of(tensor);
    Tensor copy;
    {
      const GradientModeGuard off(GradientMode::NoGradients);
      copy = calls::clone(tensor);
    }
    if (__builtin_expect(may_have_tangent(tensor), 0)) copy_tangent_apart(tensor, copy);
    if (history) set_history(copy, std::move(history));
    return copy;
  }

  // 6.
  void finish() {
    const std::span<Value> results = call_.results();
    if (plan_.custom) make_custom(results);
    if (!function_) return;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].is_tensor()) {
        add_result(i, results[i]);
      } else if (results[i].is_list()) {
        add_list(i, results[i]);
      } else {
        function_->add_input();
      }
    }
    for (const Overwritten& one : written_) {
      if (!one.is_result) add_write(one.tensor, function_->add_input(one.tensor));
    }
    if (formula_) formula_->save_results(arguments(), results);
  }

  void add_write(const Tensor& written, std::uint32_t input) {
    if (plan_.is_restriding) return set_history(written, {function_, input});
    tape_write(written, function_, input);
  }

  void add_list(std::size_t position, Value& list) {
    std::vector<Value> items(list.items_unchecked());
    bool any = false;
    for (Value& item : items) {
      if (!item.is_tensor()) continue;
      add_result(position, item);
      if (TensorState* const state = find_state(item.tensor_unchecked())) {
        if (state->base != nullptr) state->base->is_of_several = true;
      }
      any = true;
    }
    if (any) list = Value::list(std::move(items));
  }

  void add_result(std::size_t position, Value& value) {
    const Tensor& result = value.tensor_unchecked();
    if (!result.defined()) {
      function_->add_input();
      return;
    }
    const std::uint32_t input = function_->add_input(result);
    if (!is_differentiable(result)) return;
    for (Overwritten& one : written_) {
      if (!result.same(one.tensor)) continue;
      if (!one.is_result) add_write(one.tensor, input);
      one.is_result = true;
      return;
    }
    if (is_argument(result)) return;  // handed through: its history is right as it is
    const int viewed = plan_.view_of[position];
    // A kernel gave a tensor of its own that has a history: it keeps that.
    if (result.impl()->gradient_state())
      value = Value(with_own_history(op_, result, viewed != kNone));
    const Tensor& fresh = value.tensor_unchecked();
    set_history(fresh, {function_, input});
    if (viewed != kNone && arguments()[std::size_t(viewed)].is_tensor()) {
      note_base(fresh, arguments()[std::size_t(viewed)].tensor_unchecked());
    }
  }
  bool is_argument(const Tensor& result) {
    bool found = false;
    each_tensor(plan_, arguments(), [&](std::size_t, const Tensor& tensor) {
      found = found || (tensor.defined() && tensor.same(result));
    });
    return found;
  }

  void make_custom(std::span<Value> results) {
    std::vector<bool> needs(op_.schema().arguments.size(), false);
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      needs[plan_.tensors[i].argument] = needs_[i];
    }
    function_ = plan_.custom->make(op_, arguments(), results, needs);
    if (function_) add_edges(*function_);
  }

  Call& call_;
  const Plan& plan_;
  const Operator& op_;
  Few<Edge, 2> edges_;
  std::vector<std::size_t> counts_;
  Few<char, 4> needs_;
  std::vector<Value> arguments_;
  FunctionPtr function_;
  CountedPtr<FormulaFunction> formula_;
  Few<Overwritten, 1> written_;
};

// What is no plain call, or was found to need no gradient.
[[gnu::noinline]] void tape_otherwise(const Plan& plan, const Operator& op, DispatchKeySet keys,
                                      Stack& stack, bool may_need) {
  Call call{plan, op, keys, stack};
  if (plan.is_detach) return call.detach();
  if (!may_need || !gradients_enabled() || !call.needs_gradient()) return call.pass();
  TapedCall(call).run();
}

// The short way, where the plan is for it, else the other.
void tape(const Plan& plan, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const Taped done =
      plan.is_plain && gradients_enabled() ? tape_plain(plan, op, keys, stack) : Taped::NotPlain;
  if (done == Taped::Done) return;
  tape_otherwise(plan, op, keys, stack, done == Taped::NotPlain);
}

[[gnu::noinline]] void tape_by_new_plan(TapedOperator& taped, const Operator& op,
                                        DispatchKeySet keys, Stack& stack) {
  CountedPtr<Plan> own;
  tape(plan_of(taped, op, own), op, keys, stack);
}

void tape_call(TapedOperator& taped, const Operator& op, DispatchKeySet keys, Stack& stack) {
  const auto* const plan = static_cast<const Plan*>(taped.plan.get());
  const bool is_known = plan != nullptr && plan->op == &op && !plan->borrows;
  if (is_known) return tape(*plan, op, keys, stack);
  tape_by_new_plan(taped, op, keys, stack);
}

// See [Packing].
void tape_call_and_pack(TapedOperator& taped, const Operator& op, DispatchKeySet keys,
                        Stack& stack) {
  const SavedHooksPtr hooks = gradients_enabled() ? current_saved_hooks() : SavedHooksPtr();
  if (!hooks) return tape_call(taped, op, keys, stack);
  CountedPtr<Plan> own;
  const Plan& plan = plan_of(taped, op, own);
  Call call{plan, op, keys, stack};
  if (plan.is_detach) return call.detach();
  if (!call.needs_gradient()) return call.pass();
  TapedCall taping(call);
  taping.run();
  taping.pack_saved(*hooks);
  const auto tell = [&](const Value& value) {
    if (value.is_tensor() && value.tensor_unchecked().defined()) hooks->gave(value.to_tensor());
  };
  for (const Value& result : call.results()) {
    if (!result.is_list()) {
      tell(result);
    } else {
      for (const Value& item : result.items_unchecked()) tell(item);
    }
  }
}

constexpr TapeFunctions kTape{&tape_call};
constexpr TapeFunctions kPackingTape{&tape_call_and_pack};

}  // namespace

void pack_while_taping(bool packs) { exchange_tape(packs ? kPackingTape : kTape); }

void arm() {
  if (detail::tape_armed.load(std::memory_order_acquire)) return;
  join_graphs();
  answer_tensors();
  arm_tape(kTape);
}

}  // namespace opyard::autograd
