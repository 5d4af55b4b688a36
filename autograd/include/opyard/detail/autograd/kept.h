// opyard/detail/autograd/kept.h: interpreter objects that part of a graph alone keeps.
//
// A hook, a backward of Python, or an attribute of a saved tensor may lead back to what keeps it: a
// cycle through C++. The interpreter's garbage collector follows it by asking each of its own
// objects for what that object alone keeps.
//
//   Tensor ──> its state ──┐                      ┌──> hooks, a backward in Python
//                          ├──> function ── edge ─┤
//   Function of Python ────┘                      └──> function … as long as nothing else owns it
//
// [Alone] A function counts as kept by an object if each of its owners does. So it is found from
// one object at most, and a collection looks at each function once. What has an owner that is not
// known here, a thread of C++ or a second tensor, is taken to be in use.
//
// [Shown] An interpreter has one object for a function, which is an owner of it. So that a tensor
// and that object do not hide the function from each other, the tensor's state owns the object as
// well, once it was asked for (TensorState::shown): the object then answers for both.
//
// Threads: all of it is called with the interpreter's lock held. A run on a thread without it owns
// the functions that it begins with, so that nothing it may still change is looked at.
//
// Depends on: autograd/{function,saved_tensor}.h.
#pragma once

#include "opyard/autograd/saved_tensor.h"

namespace opyard::autograd {

struct Collector {
  const void* interpreter;  // the tag: objects of others are left out
  // Until it gives another number than 0, which is then the result of what called it.
  int (*visit)(void* object, void* argument);
  void* argument;
};

// Shows what nothing but `owners` of the function keeps.
OPYARD_API int visit_kept(const Function& function, std::uint32_t owners, const Collector& to);
// That of a tensor, for its only owner, and of a saved tensor.
OPYARD_API int visit_kept(const TensorImpl& tensor, const Collector& to);
OPYARD_API int visit_kept(const SavedTensor& saved, const Collector& to);
// Drops hooks and backwards: nothing can call them any more.
OPYARD_API void clear_kept(const Function& function, std::uint32_t owners, const void* interpreter);
OPYARD_API void clear_kept(const TensorImpl& tensor, const void* interpreter);

// The object that shows a function in an interpreter, borrowed; null if there is none.
OPYARD_API void* find_shown(const Function& function, const void* interpreter);
// Null takes it away. Raises bad_alloc for any other.
OPYARD_API void set_shown(const Function& function, const void* interpreter, void* object);

}  // namespace opyard::autograd
