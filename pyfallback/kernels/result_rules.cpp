// kernels/result_rules.cpp: checks of a kernel's results against its arguments.
#include "kernels/result_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "objects/arrays/shared_memory.h"
#include "opyard/detail/python/clear.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/value/alias.h"

namespace opyard::python {
namespace {

// ", a function of the module m": where to look for what has to change.
std::string describe_module(PyObject* function) {
  const Owned module = Owned::steal(PyObject_GetAttrString(function, "__module__"));
  const char* const text =
      module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
  clear_or_report(PyExc_Exception, function);
  return text == nullptr ? "" : std::string(", a function of the module ") + text + ",";
}

const Storage* storage_of(const Value& value) noexcept {
  const Tensor& tensor = value.tensor_unchecked();
  return tensor.defined() ? tensor.impl()->storage().get() : nullptr;
}

bool share_memory(const Value& one, const Value& other) noexcept {
  const Storage* const first = storage_of(one);
  const Storage* const second = storage_of(other);
  return first != nullptr && second != nullptr && shares_memory(*first, *second);
}

// Appends the tensors that can be reached through a value, one of them as often as it is met.
// `seen` has what elements were taken of, which may be in itself.
void append_tensors(const Value& value, std::vector<Value>& found, std::vector<const void*>& seen) {
  if (value.is_tensor()) {
    found.push_back(value);
    return;
  }
  const bool is_sequence = value.kind() == Kind::List || value.kind() == Kind::Tuple;
  if (!is_sequence && value.kind() != Kind::Dict) {
    for (Value& each : sub_values(value)) {
      if (each.is_tensor()) found.push_back(std::move(each));
    }
    return;
  }
  const void* const self = value.object_unchecked();
  if (std::find(seen.begin(), seen.end(), self) != seen.end()) return;
  seen.push_back(self);
  if (is_sequence) {
    for (const Value& each : value.items_unchecked()) append_tensors(each, found, seen);
    return;
  }
  const DictObject& dict = value.to_dict();
  for (std::size_t at = dict.next(0); at != DictObject::kEnd; at = dict.next(at + 1)) {
    append_tensors(dict.value_at(at), found, seen);
  }
}

std::vector<Value> tensors_in(const Value& value) {
  std::vector<Value> found;
  std::vector<const void*> seen;
  append_tensors(value, found, seen);
  return found;
}

bool share_memory(const std::vector<Value>& some, const std::vector<Value>& others) noexcept {
  for (const Value& one : some) {
    for (const Value& other : others) {
      if (share_memory(one, other)) return true;
    }
  }
  return false;
}

// Sorted, since lists may be long: what shares memory with anything then does so with its
// neighbour, empty storages aside, which are shared only as objects.
bool share_memory_among_themselves(const std::vector<Value>& tensors) {
  std::vector<const Storage*> storages;
  for (const Value& each : tensors) {
    if (const Storage* const storage = storage_of(each)) storages.push_back(storage);
  }
  std::ranges::sort(storages, std::less<>());
  if (std::ranges::adjacent_find(storages) != storages.end()) return true;
  std::erase_if(storages, [](const Storage* each) { return each->bytes() == 0; });
  std::ranges::sort(storages, std::less<>(), [](const Storage* each) {
    const Device device = each->device();
    return std::tuple(device.backend, device.index, reinterpret_cast<std::uintptr_t>(each->data()));
  });
  return std::ranges::adjacent_find(storages, [](const Storage* one, const Storage* other) {
           return shares_memory(*one, *other);
         }) != storages.end();
}

// Whether something may be reached through a value that is no tensor.
bool may_hold_more(const Value& value) noexcept {
  return !value.is_tensor() && is_heap(value.kind()) && value.kind() != Kind::String;
}

// Most calls: tensors and plain numbers, which are compared as they are.
bool are_seen_to_be_fresh(std::span<const Value> arguments,
                          std::span<const Value> results) noexcept {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (may_hold_more(results[i])) return false;
    if (!results[i].is_tensor()) continue;
    const auto is_in_it = [&](const Value& other) {
      return may_hold_more(other) || (other.is_tensor() && share_memory(results[i], other));
    };
    if (std::any_of(arguments.begin(), arguments.end(), is_in_it) ||
        std::any_of(results.begin(), results.begin() + std::ptrdiff_t(i), is_in_it)) {
      return false;
    }
  }
  return true;
}

bool are_same(const Value& one, const Value& other) noexcept {
  return one.is_tensor() && other.is_tensor() &&
         one.tensor_unchecked().same(other.tensor_unchecked());
}

class Judge {
 public:
  Judge(const Returner& returner, PyObject* function, const Operator& op)
      : returner_(returner), function_(function), op_(op) {}

  void require_fresh(std::span<const Value> arguments, std::span<const Value> results) const {
    if (are_seen_to_be_fresh(arguments, results)) return;
    const Schema& schema = op_.schema();
    std::vector<std::vector<Value>> taken;
    for (const Value& argument : arguments) taken.push_back(tensors_in(argument));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::vector<Value> made = tensors_in(results[i]);
      const bool declared = schema.results[i].alias.has_value();
      if (!declared && share_memory_among_themselves(made)) {
        refuse_alias(i, "several tensors with the same memory");
      }
      for (std::size_t j = 0; !declared && j < taken.size(); ++j) {
        if (!share_memory(made, taken[j])) continue;
        refuse_alias(
            i,
            j < arguments.size()
                ? fmt::format("a tensor with the memory of argument '{}'", schema.arguments[j].name)
                : fmt::format("a tensor with the memory of result {}", j - arguments.size()));
      }
      taken.push_back(made);
    }
  }

  void require_first(std::span<const Value> arguments, std::span<const Value> results) const {
    if (results.size() == 1 && !arguments.empty() && are_same(results[0], arguments[0])) return;
    refuse(
        fmt::format("returned another object than its argument '{}'. An operator with the tag "
                    "inplace must return its first argument: end the function with \"return {}\".",
                    op_.schema().arguments[0].name, op_.schema().arguments[0].name));
  }

  void require_out(std::span<const Value> arguments, std::span<const Value> results) const {
    const Schema& schema = op_.schema();
    std::size_t position = 0;
    std::optional<std::size_t> wrong;
    std::string names;
    for (std::size_t i = 0; i < arguments.size() && position < results.size(); ++i) {
      if (!schema.arguments[i].is_out()) continue;
      if (!wrong && !are_same(results[position], arguments[i])) wrong = position;
      names += (position == 0 ? "" : ", ") + schema.arguments[i].name;
      ++position;
    }
    if (!wrong && position == results.size()) return;
    refuse(
        fmt::format("returned another object for result {}. An operator with the tag out must "
                    "return its mutable keyword-only arguments, in order: end the function with "
                    "\"return {}\".",
                    wrong.value_or(position), names));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::BadReturn,
         fmt::format("{}: {}{} {}\nDeclaration: {}", to_string(op_.name()), returner_.text(),
                     describe_module(function_), what, op_.declaration()));
  }
  [[noreturn]] void refuse_alias(std::size_t position, const std::string& what) const {
    refuse(fmt::format(
        "returned for result {} {}. Results of a custom operator may not alias its arguments or "
        "each other, unless the schema says so: return a copy, such as .clone().",
        position, what));
  }

  const Returner& returner_;
  PyObject* const function_;
  const Operator& op_;
};

}  // namespace

void check_results(ResultRule rule, const Returner& returner, PyObject* function,
                   const Operator& op, std::span<const Value> arguments,
                   std::span<const Value> results) {
  const Judge judge(returner, function, op);
  switch (rule) {
    case ResultRule::Any:
      return;
    case ResultRule::Fresh:
      return judge.require_fresh(arguments, results);
    case ResultRule::FirstArgument:
      return judge.require_first(arguments, results);
    case ResultRule::OutArguments:
      return judge.require_out(arguments, results);
  }
}

}  // namespace opyard::python
