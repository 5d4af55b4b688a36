// opyard/keys/alias_keys.h: alias keys and their key sets.
//
// An alias is written at registration and read while tables are computed. The sets are
// constants, made from keys.def, so that an added backend joins them by itself.
//
// Depends on: keys/dispatch_key_set.h.
#pragma once

#include "opyard/keys/dispatch_key_set.h"

namespace opyard {

// The runtime keys `key` stands for; a runtime key stands for itself.
OPYARD_API DispatchKeySet runtime_keys_of(DispatchKey key);

// Whether a kernel registered at `alias` may serve `key`. False for a non-alias.
OPYARD_API bool alias_includes(DispatchKey alias, DispatchKey key);

// AutogradCPU -> {CPU}; AutogradOther -> the backend keys without an autograd key of their
// own; every other key -> {}.
OPYARD_API DispatchKeySet backend_keys_of_autograd(DispatchKey autograd);

// CPU -> AutogradCPU; QuantizedCPU, SparseCPU -> AutogradOther; NestedTensorCPU ->
// AutogradNestedTensor. Raises BadValue for a key that is no backend key.
OPYARD_API DispatchKey autograd_key_of(DispatchKey backend_key);

// All keys at which a backend's own kernels are: Dense, Quantized and Sparse on every backend.
OPYARD_API DispatchKeySet backend_keys();

}  // namespace opyard
