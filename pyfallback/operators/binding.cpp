// operators/binding.cpp: binding Python arguments to a schema: one walk over the parameters.
//
// An object that does not fit as it is may fit in another way: an int at the end as the last of a
// list, a number beside a tensor as a tensor. It is tried at its place, so that no object is
// converted twice.
#include "operators/call_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "objects/convert/convert.h"
#include "objects/tensor/tensor.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/values/symbolic.h"
#include "runtime/types.h"

namespace opyard::python {
namespace {

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

// Pushes one argument. If it does not fit nothing is pushed.
bool CallPlan::push_converted(PythonCall& call, std::size_t position, PyObject* given, Ways ways,
                              ArgumentMismatch& mismatch) const {
  const Parameter& parameter = parameters_[position];
  const bool only_candidate = (ways & kOnlyCandidate) != 0;
  try {
    call.arrays.set_written(parameter.is_written);
    if (parameter.is_tensor && given != Py_None && !is_tensor(call.runtime, given)) {
      if (TensorImpl* const array = call.arrays.convert(call.runtime, given)) {
        borrow_to(call.stack, array);
        return true;
      }
    }
    if (may_run_code(call.runtime, given)) call.arrays.expect_code();
    Value value;
    if (to_value(call.runtime, *parameter.argument->type, given, value, &call.arrays)) {
      call.stack.push(std::move(value));
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
    mismatch.set_details(refused.place.empty() ? refused.what()
                                               : refused.place + ": " + refused.what());
  } catch (const LostGradient& lost) {
    mismatch = {ArgumentMismatch::Kind::Type, position, given, nullptr, ""};
    mismatch.set_details(lost.what());
  } catch (const NamesNothing& error) {
    if (only_candidate && error.carried()) throw;
    if (only_candidate) {
      fail(error.kind(), fmt::format("{}: argument '{}': {}", to_string(op_.name()),
                                     parameter.argument->name, error.what()));
    }
    mismatch = {ArgumentMismatch::Kind::Type, position, given, nullptr, ""};
    mismatch.set_details(error.what());
  }
  return false;
}

// The ints from a place on, as one list. Null if one of them is none.
Owned CallPlan::spread_ints(const PythonCall& call, std::size_t first) const {
  const Py_ssize_t count = call.given().count - Py_ssize_t(first);
  PyObject* const* const ints = call.given().values + first;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!is_int_like(call.runtime, ints[i])) return {};
  }
  Owned list = checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(list.get(), i, Owned::share(ints[i]).release());
  }
  return list;
}

bool CallPlan::is_number_for_tensor(const Runtime& runtime, std::size_t position,
                                    PyObject* given) const noexcept {
  const Parameter& parameter = parameters_[position];
  return parameter.is_tensor && !parameter.is_written && !is_tensor(runtime, given) &&
         is_number(given) && fits_64_bits(given);
}

// A number given for a tensor, as a tensor that the call keeps; null if it is not accepted so.
PyObject* CallPlan::tensor_for_number(PythonCall& call, std::size_t position,
                                      PyObject* given) const {
  if (!is_number_for_tensor(call.runtime, position, given)) return nullptr;
  PyObject* const other = promoting_tensor(call.runtime, call.given().by_position());
  if (other == nullptr) return nullptr;
  if (call.numbers == nullptr) call.numbers = std::make_unique<std::vector<Owned>>();
  call.numbers->push_back(number_beside(call.runtime, given, tensor_unchecked(other)));
  return call.numbers->back().get();
}

// As push_converted(), also in the other ways that are asked for. If it fits in none, the mismatch
// is that of the object as it is.
bool CallPlan::push(PythonCall& call, std::size_t position, PyObject* given, Ways ways,
                    ArgumentMismatch& mismatch) const {
  const bool is_last = ends_in_ints_ && Py_ssize_t(position) + 1 == positional_;
  if (!is_last || call.given().count <= positional_) {
    if (push_converted(call, position, given, ways, mismatch)) return true;
  }
  if (Py_ssize_t(position) >= call.given().count) return false;
  ArgumentMismatch other;
  if ((ways & kSpread) != 0 && is_last) {
    const Owned list = spread_ints(call, position);
    return list && push_converted(call, position, list.get(), ways, other);
  }
  if ((ways & kNumbers) == 0 || !takes_numbers_) return false;
  PyObject* const tensor = tensor_for_number(call, position, given);
  return tensor != nullptr && push_converted(call, position, tensor, ways, other);
}

bool CallPlan::may_fit(const PythonCall& call, Ways way) const noexcept {
  const GivenArguments& given = call.given();
  if (way == kSpread) return ends_in_ints_ && given.count >= positional_;
  if (!takes_numbers_ || given.count > positional_) return false;
  bool any = false;
  for (Py_ssize_t i = 0; i < given.count; ++i) {
    any = any || is_number_for_tensor(call.runtime, std::size_t(i), given.values[i]);
  }
  return any && promoting_tensor(call.runtime, given.by_position()) != nullptr;
}

// Pushes one value a parameter. If one of them does not fit nothing is pushed.
bool CallPlan::push_all(PythonCall& call, Ways ways, ArgumentMismatch& mismatch) const {
  const GivenArguments& given = call.given();
  const Py_ssize_t by_position = std::min(given.count, positional_);
  Py_ssize_t keywords_left = given.named();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    PyObject* value = Py_ssize_t(i) < by_position ? given.values[i] : nullptr;
    if (value == nullptr && keywords_left > 0) {
      value = given.find(parameter.name.get());
      if (value != nullptr) --keywords_left;
    }
    if (value == nullptr) {
      const std::optional<Value>& default_value = parameter.argument->default_value;
      if (!default_value) {
        mismatch = {ArgumentMismatch::Kind::Missing, i, nullptr, nullptr, ""};
        call.stack.drop(i);
        return false;
      }
      call.stack.push(*default_value);
    } else if (parameter.is_tensor && Py_TYPE(value) == call.runtime.tensor_type) {
      call.stack.borrow(tensor_unchecked(value));
    } else if (TensorImpl* const array = parameter.is_tensor && !parameter.is_written
                                             ? call.arrays.export_of_known_type(call.runtime, value)
                                             : nullptr) {
      borrow_to(call.stack, array);
    } else if (!push(call, i, value, ways, mismatch)) {
      call.stack.drop(i);
      return false;
    }
  }
  if (keywords_left == 0) return true;
  mismatch = {ArgumentMismatch::Kind::Names, std::size_t(given.count), nullptr, nullptr, ""};
  call.stack.drop(parameters_.size());
  return false;
}

bool CallPlan::bind(PythonCall& call, Ways ways, ArgumentMismatch& mismatch) const {
  const bool too_many = call.given().count > positional_;
  if (!too_many || (ends_in_ints_ && (ways & kSpread) != 0)) {
    call.arrays.begin();
    if (push_all(call, ways, mismatch)) {
      if (storage_offset_ != 0 && !call.arrays.empty()) move_offset(call);
      return true;
    }
  }
  if (too_many) {
    mismatch = {ArgumentMismatch::Kind::TooMany, std::size_t(call.given().count), nullptr, nullptr,
                ""};
  }
  return false;
}

// A frame of its own: its locals take no C stack below a call (test_depth.py).
[[gnu::noinline]] void CallPlan::require(PythonCall& call) const {
  ArgumentMismatch mismatch;
  if (!bind(call, kOnlyCandidate | kSpread | kNumbers, mismatch))
    refuse(mismatch, call.given().names);
}

bool CallPlan::some_need_conversion(const Runtime& runtime,
                                    const GivenArguments& given) const noexcept {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (Py_ssize_t(i) >= given.count && given.named() == 0) return false;
    const Parameter& parameter = parameters_[i];
    if (!parameter.may_need_conversion) continue;
    PyObject* const value =
        Py_ssize_t(i) < given.count ? given.values[i] : given.find(parameter.name.get());
    if (value != nullptr && python::needs_conversion(runtime, *parameter.argument->type, value)) {
      return true;
    }
  }
  return false;
}

bool CallPlan::has_number_for_tensor(const GivenArguments& given) const noexcept {
  const std::size_t most = std::min(std::size_t(given.count), parameters_.size());
  for (std::size_t i = 0; i < most; ++i) {
    if (!parameters_[i].is_tensor) continue;
    PyObject* const value = given.values[i];
    if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value)) return true;
  }
  return false;
}

// A library counts storage offsets from where its own memory begins, which may be before the
// array's first element; the tensor of the array begins there.
void CallPlan::move_offset(PythonCall& call) const {
  const std::span<Value> values = call.stack.top(parameters_.size());
  Value& offset = values[storage_offset_];
  if (!values[0].is_tensor() || !offset.is_int()) return;
  const TensorImpl* const tensor = values[0].tensor_unchecked().impl().get();
  const std::int64_t skipped =
      tensor == nullptr ? 0 : call.arrays.storage_offset_of(call.runtime, *tensor);
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

}  // namespace opyard::python
