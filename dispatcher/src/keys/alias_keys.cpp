// keys/alias_keys.cpp: key sets of the alias keys.
//
// The sets are products of layers and backends, so each is written as a layer list times a
// backend list. CompositeExplicitAutogradNonFunctional leaves out what a functional
// backend (XLA, Lazy) or a sparse layout cannot honour: kernels that alias their input.
#include "opyard/keys/alias_keys.h"

#include <fmt/format.h>

namespace opyard {
namespace {

constexpr DispatchKeySet kAllBackends{DispatchKeySet::RAW, DispatchKeySet::kBackendBits};

constexpr DispatchKeySet kBackendKeys =
    kAllBackends | DispatchKeySet{DispatchKey::Dense, DispatchKey::Quantized, DispatchKey::Sparse};

constexpr DispatchKeySet kAutogradKeys =
    kAllBackends | DispatchKeySet{DispatchKey::AutogradOther, DispatchKey::AutogradFunctionality,
                                  DispatchKey::AutogradNestedTensor};

constexpr DispatchKeySet kNestedKeys = kAllBackends | DispatchKeySet{DispatchKey::NestedTensor};

constexpr DispatchKeySet kOtherBackendKeys =
    kAllBackends | DispatchKeySet{DispatchKey::Quantized, DispatchKey::Sparse};

constexpr DispatchKeySet kNonFunctionalKeys =
    (kAllBackends | DispatchKeySet{DispatchKey::Dense, DispatchKey::Quantized})
        .remove_backend(Backend::XLA)
        .remove_backend(Backend::Lazy);

}  // namespace

DispatchKeySet backend_keys() { return kBackendKeys; }

DispatchKeySet runtime_keys_of(DispatchKey key) {
  switch (key) {
    case DispatchKey::Autograd:
      return kAutogradKeys;
    case DispatchKey::CompositeImplicitAutograd:
      return kBackendKeys | kAutogradKeys;
    case DispatchKey::CompositeImplicitAutogradNestedTensor:
      return kNestedKeys | DispatchKeySet{DispatchKey::AutogradNestedTensor};
    case DispatchKey::CompositeExplicitAutograd:
      return kBackendKeys;
    case DispatchKey::CompositeExplicitAutogradNonFunctional:
      return kNonFunctionalKeys;
    case DispatchKey::BatchedDecomposition:
      return DispatchKeySet{DispatchKey::Batched};
    default:
      return DispatchKeySet(key);
  }
}

bool alias_includes(DispatchKey alias, DispatchKey key) {
  return is_alias(alias) && runtime_keys_of(alias).has(key);
}

DispatchKeySet backend_keys_of_autograd(DispatchKey autograd) {
  if (autograd == DispatchKey::AutogradOther) return kOtherBackendKeys;
  if (autograd == DispatchKey::AutogradNestedTensor) return kNestedKeys;
  if (layer_of(autograd) != DispatchKey::AutogradFunctionality) return {};
  const auto backend = backend_of(autograd);
  return backend ? DispatchKeySet(instance_of(DispatchKey::Dense, *backend)) : DispatchKeySet();
}

DispatchKey autograd_key_of(DispatchKey backend_key) {
  const auto backend = backend_of(backend_key);
  const DispatchKey layer = layer_of(backend_key);
  if (backend && layer == DispatchKey::Dense) {
    return instance_of(DispatchKey::AutogradFunctionality, *backend);
  }
  if (backend && kOtherBackendKeys.has(backend_key)) return DispatchKey::AutogradOther;
  if (backend && layer == DispatchKey::NestedTensor) return DispatchKey::AutogradNestedTensor;
  fail(ErrorKind::BadValue,
       fmt::format("{} is no backend key and has no autograd key", to_string(backend_key)));
}

}  // namespace opyard
