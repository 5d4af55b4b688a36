// operators/named_refusal.cpp: naming the argument in a kernel's error.
#include "operators/named_refusal.h"

#include <fmt/format.h>

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <typeinfo>

#include "objects/arrays/foreign_array.h"
#include "objects/tensor/tensor.h"
#include "objects/values/symbolic.h"
#include "opyard/detail/python/clear.h"
#include "opyard/value/sym_tensor.h"

namespace opyard::python {
namespace {

// The texts of Value::to_int(), of refuse_symbolic(), of Tensor::refuse_dtype() and of accessors.
constexpr std::string_view kNumber = "expected Int but got SymInt ";
constexpr std::string_view kTensor = " on a tensor with symbolic shapes/strides";
constexpr std::string_view kElements = "the elements of ";
constexpr std::string_view kAskedFor = " were asked for as ";
constexpr std::string_view kAccessor = "an accessor for ";
constexpr std::string_view kOf = " of ";

bool has_symbolic_number(const Runtime& runtime, PyObject* given) {
  return is_symbolic(runtime, given, SymKind::Int);
}
bool has_symbolic_sizes(const Runtime& runtime, PyObject* given) {
  return is_tensor(runtime, given) && tensor_unchecked(given).defined() &&
         tensor_unchecked(given).impl()->has_policy(TensorImpl::kSymbolic);
}

// What a refusal calls a tensor, or an array that became one; empty for anything else.
std::string described(Runtime& runtime, PyObject* given) {
  if (is_tensor(runtime, given)) return describe(tensor_unchecked(given));
  try {
    Value tensor;
    if (to_foreign_tensor(runtime, given, nullptr, tensor)) return describe(tensor.to_tensor());
  } catch (...) {
    clear_or_report(PyExc_Exception);  // it was taken a moment ago; the call's error is told
  }
  return {};
}

struct Found {
  std::string argument;
  PyObject* given = nullptr;  // borrowed
};

// The argument, or the item of one, for which `is_it` is true. None if it is true of several
// objects: then no one knows which of them the error is about.
template <typename IsIt>
Found find(const Operator& op, const GivenArguments& given, const IsIt& is_it) {
  Found found;
  bool several = false;
  const auto take = [&](std::string name, PyObject* value) {
    if (!is_it(value)) return;
    several = several || (found.given != nullptr && found.given != value);
    if (found.given == nullptr) found = {std::move(name), value};
  };
  const auto look = [&](std::string_view name, PyObject* value) {
    take(std::string(name), value);
    if (!PyList_Check(value) && !PyTuple_Check(value)) return;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      const Owned item = Owned::share(PySequence_Fast_GET_ITEM(value, i));
      take(fmt::format("{}[{}]", name, i), item.get());
    }
  };
  const auto& arguments = op.schema().arguments;
  for (Py_ssize_t i = 0; i < given.count; ++i) {
    // Sizes may be spread over the rest of the places: zeros(2, n).
    std::size_t at = std::min(std::size_t(i), arguments.size() - 1);
    while (at > 0 && arguments[at].keyword_only) --at;
    look(arguments[at].name, given.values[i]);
  }
  for (Py_ssize_t i = 0; i < given.named(); ++i) {
    const char* const name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(given.names, i));
    if (name == nullptr) throw PythonErrorSet();
    look(name, given.values[given.count + i]);
  }
  return several ? Found() : found;
}

std::string describe_symbolic(const Tensor& tensor) {
  std::string sizes;
  for (const SymInt& size : sym_sizes(tensor)) {
    sizes += sizes.empty() ? to_string(size) : ", " + to_string(size);
  }
  return fmt::format("{}[{}] on {}", name_of(tensor.dtype()), sizes, to_string(tensor.device()));
}

bool is_about_number(const Error& error) noexcept {
  return error.kind() == ErrorKind::BadArgument &&
         std::string_view(error.what()).starts_with(kNumber);
}
bool is_about_tensor(const Error& error) noexcept {
  const std::string_view text = error.what();
  return error.kind() == ErrorKind::BadValue && text.starts_with("Cannot call ") &&
         text.ends_with(kTensor);
}

bool is_about_elements(const Error& error) noexcept {
  const std::string_view text = error.what();
  return error.kind() == ErrorKind::BadArgument && text.starts_with(kElements) &&
         text.find(kAskedFor) != text.npos;
}

bool is_about_dimensions(const Error& error) noexcept {
  const std::string_view text = error.what();
  return error.kind() == ErrorKind::BadShape && text.starts_with(kAccessor);
}

// "an accessor for 1 dimension of float32[3, 4]".
[[noreturn]] void refuse_dimensions(Runtime& runtime, const Operator& op, const Error& error,
                                    const GivenArguments& given) {
  const std::string_view text = error.what();
  const std::size_t of = text.find(kOf);
  const std::string came(text.substr(of + kOf.size()));
  const std::string wanted(text.substr(kAccessor.size(), of - kAccessor.size()));
  const Found found =
      find(op, given, [&](PyObject* value) { return described(runtime, value) == came; });
  if (found.given == nullptr) fail(error.kind(), fmt::format("{}: {}", to_string(op.name()), text));
  fail(error.kind(), fmt::format("{}: {} is {}, and the kernel of this call takes {}",
                                 to_string(op.name()), found.argument, came, wanted));
}

// The operator that a text begins with, "aten::mm" of "aten::mm.out: self is …"; else empty.
std::string_view operator_in(std::string_view text) {
  const std::size_t end = text.find(": ");
  const std::string_view name = text.substr(0, end == text.npos ? 0 : end);
  if (name.find("::") == name.npos || name.find(' ') != name.npos) return {};
  return name.substr(0, name.find('.'));
}

// Whether a function that kernels call, as "transform", names itself at the beginning: another one
// than the operator.
bool names_a_function(std::string_view text, std::string_view called) {
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
  if (end == text.npos || end == 0 || !text.substr(end).starts_with(": ")) return false;
  return text.substr(0, end) != called.substr(called.rfind(':') + 1);
}

// Whether a text is one of a function on tensors, or of a look-up, that knows of no operator.
bool is_of_library(std::string_view text) {
  constexpr std::string_view kBeginnings[] = {
      "Could not find schema for ",
      "accessor of ",
      "an accessor for ",
      "data() of ",
      "dimension ",
      "narrow of ",
      "permute of ",
      "select of ",
      "sizes [",
      "the memory of ",
      "view of ",
  };
  return text.find(" cannot be called as ") != text.npos ||
         std::ranges::any_of(kBeginnings, [&](auto begin) { return text.starts_with(begin); });
}

// The class of the exception that is being handled: "std::out_of_range", "int".
std::string class_of_current() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "an exception of another language";
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed), &std::free);
  return name == nullptr ? type->name() : name.get();
}

[[noreturn]] void refuse_elements(Runtime& runtime, const Operator& op, const Error& error,
                                  const GivenArguments& given) {
  const std::string_view text = error.what();
  const std::size_t asked = text.find(kAskedFor);
  const std::string came(text.substr(kElements.size(), asked - kElements.size()));
  std::string_view wanted = text.substr(asked + kAskedFor.size());
  wanted = wanted.substr(0, wanted.find(';'));
  const Found found =
      find(op, given, [&](PyObject* value) { return described(runtime, value) == came; });
  if (found.given == nullptr) fail(error.kind(), fmt::format("{}: {}", to_string(op.name()), text));
  fail(error.kind(),
       fmt::format("{}: {} is {}, and the kernel of this call takes {}. Give {}.to({}), or let the "
                   "kernel take every dtype by dispatch_dtypes()",
                   to_string(op.name()), found.argument, came, wanted, found.argument, wanted));
}

}  // namespace

bool is_unnamed_refusal(const Error& error) noexcept {
  return is_about_number(error) || is_about_tensor(error) || is_about_elements(error) ||
         is_about_dimensions(error);
}

void rethrow_with_caller(std::string_view called, const Error& error) {
  const std::string_view inner = operator_in(error.what());
  if (error.carried() || inner == called) throw;
  if (!inner.empty()) fail(error.kind(), fmt::format("{}: in {}", called, error.what()));
  if (!names_a_function(error.what(), called) && !is_of_library(error.what())) throw;
  fail(error.kind(), fmt::format("{}: {}", called, error.what()));
}

void rethrow_foreign(std::string_view called) {
  std::string what;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    if (operator_in(error.what()) == called) throw;
    what = fmt::format("{}: {}", class_of_current(), error.what());
  } catch (...) {
    what = fmt::format("{}, which is no std::exception", class_of_current());
  }
  set_exception(PyExc_RuntimeError, fmt::format("{}: the kernel threw {}", called, what));
  throw PythonErrorSet();
}

void rethrow_named(const Operator& op, const Error& error, const GivenArguments& given) {
  const std::string_view text = error.what();
  const std::string name = to_string(op.name());
  Runtime* const runtime = find_runtime();
  if (runtime == nullptr || op.schema().arguments.empty()) throw;
  if (is_about_elements(error)) refuse_elements(*runtime, op, error, given);
  if (is_about_dimensions(error)) refuse_dimensions(*runtime, op, error, given);
  if (is_about_number(error)) {
    const Found found =
        find(op, given, [&](PyObject* value) { return has_symbolic_number(*runtime, value); });
    if (found.given == nullptr) fail(error.kind(), fmt::format("{}: {}", name, text));
    fail(error.kind(),
         fmt::format("{}: {} is a SymInt, and the kernel of this call takes an int: {}", name,
                     found.argument, text));
  }
  if (is_about_tensor(error)) {
    constexpr const char* kAdvice =
        "Known sizes are needed; in a fake kernel, make the result by empty(), or put the call "
        "into "
        "an operator of its own with register_fake().";
    const Found found =
        find(op, given, [&](PyObject* value) { return has_symbolic_sizes(*runtime, value); });
    if (found.given == nullptr) {
      fail(error.kind(), fmt::format("{}: {}, in what it calls. {}", name, text, kAdvice));
    }
    fail(error.kind(),
         fmt::format("{}: {} is {}, and the kernel of this call takes sizes that are known: {}. {}",
                     name, found.argument, describe_symbolic(tensor_unchecked(found.given)), text,
                     kAdvice));
  }
  rethrow_with_caller(op.name().name, error);
}

}  // namespace opyard::python
