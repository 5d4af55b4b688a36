// opyard/autograd/tensor_state.h: the gradient state of a tensor, and that of its storage.
//
// A leaf is a tensor that no taped call gave: a gradient is accumulated for it if it requires
// one. The others have a history: the edge to the function that gave them.
//
// [Shared memory] A taped write to a storage on which there are several tensors gives the
// storage a history: a function of its whole memory, as one row of elements. Each of the tensors
// takes its own function from there anew, by its geometry, when it is next asked for it. A detached
// tensor and its views have a history of their own there, that of the writes among themselves. A
// view that was made without gradients of what had a history never looks there.
//
// [Whole] What a taped view adds to the gradient of the tensor that it was made of goes through
// that tensor's function, so that it is in what is captured or retained for it. So if that tensor
// is all of the storage, its function at a generation is made once, for it and for its views, which
// own it: the storage's `whole`.
//
// [Given views] A Function's result that is on the memory of an argument has the Function's history
// for good, and is no longer right when the memory is written: then asking for it raises.
//
// [Early views] A tensor may be told to require a gradient while there are views of it that no one
// has taped. If there are other tensors on its storage, the storage notes where the leaf is, and
// a tensor within it is taken for a view of it: its gradient goes to the leaf, and it must not be
// written.
//
// Threads: tensors may be used on any number of threads; one that is written in place, or told that
// it requires a gradient, is used by no other thread meanwhile.
//
// Depends on: autograd/{accumulate,hooks}.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "opyard/autograd/accumulate.h"
#include "opyard/autograd/function.h"
#include "opyard/autograd/hooks.h"
#include "opyard/base/weak.h"
#include "opyard/detail/base/set_once.h"
#include "opyard/tensor/wrapped_stride.h"

namespace opyard::autograd {

// What the elements of a storage are as a row: complex numbers are two real ones, so that views of
// their parts have the same row.
constexpr DType row_dtype(DType dtype) {
  if (dtype == DType::ComplexFloat) return DType::Float32;
  return dtype == DType::ComplexDouble ? DType::Float64 : dtype;
}

// Where the elements of a tensor are in the row of its storage; those of a complex one have a last
// dimension of two parts.
struct Geometry {
  DimVector sizes;
  DimVector strides;
  std::int64_t offset = 0;
  bool is_of_complex = false;

  bool operator==(const Geometry& other) const noexcept {
    return offset == other.offset && is_of_complex == other.is_of_complex &&
           std::ranges::equal(sizes, other.sizes) && std::ranges::equal(strides, other.strides);
  }

  Geometry() = default;
  explicit Geometry(const Tensor& tensor)
      : sizes(tensor.impl()->own_sizes()),
        strides(tensor.impl()->own_strides()),
        offset(tensor.impl()->own_storage_offset()),
        is_of_complex(is_complex(tensor.impl()->dtype())) {
    if (__builtin_expect(is_of_complex, 0)) split();
  }

 private:
  void split() {
    for (std::int64_t& stride : strides) stride = wrapped_product(stride, 2);
    offset *= 2;
    sizes.push_back(2);
    strides.push_back(1);
  }
};

// The tensor that a taped view was made of.
struct Base {
  Edge history;
  Geometry geometry;
  bool is_leaf = false;
  bool is_of_several = false;  // the view, or one that it was made of, is one of a list of views
};

// See [Early views].
class StorageLeaf final : public Counted {
 public:
  explicit StorageLeaf(const Tensor& tensor) : geometry(tensor), dtype(row_dtype(tensor.dtype())) {}

  const Geometry geometry;
  const DType dtype;  // of the row
  // Null after the tensor's end. Not owned, since a gradient may be on this memory. Guarded by the
  // library's lock.
  Accumulate* accumulate = nullptr;
};

class Tangent;  // src/forward/tangent.h

// The tangent of a tensor in forward mode; null as a rule. Guarded by the library's lock.
class OPYARD_API TangentSlot {
 public:
  TangentSlot() noexcept = default;
  TangentSlot(const TangentSlot&) = delete;
  TangentSlot& operator=(const TangentSlot&) = delete;
  ~TangentSlot() {
    if (__builtin_expect(tangent != nullptr, 0)) end();
  }

  Tangent* tangent = nullptr;

 private:
  OPYARD_COLD void end() noexcept;
};

class OPYARD_API TensorState final : public Counted {
 public:
  // From memory that dead ones left, if there is some.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory, std::size_t bytes) noexcept;

  std::atomic<bool> required{false};     // of a leaf
  Edge history;                          // of the others
  std::uint32_t storage_generation = 0;  // of the storage's history when this one was taken
  std::unique_ptr<Base> base;            // of a view
  SetOnce<Accumulate> accumulate;        // where .grad is, and the leaf's function
  CountedPtr<StorageLeaf> leaf;          // of a leaf, see [Early views]
  // What an interpreter made to show the function of `history`: see detail/autograd/kept.h.
  std::unique_ptr<HeldObject> shown;
  TangentSlot tangent;  // see autograd/forward.h

  ~TensorState() override {
    if (__builtin_expect(bool(leaf), 0)) forget_leaf();
  }

 private:
  void forget_leaf() noexcept;
};

// Of one group of tensors: first that of all that are not detached.
class OPYARD_API StorageState final : public Counted {
 public:
  std::uint32_t group = 0;  // TensorImpl::detached_group()
  SetOnce<StorageState> next;
  Edge history;
  DType dtype = DType::Float32;  // of the row
  std::int64_t numel = 0;
  std::atomic<std::uint32_t> generation{0};
  // See [Whole]; of one generation, and of tensors with this geometry. Guarded by the library's
  // lock.
  WeakPtr<Function> whole;
  Geometry whole_geometry;
  std::uint32_t whole_generation = 0;
  std::uint32_t whole_changes = 0;  // how often it was made anew
  // See [Early views]. The list is guarded by the library's lock.
  std::atomic<bool> has_leaves{false};
  std::vector<CountedPtr<StorageLeaf>> leaves;
};

// Null if it has none.
inline TensorState* find_state(const Tensor& tensor) noexcept {
  return static_cast<TensorState*>(tensor.impl()->gradient_state().get());
}
OPYARD_API TensorState& require_state(const Tensor& tensor);
// That of the tensor's group; null if there is none, and for a view that was made without
// gradients.
inline StorageState* find_storage_state(const Tensor& tensor) noexcept {
  const TensorImpl& impl = *tensor.impl();
  auto* state = static_cast<StorageState*>(impl.storage()->gradient_state().get());
  if (__builtin_expect(state == nullptr, 1)) return nullptr;
  if (impl.has_mark(TensorImpl::kMadeWithoutGradients)) return nullptr;
  while (state != nullptr && state->group != impl.detached_group()) state = state->next.get();
  return state;
}

OPYARD_API StorageState& require_storage_state(const Tensor& tensor);

// See [Early views]: whether the tensor lies within a leaf, and is none itself.
OPYARD_API bool is_early_view(const Tensor& tensor, const StorageState& storage) noexcept;
// A leaf that begins to require a gradient. Raises bad_alloc.
OPYARD_API void note_leaf(const Tensor& tensor);

// The history of a tensor, as its storage has it by now; an empty edge for a leaf.
OPYARD_API Edge history_of(const Tensor& tensor);
// The part of edge_of() for what has to be made, or taken anew.
OPYARD_API Edge edge_of_otherwise(const Tensor& tensor);
// Where its gradient goes: its history, or what accumulates it; an empty edge if it requires none.
inline Edge edge_of(const Tensor& tensor) {
  const TensorState* const state = find_state(tensor);
  const bool on_written = bool(tensor.impl()->storage()->gradient_state());
  if (__builtin_expect(on_written, 0)) return edge_of_otherwise(tensor);
  if (state == nullptr) return {};
  if (state->history) return state->history;
  if (!state->required.load(std::memory_order_relaxed)) return {};
  Accumulate* const accumulate = state->accumulate.get();
  if (__builtin_expect(accumulate == nullptr, 0)) return edge_of_otherwise(tensor);
  return {FunctionPtr::share(accumulate), 0};
}
inline bool requires_gradient(const Tensor& tensor) noexcept {
  const TensorState* const state = find_state(tensor);
  if (state != nullptr && (state->history || state->required.load(std::memory_order_relaxed))) {
    return true;
  }
  const StorageState* const storage = find_storage_state(tensor);
  if (__builtin_expect(storage == nullptr, 1)) return false;
  return storage->history ||
         (storage->has_leaves.load(std::memory_order_acquire) && is_early_view(tensor, *storage));
}
OPYARD_API bool is_leaf(const Tensor& tensor);

// The result of a taped call. What retains the gradient of a tensor that has a
// history already retains that of the new one.
OPYARD_API void set_history(const Tensor& result, Edge history);
// The result of a Function, which is on the memory of one of its arguments. See [Given views].
OPYARD_API void set_history_of_given_view(const Tensor& result, Edge history);
// The tensor has no history from here on, requires no gradient, and is of a group of its own if its
// memory has a history.
OPYARD_API void forget_history(const Tensor& tensor);
// Where the gradient of a tensor is stored; made if it is missing.
OPYARD_API Accumulate& require_accumulate(const Tensor& tensor);

}  // namespace opyard::autograd
