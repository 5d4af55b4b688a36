// kernels/python_kernel.cpp: Python kernels: a boxed call as a call of a Python function.
//
// What it is called with is described in kernels/call_arguments.h, what it may return in
// kernels/results.h.
//
// [Trampoline] A record that serves C++ calls its interpreter's table, as any caller does who knows
// an operator and a key: python_op_registration_trampoline. The record that is meant need not be
// the one that the table of the operator leads to: an override calls the kernel below it, a
// fallback serves many operators. So it is left beside the call, for the thread, and taken from
// there before anything else can run. A record of another kind, such as one that gets call_next,
// brings the function that runs it, and has a place of its own, which is looked at second.
//
// [Errors] An exception of the function leaves as an Error that carries it, and becomes the same
// object again if Python called.
#include "kernels/python_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/call_arguments.h"
#include "kernels/result_rules.h"
#include "kernels/results.h"
#include "objects/convert/convert.h"
#include "objects/tensor/leak_check.h"
#include "objects/tensor/tensor.h"
#include "objects/values/key_set.h"
#include "operators/kernel_notes.h"
#include "operators/overload.h"
#include "operators/packet.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/schema/declared_writes.h"
#include "opyard/inspect/inspect.h"
#include "opyard/registry/registry.h"
#include "runtime/enter_python.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

void destroy_kernel(void* context) {
  const std::unique_ptr<PythonKernel> kernel(static_cast<PythonKernel*>(context));
  if (leak_check != nullptr) leak_check->remove(context);
  kernel->shown->store(nullptr, std::memory_order_release);
  kernel->runtime.tag->decref(kernel->function, false);
}

std::string describe_kernel(const void* record) {
  return "the Python kernel " + static_cast<const Record*>(record)->provenance.str();
}

// With the GIL held.
bool takes_and_gives_tensors(const Schema& schema) {
  const auto is_plain = [](const Argument& argument) {
    return argument.type->kind() == TypeKind::Tensor && !argument.keyword_only &&
           !argument.default_value && !argument.is_write();
  };
  return schema.results.size() == 1 && is_plain(schema.results[0]) &&
         std::all_of(schema.arguments.begin(), schema.arguments.end(), is_plain);
}

// What a function returned takes the place of its arguments, after a look at both.
void push_ruled_results(Runtime& runtime, const Returner& returner, PyObject* function,
                        ResultRule rule, const Operator& op, PyObject* result, Stack& stack) {
  const std::span<Value> arguments = stack.top(op.schema().arguments.size());
  CallStack results;
  push_results(runtime, returner, op, result, results);
  const std::span<Value> made = results.top(results.size());
  check_results(rule, returner, function, op, arguments, made);
  stack.drop(arguments.size());
  for (Value& value : made) stack.push(std::move(value));
}

// A call without conversions; see PythonKernel::of_tensors.
template <bool fresh>
[[gnu::noinline, gnu::aligned(64)]] void call_with_tensors(const Record& record, const Operator& op,
                                                           Stack& stack) {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  Runtime& runtime = kernel.runtime;
  enter_python<LooksForStackEnd::Later>(runtime, [&] {
    const std::size_t count = op.schema().arguments.size();
    CallArguments arguments(count);
    for (const Value& value : stack.top(count)) {
      const Tensor& tensor = value.tensor_unchecked();
      if (PyObject* const live = find_wrapper(runtime, tensor)) {
        arguments.add_shared(live);
      } else {
        arguments.add(wrap(runtime, Tensor(tensor)));
      }
    }
    const Owned result =
        require(runtime, noting_failure(record, op, kernel.function, in_python([&] {
                                          return call_function(
                                              kernel.function, arguments.data(),
                                              count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
                                        })));
    if constexpr (fresh) {
      return push_ruled_results(runtime, {describe_kernel, &record}, kernel.function,
                                ResultRule::Fresh, op, result.get(), stack);
    }
    if (Py_TYPE(result.get()) == runtime.tensor_type && count > 0) {
      stack.replace(stack.top(count), Value(tensor_unchecked(result.get())));
    } else {
      stack.drop(count);
      push_results(runtime, {describe_kernel, &record}, op, result.get(), stack);
    }
  });
}

// A call with them, which finds out whether the next one needs any.
[[gnu::noinline]] void call_with_values(const Record& record, const Operator& op,
                                        DispatchKeySet keys, Stack& stack) {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  enter_python(kernel.runtime, [&] {
    const KernelConvention& convention = kernel.convention;
    const bool plain = convention.is_plain();
    const bool fresh =
        !convention.with_keyset && !convention.with_op && convention.rule == ResultRule::Fresh;
    if ((plain || fresh) && takes_and_gives_tensors(op.schema())) {
      (plain ? kernel.of_tensors : kernel.of_tensors_fresh).store(&op, std::memory_order_relaxed);
    }
    call_python_function(kernel.runtime, kernel.function, convention, {describe_kernel, &record},
                         op, keys, stack, &record);
  });
}

}  // namespace

std::string name_of_function(PyObject* function) {
  const Owned name = Owned::steal(PyObject_GetAttrString(function, "__qualname__"));
  const char* const text =
      name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  clear_or_report(PyExc_Exception, function);
  return text == nullptr ? Py_TYPE(function)->tp_name : text;
}

void call_python_function(Runtime& runtime, PyObject* function, KernelConvention convention,
                          const Returner& returner, const Operator& op, DispatchKeySet keys,
                          Stack& stack, const Record* record) {
  const Schema& schema = op.schema();
  const std::span<Value> values = stack.top(schema.arguments.size());
  const DeclaredWrites counted(schema, values);

  CallArguments arguments(values.size() + 2);
  if (convention.with_keyset) arguments.add(wrap(runtime, keys));
  if (convention.with_op) arguments.add(overload_object(runtime, op));
  std::size_t by_position = 0;
  const Owned names = add_arguments(runtime, schema, values, arguments, by_position);
  PyObject* const returned = in_python([&] {
    return call_function(function, arguments.data(), by_position | PY_VECTORCALL_ARGUMENTS_OFFSET,
                         names.get());
  });
  if (returned == nullptr && record != nullptr) note_failed_kernel(*record, op, function);
  const Owned result = require(runtime, returned);
  if (convention.rule != ResultRule::Any) {
    return push_ruled_results(runtime, returner, function, convention.rule, op, result.get(),
                              stack);
  }
  stack.drop(values.size());
  push_results(runtime, returner, op, result.get(), stack);
}

namespace {

const InterpreterVTable* const table_of_ended = &disarmed_vtable();

// See [Trampoline].
constinit __thread const Record* served __attribute__((tls_model("initial-exec"))) = nullptr;
struct ServedOther {
  const Record* record;
  BoxedFunction run;
};
constinit __thread ServedOther served_other __attribute__((tls_model("initial-exec"))) = {};

// Nothing but a choice, which jumps: each way takes the GIL for itself, and has a frame alone.
[[gnu::always_inline]] inline void run_record(const Record& record, const Operator& op,
                                              DispatchKeySet keys, Stack& stack) {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  if (kernel.of_tensors.load(std::memory_order_relaxed) == &op) {
    return call_with_tensors<false>(record, op, stack);
  }
  if (kernel.of_tensors_fresh.load(std::memory_order_relaxed) == &op) {
    return call_with_tensors<true>(record, op, stack);
  }
  call_with_values(record, op, keys, stack);
}

// An interpreter that has ended says so by its own text.
[[gnu::aligned(64)]] void run_python_kernel(const Record& record, const Operator& op,
                                            DispatchKeySet keys, Stack& stack) {
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  Interpreter& tag = *kernel.runtime.tag;
  const InterpreterVTable& table = tag.vtable();
  if (__builtin_expect(&table == table_of_ended, 0)) return run_record(record, op, keys, stack);
  const KernelConvention& convention = kernel.convention;
  served = &record;
  table.python_op_registration_trampoline(tag, op, convention.key, keys, stack,
                                          convention.with_keyset, convention.with_op);
}

Owned convert_results(Runtime& runtime, const Record& record, const Operator& op,
                      PyObject* result) {
  CallStack stack;
  push_results(runtime, {describe_kernel, &record}, op, result, stack);
  return Owned::steal(take_results(runtime, op, stack));
}

Owned convert_ruled_results(Runtime& runtime, const Record& record, const Operator& op,
                            PyObject* const* args, std::size_t count, PyObject* names,
                            PyObject* result) {
  const Schema& schema = op.schema();
  const PythonKernel& kernel = *static_cast<const PythonKernel*>(record.context);
  std::vector<Value> arguments(schema.arguments.size());
  const auto take = [&](std::size_t position, PyObject* object) {
    to_value(runtime, *schema.arguments[position].type, object, arguments[position]);
  };
  for (std::size_t i = 0; i < count; ++i) take(i, args[i]);
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    const std::string_view name = require_text(PyTuple_GET_ITEM(names, i), "a name");
    take(*schema.find_argument(name), args[count + std::size_t(i)]);
  }
  const Returner returner{describe_kernel, &record};
  CallStack stack;
  push_results(runtime, returner, op, result, stack);
  check_results(kernel.convention.rule, returner, kernel.function, op, arguments,
                stack.top(stack.size()));
  return Owned::steal(take_results(runtime, op, stack));
}

}  // namespace

const PythonKernelCalls python_kernel_calls = {run_python_kernel, convert_results,
                                               convert_ruled_results};

const PythonKernel* find_python_kernel(const Runtime& runtime, const Record& record) noexcept {
  if (record.boxed != &run_python_kernel) return nullptr;
  const auto* const kernel = static_cast<const PythonKernel*>(record.context);
  return &kernel->runtime == &runtime ? kernel : nullptr;
}

namespace {

// For who knows no more than the operator and the key.
[[gnu::noinline]] void find_and_run(Runtime& runtime, const Operator& op, DispatchKey key,
                                    DispatchKeySet keys, Stack& stack,
                                    KernelConvention convention) {
  detail::enter_thread();
  const detail::CallDepth depth;  // keeps the record
  const inspect::Resolution found = inspect::resolve(op, key);
  const PythonKernel* const kernel = find_python_kernel(runtime, *found.record);
  if (kernel == nullptr) {
    fail(ErrorKind::NoKernel,
         fmt::format("{} has no Python function of interpreter {} at {}; registered there is: {}",
                     to_string(op.name()), runtime.tag->name(), to_string(key), found.provenance));
  }
  convention.rule = kernel->convention.rule;
  enter_python(runtime, [&] {
    call_python_function(runtime, kernel->function, convention, {describe_kernel, found.record}, op,
                         keys, stack, found.record);
  });
}

}  // namespace

[[gnu::aligned(64)]] void run_registered_function(Runtime& runtime, const Operator& op,
                                                  DispatchKey key, DispatchKeySet keys,
                                                  Stack& stack, bool with_keyset, bool with_op) {
  if (const Record* const record = std::exchange(served, nullptr)) {
    return run_record(*record, op, keys, stack);
  }
  if (const ServedOther other = std::exchange(served_other, {}); other.record != nullptr) {
    return other.run(*other.record, op, keys, stack);
  }
  find_and_run(runtime, op, key, keys, stack, {with_keyset, with_op});
}

void leave_for_trampoline(const Record& record, BoxedFunction run) noexcept {
  served_other = {&record, run};
}

Kernel make_python_kernel(Runtime& runtime, PyObject* function, KernelConvention convention,
                          GcVisibleFunction shown) {
  auto kernel = std::unique_ptr<PythonKernel>(
      new PythonKernel{runtime, function, convention, std::move(shown), nullptr, nullptr});
  Kernel made = Kernel::with_context(&run_python_kernel, kernel.get(), &destroy_kernel);
  Py_INCREF(function);
  kernel->shown->store(function, std::memory_order_release);
  const PythonKernel* const context = kernel.release();
  if (leak_check != nullptr) {
    leak_check->add(LeakCheck::Kind::Function, context, name_of_function(function));
  }
  return made;
}

}  // namespace opyard::python
