// autograd/tape/saved_tensor.cpp: saved tensors, and detection of later writes.
#include "opyard/autograd/saved_tensor.h"

#include <fmt/format.h>

#include "functions/calls.h"
#include "functions/gradient_error.h"
#include "opyard/autograd/forward.h"
#include "opyard/detail/tensor/exported_tensor.h"
#include "opyard/tensor/shallow_copy.h"

namespace opyard::autograd {
namespace {

// A result that a class defines: its function would own it, and be owned by it. The copy has the
// versions of the tensor's memory, if it is on that, or both have none.
Tensor saved_result(const Tensor& tensor) {
  Tensor made = copy_by_class(tensor);
  if (!made.defined()) return tensor;
  const CountedPtr<Storage>& own = tensor.impl()->storage();
  const TensorImpl& copy = *made.impl();
  if (copy.storage() == own || (copy.storage()->data() == nullptr && own->data() == nullptr)) {
    ExportedTensor::put_on(*made.impl(), own->second());
  }
  return made;
}

// A tensor of this geometry on another storage.
Tensor on(CountedPtr<Storage> storage, const Tensor& like) {
  const TensorImpl& impl = *like.impl();
  auto other = make_counted<TensorImpl>(
      std::move(storage), impl.dtype(), impl.own_sizes(), impl.own_strides(),
      impl.own_storage_offset(),
      impl.keys() - DispatchKeySet{DispatchKey::Python, DispatchKey::PythonTLSSnapshot});
  other->set_marks(impl.marks());
  other->detach();
  Tensor made(std::move(other));
  if (__builtin_expect(may_have_tangent(like), 0)) copy_tangent(like, made);
  return made;
}

[[noreturn]] OPYARD_COLD void refuse_changed(const Function& of, const Tensor& tensor,
                                             std::uint32_t saved) {
  fail_gradient(
      ErrorKind::BadValue,
      fmt::format("one of the variables needed for gradient computation has been modified by an "
                  "inplace operation: {}, saved for {}, is at version {}; expected version {} "
                  "instead. Hint: {}",
                  describe(tensor), of.name(), version_of(tensor), saved,
                  of.call_site().empty()
                      ? "opyard.autograd.detect_anomaly() shows where it was saved; write to a "
                        "clone(), or write before it is used"
                      : "it was saved here:\n" + of.call_site()));
}

// See saved_tensor.h [Packed]. It is never freed, so that no tensor is its only owner.
const Tensor& stand_in() {
  static const auto* const tensor = new Tensor(Tensor::empty({}));
  return *tensor;
}

}  // namespace

Tensor another_tensor(const Tensor& tensor) {
  if (Tensor made = copy_by_class(tensor); made.defined()) return made;
  return Tensor(make_counted<TensorImpl>(
      *tensor.impl(),
      tensor.keys() - DispatchKeySet{DispatchKey::Python, DispatchKey::PythonTLSSnapshot}));
}

Tensor detached(const Tensor& tensor) {
  Tensor other = another_tensor(tensor);
  // Else it is of a class that holds it already, and did what is needed.
  if (other.impl()->owner_count() == 1) other.impl()->detach();
  return other;
}

Tensor saved_apart(const Tensor& tensor) {
  Storage& storage = *tensor.impl()->storage();
  if (storage.is_borrowed()) {
    const GradientModeGuard off(GradientMode::NoGradients);
    return calls::clone(tensor);
  }
  const bool as_it_is = tensor.impl()->policies() != 0 || tensor.keys().has(DispatchKey::Python);
  return as_it_is ? tensor : on(storage.second(), tensor);
}

void SavedTensor::take_tangent_of(const Tensor& result) const {
  if (!tensor_.defined() || tensor_.same(result) || !may_have_tangent(result)) return;
  Packed* const packed = find_packed();
  if (packed != nullptr) packed->dual = Tensor::empty({});
  copy_tangent(result, packed == nullptr ? tensor_ : packed->dual);
}
void SavedTensor::take_tangent_among(std::span<const Tensor> results) const {
  if (is_result_) take_tangent_of(results[result_]);
}

void SavedTensor::save(const Tensor& tensor) {
  if (!tensor.defined()) return;
  if (tensor.impl()->has_mark(TensorImpl::kInference)) {
    fail_gradient(ErrorKind::BadValue,
                  describe(tensor) +
                      " is an inference tensor, which cannot be saved for backward; it was made "
                      "under inference_mode: clone() it first");
  }
  Storage& storage = *tensor.impl()->storage();
  if (storage.is_borrowed()) {
    const GradientModeGuard off(GradientMode::NoGradients);
    tensor_ = calls::clone(tensor);
    version_ = version_of(tensor_);
    return;
  }
  version_ = storage.shared_version();
  if (!is_result_ && leads_to_no_function(tensor, storage)) {
    tensor_ = tensor;
    return;
  }
  // An argument that a class defines, or has symbolic sizes, is saved as the object that it is.
  const bool as_it_is = tensor.impl()->policies() != 0 || tensor.keys().has(DispatchKey::Python);
  if (!as_it_is) {
    tensor_ = on(storage.second(), tensor);
  } else {
    tensor_ = is_result_ ? saved_result(tensor) : tensor;
    version_ = version_of(tensor_);
  }
}

bool SavedTensor::leads_to_no_function(const Tensor& tensor, const Storage& storage) {
  if (!storage.gradient_state()) {
    const TensorState* const state = find_state(tensor);
    if (state == nullptr || !state->history) return true;
  }
  history_ = edge_of(tensor);
  if (history_ && history_.function->sequence() != kLastSequence) return false;
  history_ = {};
  return true;
}

Packed* SavedTensor::find_packed() const noexcept {
  const bool may_be = tensor_.defined() && version_of(tensor_) != version_;
  return may_be ? dynamic_cast<Packed*>(history_.function.get()) : nullptr;
}

const Tensor* SavedTensor::look(const Function& of) const {
  if (version_of(tensor_) != version_) {
    if (find_packed() != nullptr) return nullptr;
    refuse_changed(of, tensor_, version_);
  }
  return !gradients_enabled() || (!is_result_ && !history_) ? &tensor_ : nullptr;
}

Tensor SavedTensor::take_out(Function& of) const {
  if (!tensor_.defined()) return {};
  if (version_of(tensor_) != version_) return unpack(of);
  if (!gradients_enabled() || (!is_result_ && !history_)) return tensor_;
  // With its history, as a tensor of its own.
  const bool is_of_class = tensor_.keys().has(DispatchKey::Python);
  if (is_of_class && !is_result_) return tensor_;  // it has its history itself
  Tensor out = is_of_class ? another_tensor(tensor_) : on(tensor_.impl()->storage(), tensor_);
  Edge history = is_result_ ? Edge{FunctionPtr::share(&of), result_} : history_;
  set_history(out, std::move(history));
  return out;
}

void SavedTensor::pack(SavedHooks& hooks) {
  if (!tensor_.defined()) return;
  OPYARD_CHECK_GRADIENT(
      find_packed() == nullptr, BadValue,
      "Calling register_hooks on a saved tensor whose hooks have already been set: a hook has "
      "packed it, and what is packed is given to no other");
  const bool is_of_class = !is_result_ && tensor_.keys().has(DispatchKey::Python);
  Edge history = history_ || is_result_ ? history_ : edge_of(tensor_);
  if (is_of_class && !history) history = edge_of(tensor_);
  const Tensor given = tensor_;
  // Of its own storage, too: a second one counts what is written through it for itself.
  const auto versions = [&] { return version_of(given) + given.impl()->storage()->version(); };
  const std::uint32_t before = versions();
  CountedPtr<Packed> packed;
  {
    const GradientModeGuard off(GradientMode::NoGradients);
    // The call that saves it is one of tensors without tangents; what a hook computes has them.
    const LocalKeys keys = local_keys();
    const ForceDispatchKeyGuard with_tangents(keys.include, keys.exclude - forward_keys());
    packed = hooks.pack(given);
  }
  OPYARD_CHECK_GRADIENT(
      versions() == before, BadValue,
      "A saved tensor pack hook is modifying its input in place: " + describe(given) +
          " was written by the hook, and others may share its memory. Write to a clone()");
  packed->add_edge(std::move(history));
  history_ = Edge{std::move(packed), 0};
  tensor_ = stand_in();
  version_ = version_of(tensor_) + 1;
}

Tensor SavedTensor::unpack(Function& of) const {
  // Owned here: a hook may run code that lets go of what was saved.
  const FunctionPtr held = history_.function;
  auto* const packed = dynamic_cast<Packed*>(held.get());
  if (packed == nullptr) refuse_changed(of, tensor_, version_);
  Tensor data = packed->unpack();
  Edge history = is_result_ ? Edge{FunctionPtr::share(&of), result_} : packed->edge(0);
  const bool wants_history = gradients_enabled() && bool(history);
  const bool is_dual = packed->dual.defined() && may_have_tangent(packed->dual);
  if (!data.defined() || (!wants_history && !is_dual && !requires_gradient(data))) return data;
  Tensor out = detached(data);
  if (is_dual || may_have_tangent(data)) copy_tangent(is_dual ? packed->dual : data, out);
  if (wants_history) set_history(out, std::move(history));
  return out;
}

}  // namespace opyard::autograd
