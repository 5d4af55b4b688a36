// c_api/stacks.cpp: the C API of stacks.
#include <fmt/format.h>

#include <memory>

#include "c_api/pointers.h"
#include "c_api/stack.h"
#include "opyard/detail/value/dict_object.h"

void opyard_stack::require(std::size_t count, const char* what) const {
  if (count <= size()) return;
  opyard::fail(opyard::ErrorKind::BadArgument,
               fmt::format("{} takes {} values from the stack, which has {}", what, count, size()));
}

namespace opyard::c_api {
namespace {

// Pushes what `make` gives.
template <typename Make>
int push(opyard_stack* stack, const Make& make) {
  return border([&] {
    Value value = make();  // which takes over what it is given, also if there is no stack
    require(stack, "a stack")->values.push(std::move(value));
  });
}

// Puts what `pack` makes of the topmost values in their place.
template <typename Pack>
int replace(opyard_stack* stack, std::size_t count, const char* what, const Pack& pack) {
  return border([&] {
    require(stack, "a stack")->require(count, what);
    Value packed = pack(stack->values.top(count));
    // A push may need memory; then the values are still there.
    if (count == 0) return stack->values.push(std::move(packed));
    stack->values.replace(count, std::move(packed));
    stack->sank_to(stack->size() - 1);
  });
}

std::vector<Value> copies(std::span<const Value> values) { return {values.begin(), values.end()}; }

}  // namespace
}  // namespace opyard::c_api

using namespace opyard;         // NOLINT
using namespace opyard::c_api;  // NOLINT

extern "C" {

int opyard_stack_create(opyard_stack** stack) {
  return border([&] {
    require(stack, "the place of the stack");
    *stack = new OwnedStack;
  });
}

void opyard_stack_destroy(opyard_stack* stack) { delete static_cast<OwnedStack*>(stack); }

size_t opyard_stack_size(const opyard_stack* stack) { return stack == nullptr ? 0 : stack->size(); }

opyard_value opyard_get(const opyard_stack* stack, size_t index) {
  if (__builtin_expect(stack == nullptr || index >= stack->size(), 0)) return opyard_value{};
  return borrow(stack->values[stack->base + index]);
}

int opyard_push(opyard_stack* stack, opyard_value value) {
  return push(stack, [&] { return Value(*BorrowedValue(value)); });
}

int opyard_push_none(opyard_stack* stack) {
  return push(stack, [] { return Value(); });
}

int opyard_push_bool(opyard_stack* stack, bool value) {
  return push(stack, [&] { return Value(value); });
}

int opyard_push_int(opyard_stack* stack, int64_t value) {
  return push(stack, [&] { return Value(std::int64_t{value}); });
}

int opyard_push_double(opyard_stack* stack, double value) {
  return push(stack, [&] { return Value(value); });
}

int opyard_push_complex(opyard_stack* stack, double real, double imaginary) {
  return push(stack, [&] { return Value(std::complex<double>(real, imaginary)); });
}

int opyard_push_string(opyard_stack* stack, const char* text, size_t bytes) {
  return push(stack, [&] { return Value(std::string_view(require(text, "a text"), bytes)); });
}

int opyard_push_device(opyard_stack* stack, const char* device) {
  return push(stack, [&] { return Value(parse_device(require(device, "the text of a device"))); });
}

int opyard_push_tensor(opyard_stack* stack, opyard_tensor* tensor) {
  return push(stack, [&] { return Value(tensor_of(tensor)); });
}

int opyard_push_capsule(opyard_stack* stack, void* pointer, const char* name, void* context,
                        void (*deleter)(void* context)) {
  return push(stack, [&] {
    const char* const shown = name == nullptr ? "" : name;
    return Value(CapsuleObject::adopt(pointer, shown, context, deleter));
  });
}

int opyard_pack_list(opyard_stack* stack, size_t count) {
  return replace(stack, count, "a list",
                 [](std::span<const Value> values) { return Value::list(copies(values)); });
}

int opyard_pack_tuple(opyard_stack* stack, size_t count) {
  return replace(stack, count, "a tuple",
                 [](std::span<const Value> values) { return Value::tuple(copies(values)); });
}

int opyard_pack_dict(opyard_stack* stack, size_t count) {
  if (count > SIZE_MAX / 2) count = SIZE_MAX / 2;  // more than any stack has
  return replace(stack, 2 * count, "a dict", [](std::span<const Value> values) {
    std::vector<std::pair<Value, Value>> entries;
    for (std::size_t i = 0; i < values.size(); i += 2) {
      entries.emplace_back(values[i], values[i + 1]);
    }
    return Value::dict(std::move(entries));
  });
}

void opyard_drop(opyard_stack* stack, size_t count) {
  if (stack == nullptr) return;
  stack->values.drop(std::min(count, stack->size()));
  stack->sank_to(stack->size());
}

}  // extern "C"
