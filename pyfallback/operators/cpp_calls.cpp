// operators/cpp_calls.cpp: calls of C++ kernels with arguments that are ready.
//
// [By signature] The commonest signatures have a function each: conversions and the call are one
// function.
//
// [From registers] All others are called by the function that their record has for graphs, with
// values that borrow what the objects hold. That takes 12 to 17 ns longer than a function of the
// signature, and 23 to 66 less than the stack: docs/dev/performance.md has the figures.
#include "operators/cpp_calls.h"

#include <array>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include "objects/convert/convert.h"
#include "objects/tensor/tensor.h"
#include "objects/values/integer.h"
#include "operators/missing_results.h"
#include "opyard/value/scalar.h"
#include "runtime/runtime.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// See [By signature]. One argument, from the object that was given, else from its default; false if
// the object is not ready.
template <typename A>
struct Unpacked;
template <>
struct Unpacked<const Tensor&> {
  const Tensor* tensor = nullptr;
  bool unpack(PyObject* given, const Argument&) noexcept {
    if (given == nullptr || given == Py_None) return false;
    tensor = &tensor_unchecked(given);
    return true;
  }
  const Tensor& get() const noexcept { return *tensor; }
};
template <>
struct Unpacked<std::int64_t> {
  std::int64_t number = 0;
  bool unpack(PyObject* given, const Argument& argument) {
    if (given == nullptr) {
      number = argument.default_value->to_int();
      return true;
    }
    const std::optional<std::int64_t> found =
        PyLong_CheckExact(given) ? find_int64(given) : std::nullopt;
    number = found.value_or(0);
    return found.has_value();
  }
  std::int64_t get() const noexcept { return number; }
};
template <>
struct Unpacked<double> {
  double number = 0;
  bool unpack(PyObject* given, const Argument& argument) {
    number = given == nullptr            ? argument.default_value->to_double()
             : PyFloat_CheckExact(given) ? PyFloat_AS_DOUBLE(given)
                                         : 0;
    return given == nullptr || PyFloat_CheckExact(given);
  }
  double get() const noexcept { return number; }
};
template <>
struct Unpacked<const Scalar&> {
  Scalar number = std::int64_t{0};
  bool unpack(PyObject* given, const Argument& argument) {
    if (given == nullptr) {
      number = Scalar(*argument.default_value);
    } else if (PyFloat_CheckExact(given)) {
      number = PyFloat_AS_DOUBLE(given);
    } else {
      Unpacked<std::int64_t> integer;
      if (!integer.unpack(given, argument)) return false;
      number = integer.number;
    }
    return true;
  }
  const Scalar& get() const noexcept { return number; }
};

template <typename... A, std::size_t... I>
PyObject* call_spread(std::index_sequence<I...>, Runtime& runtime, const Schema& schema,
                      PyObject* const* args, std::size_t count, TypedFunction function,
                      void* context, DispatchKeySet keys) {
  std::tuple<Unpacked<A>...> unpacked;
  if (!(std::get<I>(unpacked).unpack(I < count ? args[I] : nullptr, schema.arguments[I]) && ...)) {
    return nullptr;
  }
  using Typed = Tensor (*)(A..., void*, DispatchKeySet);
  PyObject* const result = wrap_reference(
      runtime, reinterpret_cast<Typed>(function)(std::get<I>(unpacked).get()..., context, keys));
  if (__builtin_expect(result == Py_None, 0)) require_result(schema, 0);
  return result;
}

template <typename... A>
PyObject* run_typed(Runtime& runtime, const CppCallSite& site, PyObject* const* args,
                    std::size_t count, TypedFunction function, void* context, DispatchKeySet keys) {
  return call_spread<A...>(std::index_sequence_for<A...>(), runtime, site.schema, args, count,
                           function, context, keys);
}

struct CallEntry {
  const std::type_info* signature;
  CppCall call;
};
template <typename... A>
constexpr CallEntry entry() {
  return {&typeid(Tensor(A...)), &run_typed<A...>};
}

CppCall find_by_signature(const std::type_info& signature) {
  using T = const Tensor&;
  using I = std::int64_t;
  using F = double;
  using S = const Scalar&;
  static const std::array kEntries = {entry<T>(),       entry<T, T>(),    entry<T, T, T>(),
                                      entry<T, I>(),    entry<T, F>(),    entry<T, S>(),
                                      entry<T, T, I>(), entry<T, T, F>(), entry<T, T, S>(),
                                      entry<T, S, S>(), entry<T, I, I>(), entry<T, F, F>()};
  for (const CallEntry& one : kEntries) {
    if (*one.signature == signature) return one.call;
  }
  return nullptr;
}

// Makes the value of an object that is ready. It borrows or is a number, so it is never destroyed.
bool read_argument(Ready ready, PyObject* object, void* to) {
  switch (ready) {
    case Ready::OptionalTensor:
    case Ready::Tensor:
      if (object == Py_None) {  // of an OptionalTensor: the keys of the others were joined
        new (to) Value();
      } else {
        new (to) Value(Value::borrow(tensor_unchecked(object)));
      }
      return true;
    case Ready::Number:
      if (PyBool_Check(object)) return read_argument(Ready::Bool, object, to);
      if (PyFloat_CheckExact(object)) return read_argument(Ready::Float, object, to);
      return read_argument(Ready::Int, object, to);
    case Ready::OptionalInt:
      if (object == Py_None) {
        new (to) Value();
        return true;
      }
      [[fallthrough]];
    case Ready::Int: {
      if (!PyLong_CheckExact(object)) return false;
      const std::optional<std::int64_t> number = find_int64(object);
      if (number) new (to) Value(*number);
      return number.has_value();
    }
    case Ready::Float:
      if (!PyFloat_CheckExact(object)) return false;
      new (to) Value(PyFloat_AS_DOUBLE(object));
      return true;
    case Ready::Bool:
      if (!PyBool_Check(object)) return false;
      new (to) Value(object == Py_True);
      return true;
    case Ready::Str:  // a value would have to own it
    case Ready::Never:
      break;
  }
  return false;
}

Owned result_to_object(Runtime& runtime, const Schema& schema, std::size_t i, Value& value) {
  const Type& type = *schema.results[i].type;
  Owned object =
      value.is_tensor() ? wrap(runtime, value.take_tensor()) : to_python(runtime, type, value);
  if (__builtin_expect(object.get() == Py_None, 0)) require_result(schema, i);
  if (PyList_CheckExact(object.get())) require_items(schema, i, object.get());
  return object;
}

PyObject* to_objects(Runtime& runtime, const Schema& schema, Value* values) {
  const std::vector<Argument>& results = schema.results;
  if (results.empty()) Py_RETURN_NONE;
  if (results.size() == 1) return result_to_object(runtime, schema, 0, values[0]).release();
  Owned all = checked(PyTuple_New(Py_ssize_t(results.size())));
  for (std::size_t i = 0; i < results.size(); ++i) {
    PyTuple_SET_ITEM(all.get(), Py_ssize_t(i),
                     result_to_object(runtime, schema, i, values[i]).release());
  }
  return all.release();
}

constexpr std::size_t kMostSpread = 16;
constexpr std::size_t kMostResults = 4;

// See [From registers].
PyObject* run_from_registers(Runtime& runtime, const CppCallSite& site, PyObject* const* args,
                             std::size_t count, TypedFunction function, void* context,
                             DispatchKeySet keys) {
  alignas(Value) std::byte made[kMostSpread * sizeof(Value)];
  const Value* arguments[kMostSpread];
  const std::vector<Argument>& parameters = site.schema.arguments;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i < count) {
      void* const place = made + i * sizeof(Value);
      if (!read_argument(site.ready[i], args[i], place)) return nullptr;
      arguments[i] = std::launder(static_cast<const Value*>(place));
    } else {
      arguments[i] = &*parameters[i].default_value;
    }
  }
  Value values[kMostResults];
  Value* const results[kMostResults] = {&values[0], &values[1], &values[2], &values[3]};
  site.from_registers(function, context, keys, {arguments, results});
  return to_objects(runtime, site.schema, values);
}

}  // namespace

CppCall find_cpp_call(const CppCallSite& site, const std::type_info& signature) {
  if (const CppCall by_signature = find_by_signature(signature)) return by_signature;
  const bool fits =
      site.schema.arguments.size() <= kMostSpread && site.schema.results.size() <= kMostResults;
  return fits && site.from_registers != nullptr ? &run_from_registers : nullptr;
}

}  // namespace opyard::python
