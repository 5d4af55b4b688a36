// test/cpp/one_of_each.h: a value of every kind, in the order of kinds.def; and the classes of a user
// that tests put into values.
//
// Depends on: opyard/value/value.h, fake_interpreter.h, symbolic.h.
#pragma once

#include <cstdint>
#include <vector>

#include "fake_interpreter.h"
#include "opyard/detail/value/dict_object.h"
#include "opyard/detail/value/future_object.h"
#include "opyard/value/deep_copy.h"
#include "opyard/value/value.h"
#include "symbolic.h"

namespace opyard {

// Counts from 0, and can be copied.
struct Counter : Object {
  explicit Counter(std::int64_t count = 0) : count(count) {}
  CountedPtr<Object> copy(CopyMemo&) const override { return make_counted<Counter>(count); }
  std::int64_t count;
};
inline const UserType& counter_type() { return register_class<Counter>("test.Counter"); }

enum class Color : std::int16_t { Red = 1, Green = 2, Blue = -3 };
inline const UserType& color_type() {
  return register_enum<Color>(
      "test.Color", {{"Red", Color::Red}, {"Green", Color::Green}, {"Blue", Color::Blue}});
}

// A source of the numbers after its seed.
struct CountingGenerator : Generator {
  explicit CountingGenerator(Device device = {}, std::uint64_t seed = 0)
      : Generator(device), next(seed), first(seed) {}
  std::uint64_t seed() const override { return first; }
  void set_seed(std::uint64_t seed) override { next = first = seed; }
  CountedPtr<Generator> clone() const override {
    auto other = make_counted<CountingGenerator>(device(), first);
    other->next = next;
    return other;
  }
  std::uint64_t next, first;
};

inline Value some_capsule() {
  static int content = 0;
  return Value(CapsuleObject::adopt(&content, "test.content", nullptr, nullptr));
}

// One value of every kind, as kinds.def lists them. Owns nothing of the interpreter that it would
// have to give back but one count of a fake object.
inline std::vector<Value> one_of_each(Interpreter* interpreter) {
  static int object = 0;
  counter_type();
  const std::int64_t two[] = {2};
  return {Value(),
          Value(true),
          Value(7),
          Value(2.5),
          Value(Device{}),
          Value(Tensor::empty(two)),
          Value("text"),
          Value::list({Value(1)}),
          Value::tuple({Value(1)}),
          Value(make_counted<ForeignObject>(interpreter, &object)),
          Value(make_counted<FutureObject>()),
          Value(Storage::allocate(16, Device{})),
          Value(make_counted<CountingGenerator>()),
          some_capsule(),
          Value(make_counted<Counter>(3)),
          Value::dict({{Value("key"), Value(1)}}),
          Value(std::complex<double>(1, 2)),
          Value(Stream{Device{Backend::CUDA, 1}, 3}),
          Value(require_member(color_type(), "Green")),
          Value(Reasoner::symbol("n", 5)),
          Value(Reasoner::float_symbol("x", 1.5)),
          Value(Reasoner::bool_symbol("b", true))};
}

}  // namespace opyard
