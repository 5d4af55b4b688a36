// autograd/objects.cpp: what tensors ask: see tensor/gradient_functions.h.
//
// A garbage collector sees of a tensor that has no other owner: the function that gave it, or that
// accumulates for it, if nothing else leads to that; of the function what it keeps, and its hooks.
// Functions further back are not followed: a collection would visit whole graphs again and again.
#include "objects.h"

#include "opyard/autograd.h"
#include "opyard/detail/tensor/gradient_functions.h"

namespace opyard::autograd {
namespace {

// Until it gives another number than 0.
template <typename Visit>
int each_of(Function* function, const void* interpreter, const Visit& visit) {
  if (function == nullptr || function->owner_count() != 1) return 0;
  const auto show = [&](HeldObject* held) {
    const bool is_ours = held != nullptr && held->interpreter() == interpreter;
    return is_ours && held->object() != nullptr ? visit(*held) : 0;
  };
  if (const int stop = show(function->held_object())) return stop;
  if (function->find_hooks() == nullptr) return 0;
  for (const Hooks::Held& held : function->hooks().held()) {
    if (const int stop = show(held.get())) return stop;
  }
  return 0;
}

template <typename Visit>
int each_object(const TensorImpl& tensor, const void* interpreter, const Visit& visit) {
  auto* const state = static_cast<TensorState*>(tensor.gradient_state().get());
  if (state == nullptr) return 0;
  if (const int stop = each_of(state->history.function.get(), interpreter, visit)) return stop;
  return each_of(state->accumulate.get(), interpreter, visit);
}

int visit_objects(const TensorImpl& tensor, const void* interpreter,
                  int (*visit)(void* object, void* argument), void* argument) {
  return each_object(tensor, interpreter,
                     [&](const HeldObject& held) { return visit(held.object(), argument); });
}

void clear_objects(const TensorImpl& tensor, const void* interpreter) {
  each_object(tensor, interpreter, [](HeldObject& held) {
    held.give_up();
    return 0;
  });
}

constexpr detail::GradientFunctions kFunctions{.needs = &requires_gradient,
                                               .is_leaf = &is_leaf,
                                               .gradient = &gradient_of,
                                               .set_gradient = &set_gradient,
                                               .visit = &visit_objects,
                                               .clear = &clear_objects};

}  // namespace

void answer_tensors() noexcept {
  detail::gradient_functions.store(&kFunctions, std::memory_order_release);
}

}  // namespace opyard::autograd
