// tensor/take_over.cpp: sole ownership of a tensor or its memory.
#include "opyard/detail/tensor/take_over.h"

#include "opyard/detail/tensor/exported_tensor.h"
#include "tensor/keys_on.h"

namespace opyard::detail {
namespace {

void no_deleter(void*) {}

// No one adds an owner to what is unshared, so that the answer stays true.
bool is_alone(const TensorImpl& tensor, const Storage& storage) {
  return tensor.is_unshared() && storage.is_unshared() && tensor.object_link().tag() == nullptr &&
         ExportedTensor::has_own_memory(storage, no_deleter);
}

bool is_plain(const TensorImpl& tensor, const Storage& storage) {
  return tensor.policies() == 0 && tensor.marks() == 0 && !tensor.gradient_state() &&
         !storage.gradient_state() && storage.version() == 0 && !storage.read_only();
}

bool is_whole(const TensorImpl& tensor, const Storage& storage) {
  return tensor.own_storage_offset() == 0 &&
         storage.bytes() == std::size_t(tensor.own_numel()) * item_size(tensor.dtype());
}

}  // namespace

Tensor take_over(const TensorImpl& tensor) {
  const CountedPtr<Storage>& storage = tensor.storage();
  if (!is_alone(tensor, *storage) || !is_plain(tensor, *storage) || !is_whole(tensor, *storage)) {
    return Tensor();
  }
  return Tensor(make_counted<TensorImpl>(storage, tensor.dtype(), tensor.own_sizes(),
                                         tensor.own_strides(), 0, keys_on(storage->device())));
}

}  // namespace opyard::detail
