// autograd/functions/tensor_state.cpp: the gradient state of tensors, and histories after writes.
#include "opyard/autograd/tensor_state.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "functions/calls.h"
#include "functions/gradient_error.h"
#include "functions/locks.h"
#include "opyard/autograd/hooks.h"
#include "opyard/detail/base/free_list.h"
#include "opyard/detail/tensor/exported_tensor.h"

namespace opyard::autograd {
namespace {

constinit __thread detail::FreeList spare_states __attribute__((tls_model("initial-exec"))) =
    detail::FreeList(64);

// Takes the gradient of a tensor to that of the row of elements which its storage is.
class FromStorage final : public Function {
 public:
  FromStorage(const Tensor& tensor, const StorageState& storage)
      : FromStorage(Expected(tensor), Geometry(tensor), storage) {}
  FromStorage(Expected of, Geometry geometry, const StorageState& storage)
      : geometry_(std::move(geometry)), count_(storage.numel) {
    add_input(std::move(of));
    add_edge(storage.history);
  }
  Gradients apply(Gradients gradients) override {
    if (!gradients[0].defined()) return {};
    return {calls::scatter_strided(gradients[0], count_, geometry_)};
  }
  std::string name() const override { return "FromStorageBackward"; }

 private:
  const Geometry geometry_;
  const std::int64_t count_;
};

// The function of a view of another dtype than its memory's history has: for those who ask for it.
class OfAnotherDType final : public Function {
 public:
  OfAnotherDType(std::string tensor, DType dtype) : tensor_(std::move(tensor)), dtype_(dtype) {
    add_input();
  }
  Gradients apply(Gradients gradients) override {
    if (gradients[0].defined()) refuse(tensor_, dtype_);
    return {};
  }
  std::string name() const override { return "ViewOfAnotherDTypeBackward"; }

  [[noreturn]] OPYARD_COLD static void refuse(const std::string& tensor, DType dtype) {
    fail(ErrorKind::Unsupported,
         tensor + " is a view with another dtype of memory that has a history as " +
             name_of(dtype) +
             "; gradients do not flow through such a view: detach it, or convert with to()");
  }

 private:
  const std::string tensor_;
  const DType dtype_;
};

// Takes the gradient of a view to that of a tensor whose memory it shows. See [Early views] and
// [Whole].
class OfViewed final : public Function {
 public:
  OfViewed(const Tensor& view, const Geometry& viewed, DType row, Edge to)
      : geometry_(view),
        viewed_(viewed),
        count_(std::int64_t(view.impl()->storage()->bytes() / item_size(row))) {
    add_input(Expected(view));
    add_edge(std::move(to));
  }
  Gradients apply(Gradients gradients) override {
    if (!gradients[0].defined()) return {};
    return {
        calls::gather_strided(calls::scatter_strided(gradients[0], count_, geometry_), viewed_)};
  }
  std::string name() const override { return "AsStridedBackward"; }

 private:
  const Geometry geometry_;
  const Geometry viewed_;
  const std::int64_t count_;
};

// The bytes from the first element to the end of the last; none for a tensor without elements.
struct Bytes {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  Bytes(IntSpan sizes, IntSpan strides, std::int64_t offset, DType dtype) noexcept {
    const auto item = std::int64_t(item_size(dtype));
    std::int64_t first = offset;
    std::int64_t last = offset;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 0) return;
      const std::int64_t reach = (sizes[i] - 1) * strides[i];
      (reach < 0 ? first : last) += reach;
    }
    begin = first * item;
    end = (last + 1) * item;
  }
};

// With the lock held: the leaf whose memory a tensor shows, or null.
const StorageLeaf* find_leaf(const Tensor& tensor, const StorageState& storage) noexcept {
  const TensorState* const state = find_state(tensor);
  const TensorImpl& impl = *tensor.impl();
  const Bytes own(impl.own_sizes(), impl.own_strides(), impl.own_storage_offset(), impl.dtype());
  if (own.begin == own.end) return nullptr;
  for (const CountedPtr<StorageLeaf>& leaf : storage.leaves) {
    if (leaf->accumulate == nullptr || !leaf->accumulate->is_wanted()) continue;
    if (state != nullptr && (state->leaf == leaf || state->required.load())) continue;
    const Geometry& at = leaf->geometry;
    const Bytes whole(at.sizes, at.strides, at.offset, leaf->dtype);
    if (whole.begin <= own.begin && own.end <= whole.end) return leaf.get();
  }
  return nullptr;
}

void take_from_leaf(const Tensor& tensor, const StorageState& storage) {
  if (!storage.has_leaves.load(std::memory_order_acquire)) return;
  const TensorState* const state = find_state(tensor);
  if (state != nullptr && (state->history || state->required.load())) return;
  CountedPtr<const StorageLeaf> leaf;
  Edge to;
  {
    const std::lock_guard lock(gradients_lock());
    const StorageLeaf* const found = find_leaf(tensor, storage);
    if (found == nullptr) return;
    leaf = CountedPtr<const StorageLeaf>::share(found);
    to.function = FunctionPtr::share(found->accumulate);
  }
  if (leaf->dtype != row_dtype(tensor.dtype()))
    OfAnotherDType::refuse(describe(tensor), leaf->dtype);
  TensorState& own = require_state(tensor);
  own.history = {make_counted<OfViewed>(tensor, leaf->geometry, leaf->dtype, std::move(to)), 0};
  own.shown.reset();
}

bool is_of_another_dtype(const Tensor& tensor) {
  const StorageState* const storage = find_storage_state(tensor);
  return storage != nullptr && storage->history && storage->dtype != row_dtype(tensor.dtype());
}

// A view of a wrapper, which its class gave and of which no one has the geometry.
[[noreturn]] OPYARD_COLD void refuse_view_of_wrapper(const Tensor& tensor) {
  fail_gradient(
      ErrorKind::BadValue,
      describe(tensor) +
          " is a view that the class of a wrapper gave, and what it is a view of has been "
          "modified in place with gradients on since: how it shows that history is not "
          "known. Make the view after the write, or write to a clone()");
}

// How often the memory was written so far, with gradients on, by tensors of the group.
std::uint32_t generation_of_memory(const TensorImpl& impl) noexcept {
  auto* state = static_cast<StorageState*>(impl.storage()->gradient_state().get());
  while (state != nullptr && state->group != impl.detached_group()) state = state->next.get();
  return state == nullptr ? 0 : state->generation.load(std::memory_order_acquire);
}

// See [Given views].
void refuse_written_view(const Tensor& tensor) {
  if (!tensor.impl()->has_mark(TensorImpl::kMadeWithoutGradients)) return;
  const TensorState* const state = find_state(tensor);
  if (state == nullptr || !state->history) return;
  if (state->storage_generation == generation_of_memory(*tensor.impl())) return;
  if (ExportedTensor::is_without_memory(*tensor.impl())) refuse_view_of_wrapper(tensor);
  fail(ErrorKind::BadValue,
       fmt::format("{} is a view of an argument, given by {}, and the argument, or another view of "
                   "it, has been modified in place since: what {} would give as its gradient is "
                   "that of before. Give a clone() from forward, or write before the call",
                   describe(tensor), state->history.function->name(),
                   state->history.function->name()));
}

std::int64_t elements_of_row(const Geometry& geometry) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t size : geometry.sizes) count *= size;
  return count;
}

// That of a tensor with this geometry, which is all of the storage. See [Whole]. Weak pointers are
// followed, and functions die, without the lock.
Edge require_whole(StorageState& storage, const Geometry& geometry, Expected of) {
  const std::uint32_t generation = storage.generation.load(std::memory_order_acquire);
  FunctionPtr fresh;
  WeakPtr<Function> watched;
  for (;;) {
    WeakPtr<Function> seen;
    std::uint32_t changes = 0;
    {
      const std::lock_guard lock(gradients_lock());
      changes = storage.whole_changes;
      if (storage.whole_generation == generation && storage.whole_geometry == geometry) {
        seen = storage.whole;
      }
    }
    if (FunctionPtr known = seen.lock()) return {std::move(known), 0};
    if (!fresh) {
      const std::size_t parts = geometry.is_of_complex ? 1 : 0;  // the last dimension of a complex
      of.sizes = DimVector(IntSpan(geometry.sizes).first(geometry.sizes.size() - parts));
      fresh = make_counted<FromStorage>(std::move(of), geometry, storage);
      watched = WeakPtr<Function>(fresh);
    }
    const std::lock_guard lock(gradients_lock());
    if (storage.whole_changes != changes) continue;  // another thread made one meanwhile
    std::swap(storage.whole, watched);
    storage.whole_geometry = geometry;
    storage.whole_generation = generation;
    ++storage.whole_changes;
    return {std::move(fresh), 0};
  }
}

// The history of a tensor of written memory. See [Whole]: which tensor a view was made of is known
// if that was taped, and a tensor that is no view has had a history before.
Edge taken_from_storage(const Tensor& tensor, const TensorState& state, StorageState& storage) {
  const Geometry own(tensor);
  const Geometry& whole = state.base != nullptr ? state.base->geometry : own;
  const bool is_known = state.base != nullptr || state.history;
  if (!is_known || whole.is_of_complex != own.is_of_complex ||
      elements_of_row(whole) != storage.numel) {
    return {make_counted<FromStorage>(tensor, storage), 0};
  }
  Edge to = require_whole(storage, whole, Expected(tensor));
  if (state.base == nullptr) return to;
  return {make_counted<OfViewed>(tensor, whole, storage.dtype, std::move(to)), 0};
}

// Takes the history anew if the storage has a newer one.
void refresh(const Tensor& tensor) {
  StorageState* const storage = find_storage_state(tensor);
  if (storage == nullptr) return refuse_written_view(tensor);
  if (!storage->history) return take_from_leaf(tensor, *storage);
  const std::uint32_t generation = storage->generation.load(std::memory_order_acquire);
  TensorState* state = find_state(tensor);
  if (state != nullptr && state->storage_generation == generation) return;
  if (ExportedTensor::is_without_memory(*tensor.impl())) refuse_view_of_wrapper(tensor);
  if (row_dtype(tensor.dtype()) != storage->dtype)
    OfAnotherDType::refuse(describe(tensor), storage->dtype);
  state = &require_state(tensor);
  const Edge former = state->history;
  state->history = taken_from_storage(tensor, *state, *storage);
  state->required.store(false, std::memory_order_relaxed);
  state->storage_generation = generation;
  state->shown.reset();
  if (former && former.function->find_hooks() != nullptr) {
    former.function->hooks().move_retaining(former.input, state->history.function->hooks(), 0);
  }
}

}  // namespace

void* TensorState::operator new(std::size_t bytes) { return spare_states.allocate(bytes); }
void TensorState::operator delete(void* memory, std::size_t bytes) noexcept {
  spare_states.deallocate(memory, bytes);
}

void TensorState::forget_leaf() noexcept {
  const std::lock_guard lock(gradients_lock());
  leaf->accumulate = nullptr;
}

StorageState& require_storage_state(const Tensor& tensor) {
  const Storage& storage = *tensor.impl()->storage();
  const auto fresh = [&](std::uint32_t group) {
    auto state = make_counted<StorageState>();
    state->group = group;
    state->dtype = row_dtype(tensor.dtype());
    state->numel = std::int64_t(storage.bytes() / item_size(state->dtype));
    return state;
  };
  Counted* const first = storage.gradient_state().get();
  auto* state = static_cast<StorageState*>(
      first != nullptr ? first : &storage.gradient_state().set(fresh(0)));
  const std::uint32_t group = tensor.impl()->detached_group();
  while (state->group != group) {
    StorageState* const next = state->next.get();
    state = next != nullptr ? next : &state->next.set(fresh(group));
  }
  return *state;
}

bool is_early_view(const Tensor& tensor, const StorageState& storage) noexcept {
  if (!storage.has_leaves.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(gradients_lock());
  return find_leaf(tensor, storage) != nullptr;
}

void note_leaf(const Tensor& tensor) {
  if (tensor.impl()->storage()->owner_count() == 1) return;
  if (ExportedTensor::is_without_memory(*tensor.impl())) return;
  TensorState& state = require_state(tensor);
  if (state.leaf) return;
  StorageState& storage = require_storage_state(tensor);
  auto leaf = make_counted<StorageLeaf>(tensor);
  leaf->accumulate = &require_accumulate(tensor);
  std::vector<CountedPtr<StorageLeaf>> dead;  // die without the lock
  const std::lock_guard lock(gradients_lock());
  std::vector<CountedPtr<StorageLeaf>> living;
  living.reserve(storage.leaves.size() + 1);
  for (auto& one : storage.leaves) {
    if (one->accumulate != nullptr) living.push_back(one);
  }
  living.push_back(leaf);
  std::swap(dead, storage.leaves);
  std::swap(storage.leaves, living);
  state.leaf = std::move(leaf);
  storage.has_leaves.store(true, std::memory_order_release);
}

TensorState& require_state(const Tensor& tensor) {
  if (TensorState* const known = find_state(tensor)) return *known;
  return static_cast<TensorState&>(
      tensor.impl()->gradient_state().set(make_counted<TensorState>()));
}

Edge history_of(const Tensor& tensor) {
  if (is_of_another_dtype(tensor)) {
    return {make_counted<OfAnotherDType>(describe(tensor), find_storage_state(tensor)->dtype), 0};
  }
  refresh(tensor);
  const TensorState* const state = find_state(tensor);
  return state == nullptr ? Edge() : state->history;
}

Edge edge_of_otherwise(const Tensor& tensor) {
  refresh(tensor);
  TensorState* const state = find_state(tensor);
  if (state == nullptr) return {};
  if (state->history) return state->history;
  if (!state->required.load(std::memory_order_relaxed)) return {};
  return {CountedPtr<Accumulate>::share(&require_accumulate(tensor)), 0};
}

bool is_leaf(const Tensor& tensor) { return !history_of(tensor); }

void set_history(const Tensor& result, Edge history) {
  if (!find_state(result) && !result.impl()->storage()->gradient_state()) {
    auto fresh = make_counted<TensorState>();
    fresh->history = std::move(history);
    result.impl()->gradient_state().set(std::move(fresh));
    return;
  }
  TensorState& state = require_state(result);
  if (state.history && state.history.function->find_hooks() != nullptr) {
    state.history.function->hooks().move_retaining(state.history.input, history.function->hooks(),
                                                   history.input);
  }
  state.history = std::move(history);
  state.storage_generation = generation_of_memory(*result.impl());
  state.shown.reset();
}

void set_history_of_given_view(const Tensor& result, Edge history) {
  TensorImpl& impl = *result.impl();
  impl.set_marks(std::uint8_t(impl.marks() | TensorImpl::kMadeWithoutGradients));
  set_history(result, std::move(history));
}

void forget_history(const Tensor& tensor) {
  if (TensorState* const state = find_state(tensor)) {
    Accumulate* const known = state->accumulate.get();
    if (known != nullptr && !state->history) known->set_wanted(false);
    state->history = {};
    state->shown.reset();
    state->required.store(false);
  }
  if (tensor.impl()->storage()->gradient_state()) tensor.impl()->detach();
}

Accumulate& require_accumulate(const Tensor& tensor) {
  TensorState& state = require_state(tensor);
  if (Accumulate* const known = state.accumulate.get()) return *known;
  return state.accumulate.set(make_counted<Accumulate>(Expected(tensor)));
}

}  // namespace opyard::autograd
