// opyard/autograd/forward.h: forward mode: tensors with tangents, and levels that they belong to.
//
//   const ForwardLevel level;                              opens the level of this thread
//   const Tensor dual = make_dual(x, direction);           a view of x that has a tangent
//   const Tensor y = …                                     any operators that have derivatives
//   const Tensor slope = tangent_of(y);                    how y changes with x along direction
//
// A dual tensor has the key ForwardMode, the layer above Autograd that is named when the first
// level of a process is opened. Calls of other tensors never come there, and pay nothing. A call
// that does runs below as it would, is taped if it has to be, and then gives its results their
// tangents by the rules of its operator: src/forward/rules.h.
//
// Tangents are tensors like any other. With gradients on what computes them is taped, so that they
// can be differentiated backward; and a backward that reads dual tensors gives dual gradients.
//
// [Levels] A level is of the thread that opens it, and there is one at a time. Dual tensors may be
// used on any thread. When it is closed, all tangents of the level are freed; tensors stay.
//
// Depends on: autograd/tensor_state.h.
#pragma once

#include <string>

#include "opyard/autograd/tensor_state.h"

namespace opyard::autograd {

// Opens a level, and gives its number. Raises BadValue if this thread has one open.
OPYARD_API std::uint64_t enter_forward_level();
// Closes it. Raises BadValue if it is not the one that this thread has open.
OPYARD_API void exit_forward_level(std::uint64_t level);
// Of this thread; 0 if none is open.
OPYARD_API std::uint64_t forward_level() noexcept;

// For a scope.
class ForwardLevel {
 public:
  ForwardLevel() : number_(enter_forward_level()) {}
  ForwardLevel(const ForwardLevel&) = delete;
  ForwardLevel& operator=(const ForwardLevel&) = delete;
  ~ForwardLevel() { exit_forward_level(number_); }

 private:
  const std::uint64_t number_;
};

// A view of `primal` with this tangent, in the level that is open on this thread. Raises BadValue
// if none is, and for a tensor that has a tangent already; BadArgument and BadShape for a tensor of
// integers, and for a tangent of another dtype, device or shape.
OPYARD_API Tensor make_dual(const Tensor& primal, const Tensor& tangent);
// The tensor without its tangent: a view of it, or itself if it has none.
OPYARD_API Tensor primal_of(const Tensor& tensor);
// Undefined if it has none, or its level was closed.
OPYARD_API Tensor tangent_of(const Tensor& tensor);
// From now on the tensor has this tangent, in the level that is open on this thread: for results
// of functions that compute tangents themselves. Raises what make_dual() raises.
OPYARD_API void give_tangent_of(const Tensor& tensor, const Tensor& tangent);
// How tangents flow through calls of an operator: for each argument that takes tensors its name and
// "elementwise", "written", "taped", "tangent line", "same call", "no tangent flows" or "none"; for
// one that is made of others "by the calls inside".
OPYARD_API std::string describe_forward_rules(const Operator& op);
// The keys that a tensor with a tangent has, which are none before the first level.
OPYARD_API DispatchKeySet forward_keys() noexcept;
// Whether a tensor may have a tangent: no more than that one has to look.
inline bool may_have_tangent(const Tensor& tensor) noexcept {
  return tensor.keys().has_any(forward_keys());
}
// The copy of a tensor has its tangent, if it has one.
OPYARD_API void copy_tangent(const Tensor& from, const Tensor& to);

}  // namespace opyard::autograd
