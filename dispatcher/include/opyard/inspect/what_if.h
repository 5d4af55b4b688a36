// opyard/inspect/what_if.h: the effect of a registration that is not made; see Registry::what_if().
//
//   inspect::what_if({"demo::f", ""}, DispatchKey::Autograd, WhatIf::Kernel)
//
// The table is computed as it is and as it would be, with the code that fills the slots, and the
// difference is given. Calls notice nothing.
//
// Depends on: keys/dispatch_key.h.
#pragma once

#include <string>

#include "opyard/keys/dispatch_key.h"

namespace opyard {

enum class WhatIf {
  Kernel,       // a C++ kernel is registered at the key, on top of those that are there
  Fallthrough,  // the same, and it is Kernel::fallthrough()
  Removal,      // the key's active kernel is unregistered
  Foreign,      // as Kernel, but a function of another language: it serves no meta tensors
};

// One slot that would hold another kernel, or hold it by another rule.
struct TableChange {
  DispatchKey key;
  std::string before;  // "registered at a.cpp:3 [math kernel]", as in Registry::dump_table(), or
  std::string after;   // "missing"; what would be registered is "the new kernel"
};

}  // namespace opyard
