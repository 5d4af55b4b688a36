// objects/convert/wrapper_sizes.cpp: sizes of wrappers that follow their inner tensors.
#include "objects/convert/wrapper_sizes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "opyard/detail/tensor/exported_tensor.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/inspect/inspect.h"
#include "opyard/keys/gradient_mode.h"

namespace opyard::python {
namespace {

// Without memory, and with sizes that no class defines.
bool is_wrapper_of_own_sizes(const TensorImpl& impl) noexcept {
  return impl.keys().has(DispatchKey::Python) && impl.data() == nullptr && impl.policies() == 0;
}

bool have_same_sizes(const TensorImpl& one, const TensorImpl& other) noexcept {
  return one.own_storage_offset() == other.own_storage_offset() &&
         std::ranges::equal(one.own_sizes(), other.own_sizes()) &&
         std::ranges::equal(one.own_strides(), other.own_strides());
}

}  // namespace

void follow_sizes(const Operator& op, const Tensor& made, const Tensor& given) {
  if (!made.defined() || !given.defined() || made.same(given)) return;
  TensorImpl& impl = *given.impl();
  if (!is_wrapper_of_own_sizes(impl) || !is_wrapper_of_own_sizes(*made.impl())) return;
  if (have_same_sizes(impl, *made.impl())) return;
  const std::vector<std::string> tags = inspect::tags(op.name());
  if (std::ranges::find(tags, "inplace_view") == tags.end()) return;
  const auto* const functions = detail::gradient_functions.load(std::memory_order_acquire);
  const bool needs = functions != nullptr && functions->needs(given);
  OPYARD_CHECK(gradients_enabled() || !needs, BadValue,
               to_string(op.name()) + ": " + describe(given) +
                   " needs a gradient, and its sizes cannot be changed with gradients off; make a "
                   "view, or change a detach()");
  ExportedTensor::take_geometry(impl, *made.impl());
}

}  // namespace opyard::python
