// autograd/tape/forward_call.cpp: a call in forward mode: the results of a call get their tangents.
//
//   1  the tangents of the arguments are found; without any the call goes on below
//   2  an operator that is made of others goes on below as well: its calls come here again
//   3  what has no rule is refused, before anything is written
//   4  the call runs below, as one of tensors without tangents
//   5  each argument's tangent is taken to the results by its rule (forward/rules.h), and they are
//      added
//   6  results get what was found; what was written in place has its tangent written in place
//
// [Writes] A tangent of a view is a view of the tangent of what it shows, so that writing one in
// place is seen by the other. A tensor without a tangent gets one when it is written, unless others
// share its memory: they would miss it.
//
// [Second use] The tape saves results before they have tangents. A backward that reads them has to
// see these, since its gradients depend on them: they are handed on to what was saved.
//
// Depends on: autograd/forward/rules.h.
#include "tape/forward_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "forward/rules.h"
#include "functions/calls.h"
#include "functions/gradient_error.h"
#include "opyard/autograd.h"
#include "tape/formula_function.h"
#include "tape/several.h"
#include "tape/tangent.h"
#include "tape/taped_rule.h"

namespace opyard::autograd {
namespace {

using InputKind = ForwardCode::Input::Kind;
using ArgumentKind = ForwardArgument::Kind;

[[noreturn]] OPYARD_COLD void refuse(const Operator& op, const std::string& why) {
  fail(ErrorKind::Unsupported, fmt::format("{}: {}", to_string(op.name()), why));
}

[[noreturn]] OPYARD_COLD void refuse_missing(const Operator& op, const std::string& argument) {
  refuse(op,
         fmt::format("{}has a tangent, and the operator has neither a formula nor a tangent line "
                     "for it. Give it one: derivative(\"{}\", …) with a line \"tangent {}\", or "
                     "the formula of its gradient; or call it without the tangent, as "
                     "unpack_dual() gives the tensor",
                     argument.empty() ? "an argument " : "its argument '" + argument + "' ",
                     op.name().base_name(), argument.empty() ? "self" : argument));
}

class ForwardCall {
 public:
  ForwardCall(const Operator& op, DispatchKeySet below, Stack& stack)
      : op_(op), below_(below), stack_(stack) {}

  void run() {
    if (!find_tangents()) return op_.redispatch_boxed(below_, stack_);
    if (is_inference()) {
      refuse(op_,
             "a tensor has a tangent, and under inference_mode none is computed; leave it, or "
             "unpack_dual() first");
    }
    rules_ = &forward_rules(op_);
    if (rules_->is_composite) return op_.redispatch_boxed(below_, stack_);
    if (is_detach(op_.name())) return detach();
    refuse_what_has_no_rule();
    keep_arguments();
    run_below();
    compute();
    give();
  }

 private:
  std::span<Value> top() { return stack_.top(op_.schema().arguments.size()); }

  // 1.
  bool find_tangents() {
    const std::span<const Value> arguments = top();
    tangents_.resize(arguments.size());
    bool any = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!carries_keys(*op_.schema().arguments[i].type)) continue;
      Several all = tensors_in(arguments[i]);
      for (Tensor& one : all.tensors) one = note_tangent(one);
      any = any || all.any();
      tangents_[i] = std::move(all);
    }
    return any;
  }
  Tensor note_tangent(const Tensor& tensor) {
    const CountedPtr<Level> level = level_of(tensor);
    if (!level) return {};
    if (level_ && level_ != level) {
      refuse(op_, fmt::format("one tensor has a tangent of level {} and another one of level {}, "
                              "which another thread opened",
                              level_->number, level->number));
    }
    level_ = level;
    return tangent_of(tensor);
  }

  // Neither form keeps a tangent.
  void detach() {
    if (!rules_->plan->written.empty()) {
      const Tensor self = top()[0].tensor_unchecked();
      run_below();
      return drop_tangent(self);
    }
    run_below();
    const Tensor& result = stack_.top(1)[0].tensor_unchecked();
    if (!tangent_of(result).defined()) result.impl()->set_keys(result.keys() - forward_keys());
  }

  // 3.
  void refuse_what_has_no_rule() {
    const Plan& plan = *rules_->plan;
    if (plan.has_out) {
      refuse(op_,
             "a tensor has a tangent, and forms with out=… have no rule; call the form without "
             "out");
    }
    const bool has_rules = rules_->derivative != nullptr;
    for (const ForwardArgument& one : rules_->arguments) {
      const bool has_tangent = tangents_[one.argument].any();
      if (!has_tangent || one.kind != ArgumentKind::Missing) continue;
      if (has_rules || !plan.written.empty()) {
        refuse_missing(op_, op_.schema().arguments[one.argument].name);
      }
    }
    for (const std::size_t written : plan.written) {
      for (const Tensor& tensor : tensors_in(top()[written]).tensors) check_written(tensor);
    }
  }
  // See [Writes].
  void check_written(const Tensor& tensor) {
    if (!tensor.defined() || !is_differentiable(tensor)) return;
    if (tangent_of(tensor).defined()) return;
    const TensorImpl& impl = *tensor.impl();
    if (impl.storage()->owner_count() == 1) return;
    refuse(op_,
           fmt::format("{} is written, and has no tangent, while an argument has one; it shares "
                       "its memory with other tensors, which would miss the tangent: make what "
                       "they are views of dual first, with a tangent of zeros",
                       describe(tensor)));
  }

  void keep_arguments() {
    const Plan& plan = *rules_->plan;
    for (const Value& value : top()) arguments_.push_back(Value(value));
    originals_ = arguments_;
    if (plan.is_restriding) return;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (!arguments_[i].is_tensor() || !is_overwritten(arguments_[i]) || !is_read(i)) continue;
      const ExcludeDispatchKeyGuard below(forward_keys());
      originals_[i] = Value(calls::clone(arguments_[i].tensor_unchecked()));
    }
  }
  // Whether it is on memory that is written.
  bool is_overwritten(const Value& value) const {
    const Tensor& tensor = value.tensor_unchecked();
    return tensor.defined() && std::ranges::any_of(rules_->plan->written, [&](std::size_t written) {
             const Several all = tensors_in(arguments_[written]);
             return std::ranges::any_of(all.tensors, [&](const Tensor& one) {
               return one.defined() && one.impl()->storage() == tensor.impl()->storage();
             });
           });
  }
  bool is_read(std::size_t argument) const {
    return std::ranges::any_of(rules_->arguments, [&](const ForwardArgument& one) {
      if (!tangents_[one.argument].any()) return false;
      if (one.kind == ArgumentKind::Custom) return true;
      if (one.kind == ArgumentKind::Line) return one.line.reads_argument(argument);
      return one.kind == ArgumentKind::Formula &&
             rules_->formulas[one.formula].code.reads_argument(argument);
    });
  }

  // 4.
  void run_below() {
    const ExcludeDispatchKeyGuard below(forward_keys());
    op_.redispatch_boxed(below_, stack_);
  }

  // 5. The tape may have been left out by a kernel at an Autograd key that calls from there.
  void compute() {
    const LocalKeys keys = local_keys();
    const ForceDispatchKeyGuard as_primals(keys.include,
                                           (keys.exclude - kAutogradKeys) | forward_keys());
    results_ = stack_.top(op_.schema().results.size());
    for (const Value& result : results_) {
      Several empty = tensors_in(result);
      for (Tensor& one : empty.tensors) one = Tensor();
      found_.push_back(std::move(empty));
    }
    std::vector<bool> done(rules_->formulas.size(), false);
    for (const ForwardArgument& one : rules_->arguments) {
      if (!tangents_[one.argument].any()) continue;
      switch (one.kind) {
        case ArgumentKind::NoTangent:
          break;
        case ArgumentKind::Missing:
          refuse_differentiable_results(one);
          break;
        case ArgumentKind::Line:
          add_all(run_code(one.line, one));
          break;
        case ArgumentKind::SameCall:
          run_same_call(one);
          break;
        case ArgumentKind::Custom:
          if (!std::exchange(custom_done_, true)) add_all(taped_tangents_of_custom(values()));
          break;
        case ArgumentKind::Formula:
          if (!done[one.formula]) run_formula(one, rules_->formulas[one.formula]);
          done[one.formula] = true;
          break;
      }
    }
  }
  void refuse_differentiable_results(const ForwardArgument& one) const {
    for (const Value& result : results_) {
      for (const Tensor& tensor : tensors_in(result).tensors) {
        if (tensor.defined() && is_differentiable(tensor)) {
          refuse_missing(op_, op_.schema().arguments[one.argument].name);
        }
      }
    }
  }

  void add(Tensor& sum, const Tensor& more) {
    if (more.defined()) sum = sum.defined() ? calls::add(sum, more) : more;
  }
  void add_all(std::vector<Value> tangents) {
    for (std::size_t i = 0; i < tangents.size(); ++i) {
      const Several more = tensors_in(tangents[i]);
      for (std::size_t j = 0; j < more.tensors.size() && j < found_[i].tensors.size(); ++j) {
        add(found_[i].tensors[j], more.tensors[j]);
      }
    }
  }

  // A tangent for each result. With zeros where an item of a list has no tangent.
  std::vector<Value> run_code(const ForwardCode& code, const ForwardArgument& of) {
    std::vector<Value> inputs;
    for (const ForwardCode::Input& input : code.inputs) {
      switch (input.kind) {
        case InputKind::Argument:
          inputs.push_back(originals_[input.index]);
          break;
        case InputKind::Result:
          inputs.push_back(results_[input.index]);
          break;
        default:
          inputs.push_back(whole_tangent(of.argument));
      }
    }
    return code.code->run(inputs);
  }
  Value whole_tangent(std::size_t argument) {
    Several all = tangents_[argument];
    const Several of = tensors_in(originals_[argument]);
    for (std::size_t i = 0; all.is_list && i < all.tensors.size(); ++i) {
      if (all.tensors[i].defined() || !of.tensors[i].defined()) continue;
      all.tensors[i] =
          is_differentiable(of.tensors[i]) ? calls::zeros(Expected(of.tensors[i])) : of.tensors[i];
    }
    return all.value();
  }

  void run_same_call(const ForwardArgument& of) {
    Stack stack;
    for (std::size_t i = 0; i < originals_.size(); ++i) {
      if (i != of.argument) {
        stack.push(originals_[i]);
      } else {
        const Tensor tangent = as_it_lies(tangents_[i].tensors[0], arguments_[i]);
        stack.push(Value(rules_->plan->is_restriding ? calls::alias(tangent) : tangent));
      }
    }
    op_.call_boxed(stack);
    std::vector<Value> made;
    for (const Value& value : stack.top(results_.size())) made.push_back(value);
    add_all(std::move(made));
  }
  // A view by numbers of elements is another part of a tangent that lies otherwise.
  Tensor as_it_lies(const Tensor& tangent, const Value& argument) const {
    if (!op_.name().name.starts_with("aten::as_strided")) return tangent;
    const TensorImpl& of = *argument.tensor_unchecked().impl();
    const TensorImpl& lies = *tangent.impl();
    const bool is_same = std::ranges::equal(of.own_strides(), lies.own_strides()) &&
                         of.own_storage_offset() == lies.own_storage_offset() &&
                         of.storage()->bytes() == lies.storage()->bytes();
    if (!is_same) {
      refuse(op_,
             "the tangent's elements lie in other places of its memory than the tensor's, so "
             "that strides show others; use an index or a view by dimensions, or clone() the "
             "tensor before");
    }
    return tangent;
  }

  void run_formula(const ForwardArgument& of, const ForwardFormula& formula) {
    if (!is_complex_call()) {
      if (formula.elementwise) return add_all(run_code(formula.elementwise, of));
      if (formula.written) return add_all(run_code(formula.written, of));
    }
    add_all(taped_tangents(values(), formula));
  }
  CallValues values() const { return {*rules_, originals_, results_, tangents_}; }
  bool is_complex_call() const {
    return std::ranges::any_of(originals_, holds_complex) ||
           std::ranges::any_of(results_, holds_complex);
  }

  // 6.
  void give() {
    const LocalKeys keys = local_keys();
    const ForceDispatchKeyGuard as_primals(keys.include,
                                           (keys.exclude - kAutogradKeys) | forward_keys());
    std::vector<Tensor> given;  // written arguments that are results
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const Several results = tensors_in(results_[i]);
      for (std::size_t j = 0; j < results.tensors.size(); ++j) {
        give(results.tensors[j], found_[i].tensors[j], given);
      }
    }
    for (const std::size_t written : rules_->plan->written) {
      for (const Tensor& one : tensors_in(arguments_[written]).tensors) {
        const bool is_given =
            std::ranges::any_of(given, [&](const Tensor& other) { return other.same(one); });
        if (one.defined() && is_differentiable(one) && !is_given) write(one, Tensor());
      }
    }
    hand_on_to_saved();
  }
  void give(const Tensor& result, const Tensor& tangent, std::vector<Tensor>& given) {
    if (!result.defined() || !is_differentiable(result)) return;
    if (is_written(result)) {
      given.push_back(result);
      return write(result, tangent);
    }
    if (is_argument(result)) return;  // handed through, with the tangent that it has
    if (!tangent.defined()) return;
    const bool is_view = gives_views();
    set_tangent(result, is_view ? tangent : owned(fitted(tangent, result)), level_);
  }
  bool gives_views() const {
    return std::ranges::any_of(rules_->arguments, [&](const ForwardArgument& one) {
      return one.kind == ArgumentKind::SameCall && tangents_[one.argument].any();
    });
  }
  // A rule may hand on a tangent, a tensor of the call, or a view of one; a write to the result
  // would change it.
  Tensor owned(const Tensor& tangent) const {
    const auto shares = [&](const Several& all) {
      return std::ranges::any_of(all.tensors, [&](const Tensor& one) {
        return one.defined() && one.impl()->storage() == tangent.impl()->storage();
      });
    };
    const auto holds = [&](const Value& value) { return shares(tensors_in(value)); };
    const bool is_shared = std::ranges::any_of(tangents_, shares) ||
                           std::ranges::any_of(arguments_, holds) ||
                           std::ranges::any_of(results_, holds);
    return is_shared ? calls::clone(tangent) : tangent;
  }
  bool is_written(const Tensor& tensor) const {
    return std::ranges::any_of(rules_->plan->written, [&](std::size_t argument) {
      return is_in(tensor, arguments_[argument]);
    });
  }
  bool is_argument(const Tensor& tensor) const {
    return std::ranges::any_of(arguments_, [&](const Value& one) { return is_in(tensor, one); });
  }
  static bool is_in(const Tensor& tensor, const Value& value) {
    const Several all = tensors_in(value);
    return std::ranges::any_of(
        all.tensors, [&](const Tensor& one) { return one.defined() && one.same(tensor); });
  }
  // See [Writes].
  void write(const Tensor& written, const Tensor& tangent) {
    const Tensor former = tangent_of(written);
    if (rules_->plan->is_restriding) {
      if (tangent.defined()) set_tangent(written, tangent, level_);
      return;
    }
    if (!former.defined()) {
      if (tangent.defined()) set_tangent(written, owned(fitted(tangent, written)), level_);
    } else if (tangent.defined()) {
      calls::copy_in_place(former, fitted(tangent, written));
    } else {
      calls::zero_in_place(former);
    }
  }

  // A tangent has the sizes and the dtype of its tensor, and lies as that does, so that what is a
  // view of one can be a view of the other.
  static Tensor fitted(Tensor tangent, const Tensor& of) {
    if (is_complex(tangent.dtype()) && !is_complex(of.dtype())) tangent = calls::real_part(tangent);
    if (tangent.dtype() != of.dtype()) tangent = calls::to_dtype(tangent, of.dtype());
    if (!std::ranges::equal(tangent.sizes(), of.sizes())) {
      tangent = calls::expand(tangent, of.sizes());
    }
    return lying_as(tangent, of);
  }

  // See [Second use].
  void hand_on_to_saved() {
    if (!gradients_enabled()) return;
    for (const Value& value : results_) {
      for (const Tensor& result : tensors_in(value).tensors) {
        if (!result.defined() || !requires_gradient(result)) continue;
        const Edge history = history_of(result);
        auto* const function = dynamic_cast<FormulaFunction*>(history.function.get());
        if (function != nullptr && function->is_of(op_)) {
          function->hand_on_tangents(results_);
        } else if (rules_->plan->formulas && reads_results()) {
          refuse(op_,
                 "it writes in place a tensor that has a tangent and requires a gradient, and "
                 "its backward reads what was written; use the form that gives a new tensor");
        }
      }
    }
  }
  bool reads_results() const {
    return std::ranges::any_of(rules_->plan->formulas->sources, [](const Source& source) {
      return source.kind == Source::Kind::Result;
    });
  }

  const Operator& op_;
  const DispatchKeySet below_;
  Stack& stack_;
  const ForwardRules* rules_ = nullptr;
  CountedPtr<Level> level_;
  std::vector<Several> tangents_;  // by argument
  std::vector<Value> arguments_;
  std::vector<Value> originals_;  // the same, as they were before the call
  std::span<const Value> results_;
  std::vector<Several> found_;  // by result: what its tangent comes to so far
  bool custom_done_ = false;
};

}  // namespace

void run_forward(const Operator& op, DispatchKeySet keys, Stack& stack) {
  ForwardCall(op, keys - forward_keys(), stack).run();
}

}  // namespace opyard::autograd
