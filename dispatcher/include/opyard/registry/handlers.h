// opyard/registry/handlers.h: handlers of an interpreter, which see calls before the kernels do.
//
// At the key Python every operator has a record of libopyard's own, unless someone registered
// another. It hands the call to the interpreter of the innermost mode, else to that of the first
// tensor that carries the key, by its slot `dispatch`. There modes are asked first, innermost
// first, then the classes of the tensors.
//
// Whatever a handler calls starts below the layers that the call came through, autograd among them:
// these are excluded while it runs. Observers and the Python dispatcher see those calls all the
// same.
//
// The key PythonDispatcher leads to the interpreter that dispatches the thread's calls itself,
// likewise; see thread/thread_dispatcher.h. PythonTLSSnapshot, which tensors have whose class
// defines their geometry, device or layout, notes the key sets that the call entered with; see
// thread/key_snapshot.h.
//
// Depends on: registry/record.h, keys/dispatch_key_set.h.
#pragma once

#include "opyard/detail/registry/record.h"
#include "opyard/keys/local.h"

namespace opyard {

// The layers that are above handlers and are excluded while one runs. Batched is not among them:
// what a handler unwraps may be batched.
inline constexpr DispatchKeySet kLayersAboveHandlers{DispatchKey::ADInplaceOrView,
                                                     DispatchKey::AboveADInplaceOrView1,
                                                     DispatchKey::AboveADInplaceOrView2,
                                                     DispatchKey::AutogradOther,
                                                     DispatchKey::AutogradFunctionality,
                                                     DispatchKey::AutogradNestedTensor,
                                                     DispatchKey::AboveAutograd1,
                                                     DispatchKey::AboveAutograd2,
                                                     DispatchKey::Tracer,
                                                     DispatchKey::AutocastCPU,
                                                     DispatchKey::AutocastCUDA};

namespace detail {
// The boxed function of the record that does.
extern OPYARD_API const BoxedFunction hand_to_handlers;
}  // namespace detail

// Whether a record hands its calls to handlers.
inline bool leads_to_handlers(const Record& record) noexcept {
  return record.boxed == detail::hand_to_handlers;
}

}  // namespace opyard
