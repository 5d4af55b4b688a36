// operators/missing_results.cpp: refusals of undefined tensors as results.
#include "operators/missing_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "opyard/base/error.h"

namespace opyard::python {
namespace {

bool is_choice(const Type& type) noexcept {
  return type.kind() == TypeKind::Bool ||
         (type.kind() == TypeKind::List && type.element().kind() == TypeKind::Bool);
}

bool is_list_of_choices(const Argument& argument) noexcept {
  return argument.type->kind() == TypeKind::List && is_choice(*argument.type);
}

[[noreturn]] OPYARD_COLD void refuse_item(const Schema& schema, std::size_t position,
                                          Py_ssize_t item) {
  fail(
      ErrorKind::BadReturn,
      fmt::format("{}: the kernel of this call gave an undefined tensor for item {} of result {}, "
                  "but the schema says 'Tensor[]'; give it a tensor, or declare a list whose items "
                  "may be missing as 'Tensor?[]'.\nDeclaration: {}",
                  to_string(schema.name), item, position, to_string(schema)));
}

}  // namespace

bool may_leave_out_results(const Schema& schema) noexcept {
  return schema.results.size() > 1 &&
         std::ranges::any_of(schema.arguments,
                             [](const Argument& argument) { return is_choice(*argument.type); });
}

void require_result(const Schema& schema, std::size_t position) {
  const Argument& result = schema.results[position];
  // One that is an argument is that one in the end, whatever a handler answered.
  if (result.type->kind() != TypeKind::Tensor || result.is_write()) return;
  if (may_leave_out_results(schema)) return;
  fail(ErrorKind::BadReturn,
       fmt::format("{}: the kernel of this call gave an undefined tensor for result {}, but the "
                   "schema says 'Tensor'; give it a tensor, or declare a result that may be "
                   "missing as 'Tensor?'.\nDeclaration: {}",
                   to_string(schema.name), position, to_string(schema)));
}

Py_ssize_t find_missing_item(const Schema& schema, std::size_t position, PyObject* items) noexcept {
  const Type& type = *schema.results[position].type;
  if (type.kind() != TypeKind::List || type.element().kind() != TypeKind::Tensor) return -1;
  if (!PyList_Check(items) && !PyTuple_Check(items)) return -1;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i) {
    if (PySequence_Fast_GET_ITEM(items, i) != Py_None) continue;
    const bool left_out = schema.results[position].is_write() || may_leave_out_results(schema) ||
                          std::ranges::any_of(schema.arguments, is_list_of_choices);
    return left_out ? -1 : i;
  }
  return -1;
}

void require_items(const Schema& schema, std::size_t position, PyObject* items) {
  const Py_ssize_t item = find_missing_item(schema, position, items);
  if (__builtin_expect(item >= 0, 0)) refuse_item(schema, position, item);
}

}  // namespace opyard::python
