// opyard/autograd/saved_tensor.h: saved tensors of backward functions.
//
// What is saved is a tensor on the same memory without its history, so that a tensor that is
// written later, and a storage with a history, own no function that owns them: see
// Storage::second(). Memory that belongs to a caller is copied. A leaf is saved as it is.
//
// Taking it out again raises if the memory was written meanwhile. With gradients on, it comes out
// with the history that it had.
//
// [Packed] A hook may have packed it: then `tensor_` is the one placeholder of all that are packed,
// at a version that it never has, and `history_` leads to what the hook gave. So only what fails
// the test of versions looks for it. See autograd/saved_hooks.h.
//
// Depends on: autograd/tensor_state.h, autograd/saved_hooks.h.
#pragma once

#include "opyard/autograd/saved_hooks.h"
#include "opyard/autograd/tensor_state.h"

namespace opyard::autograd {

// How often the tensor's memory was written.
inline std::uint32_t version_of(const Tensor& tensor) {
  return tensor.impl()->storage()->shared_version();
}

class OPYARD_API SavedTensor {
 public:
  SavedTensor() noexcept = default;
  // `is_result` of the function that saves it, which takes its own edge along when it is taken out.
  SavedTensor(const Tensor& tensor, bool is_result) : is_result_(is_result) {
    if (is_result || !is_saved_at_once(tensor)) {
      save(tensor);
    } else {
      tensor_ = tensor;
      version_ = version_of(tensor);
    }
  }

  bool empty() const noexcept { return !tensor_.defined(); }
  // What it owns, as it is: for garbage collectors.
  const Tensor& owned() const noexcept { return tensor_; }
  const Edge& owned_history() const noexcept { return history_; }
  // `of` is the function that saved it. Raises BadValue.
  Tensor take_out(Function& of) const;
  // The same without counting it; null if it comes out as a tensor of its own, with a history, or
  // is packed.
  const Tensor* look(const Function& of) const;

  // Replaces it by what the hooks make of it. Raises BadValue if they have written to it, or if it
  // is packed already.
  void pack(SavedHooks& hooks);
  // See [Packed]; null if it is not.
  Packed* find_packed() const noexcept;

 private:
  // A leaf, or what has no gradient: the common case.
  static bool is_saved_at_once(const Tensor& tensor) noexcept {
    if (!tensor.defined()) return false;
    const TensorImpl& impl = *tensor.impl();
    const Storage& storage = *impl.storage();
    const TensorState* const state = find_state(tensor);
    return !impl.has_mark(TensorImpl::kInference) && !storage.is_borrowed() &&
           !storage.gradient_state() && (state == nullptr || !state->history);
  }
  void save(const Tensor& tensor);
  OPYARD_COLD Tensor unpack(Function& of) const;
  // Of an argument; else its history is noted.
  bool leads_to_no_function(const Tensor& tensor, const Storage& storage);

  Tensor tensor_;
  Edge history_;  // of an argument
  std::uint32_t version_ = 0;
  std::uint32_t result_ = 0;  // which input of the function that saved it
  bool is_result_ = false;

 public:
  // Of a result that got a tangent after it was saved: see autograd/forward.h.
  void take_tangent_of(const Tensor& result) const;
  // The same, of whatever it is of: nothing of an argument.
  void take_tangent_among(std::span<const Tensor> results) const;
  // The result's number, once it is known.
  void set_result(std::uint32_t input) noexcept { result_ = input; }
};

// The same tensor without history: same memory, same version.
OPYARD_API Tensor detached(const Tensor& tensor);
// Another tensor on the same memory, of the same group, and without history.
OPYARD_API Tensor another_tensor(const Tensor& tensor);
// A tensor by which a function saves another: on its memory, without history, and owned by nothing
// that its storage owns. Memory that belongs to a caller is copied.
OPYARD_API Tensor saved_apart(const Tensor& tensor);

}  // namespace opyard::autograd
