// opyard/detail/registry/register_call.h: a call on values in memory of the caller.
//
// A graph's code keeps its values in registers, memory of its own. An operator that is called from
// there reads its arguments in place, a tensor as the `const Tensor&` that it is in the value, and
// writes its results in place. Nothing is pushed, so nothing is moved or counted that the kernel
// does not count itself:
//
//   const Value* arguments[] = {&registers[3], &registers[4]};
//   Value* results[] = {&registers[3]};
//   op.call_from_registers({arguments, results, 0b01});       // registers[3] is used a last time
//
// The result may be written to the register of an argument: it is written when the kernel has
// returned and what is used a last time is dropped.
//
// [Last use] The call empties these arguments, so that no second walk over them is needed: they
// are None afterwards, unless a result was written there. A kernel that takes a Tensor by value, or
// a Tensor&, gets the one of the register without counting it. A register may be given twice.
//
// [Errors] A call that throws has written no result. What is used a last time may be gone.
//
// Depends on: value/value.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "opyard/value/value.h"

namespace opyard {

struct RegisterCall {
  // In the order of the schema, and as many as it has. An argument that is used a last time is in
  // memory that may be written.
  const Value* const* arguments;
  Value* const* results;
  // Bit i: the argument at position i is not used again. From the 65th on none is dropped here.
  std::uint64_t last_uses = 0;

  bool is_last_use(std::size_t position) const noexcept {
    return position < 64 && (last_uses >> position & 1) != 0;
  }
  void drop_last_uses() const noexcept {
    for (std::uint64_t rest = last_uses; rest != 0; rest &= rest - 1) {
      const_cast<Value*>(arguments[std::countr_zero(rest)])->reset();
    }
  }
  // The argument as an owner of the kernel's own, which it may change. `count` is that of all
  // arguments. Raises BadArgument if it is no tensor.
  Tensor take_tensor(std::size_t position, std::size_t count) const {
    const Value& value = *arguments[position];
    if (value.is_none()) return Tensor();
    if (!is_last_use(position) || is_given_twice(position, count)) return value.to_tensor();
    return const_cast<Value&>(value).take_tensor();
  }

  bool is_given_twice(std::size_t position, std::size_t count) const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (i != position && arguments[i] == arguments[position]) return true;
    }
    return false;
  }
};

}  // namespace opyard
