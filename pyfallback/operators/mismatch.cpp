// operators/mismatch.cpp: errors of arguments that do not fit a schema.
//
// The texts never change, since people match on them.
#include "operators/call_plan.h"

#include <fmt/format.h>

#include "objects/arrays/package.h"
#include "objects/values/integer.h"
#include "objects/values/symbolic.h"
#include "opyard/detail/text/near_names.h"
#include "opyard/registry/registry.h"
#include "runtime/types.h"

namespace opyard::python {

namespace {

constexpr std::string_view kCut = "...";

// As messages name it: a class called Tensor with its module, since ours is called so, too.
// Of a sentence of someone else's, which is part of one here.
std::string_view without_last_point(std::string_view text) {
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string type_name_of(PyObject* object) {
  const char* const name = Py_TYPE(object)->tp_name;
  if (std::string_view(name) != "Tensor") return name;
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  const Owned module = python::find_attribute(type, "__module__");
  const char* const text =
      module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
  if (PyErr_Occurred() != nullptr) throw PythonErrorSet();
  return text == nullptr ? name : fmt::format("{}.{}", text, name);
}

}  // namespace

// What is behind the details is zero.
void ArgumentMismatch::set_details(std::string_view text) {
  const bool fits = text.size() < sizeof(details);
  const std::size_t most = sizeof(details) - 1 - (fits ? 0 : kCut.size());
  const std::string_view kept = whole_characters(text, most);
  kept.copy(details, kept.size());
  if (!fits) kCut.copy(details + kept.size(), kCut.size());
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
  using Kind = ArgumentMismatch::Kind;
  if (mismatch.kind == Kind::TooMany && positional_ == kCannotBeCalled) {
    return reason(mismatch, names, {});
  }
  if (mismatch.kind != Kind::Type && mismatch.kind != Kind::Range) {
    const char* const before = mismatch.kind == Kind::TooMany   ? "  Declaration: "
                               : mismatch.kind == Kind::Missing ? " Declaration: "
                                                                : " Schema: ";
    return reason(mismatch, names, {}) + before + op_.declaration() + advice(mismatch, names);
  }
  return fmt::format("{}\nPosition: {}\nValue: {}\nDeclaration: {}{}{}{}",
                     reason_of_value(mismatch, wanted_type(mismatch)), mismatch.position,
                     shown(mismatch.given), op_.declaration(),
                     mismatch.has_details() ? "\nCast error details: " : "", mismatch.details,
                     advice(mismatch, names));
}

std::string CallPlan::reason(const ArgumentMismatch& mismatch, PyObject* names,
                             std::string_view types) const {
  switch (mismatch.kind) {
    case ArgumentMismatch::Kind::TooMany:
      if (positional_ == kCannotBeCalled) {
        return fmt::format("{} has a variadic schema, which this version cannot call from Python",
                           op_.declaration());
      }
      return fmt::format("{}() takes {} positional argument(s) but {} was/were given.",
                         op_.name().name, positional_, mismatch.position);
    case ArgumentMismatch::Kind::Missing:
      return fmt::format("{}() is missing value for argument '{}'.", op_.name().name,
                         blamed(mismatch));
    case ArgumentMismatch::Kind::Type:
    case ArgumentMismatch::Kind::Range:
      if (!mismatch.has_details()) return reason_of_value(mismatch, types);
      return fmt::format(
          "{}() cannot take what was given for argument '{}', a value of type '{}': "
          "{}.",
          op_.name().name, blamed(mismatch), type_name_of(mismatch.given),
          without_last_point(mismatch.details));
    case ArgumentMismatch::Kind::Names:
      return reason_of_names(mismatch.position, names);
  }
  fail(ErrorKind::Internal, "a mismatch of no kind");
}

std::string CallPlan::advice(const ArgumentMismatch& mismatch, PyObject* names,
                             bool of_one_type) const {
  switch (mismatch.kind) {
    case ArgumentMismatch::Kind::TooMany:
      return positional_ == kCannotBeCalled ? ""
                                            : advice_for_count(std::ptrdiff_t(mismatch.position));
    case ArgumentMismatch::Kind::Missing:
    case ArgumentMismatch::Kind::Names:
      return advice_for_names(names);
    case ArgumentMismatch::Kind::Type:
    case ArgumentMismatch::Kind::Range:
      return advice_for_symbol(mismatch.given) +
             (of_one_type ? advice_for_type(mismatch) : std::string());
  }
  fail(ErrorKind::Internal, "a mismatch of no kind");
}

const std::string& CallPlan::blamed(const ArgumentMismatch& mismatch) const {
  return parameters_[mismatch.position].argument->name;
}

std::string CallPlan::wanted_type(const ArgumentMismatch& mismatch) const {
  return fmt::format("'{}'", to_string(*parameters_[mismatch.position].argument->type));
}

std::size_t CallPlan::count_known(PyObject* names) const {
  std::size_t count = 0;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    count += find(PyTuple_GET_ITEM(names, i)) != nullptr;
  }
  return count;
}

bool CallPlan::takes_no_fewer_than(std::size_t given) const noexcept {
  std::size_t needed = 0;
  for (const Parameter& parameter : parameters_) needed += !parameter.argument->default_value;
  return needed <= given;
}

std::string CallPlan::reason_of_value(const ArgumentMismatch& mismatch,
                                      std::string_view types) const {
  const std::string past = mismatch.kind == ArgumentMismatch::Kind::Type
                               ? ""
                               : fmt::format(" with a number outside of {}", mismatch.accepted);
  return fmt::format(
      "{}() Expected a value of type {} for argument '{}' but instead found type '{}'{}.",
      op_.name().name, types, blamed(mismatch), type_name_of(mismatch.given), past);
}

// What takes a number that is not known yet.
std::string CallPlan::advice_for_symbol(PyObject* given) const {
  const Runtime* const runtime = find_runtime();
  if (runtime == nullptr || !is_symbolic(*runtime, given, SymKind::Int)) return {};
  return fmt::format(
      "\nOnly arguments of the types SymInt and SymInt[] take a SymInt{}.",
      op_.name().name == "aten::arange" ? "; opyard.arange() takes one on meta" : "");
}

// What a type takes beside what its name says; nothing where more is known of the value.
std::string CallPlan::advice_for_type(const ArgumentMismatch& mismatch) const {
  if (mismatch.kind != ArgumentMismatch::Kind::Type || mismatch.has_details()) return {};
  const Type* type = parameters_[mismatch.position].argument->type.get();
  bool is_list = false;
  while (type->kind() == TypeKind::Optional || type->kind() == TypeKind::List) {
    is_list |= type->kind() == TypeKind::List;
    type = &type->element();
  }
  switch (type->kind()) {
    case TypeKind::Tensor:
      return fmt::format(
          "\n{} wanted, from opyard.tensor() say, or {} of NumPy, PyTorch or what "
          "else has __dlpack__.",
          is_list ? "A list of Tensors is" : "A Tensor is", is_list ? "of arrays" : "an array");
    case TypeKind::ScalarType:
      return fmt::format(
          "\n{} wanted such as opyard.float32, of NumPy or of PyTorch, or of the classes float, "
          "int, bool and complex.",
          is_list ? "A list of dtypes is" : "A dtype is");
    default:
      return {};
  }
}

// What to do with more arguments than are taken by position.
std::string CallPlan::advice_for_count(std::ptrdiff_t given) const {
  if (ends_in_ints_) {
    return fmt::format("\nGive '{}' as a list of ints, or int by int.",
                       parameters_[std::size_t(positional_ - 1)].argument->name);
  }
  const Parameter* const last =
      positional_ > 0 ? &parameters_[std::size_t(positional_ - 1)] : nullptr;
  if (last != nullptr && last->argument->type->kind() == TypeKind::List) {
    return fmt::format("\nGive '{}' as one list, as in [a, b].", last->argument->name);
  }
  std::string named;
  for (std::size_t i = std::size_t(positional_); i < parameters_.size(); ++i) {
    named += (named.empty() ? "" : ", ") + parameters_[i].argument->name;
  }
  if (!named.empty()) return fmt::format("\nGive the others by name: {}.", named);
  const std::ptrdiff_t more = given - positional_;
  return more == 1 ? "\nLeave the last one out." : fmt::format("\nLeave the last {} out.", more);
}

// What was meant by a name that no parameter has: NumPy's, or a slip of the pen; empty for others.
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
  std::vector<std::string_view> known;
  for (const Parameter& parameter : parameters_) known.push_back(parameter.argument->name);
  const std::string_view meant = detail::near_name(name, known);
  return meant.empty() ? "" : fmt::format("\n'{}' may be meant.", meant);
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
std::string CallPlan::reason_of_names(std::size_t count, PyObject* names) const {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(names, i);
    const Parameter* const known = find(name);
    const std::string_view text = require_text(name, "the name of an argument");
    if (known == nullptr) {
      return fmt::format("Unknown keyword argument '{}' for operator '{}'.", text, op_.name().name);
    }
    if (std::size_t(known - parameters_.data()) < count) {
      return fmt::format("Argument '{}' specified both as positional and keyword argument.", text);
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
                  refused.type.empty() ? type_name_of(mismatch.given) : refused.type,
                  without_last_point(refused.what()), mismatch.position, op_.declaration()));
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
