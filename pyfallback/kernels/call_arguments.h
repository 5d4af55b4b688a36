// kernels/call_arguments.h: arguments of an operator as a Python kernel gets them.
//
// [Arguments] Positional arguments are passed by position, without those at the end that equal
// their default; keyword-only ones by name, without those that equal their default. So a
// function sees what a person would have typed, and its own defaults stay in force.
//
// CallArguments is for functions that take them one by one, as kernels do; args_of() and
// kwargs_of() are for handlers, which take them as two objects.
//
// Depends on: objects/convert/convert.h, schema/schema.h.
#pragma once

#include "runtime/runtime.h"

#include <array>
#include <cstring>
#include <span>

#include "opyard/detail/python/exit.h"
#include "opyard/schema/schema.h"
#include "opyard/value/value.h"

namespace opyard::python {

// The argument array of one vectorcall. Holds a reference to each; the slot before the first
// is free for the callee.
class CallArguments {
 public:
  explicit CallArguments(std::size_t most)
      : objects_(most < few_.size() ? few_.data() : new PyObject*[most + 1]) {}
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;
  ~CallArguments() {
    for (std::size_t i = 1; i <= count_; ++i) drop_reference(objects_[i]);
    if (__builtin_expect(objects_ != few_.data(), 0)) delete[] objects_;
  }
  void add(Owned object) noexcept { objects_[++count_] = object.release(); }
  void add_shared(PyObject* object) noexcept { objects_[++count_] = Py_NewRef(object); }
  PyObject* const* data() const noexcept { return objects_ + 1; }
  std::size_t count() const noexcept { return count_; }

 private:
  std::array<PyObject*, 12> few_;
  PyObject** const objects_;
  std::size_t count_ = 0;
};

// Writes two neighbours of an argument array. CPython copies the arguments of a function two at a
// time, and a load of two that were stored one at a time waits until both have left the processor's
// store buffer: 5 ns of a handler's 40 (bench row subclass). For the same reason the compiler is
// prevented from loading the two at once, and the array is aligned so that no pair of it is in two
// cache lines.
constexpr std::size_t kPairBytes = 2 * sizeof(PyObject*);
inline void put_pair(PyObject** at, PyObject* first, PyObject* second) noexcept {
  using Pair [[gnu::vector_size(kPairBytes)]] = std::uintptr_t;
  asm("" : "+r"(first), "+r"(second));
  const Pair both = {reinterpret_cast<std::uintptr_t>(first),
                     reinterpret_cast<std::uintptr_t>(second)};
  std::memcpy(at, &both, sizeof both);
}

// How many positional arguments are passed. See [Arguments].
std::size_t count_positional(const Schema& schema, std::span<const Value> values);

// Adds the arguments of a call; gives the names of those that are passed by keyword, or null.
// `by_position` becomes the number of all that are passed otherwise. With the GIL held.
Owned add_arguments(Runtime& runtime, const Schema& schema, std::span<const Value> values,
                    CallArguments& arguments, std::size_t& by_position);

// The arguments that are passed by position, as a tuple. With the GIL held.
Owned args_of(Runtime& runtime, const Schema& schema, std::span<const Value> values);
// Those that are passed by keyword, as a dictionary; null if there is none. With the GIL held.
Owned kwargs_of(Runtime& runtime, const Schema& schema, std::span<const Value> values);

}  // namespace opyard::python
