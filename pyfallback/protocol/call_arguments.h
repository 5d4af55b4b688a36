// protocol/call_arguments.h: an operator's arguments as a Python function gets them.
//
// [Arguments] Positional arguments are passed by position, without those at the end that equal
// their default; keyword-only ones by name, without those that equal their default. So a
// function sees what a person would have typed, and its own defaults stay in force.
//
// CallArguments is for functions that take them one by one, as kernels do; args_of() and
// kwargs_of() are for handlers, which take them as two objects.
//
// Depends on: objects/convert.h, schema/schema.h.
#pragma once

#include "runtime/runtime.h"

#include <array>
#include <span>
#include <vector>

#include "opyard/schema/schema.h"
#include "opyard/value/value.h"
#include "runtime/exit.h"

namespace opyard::python {

// The argument array of one vectorcall. Holds a reference to each; the slot before the first
// is free for the callee.
class CallArguments {
 public:
  explicit CallArguments(std::size_t most)
      : many_(most + 1 > few_.size() ? most + 1 : 0),
        objects_(many_.empty() ? few_.data() : many_.data()) {}
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;
  ~CallArguments() {
    for (std::size_t i = 1; i <= count_; ++i) drop_reference(objects_[i]);
  }
  void add(Owned object) noexcept { objects_[++count_] = object.release(); }
  PyObject* const* data() const noexcept { return objects_ + 1; }
  std::size_t count() const noexcept { return count_; }

 private:
  std::array<PyObject*, 12> few_;
  std::vector<PyObject*> many_;
  PyObject** const objects_;
  std::size_t count_ = 0;
};

// How many positional arguments are passed. See [Arguments].
std::size_t count_positional(const Schema& schema, std::span<const Value> values);

// Adds the arguments of a call; gives the names of those that are passed by keyword, or null.
// `by_position` becomes the number of all that are passed otherwise. With the GIL held.
Owned add_arguments(Runtime& runtime, const Schema& schema, std::span<const Value> values,
                    CallArguments& arguments, std::size_t& by_position);

// The arguments that are passed by position, as a tuple. With the GIL held.
Owned args_of(Runtime& runtime, const Schema& schema, std::span<const Value> values);
// Those that are passed by keyword, as a dictionary; null where there is none. With the GIL held.
Owned kwargs_of(Runtime& runtime, const Schema& schema, std::span<const Value> values);

}  // namespace opyard::python
