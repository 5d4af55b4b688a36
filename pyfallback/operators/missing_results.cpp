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

}  // namespace opyard::python
