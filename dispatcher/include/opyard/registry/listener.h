// opyard/registry/listener.h: listener for operators that are defined and undefined.
//
// A listener hears of the operators that are defined already, while it is added, and of each one
// from then on; kernels are not told of. No lock is held meanwhile, so a listener may do all that
// other code may.
//
// Depends on: base/export.h.
#pragma once

#include <functional>

#include "opyard/base/export.h"

namespace opyard {

class Operator;

struct RegistrationListener {
  // After the operator was defined, on the thread that defined it. What it throws comes out of
  // the definition, which is unregistered.
  std::function<void(const Operator&)> on_defined;
  // Before its definition is unregistered: it can still be called and looked up. What it throws is
  // dropped.
  std::function<void(const Operator&)> on_undefined;
};

// For who defines again what was there before, since its successor failed: while this is on, no
// listener can refuse what this thread defines. What one throws is dropped. Gives what it was.
OPYARD_API bool put_definitions_back(bool on) noexcept;
OPYARD_API bool is_putting_definitions_back() noexcept;

}  // namespace opyard
