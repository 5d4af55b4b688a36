// opyard/registry/exclusive.h: registering kernels that must not cover those of others.
//
//   const ExclusiveKernels exclusive;
//   library.impl("scaled_add", DispatchKey::CPU, &scaled_add);   // Error if there is one already
//
// While such an object lives, a kernel that this thread registers is refused if it would go on top
// of the active kernel of another owner, which is else only a warning: BadRegistration, which
// names that one. The registry looks while it holds its lock, so that of two threads that register
// so at once one succeeds. An owner's own kernel is replaced as ever. With Exclusive::OnlyAsked
// nothing is registered: what would be refused raises, and other calls do nothing.
//
// Depends on: base/export.h.
#pragma once

#include "opyard/base/export.h"

namespace opyard {

// What becomes of a kernel that would cover another owner's: a warning, an error, or an error
// without registering anything if there is none.
enum class Exclusive : unsigned char { No, Yes, OnlyAsked };

// Is in effect on this thread while it lives.
class OPYARD_API ExclusiveKernels {
 public:
  explicit ExclusiveKernels(Exclusive how = Exclusive::Yes) noexcept;
  ExclusiveKernels(const ExclusiveKernels&) = delete;
  ExclusiveKernels& operator=(const ExclusiveKernels&) = delete;
  ~ExclusiveKernels();

 private:
  const Exclusive outer_;
};

}  // namespace opyard
