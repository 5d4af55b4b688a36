// autograd/functions/objects.cpp: implementation of tensor/gradient_functions.h.
#include "functions/objects.h"

#include "opyard/autograd.h"
#include "opyard/detail/autograd/kept.h"
#include "opyard/detail/tensor/gradient_functions.h"

namespace opyard::autograd {
namespace {

int visit_objects(const TensorImpl& tensor, const void* interpreter,
                  int (*visit)(void* object, void* argument), void* argument) {
  return visit_kept(tensor, {interpreter, visit, argument});
}

void clear_objects(const TensorImpl& tensor, const void* interpreter) {
  clear_kept(tensor, interpreter);
}

constexpr detail::GradientFunctions kFunctions{.needs = &requires_gradient,
                                               .is_leaf = &is_leaf,
                                               .gradient = &gradient_of,
                                               .set_gradient = &set_gradient,
                                               .reset_hooks = &reset_hooks,
                                               .visit = &visit_objects,
                                               .clear = &clear_objects};

}  // namespace

void answer_tensors() noexcept {
  detail::gradient_functions.store(&kFunctions, std::memory_order_release);
}

}  // namespace opyard::autograd
