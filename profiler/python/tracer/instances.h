// tracer/instances.h: module and optimizer calls, named by instance.
//
// Which code objects these are is a list to which anyone adds: modules and optimizers of libraries
// that have them, classes that a user names. At the first call on an instance its class is noted,
// and what its describer says of it: its parameters, say. Instances are watched by weak references,
// so that another one at the same address is another instance; one of a class without weak
// references goes by its address.
//
// Threads: with the GIL held. Depends on: python/python.h, opyard/profiler/event.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cstdint>
#include <string>
#include <unordered_map>

#include "opyard/profiler/event.h"

namespace opyard::python {

class Instances {
 public:
  ~Instances();

  // Calls of the code with this key are shown as "label: Class_0". `describe` is a callable or
  // None.
  void show(std::uint32_t code_key, std::string label, PyObject* describe);
  // The key of an instance on which that code is called. 0 if there is no memory. Leaves no
  // exception.
  std::uint32_t require(std::uint32_t code_key, PyObject* self) noexcept;
  // Between profiles.
  void forget() noexcept;

 private:
  struct Shown {
    std::string label;
    PyObject* describe;  // a reference, or null
  };
  struct Seen {
    PyObject* weak;  // a reference, or null
    std::uint32_t key;
  };
  std::uint32_t add(const Shown& shown, PyObject* self);

  std::unordered_map<std::uint32_t, Shown> shown_;
  std::unordered_map<PyObject*, Seen> seen_;
};

}  // namespace opyard::python
