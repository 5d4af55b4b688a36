// autograd/locks.cpp: the lock, made when it is first needed and never destroyed.
#include "locks.h"

namespace opyard::autograd {

Mutex& gradients_lock() {
  static auto* const lock = new Mutex(LockRank::Gradients);
  return *lock;
}

}  // namespace opyard::autograd
