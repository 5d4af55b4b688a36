// tensor/keys_on.h: key sets of plain tensors, by device. Not public.
//
// Depends on: keys/gradient_mode.h, tensor/device.h.
#pragma once

#include "opyard/keys/dispatch_key_set.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/tensor/device.h"

namespace opyard {

// Without the keys of gradients if this thread only infers.
inline DispatchKeySet keys_on(Device device) {
  const DispatchKeySet dense = instance_of(DispatchKey::Dense, device.backend);
  if (__builtin_expect(is_inference(), 0)) return dense;
  return dense | DispatchKeySet{DispatchKey::ADInplaceOrView,
                                instance_of(DispatchKey::AutogradFunctionality, device.backend)};
}

}  // namespace opyard
