// test/cpp/round_trip.h: a C++ type on all its ways through an operator.
//
// Each type makes four journeys: boxed caller to unboxed kernel, typed caller to boxed kernel,
// typed caller to unboxed kernel, and, as a result, back. The boxed kernel notes what it saw.
//
// Depends on: registering.h.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "registering.h"

namespace opyard {

// What the boxed kernel saw.
inline std::vector<Value> seen;
// A handle fixes the signature of its operator for ever, so that each journey has an operator of
// its own.
inline int journeys = 0;

// Notes its arguments and gives back all but the last, which carries the key.
inline Kernel noting() {
  return Kernel::boxed([](const Operator& op, DispatchKeySet, Stack& stack) {
    const auto arguments = stack.top(op.schema().arguments.size());
    seen.assign(arguments.begin(), arguments.end());
    stack.drop(arguments.size() - op.schema().results.size());
  });
}

// Sends a value of argument type A (schema type `type`, boxed form `boxed`) through a kernel that
// returns it as R.
template <typename A, typename R>
void round_trip(const char* type, A argument, const Value& boxed) {
  SCOPED_TRACE(type);
  const std::string name = "t::trip" + std::to_string(++journeys);
  const std::string schema = name + "(" + type + " a, Tensor last) -> " + type;
  const Registration op = define(schema);
  const Registration unboxed =
      implement(name, DispatchKey::CPU, Kernel::from([](A a, const Tensor&) -> R { return R(a); }));
  const Registration boxes = implement(name, DispatchKey::Meta, noting());
  const Operator& trip = registry().require(name);
  const auto call = trip.typed<R(A, const Tensor&)>();
  const auto check = [&](const R& result) {
    InlineStack<1> stack;
    ResultOf<R>::push(stack, result);
    EXPECT_EQ(stack.peek(), boxed) << to_string(stack.peek());
  };
  {
    InlineStack<2> stack;
    stack.push(boxed);
    stack.push(Value(tensor_with({DispatchKey::CPU})));
    trip.call_boxed(stack);
    ASSERT_EQ(stack.size(), 1u);
    EXPECT_EQ(stack[0], boxed) << "boxed to unboxed: " << to_string(stack[0]);
  }
  check(call.call(argument, tensor_with({DispatchKey::CPU})));
  check(call.call(argument, tensor_with({DispatchKey::Meta})));
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], boxed) << "typed to boxed: " << to_string(seen[0]);
  seen.clear();
}

}  // namespace opyard
