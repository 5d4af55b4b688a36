// autograd/functions/write_function.cpp: taping and refusal of in-place writes.
//
// [Wrappers] A tensor without memory has the history of its last write itself. Views that its class
// gave of it are on its storage, to count the same writes; their geometry is what the class says,
// and not where they are in a row. So they are not taken anew after a write: asking for the history
// of one raises, see refresh() in tensor_state.cpp.
#include "opyard/detail/autograd/write.h"

#include "functions/calls.h"
#include "opyard/detail/tensor/exported_tensor.h"
#include "opyard/tensor/places.h"

namespace opyard::autograd {
namespace {

// Where a storage's history begins: the gradient of the row goes to the tensor that had one before.
class BeginRow final : public Function {
 public:
  BeginRow(const Base& base, const StorageState& storage) : geometry_(base.geometry) {
    Expected row;
    row.sizes = DimVector{storage.numel};
    row.dtype = storage.dtype;
    add_input(std::move(row));
    add_edge(base.history);
  }
  Gradients apply(Gradients gradients) override {
    if (!gradients[0].defined()) return {};
    return {calls::gather_strided(gradients[0], geometry_)};
  }
  std::string name() const override { return "BeginRowBackward"; }

 private:
  const Geometry geometry_;
};

// The gradient of the row after a write: to the call that wrote, and to the row before.
class WriteRow final : public Function {
 public:
  WriteRow(const Tensor& written, const StorageState& storage, Edge call) : geometry_(written) {
    Expected row;
    row.sizes = DimVector{storage.numel};
    row.dtype = storage.dtype;
    add_input(std::move(row));
    add_edge(std::move(call));
    add_edge(storage.history);
  }
  Gradients apply(Gradients gradients) override {
    const Tensor& row = gradients[0];
    if (!row.defined()) return {};
    Tensor at = calls::gather_strided(row, geometry_);
    Gradients out{at, Tensor()};
    if (should_compute(1)) {
      const Expected like(at);
      out[1] = calls::replace_strided(row, calls::zeros(like), geometry_);
    }
    return out;
  }
  std::string name() const override { return "CopySlices"; }

 private:
  const Geometry geometry_;
};

// What a storage has for a history whose tensors are wrappers: they are found to be written, and no
// gradient goes that way. See [Wrappers].
class WrittenWrapper final : public Function {
 public:
  WrittenWrapper() { add_input(); }
  Gradients apply(Gradients) override { return {}; }
  std::string name() const override { return "WrittenWrapperBackward"; }
};

// See [Wrappers].
void tape_write_of_wrapper(const Tensor& written, Edge call) {
  const Storage& memory = *written.impl()->storage();
  if (memory.owner_count() != 1 || memory.gradient_state()) {
    StorageState& storage = require_storage_state(written);
    if (!storage.history) storage.history = {make_counted<WrittenWrapper>(), 0};
    storage.generation.fetch_add(1, std::memory_order_acq_rel);
  }
  set_history(written, std::move(call));
}

bool is_alone(const Tensor& tensor) {
  const Storage& storage = *tensor.impl()->storage();
  return storage.owner_count() == 1 && !storage.gradient_state();
}

}  // namespace

const char* write_refusal(const Tensor& tensor, bool any_needs, bool of_elements) {
  if (!tensor.defined()) return nullptr;
  const TensorState* const state = find_state(tensor);
  const bool needs = requires_gradient(tensor);
  if (needs && is_leaf(tensor)) {
    return "a leaf Variable that requires grad is being used in an in-place operation. Write under "
           "no_grad, as an optimiser does, or write to a clone()";
  }
  const StorageState* const storage = find_storage_state(tensor);
  const bool is_early = storage != nullptr && is_early_view(tensor, *storage);
  if (is_early || (state != nullptr && state->base != nullptr && state->base->is_leaf)) {
    return "a view of a leaf Variable that requires grad is being used in an in-place operation. "
           "Write under no_grad, or write to a clone()";
  }
  if (state != nullptr && state->base != nullptr && state->base->is_of_several) {
    return "a view is being modified in place, and it is the output of a function that returns "
           "multiple views, such as unbind or split. Write under no_grad, write to a clone(), or "
           "make "
           "the view alone, by select() or narrow()";
  }
  if (tensor.impl()->has_mark(TensorImpl::kMadeWithoutGradients)) {
    if (state != nullptr && state->history && tensor.keys().has(DispatchKey::Python)) {
      return "a view that the class of a wrapper gave is being modified in place with gradients "
             "on, "
             "and what it shows would not get the history of that. Write what it is a view of, or "
             "a "
             "clone(), or write under no_grad";
    }
    if (state != nullptr && state->history) {
      return "a view that a Function gave of one of its arguments is being modified in place with "
             "gradients on. Give a clone() from its forward, or write the argument there and mark "
             "it with mark_dirty()";
    }
    return "a view that was made under no_grad or inference_mode, of a tensor with a history, is "
           "being "
           "modified in place with gradients on. Make the view with gradients on, or write under "
           "no_grad, or detach it";
  }
  if (!needs && !any_needs) return nullptr;
  if (tensor.impl()->has_mark(TensorImpl::kInference)) {
    return "an inference tensor is being modified in place with gradients on; it was made under "
           "inference_mode and takes no part in gradients: clone() it first";
  }
  if (of_elements &&
      shows_a_place_twice(tensor.impl()->own_sizes(), tensor.impl()->own_strides())) {
    return "a tensor of which several elements are one place in memory, such as an expanded tensor "
           "or a view by unfold() or as_strided(), is being written with gradients on; clone() it "
           "first";
  }
  return nullptr;
}

bool begin_write(const Tensor& written) {
  if (is_alone(written) || ExportedTensor::is_without_memory(*written.impl())) return false;
  StorageState& storage = require_storage_state(written);
  if (storage.history) return true;
  const TensorState* const state = find_state(written);
  if (state == nullptr) return true;
  const Base own{state->history, Geometry(written), false};
  const Base& base = state->base != nullptr ? *state->base : own;
  if (base.history) storage.history = {make_counted<BeginRow>(base, storage), 0};
  return true;
}

void tape_write(const Tensor& written, FunctionPtr function, std::uint32_t input) {
  Edge call{std::move(function), input};
  if (ExportedTensor::is_without_memory(*written.impl())) {
    return tape_write_of_wrapper(written, std::move(call));
  }
  StorageState* const storage = find_storage_state(written);
  if (storage == nullptr) return set_history(written, std::move(call));
  if (storage->dtype != row_dtype(written.dtype())) {
    fail(ErrorKind::Unsupported,
         describe(written) + " was written through a view of another dtype than " +
             name_of(storage->dtype) + ", through which gradients do not flow");
  }
  storage->history = {make_counted<WriteRow>(written, *storage, std::move(call)), 0};
  storage->generation.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace opyard::autograd
