// opyard/keys/local_key.h: including and excluding one key, and running below autograd.
//
//   set_dispatch_key_excluded(DispatchKey::Tracer, true);    for good, on this thread
//   is_dispatch_key_excluded(DispatchKey::Tracer)
//
//   AutoDispatchBelowAutograd below;         the scope's calls pass the layers of gradients by
//   AutoDispatchBelowADInplaceOrView below;  and the one of writes and views, as its kernels need
//
// Depends on: keys/local.h.
#pragma once

#include "opyard/keys/local.h"

namespace opyard {

// Whether this thread adds the key to calls, or takes it out.
inline bool is_dispatch_key_included(DispatchKey key) noexcept {
  return local_keys().include.has(key);
}
inline bool is_dispatch_key_excluded(DispatchKey key) noexcept {
  return local_keys().exclude.has(key);
}

// AutogradCPU and its like are two bits, a layer and a backend. Removing such a key removes the
// layer alone: other keys of the set may be on the same backend.
inline void set_dispatch_key_included(DispatchKey key, bool included) {
  const LocalKeys keys = local_keys();
  set_local_keys({included ? keys.include.add(key) : keys.include.remove(key), keys.exclude});
}
inline void set_dispatch_key_excluded(DispatchKey key, bool excluded) {
  const LocalKeys keys = local_keys();
  set_local_keys({keys.include, excluded ? keys.exclude.add(key) : keys.exclude.remove(key)});
}

// Excludes the autograd keys of all backends for a scope.
class AutoDispatchBelowAutograd {
 public:
  AutoDispatchBelowAutograd() noexcept : guard_(kKeys) {}

  static constexpr DispatchKeySet kKeys{DispatchKey::AutogradFunctionality,
                                        DispatchKey::AutogradOther,
                                        DispatchKey::AutogradNestedTensor};

 private:
  ExcludeDispatchKeyGuard guard_;
};

// Excludes ADInplaceOrView as well.
class AutoDispatchBelowADInplaceOrView {
 public:
  AutoDispatchBelowADInplaceOrView() noexcept : guard_(kKeys) {}

  static constexpr DispatchKeySet kKeys =
      AutoDispatchBelowAutograd::kKeys | DispatchKeySet(DispatchKey::ADInplaceOrView);

 private:
  ExcludeDispatchKeyGuard guard_;
};

}  // namespace opyard
