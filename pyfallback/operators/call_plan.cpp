// operators/call_plan.cpp: one walk over the parameters.
#include "operators/call_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "objects/convert/convert.h"
#include "objects/convert/foreign_results.h"
#include "objects/tensor/tensor.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/values/integer.h"
#include "objects/values/symbolic.h"
#include "opyard/registry/registry.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

// The keyword argument of this name, borrowed, or null. Names are interned on both sides
// almost always, so the first walk compares addresses.
PyObject* find_keyword(PyObject* const* values, PyObject* names, PyObject* wanted) {
  const Py_ssize_t count = PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyTuple_GET_ITEM(names, i) == wanted) return values[i];
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), wanted) == 0) return values[i];
  }
  return nullptr;
}

// `convert` makes a Python object of a result.
template <typename Convert>
PyObject* take_results(Runtime&, const Operator& op, Stack& stack, const Convert& convert_result) {
  const std::vector<Argument>& results = op.schema().results;
  if (results.empty()) Py_RETURN_NONE;
  const std::span<Value> values = stack.top(results.size());
  const auto convert = [&](std::size_t i) { return convert_result(*results[i].type, values[i]); };
  Owned object;
  if (results.size() == 1) {
    object = convert(0);
  } else {
    object = checked(PyTuple_New(Py_ssize_t(results.size())));
    for (std::size_t i = 0; i < results.size(); ++i) {
      PyTuple_SET_ITEM(object.get(), Py_ssize_t(i), convert(i).release());
    }
  }
  stack.drop(results.size());
  return object.release();
}

// Not in the middle of a character. What is behind the details is zero.
void set_details(ArgumentMismatch& mismatch, std::string_view text) {
  std::size_t size = std::min(text.size(), sizeof(mismatch.details) - 1);
  while (size < text.size() && size > 0 && (text[size] & 0xC0) == 0x80) --size;
  text.copy(mismatch.details, size);
}

// `arrays` is the owner.
void borrow_to(Stack& stack, TensorImpl* array) {
  Tensor borrowed(CountedPtr<TensorImpl>::steal(array));
  stack.borrow(borrowed);
  static_cast<void>(borrowed.release_impl());
}

bool is_list_of_ints(const Type& type) {
  return type.kind() == TypeKind::List &&
         (type.element().kind() == TypeKind::Int || type.element().kind() == TypeKind::SymInt);
}

// Operators whose tensors may be numbers, as in PyTorch: aten's arithmetic, and copy_.
bool is_arithmetic(const OperatorName& name) {
  static constexpr std::string_view kNames[] = {
      "add",       "add_",      "sub",          "sub_",          "mul",         "mul_",
      "div",       "div_",      "rsub",         "copy_",         "remainder",   "divide",
      "subtract",  "multiply",  "floor_divide", "floor_divide_", "true_divide", "divide_",
      "subtract_", "multiply_", "true_divide_"};
  return name.name_space() == "aten" &&
         std::find(std::begin(kNames), std::end(kNames), name.base_name()) != std::end(kNames);
}

// Whether an operator takes the number: an int past 64 bits is told by the refusal of the call.
bool fits_64_bits(PyObject* number) noexcept {
  if (!PyLong_Check(number)) return true;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(number, &overflow);
  return overflow == 0;
}

bool is_int_like(const Runtime& runtime, PyObject* object) noexcept {
  if (PyBool_Check(object)) return false;
  if (PyLong_Check(object) || is_symbolic(runtime, object, SymKind::Int)) return true;
  return PyIndex_Check(object) != 0 && PySequence_Check(object) == 0 && !is_tensor(runtime, object);
}

// Whether converting an object may run code of Python's, as __index__ or __dlpack__.
bool may_run_code(const Runtime& runtime, PyObject* object) noexcept {
  PyTypeObject* const type = Py_TYPE(object);
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
      type == &PyUnicode_Type || object == Py_None || is_tensor(runtime, object)) {
    return false;
  }
  if (type != &PyList_Type && type != &PyTuple_Type) return true;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(object, i);
    const bool is_nested = PyList_CheckExact(item) || PyTuple_CheckExact(item);
    if (is_nested || may_run_code(runtime, item)) return true;
  }
  return false;
}

// The tensor that a number beside it promotes with: of the highest category, or null. A condition
// is of the lowest.
PyObject* promoting_tensor(const Runtime& runtime, std::span<PyObject* const> args) {
  const auto category = [](PyObject* given) {
    const DType dtype = tensor_unchecked(given).dtype();
    if (dtype == DType::Bool) return 0;
    return is_integral(dtype) ? 1 : is_floating_point(dtype) ? 2 : 3;
  };
  PyObject* found = nullptr;
  for (PyObject* const given : args) {
    if (!is_tensor(runtime, given)) continue;
    if (found == nullptr || category(given) > category(found)) found = given;
  }
  return found;
}

}  // namespace

CallPlan::CallPlan(Runtime& runtime, const Operator& op) : op_(op), direct_(runtime, op) {
  const Schema& schema = op.schema();
  for (const Argument& argument : schema.arguments) {
    Owned name = checked(PyUnicode_InternFromString(argument.name.c_str()));
    parameters_.push_back({std::move(name), &argument, argument.type->kind() == TypeKind::Tensor,
                           argument.is_write(), may_need_conversion(*argument.type)});
    may_need_conversion_ |= parameters_.back().may_need_conversion;
    if (!argument.keyword_only) ++positional_;
    if (argument.name == "storage_offset" && parameters_.front().is_tensor) {
      storage_offset_ = parameters_.size() - 1;
    }
  }
  takes_numbers_ = is_arithmetic(op.name());
  ends_in_ints_ = op.name().name_space() == "aten" && positional_ > 0 &&
                  is_list_of_ints(*schema.arguments[positional_ - 1].type) &&
                  std::all_of(parameters_.begin(), parameters_.begin() + positional_ - 1,
                              [](const Parameter& parameter) { return parameter.is_tensor; });
  if (schema.variadic_arguments || schema.variadic_results) {
    positional_ = kCannotBeCalled;
    ends_in_ints_ = false;
  }
}

const CallPlan::Parameter* CallPlan::find(PyObject* name) const {
  for (const Parameter& parameter : parameters_) {
    if (PyUnicode_Compare(parameter.name.get(), name) == 0) return &parameter;
  }
  return nullptr;
}

void CallPlan::blame(ArgumentMismatch& mismatch, std::string_view place,
                     std::string_view what) const {
  set_details(mismatch,
              fmt::format("{}{} {}", parameters_[mismatch.position].argument->name, place, what));
}

// Pushes one argument. If it does not fit nothing is pushed.
bool CallPlan::convert(Runtime& runtime, std::size_t position, PyObject* given, Stack& stack,
                       ForeignArguments& arrays, ArgumentMismatch& mismatch,
                       bool only_candidate) const {
  try {
    arrays.set_written(parameters_[position].is_written);
    if (parameters_[position].is_tensor && given != Py_None && !is_tensor(runtime, given)) {
      if (TensorImpl* const array = arrays.convert(runtime, given)) {
        borrow_to(stack, array);
        return true;
      }
    }
    if (may_run_code(runtime, given)) arrays.expect_code();
    Value value;
    if (to_value(runtime, *parameters_[position].argument->type, given, value, &arrays)) {
      stack.push(std::move(value));
      return true;
    }
    mismatch = {ArgumentMismatch::Kind::Type, position, given, nullptr, ""};
  } catch (const PastRange& range) {
    mismatch = {ArgumentMismatch::Kind::Range, position, given, range.accepted, ""};
    if (!range.place.empty()) blame(mismatch, range.place, "is the number outside");
  } catch (const WrongElement& element) {
    mismatch = {ArgumentMismatch::Kind::Type, position, given, nullptr, ""};
    blame(mismatch, element.place,
          fmt::format("is of type '{}', where '{}' is expected", element.found, element.accepted));
  } catch (const RefusedArray& refused) {
    mismatch = {ArgumentMismatch::Kind::Type, position, given, nullptr, ""};
    if (only_candidate) refuse_array(refused, mismatch);
    set_details(mismatch,
                refused.place.empty() ? refused.what() : refused.place + ": " + refused.what());
  } catch (const LostGradient& lost) {
    mismatch = {ArgumentMismatch::Kind::Type, position, given, nullptr, ""};
    set_details(mismatch, lost.what());
  } catch (const NamesNothing& error) {
    if (only_candidate) throw;
    mismatch = {ArgumentMismatch::Kind::Type, position, given, nullptr, ""};
    set_details(mismatch, error.what());
  }
  return false;
}

bool CallPlan::some_need_conversion(const Runtime& runtime, PyObject* const* args, Py_ssize_t count,
                                    PyObject* names) const noexcept {
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (Py_ssize_t(i) >= count && named == 0) return false;
    const Parameter& parameter = parameters_[i];
    if (!parameter.may_need_conversion) continue;
    PyObject* const given =
        Py_ssize_t(i) < count ? args[i] : find_keyword(args + count, names, parameter.name.get());
    if (given != nullptr && python::needs_conversion(runtime, *parameter.argument->type, given)) {
      return true;
    }
  }
  return false;
}

bool CallPlan::has_number_for_tensor(PyObject* const* args, Py_ssize_t count) const noexcept {
  const std::size_t most = std::min(std::size_t(count), parameters_.size());
  for (std::size_t i = 0; i < most; ++i) {
    if (!parameters_[i].is_tensor) continue;
    if (PyLong_CheckExact(args[i]) || PyFloat_CheckExact(args[i]) || PyBool_Check(args[i])) {
      return true;
    }
  }
  return false;
}

bool CallPlan::bind(Runtime& runtime, PyObject* const* args, Py_ssize_t count, PyObject* names,
                    Stack& stack, ForeignArguments& arrays, ArgumentMismatch& mismatch,
                    bool only_candidate) const {
  if (count > positional_) {
    mismatch = {ArgumentMismatch::Kind::TooMany, std::size_t(count), nullptr, nullptr, ""};
    return false;
  }
  arrays.begin();
  Py_ssize_t keywords_left = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    PyObject* given = Py_ssize_t(i) < count ? args[i] : nullptr;
    if (given == nullptr && keywords_left > 0) {
      given = find_keyword(args + count, names, parameter.name.get());
      if (given != nullptr) --keywords_left;
    }
    if (given == nullptr) {
      const std::optional<Value>& default_value = parameter.argument->default_value;
      if (!default_value) {
        mismatch = {ArgumentMismatch::Kind::Missing, i, nullptr, nullptr, ""};
        stack.drop(i);
        return false;
      }
      stack.push(*default_value);
    } else if (parameter.is_tensor && Py_TYPE(given) == runtime.tensor_type) {
      stack.borrow(tensor_unchecked(given));
    } else if (TensorImpl* const array = parameter.is_tensor && !parameter.is_written
                                             ? arrays.export_of_known_type(runtime, given)
                                             : nullptr) {
      borrow_to(stack, array);
    } else if (!convert(runtime, i, given, stack, arrays, mismatch, only_candidate)) {
      stack.drop(i);
      return false;
    }
  }
  if (keywords_left == 0) {
    if (storage_offset_ != 0 && !arrays.empty()) move_offset(runtime, stack, arrays);
    return true;
  }
  mismatch = {ArgumentMismatch::Kind::Names, std::size_t(count), nullptr, nullptr, ""};
  stack.drop(parameters_.size());
  return false;
}

bool CallPlan::bind_spread(Runtime& runtime, PyObject* const* args, Py_ssize_t count,
                           PyObject* names, Stack& stack, ForeignArguments& arrays) const {
  if (!ends_in_ints_ || count < positional_) return false;
  const Py_ssize_t first = positional_ - 1;
  for (Py_ssize_t i = first; i < count; ++i) {
    if (!is_int_like(runtime, args[i])) return false;
  }
  const Owned list = checked(PyTuple_New(count - first));
  for (Py_ssize_t i = first; i < count; ++i) {
    PyTuple_SET_ITEM(list.get(), i - first, Owned::share(args[i]).release());
  }
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  std::vector<PyObject*> all(args, args + first);
  all.push_back(list.get());
  all.insert(all.end(), args + count, args + count + named);
  ArgumentMismatch mismatch;
  return bind(runtime, all.data(), positional_, names, stack, arrays, mismatch, true);
}

bool CallPlan::bind_numbers(Runtime& runtime, PyObject* const* args, Py_ssize_t count,
                            PyObject* names, Stack& stack, ForeignArguments& arrays,
                            std::vector<Owned>& made) const {
  if (!takes_numbers_ || count > positional_) return false;
  PyObject* const tensor = promoting_tensor(runtime, {args, std::size_t(count)});
  if (tensor == nullptr) return false;
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  std::vector<PyObject*> all(args, args + count + named);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!parameters_[std::size_t(i)].is_tensor || parameters_[std::size_t(i)].is_written) continue;
    if (is_tensor(runtime, args[i]) || !is_number(args[i]) || !fits_64_bits(args[i])) continue;
    made.push_back(number_beside(runtime, args[i], tensor_unchecked(tensor)));
    all[std::size_t(i)] = made.back().get();
  }
  ArgumentMismatch mismatch;
  return !made.empty() && bind(runtime, all.data(), count, names, stack, arrays, mismatch, true);
}

// A library counts storage offsets from where its own memory begins, which may be before the
// array's first element; the tensor of the array begins there.
void CallPlan::move_offset(Runtime& runtime, Stack& stack, const ForeignArguments& arrays) const {
  const std::span<Value> values = stack.top(parameters_.size());
  Value& offset = values[storage_offset_];
  if (!values[0].is_tensor() || !offset.is_int()) return;
  const TensorImpl* const tensor = values[0].tensor_unchecked().impl().get();
  const std::int64_t skipped = tensor == nullptr ? 0 : arrays.storage_offset_of(runtime, *tensor);
  if (skipped == 0) return;
  const std::int64_t given = offset.to_int();
  if (given < skipped) {
    fail(ErrorKind::BadValue,
         fmt::format("{}(): storage_offset={} is before the first element of argument '{}', which "
                     "is at {} in its storage; pass the array that begins there",
                     op_.name().name, given, parameters_[0].argument->name, skipped));
  }
  offset = given - skipped;
}

std::string CallPlan::explain(const ArgumentMismatch& mismatch, PyObject* names) const {
  switch (mismatch.kind) {
    case ArgumentMismatch::Kind::TooMany:
      if (positional_ == kCannotBeCalled) {
        return fmt::format("{} has a variadic schema, which this version cannot call from Python",
                           op_.declaration());
      }
      return fmt::format(
          "{}() takes {} positional argument(s) but {} was/were given.  Declaration: {}{}",
          op_.name().name, positional_, mismatch.position, op_.declaration(),
          advice_for_count(std::ptrdiff_t(mismatch.position)));
    case ArgumentMismatch::Kind::Missing:
      return fmt::format("{}() is missing value for argument '{}'. Declaration: {}{}",
                         op_.name().name, parameters_[mismatch.position].argument->name,
                         op_.declaration(), advice_for_names(names));
    case ArgumentMismatch::Kind::Type:
    case ArgumentMismatch::Kind::Range:
      return explain_value(mismatch);
    case ArgumentMismatch::Kind::Names:
      return explain_names(mismatch.position, names);
  }
  fail(ErrorKind::Internal, "a mismatch of no kind");
}

std::string CallPlan::explain_value(const ArgumentMismatch& mismatch) const {
  const Argument& argument = *parameters_[mismatch.position].argument;
  const std::string past = mismatch.kind == ArgumentMismatch::Kind::Type
                               ? ""
                               : fmt::format(" with a number outside of {}", mismatch.accepted);
  return fmt::format(
      "{}() Expected a value of type '{}' for argument '{}' but instead found type '{}'{}.\n"
      "Position: {}\nValue: {}\nDeclaration: {}{}{}{}",
      op_.name().name, to_string(*argument.type), argument.name, Py_TYPE(mismatch.given)->tp_name,
      past, mismatch.position, shown(mismatch.given), op_.declaration(),
      mismatch.details[0] == '\0' ? "" : "\nCast error details: ", mismatch.details,
      advice_for_symbol(mismatch.given));
}

// What takes a number that is not known yet.
std::string CallPlan::advice_for_symbol(PyObject* given) const {
  const Runtime* const runtime = find_runtime();
  if (runtime == nullptr || !is_symbolic(*runtime, given, SymKind::Int)) return {};
  return fmt::format(
      "\nOnly arguments of the types SymInt and SymInt[] take a SymInt{}.",
      op_.name().name == "aten::arange" ? "; opyard.arange() takes one on meta" : "");
}

// What to do with more arguments than are taken by position.
std::string CallPlan::advice_for_count(std::ptrdiff_t given) const {
  if (ends_in_ints_) {
    return fmt::format("\nGive '{}' as a list of ints, or int by int.",
                       parameters_[std::size_t(positional_ - 1)].argument->name);
  }
  std::string named;
  for (std::size_t i = std::size_t(positional_); i < parameters_.size(); ++i) {
    named += (named.empty() ? "" : ", ") + parameters_[i].argument->name;
  }
  if (!named.empty()) return fmt::format("\nGive the others by name: {}.", named);
  const std::ptrdiff_t more = given - positional_;
  return more == 1 ? "\nLeave the last one out." : fmt::format("\nLeave the last {} out.", more);
}

// NumPy's names for what has another one here; empty for others.
std::string CallPlan::advice_for_name(std::string_view name) const {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"axis", "dim"},         {"axes", "dims"},      {"axes", "dim"},
      {"keepdims", "keepdim"}, {"newshape", "shape"}, {"x", "self"}};
  for (const auto& [theirs, ours] : kNames) {
    if (name != theirs) continue;
    for (const Parameter& parameter : parameters_) {
      if (parameter.argument->name == ours)
        return fmt::format("\n'{}' is called '{}' here.", theirs, ours);
    }
  }
  return "";
}

std::string CallPlan::advice_for_names(PyObject* names) const {
  std::string advice;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    if (find(name) == nullptr) advice += advice_for_name(require_text(name, "an argument's name"));
  }
  return advice;
}

// `count` arguments were given by position.
std::string CallPlan::explain_names(std::size_t count, PyObject* names) const {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    const Parameter* const known = find(name);
    const std::string_view text = require_text(name, "the name of an argument");
    if (known == nullptr) {
      return fmt::format("Unknown keyword argument '{}' for operator '{}'. Schema: {}{}", text,
                         op_.name().name, op_.declaration(), advice_for_name(text));
    }
    if (std::size_t(known - parameters_.data()) < count) {
      return fmt::format(
          "Argument '{}' specified both as positional and keyword argument. Schema: {}", text,
          op_.declaration());
    }
  }
  fail(ErrorKind::Internal, "keyword arguments were left over although all of them are known");
}

void CallPlan::require(Runtime& runtime, PyObject* const* args, Py_ssize_t count, PyObject* names,
                       Stack& stack, ForeignArguments& arrays) const {
  ArgumentMismatch mismatch;
  if (bind(runtime, args, count, names, stack, arrays, mismatch, true)) return;
  if (!bind_spread(runtime, args, count, names, stack, arrays)) refuse(mismatch, names);
}

void CallPlan::refuse(const ArgumentMismatch& mismatch, PyObject* names) const {
  refuse(positional_ == kCannotBeCalled ? ErrorKind::Unsupported : ErrorKind::BadArgument,
         explain(mismatch, names));
}

void CallPlan::refuse_array(const RefusedArray& refused, const ArgumentMismatch& mismatch) const {
  refuse(
      refused.kind(),
      fmt::format("{}() cannot take what was given for argument '{}'{}, a value of type '{}': {}.\n"
                  "Position: {}\nDeclaration: {}",
                  op_.name().name, parameters_[mismatch.position].argument->name, refused.place,
                  refused.type.empty() ? Py_TYPE(mismatch.given)->tp_name : refused.type.c_str(),
                  refused.what(), mismatch.position, op_.declaration()));
}

void CallPlan::refuse(ErrorKind kind, std::string text) const {
  // Arguments for the operator that took this one's place would seem wrong here.
  if (Registry::instance().find(op_.name()) != &op_) {
    fail(ErrorKind::OperatorGone,
         fmt::format("{} is gone: the library that defined it has ended. Load the library "
                     "again, or look the operator up anew.",
                     op_.declaration()));
  }
  fail(kind, std::move(text));
}

PyObject* CallPlan::call(Runtime& runtime, Stack& stack, ForeignArguments& arrays) const {
  before_call(runtime, arrays);
  op_.call_boxed_unchecked(stack);
  return take_results(runtime, op_, stack, arrays);
}

PyObject* take_results(Runtime& runtime, const Operator& op, Stack& stack) {
  return take_results(runtime, op, stack, [&](const Type& type, Value& value) {
    if (value.is_tensor()) return wrap(runtime, value.take_tensor());
    return to_python(runtime, type, value);
  });
}

PyObject* take_results(Runtime& runtime, const Operator& op, Stack& stack,
                       const ForeignArguments& arrays) {
  if (__builtin_expect(arrays.empty(), 1)) return take_results(runtime, op, stack);
  return take_results(runtime, op, stack, [&](const Type& type, Value& value) {
    return give_back(runtime, arrays, type, value);
  });
}

}  // namespace opyard::python
