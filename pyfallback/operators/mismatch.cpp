// operators/mismatch.cpp: errors of arguments that do not fit a schema.
//
// The texts never change, since people match on them.
#include "operators/call_plan.h"

#include <fmt/format.h>

#include "objects/values/integer.h"
#include "objects/values/symbolic.h"
#include "opyard/registry/registry.h"
#include "runtime/types.h"

namespace opyard::python {

// Not cut in the middle of a character. What is behind the details is zero.
void ArgumentMismatch::set_details(std::string_view text) {
  std::size_t size = std::min(text.size(), sizeof(details) - 1);
  while (size < text.size() && size > 0 && (text[size] & 0xC0) == 0x80) --size;
  text.copy(details, size);
}

const CallPlan::Parameter* CallPlan::find(PyObject* name) const {
  for (const Parameter& parameter : parameters_) {
    if (PyUnicode_Compare(parameter.name.get(), name) == 0) return &parameter;
  }
  return nullptr;
}

void CallPlan::blame(ArgumentMismatch& mismatch, std::string_view place,
                     std::string_view what) const {
  mismatch.set_details(
      fmt::format("{}{} {}", parameters_[mismatch.position].argument->name, place, what));
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

}  // namespace opyard::python
