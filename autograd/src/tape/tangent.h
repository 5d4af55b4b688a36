// autograd/tape/tangent.h: tangents of tensors, and the level that owns them.
//
// A level knows all of its tangents, so that it can free them when it is closed: what computed a
// tangent may own the tensor that has it, and nothing else would end that cycle.
//
//   Level ── first ─▶ Tangent ⇄ Tangent ⇄ …          each in the slot of a TensorState
//
// Guarded by the library's lock, but for `value` while its tensor is used by one thread.
//
// Depends on: autograd/forward.h.
#pragma once

#include "opyard/autograd/forward.h"

namespace opyard::autograd {

class Level final : public Counted {
 public:
  explicit Level(std::uint64_t of) noexcept : number(of) {}

  const std::uint64_t number;
  bool is_open = true;
  Tangent* first = nullptr;
};

class Tangent {
 public:
  Tensor value;  // undefined once the level is closed
  CountedPtr<Level> level;
  Tangent* previous = nullptr;
  Tangent* next = nullptr;
};

// The level that a tensor's tangent is of; null if it has none.
CountedPtr<Level> level_of(const Tensor& tensor);
// The level that is open on this thread; null if none is.
CountedPtr<Level> current_level();
// From now on the tensor has this tangent, and the keys of such tensors. It is used by no other
// thread meanwhile. Nothing if the level is closed.
void set_tangent(const Tensor& tensor, Tensor value, const CountedPtr<Level>& level);
void drop_tangent(const Tensor& tensor);
// A copy on other memory has a copy of the tangent, if there is one: the tensor may be written.
void copy_tangent_apart(const Tensor& from, const Tensor& to);
// The tangent with the strides of its tensor, as a copy if it has others.
Tensor lying_as(const Tensor& tangent, const Tensor& of);

}  // namespace opyard::autograd
