// autograd/functions/locks.cpp: the lock of autograd.
//
// It is made when the library is loaded, before a thread can need it while another one forks, and
// is never destroyed.
#include "functions/locks.h"

namespace opyard::autograd {

Mutex& gradients_lock() {
  static auto* const lock = new Mutex(LockRank::Gradients);
  return *lock;
}
namespace {
[[maybe_unused]] const Mutex& made_at_load = gradients_lock();
}

}  // namespace opyard::autograd
