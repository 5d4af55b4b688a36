// tensor/keys_on.h: what a plain tensor adds to a call. Not public.
//
// Depends on: keys/dispatch_key_set.h, tensor/device.h.
#pragma once

#include "opyard/keys/dispatch_key_set.h"
#include "opyard/tensor/device.h"

namespace opyard {

inline DispatchKeySet keys_on(Device device) {
  return {instance_of(DispatchKey::Dense, device.backend), DispatchKey::ADInplaceOrView,
          instance_of(DispatchKey::AutogradFunctionality, device.backend)};
}

}  // namespace opyard
