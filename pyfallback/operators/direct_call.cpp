// operators/direct_call.cpp: direct calls: plans, and the two ways to a kernel.
//
// [Defaults] A function in Python must not see an argument that equals its default (see
// kernels/call_arguments.h), so such a call goes through the stack, which leaves it out.
//
// [Places] What every call runs begins a cache line. Otherwise their addresses depend on what is
// linked before them, which moves the bench rows python_names and subclass by a tenth.
//
// [C++ calls] C++ kernels are called without the stack, too: see operators/cpp_calls.cpp.
#include "operators/direct_call.h"

#include <cmath>
#include <utility>

#include "objects/arrays/shared_memory.h"
#include "objects/convert/convert.h"
#include "objects/convert/wrapper_sizes.h"
#include "objects/tensor/tensor.h"
#include "objects/values/integer.h"
#include "operators/kernel_notes.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/python/exit.h"
#include "opyard/detail/registry/gradient_slot.h"
#include "opyard/detail/registry/observed_call.h"
#include "opyard/registry/handlers.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

constexpr std::size_t kMostParameters = 64;

Ready ready_for(const Type& type) {
  switch (type.kind()) {
    case TypeKind::Tensor:
      return Ready::Tensor;
    case TypeKind::Int:
    case TypeKind::SymInt:  // if it is known
      return Ready::Int;
    case TypeKind::Float:
    case TypeKind::SymFloat:
      return Ready::Float;
    case TypeKind::Bool:
    case TypeKind::SymBool:
      return Ready::Bool;
    case TypeKind::Str:
      return Ready::Str;
    case TypeKind::Scalar:
      return Ready::Number;
    case TypeKind::Optional:
      switch (type.element().kind()) {
        case TypeKind::Tensor:
          return Ready::OptionalTensor;
        case TypeKind::Int:
        case TypeKind::SymInt:
          return Ready::OptionalInt;
        default:
          return Ready::Never;
      }
    default:
      return Ready::Never;
  }
}

// What C++ can take: a text with lone surrogates has no UTF-8 form.
bool is_text(PyObject* object) noexcept {
  if (!PyUnicode_CheckExact(object)) return false;
  if (PyUnicode_IS_COMPACT_ASCII(object) || PyUnicode_AsUTF8(object) != nullptr) return true;
  clear_or_report(PyExc_UnicodeEncodeError, object);
  return false;
}

bool is_small_int(PyObject* object) noexcept {
  return PyLong_CheckExact(object) && find_int64(object).has_value();
}

// For what is no tensor.
[[gnu::aligned(64)]] bool is_ready(Ready ready, PyObject* object) noexcept {
  switch (ready) {
    case Ready::Int:
      return is_small_int(object);
    case Ready::OptionalInt:
      return object == Py_None || is_small_int(object);
    case Ready::Float:
      return PyFloat_CheckExact(object);
    case Ready::Bool:
      return PyBool_Check(object);
    case Ready::Str:
      return is_text(object);
    case Ready::Number:
      return PyFloat_CheckExact(object) || PyBool_Check(object) || is_small_int(object);
    case Ready::Tensor:
    case Ready::OptionalTensor:
    case Ready::Never:
      break;
  }
  return false;
}

bool is_for_tensors(Ready ready) noexcept {
  return ready == Ready::Tensor || ready == Ready::OptionalTensor;
}

[[gnu::always_inline]] inline bool is_ready_result(const Runtime& runtime, Ready ready,
                                                   PyObject* object) {
  if (!is_for_tensors(ready)) return is_ready(ready, object);
  return is_tensor(runtime, object) || (ready == Ready::OptionalTensor && object == Py_None);
}

// Adds the keys of an object, if it is ready for what takes tensors.
[[gnu::always_inline]] inline bool join_tensor(const Runtime& runtime, Ready ready,
                                               PyObject* object, DispatchKeySet& keys) {
  if (!is_tensor(runtime, object)) return ready == Ready::OptionalTensor && object == Py_None;
  keys = keys | tensor_unchecked(object).impl()->keys();
  return true;
}

bool is_nan_object(PyObject* object) noexcept {
  return PyFloat_CheckExact(object) && std::isnan(PyFloat_AS_DOUBLE(object));
}

// Of exact numbers and texts, for which comparing runs no code of a user.
bool equals(PyObject* object, PyObject* default_value) noexcept {
  if (object == default_value || (is_nan_object(object) && is_nan_object(default_value)))
    return true;
  const int equal = PyObject_RichCompareBool(object, default_value, Py_EQ);
  if (equal < 0) clear_or_report(PyExc_MemoryError, object);
  return equal != 0;
}

const Storage& memory_of(PyObject* tensor) noexcept {
  return *tensor_unchecked(tensor).impl()->storage();
}

}  // namespace

DirectCall::DirectCall(Runtime& runtime, const Operator& op)
    : op_(op), python_run_(runtime.python_kernel_calls->run), cpp_site_{.schema = op.schema()} {
  const Schema& schema = op.schema();
  for (const Argument& argument : schema.arguments) {
    const Ready ready = ready_for(*argument.type);
    Owned default_value;
    if (argument.default_value && ready != Ready::Never) {
      default_value = to_python(runtime, *argument.type, *argument.default_value);
    }
    cpp_site_.ready.push_back(ready);
    writes_ |= argument.is_write();
    const bool required = !argument.default_value.has_value();
    const std::size_t position = parameters_.size();
    if (!argument.keyword_only) {
      ++most_;
      if (required) least_ = most_;
      if (ready != Ready::Tensor) only_tensors_ = false;
    } else if (required && position < kMostParameters) {
      required_names_ |= std::uint64_t{1} << position;
    }
    parameters_.push_back(
        {ready, argument.keyword_only, required, argument.is_out(), argument.is_write(),
         checked(PyUnicode_InternFromString(argument.name.c_str())), std::move(default_value)});
  }
  for (const Argument& result : schema.results) results_.push_back(ready_for(*result.type));
  returned_ = returned_arguments(schema);
  viewed_ = viewed_arguments(schema);
  aliases_ = !returned_.empty() || !viewed_.empty();
  possible_ = !schema.variadic_arguments && !schema.variadic_results &&
              parameters_.size() <= kMostParameters;
}

[[gnu::aligned(64)]] PyObject* DirectCall::try_call(Runtime& runtime, PyObject* overload,
                                                    PyObject* const* args, std::size_t flags,
                                                    PyObject* names) const {
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (!possible_ || count < least_ || count > most_) return nullptr;
  DispatchKeySet keys;
  if (only_tensors_) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!join_tensor(runtime, Ready::Tensor, args[i], keys)) return nullptr;
    }
  } else {
    for (Py_ssize_t i = 0; i < count; ++i) {
      const Ready ready = parameters_[std::size_t(i)].ready;
      if (!is_for_tensors(ready)) {
        if (ready == Ready::Never) return nullptr;
      } else if (!join_tensor(runtime, ready, args[i], keys)) {
        return nullptr;
      }
    }
  }
  if (names == nullptr) {
    if (required_names_ != 0) return nullptr;
  } else {
    DispatchKeySet more;  // apart, so that `keys` can stay in a register
    if (!join_keywords(runtime, args + count, names, more)) return nullptr;
    keys = keys | more;
  }
  const std::uint32_t outer = detail::begin_reading();
  keys = op_.call_keys(keys);
  const Record& record = op_.record(keys);
  const auto call_cpp = [&](const Record& kernel, DispatchKeySet with) -> PyObject* {
    if (__builtin_expect(kernel.signature != signature_, 0)) learn(kernel);
    const TypedFunction function = kernel.typed;
    void* const context = kernel.context;
    detail::end_reading(outer);
    if (cpp_call_ == nullptr) return nullptr;
    return cpp_call_(runtime, cpp_site_, args, std::size_t(count), function, context, with);
  };
  if (record.call_as != CallAs::Guarded && names == nullptr) return call_cpp(record, keys);
  if (record.boxed != python_run_) {
    if (record.role == RecordRole::Tape) {
      if (!passes_tape(record, args, std::size_t(count), names)) {
        detail::end_reading(outer);
        return nullptr;
      }
      const DispatchKeySet below = detail::below_layer(keys);
      const Record& kernel = op_.record(below);
      if (kernel.call_as != CallAs::Guarded && names == nullptr) return call_cpp(kernel, below);
      const detail::CallDepth depth;
      detail::end_reading(outer);
      if (kernel.boxed == python_run_) return call_function(runtime, kernel, args, flags, names);
      return call_below_tape(runtime, below, overload, args, flags, names);
    }
    if (__builtin_expect(record.role == RecordRole::PerInterpreter, 0)) {
      const detail::CallDepth depth;
      detail::end_reading(outer);
      return call_view(runtime, keys, args, flags, names);
    }
    if (__builtin_expect(record.role == RecordRole::Watch, 0)) {
      const detail::CallDepth depth;
      detail::end_reading(outer);
      return call_observed(runtime, record, keys, args, flags, names);
    }
    const bool handled = leads_to_handlers(record);
    detail::end_reading(outer);
    return handled ? call_handlers(runtime, overload, args, std::size_t(count), names) : nullptr;
  }
  const detail::CallDepth depth;
  detail::end_reading(outer);
  return call_function(runtime, record, args, flags, names);
}

// Whether nothing of the call has to be taped. What has to goes through the stack.
[[gnu::noinline]] bool DirectCall::passes_tape(const Record& tape, PyObject* const* args,
                                               std::size_t count, PyObject* names) const {
  bool may_need = false;
  if (only_tensors_ && names == nullptr) {
    for (std::size_t i = 0; i < count; ++i) {
      may_need |= detail::may_need_gradient(*tensor_unchecked(args[i]).impl());
    }
    return detail::passes(tape, may_need);
  }
  each_argument(args, count, names, [&](const Parameter& parameter, PyObject* given) {
    if (!is_for_tensors(parameter.ready) || given == Py_None) return;
    may_need |= detail::may_need_gradient(*tensor_unchecked(given).impl());
  });
  return detail::passes(tape, may_need);
}

// Inside a CallDepth.
[[gnu::aligned(64)]] PyObject* DirectCall::call_below_tape(Runtime& runtime, DispatchKeySet keys,
                                                           PyObject* overload,
                                                           PyObject* const* args, std::size_t flags,
                                                           PyObject* names) const {
  const auto count = std::size_t(PyVectorcall_NARGS(flags));
  const Record& below = op_.record(keys);
  const Record& record = below.role == RecordRole::Kernel ? below : op_.follow(keys);
  if (record.call_as != CallAs::Guarded && names == nullptr) {
    if (__builtin_expect(record.signature != signature_, 0)) learn(record);
    if (cpp_call_ == nullptr) return nullptr;
    return cpp_call_(runtime, cpp_site_, args, count, record.typed, record.context, keys);
  }
  if (record.boxed == python_run_) return call_function(runtime, record, args, flags, names);
  if (record.role == RecordRole::Watch)
    return call_observed(runtime, record, keys, args, flags, names);
  return leads_to_handlers(record) ? call_handlers(runtime, overload, args, count, names) : nullptr;
}

// Inside a CallDepth. What is no function of ours goes through the stack.
[[gnu::aligned(64)]] PyObject* DirectCall::call_view(Runtime& runtime, DispatchKeySet keys,
                                                     PyObject* const* args, std::size_t flags,
                                                     PyObject* names) const {
  const Record& record = op_.record_for(runtime.tag, keys);
  if (record.boxed != python_run_) return nullptr;
  return call_function(runtime, record, args, flags, names);
}

// Whether cpp_call_ takes all of them, which it finds out as it goes otherwise.
bool DirectCall::fits_cpp_call(PyObject* const* args, std::size_t count) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Ready ready = parameters_[i].ready;
    PyObject* const given = i < count ? args[i] : nullptr;
    const bool none = given == nullptr || given == Py_None;
    if (ready == Ready::Str && given != nullptr) return false;
    if (is_for_tensors(ready) ? none : given != nullptr && PyBool_Check(given)) return false;
  }
  return true;
}

// Inside a CallDepth. Watchers are told of a call that is made here, and of no other: so what could
// make it go through the stack after all is asked first.
[[gnu::aligned(64)]] PyObject* DirectCall::call_observed(Runtime& runtime, const Record& watch,
                                                         DispatchKeySet keys, PyObject* const* args,
                                                         std::size_t flags, PyObject* names) const {
  const auto count = std::size_t(PyVectorcall_NARGS(flags));
  if (detail::wants_values(watch)) return nullptr;
  if ((!only_tensors_ || names != nullptr) && !are_ready(args, count, names)) return nullptr;
  const Record& record = detail::record_behind(op_, keys);
  if (record.call_as != CallAs::Guarded && names == nullptr) {
    if (record.signature != signature_) learn(record);
    if (cpp_call_ == nullptr || !fits_cpp_call(args, count)) return nullptr;
    const detail::ObservedCall observed(op_, watch, keys);
    return cpp_call_(runtime, cpp_site_, args, count, record.typed, record.context, keys);
  }
  if (record.boxed != python_run_) return nullptr;
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  const KernelConvention& convention = kernel.convention;
  if (&kernel.runtime != &runtime || convention.with_keyset || convention.with_op) return nullptr;
  const detail::ObservedCall observed(op_, watch, keys);
  return call_function(runtime, record, args, flags, names);
}

void DirectCall::learn(const Record& record) const {
  cpp_site_.from_registers = record.from_registers;
  cpp_call_ = find_cpp_call(cpp_site_, *record.signature);
  signature_ = record.signature;
}

// Finds each name among the keyword-only parameters, in their order. One of the others, or another
// order, goes through the stack: a function gets by position what may be given by position, and
// names in the order of the schema.
[[gnu::aligned(64)]] bool DirectCall::join_keywords(const Runtime& runtime, PyObject* const* values,
                                                    PyObject* names, DispatchKeySet& keys) const {
  std::uint64_t given = 0;
  auto at = std::size_t(most_);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i, ++at) {
    while (at < parameters_.size() && parameters_[at].name.get() != PyTuple_GET_ITEM(names, i))
      ++at;
    if (at == parameters_.size()) return false;
    given |= std::uint64_t{1} << at;
    const Ready ready = parameters_[at].ready;
    if (ready == Ready::Never) return false;
    if (is_for_tensors(ready) && !join_tensor(runtime, ready, values[i], keys)) return false;
  }
  return (required_names_ & ~given) == 0;
}

// What join_tensor() has not looked at, and [Defaults].
[[gnu::aligned(64)]] bool DirectCall::are_ready(PyObject* const* args, std::size_t count,
                                                PyObject* names) const {
  const auto fits = [](const Parameter& parameter, PyObject* object) {
    if (!is_for_tensors(parameter.ready) && !is_ready(parameter.ready, object)) return false;
    if (parameter.required) return true;
    if (is_for_tensors(parameter.ready)) return object != Py_None;
    return !equals(object, parameter.default_value.get());
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (!fits(parameters_[i], args[i])) return false;
  }
  if (names == nullptr) return true;
  auto at = std::size_t(most_);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i, ++at) {
    while (parameters_[at].name.get() != PyTuple_GET_ITEM(names, i)) ++at;
    if (!fits(parameters_[at], args[count + std::size_t(i)])) return false;
  }
  return true;
}

// Inside a CallDepth, which keeps the record.
[[gnu::aligned(64)]] PyObject* DirectCall::call_function(Runtime& runtime, const Record& record,
                                                         PyObject* const* args, std::size_t flags,
                                                         PyObject* names) const {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  if (__builtin_expect(&kernel.runtime != &runtime || !kernel.convention.is_plain(), 0)) {
    return call_with_rule(runtime, record, args, flags, names);
  }
  const auto count = std::size_t(PyVectorcall_NARGS(flags));
  if ((!only_tensors_ || names != nullptr) && !are_ready(args, count, names)) return nullptr;
  DeclaredWrites counted;
  if (__builtin_expect(writes_, 0)) add_writes(counted, args, count, names);
  Owned result = checked(noting_failure(
      record, op_, kernel.function,
      in_python([&] { return python::call_function(kernel.function, args, flags, names); })));
  if (__builtin_expect(result_is_ready(runtime, result.get()), 1)) return result.release();
  return runtime.python_kernel_calls->convert_results(runtime, record, op_, result.get()).release();
}

// The kernels that call_function() leaves: one with a rule is called here as well.
[[gnu::aligned(64)]] PyObject* DirectCall::call_with_rule(Runtime& runtime, const Record& record,
                                                          PyObject* const* args, std::size_t flags,
                                                          PyObject* names) const {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  if (&kernel.runtime != &runtime || kernel.convention.with_keyset || kernel.convention.with_op) {
    return nullptr;
  }
  const auto count = std::size_t(PyVectorcall_NARGS(flags));
  if ((!only_tensors_ || names != nullptr) && !are_ready(args, count, names)) return nullptr;
  DeclaredWrites counted;
  if (__builtin_expect(writes_, 0)) add_writes(counted, args, count, names);
  Owned result = checked(noting_failure(
      record, op_, kernel.function,
      in_python([&] { return python::call_function(kernel.function, args, flags, names); })));
  // One new tensor, as most give, needs no more than a look at the memory. Without this such calls
  // cost 3 ns more.
  if (kernel.convention.rule == ResultRule::Fresh && results_.size() == 1 &&
      Py_TYPE(result.get()) == runtime.tensor_type && is_for_tensors(results_[0]) &&
      __builtin_expect(is_apart(args, count, names, result.get()), 1)) {
    return result.release();
  }
  if (__builtin_expect(result_is_ready(runtime, result.get()) &&
                           obeys(kernel.convention.rule, args, count, names, result.get()),
                       1)) {
    return result.release();
  }
  return runtime.python_kernel_calls
      ->convert_ruled_results(runtime, record, op_, args, count, names, result.get())
      .release();
}

// visit(parameter, object) for what was given, in the schema's order.
template <typename Visit>
void DirectCall::each_argument(PyObject* const* args, std::size_t count, PyObject* names,
                               const Visit& visit) const {
  for (std::size_t i = 0; i < count; ++i) visit(parameters_[i], args[i]);
  if (names == nullptr) return;
  auto at = std::size_t(most_);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i, ++at) {
    while (parameters_[at].name.get() != PyTuple_GET_ITEM(names, i)) ++at;
    visit(parameters_[at], args[count + std::size_t(i)]);
  }
}

void DirectCall::add_writes(DeclaredWrites& writes, PyObject* const* args, std::size_t count,
                            PyObject* names) const {
  each_argument(args, count, names, [&](const Parameter& parameter, PyObject* given) {
    if (parameter.written && is_for_tensors(parameter.ready) && given != Py_None) {
      writes.add(tensor_unchecked(given));
    }
  });
}

// The object that was given for an argument, or null.
PyObject* DirectCall::given_for(std::size_t position, PyObject* const* args, std::size_t count,
                                PyObject* names) const {
  PyObject* found = nullptr;
  each_argument(args, count, names, [&](const Parameter& parameter, PyObject* given) {
    if (&parameter == &parameters_[position]) found = given;
  });
  return found;
}

// See kernels/aliased_results.h, [Views].
void DirectCall::share_versions(const Runtime& runtime, PyObject* answer, PyObject* const* args,
                                std::size_t count, PyObject* names) const {
  for (std::size_t i = 0; i < viewed_.size(); ++i) {
    if (viewed_[i] == kNoArgument) continue;
    PyObject* const given = given_for(std::size_t(viewed_[i]), args, count, names);
    if (given == nullptr || !is_tensor(runtime, given)) continue;
    PyObject* const result = viewed_.size() == 1 ? answer : PyTuple_GET_ITEM(answer, Py_ssize_t(i));
    const auto share = [&](PyObject* view) {
      if (!is_tensor(runtime, view)) return;
      ExportedTensor::share_versions(*tensor_unchecked(view).impl(),
                                     *tensor_unchecked(given).impl(), is_detach(op_.name()));
    };
    if (!PyList_Check(result)) {
      share(result);
      continue;
    }
    for (Py_ssize_t j = 0; j < PyList_GET_SIZE(result); ++j) share(PyList_GET_ITEM(result, j));
  }
}

// What a handler answered, with the arguments that results are: see kernels/aliased_results.h,
// [Returned].
PyObject* DirectCall::with_arguments(const Runtime& runtime, Owned answer, PyObject* const* args,
                                     std::size_t count, PyObject* names) const {
  if (returned_.empty()) return answer.release();
  const auto chosen = [&](std::size_t result, PyObject* made) {
    PyObject* const given = returned_[result] == kNoArgument
                                ? nullptr
                                : given_for(std::size_t(returned_[result]), args, count, names);
    if (given == nullptr) return Owned::share(made);
    if (is_tensor(runtime, made) && is_tensor(runtime, given)) {
      follow_sizes(op_, tensor_unchecked(made), tensor_unchecked(given));
    }
    return Owned::share(given);
  };
  if (returned_.size() == 1) return chosen(0, answer.get()).release();
  Owned tuple = checked(PyTuple_New(Py_ssize_t(returned_.size())));
  for (std::size_t i = 0; i < returned_.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i),
                     chosen(i, PyTuple_GET_ITEM(answer.get(), Py_ssize_t(i))).release());
  }
  return tuple.release();
}

// Whether no argument is in the memory of a tensor.
[[gnu::aligned(64)]] bool DirectCall::is_apart(PyObject* const* args, std::size_t count,
                                               PyObject* names, PyObject* result) const {
  const Storage& memory = memory_of(result);
  bool apart = true;
  if (only_tensors_ && names == nullptr) {
    for (std::size_t i = 0; i < count; ++i) apart &= !shares_memory(memory, memory_of(args[i]));
    return apart;
  }
  each_argument(args, count, names, [&](const Parameter& parameter, PyObject* given) {
    if (is_for_tensors(parameter.ready) && given != Py_None) {
      apart &= !shares_memory(memory, memory_of(given));
    }
  });
  return apart;
}

// Whether a result that is ready is seen to follow the rule at a glance. If it is not, it may
// still do so: then the schema declares the alias.
[[gnu::aligned(64)]] bool DirectCall::obeys(ResultRule rule, PyObject* const* args,
                                            std::size_t count, PyObject* names,
                                            PyObject* result) const {
  if (rule == ResultRule::FirstArgument) {
    return results_.size() == 1 && count > 0 && result == args[0];
  }
  if (results_.empty()) return true;
  PyObject* const* const results = results_.size() == 1 ? &result : &PyTuple_GET_ITEM(result, 0);
  if (rule == ResultRule::OutArguments) {
    std::size_t position = 0;
    each_argument(args, count, names, [&](const Parameter& parameter, PyObject* given) {
      if (parameter.out && position < results_.size() && results[position] == given) ++position;
    });
    return position == results_.size();
  }
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!is_for_tensors(results_[i]) || results[i] == Py_None) continue;
    if (!is_apart(args, count, names, results[i])) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (is_for_tensors(results_[j]) && results[j] != Py_None &&
          shares_memory(memory_of(results[i]), memory_of(results[j]))) {
        return false;
      }
    }
  }
  return true;
}

[[gnu::aligned(64)]] PyObject* DirectCall::call_handlers(Runtime& runtime, PyObject* overload,
                                                         PyObject* const* args, std::size_t count,
                                                         PyObject* names) const {
  if ((!only_tensors_ || names != nullptr) && !are_ready(args, count, names)) return nullptr;
  const HandlerCalls& handlers = *runtime.handler_calls;
  DeclaredWrites counted;
  if (__builtin_expect(writes_, 0)) add_writes(counted, args, count, names);
  HandlerAnswer answer =
      counted.unless_raised([&] { return handlers.ask(runtime, overload, args, count, names); });
  if (!answer.object) {
    counted.drop();  // the way through the stack counts for itself
    return nullptr;
  }
  if (__builtin_expect(!result_is_ready(runtime, answer.object.get()), 0)) {
    answer.object = handlers.convert_answer(runtime, op_, answer);
  }
  if (__builtin_expect(aliases_, 0)) {
    share_versions(runtime, answer.object.get(), args, count, names);
    return with_arguments(runtime, std::move(answer.object), args, count, names);
  }
  return answer.object.release();
}

[[gnu::aligned(64)]] bool DirectCall::result_is_ready(const Runtime& runtime,
                                                      PyObject* result) const {
  // None for a Tensor is looked at; see kernels/results.cpp.
  if (results_.size() == 1) return is_ready_result(runtime, results_[0], result);
  if (results_.empty()) return result == Py_None;
  if (!PyTuple_CheckExact(result) || std::size_t(PyTuple_GET_SIZE(result)) != results_.size()) {
    return false;
  }
  for (std::size_t i = 0; i < results_.size(); ++i) {
    PyObject* const item = PyTuple_GET_ITEM(result, Py_ssize_t(i));
    if (!is_ready_result(runtime, results_[i], item)) return false;
  }
  return true;
}

}  // namespace opyard::python
