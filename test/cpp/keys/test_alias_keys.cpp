// test_alias_keys.cpp: protects the meaning of alias keys, key by key.
// Suspect dispatcher/src/keys/alias_keys.cpp.
#include "opyard/keys/alias_keys.h"

#include <gtest/gtest.h>

#include <vector>

#include "../thrown_by.h"

namespace opyard::test_alias_keys {
namespace {

using K = DispatchKey;

const std::vector<K> kAliases = {K::Autograd,
                                 K::CompositeImplicitAutograd,
                                 K::CompositeImplicitAutogradNestedTensor,
                                 K::CompositeExplicitAutograd,
                                 K::CompositeExplicitAutogradNonFunctional,
                                 K::BatchedDecomposition};

// Compares an alias with a rule for each runtime key, so that no key goes unsaid.
template <typename Rule>
void expect_members(K alias, Rule&& belongs) {
  for (const K key : all_dispatch_keys()) {
    if (!is_runtime_key(key) || key == K::Undefined) continue;
    EXPECT_EQ(runtime_keys_of(alias).has(key), belongs(key, layer_of(key), backend_of(key)))
        << to_string(key) << " in " << to_string(alias);
  }
}

bool is_backend_layer(K layer) {
  return layer == K::Dense || layer == K::Quantized || layer == K::Sparse;
}

bool is_autograd_layer(K layer) {
  return layer == K::AutogradOther || layer == K::AutogradFunctionality ||
         layer == K::AutogradNestedTensor;
}

TEST(Alias, A11_EveryAliasExpandsToRuntimeKeysAndOtherKeysAreThemselves) {
  for (const K key : all_dispatch_keys()) {
    const bool alias = std::count(kAliases.begin(), kAliases.end(), key) != 0;
    EXPECT_EQ(is_alias(key), alias) << to_string(key);
    if (alias) {
      EXPECT_FALSE(runtime_keys_of(key).empty()) << to_string(key);
      for (const K member : runtime_keys_of(key)) EXPECT_TRUE(is_runtime_key(member));
    } else {
      EXPECT_EQ(runtime_keys_of(key), DispatchKeySet(key)) << to_string(key);
    }
  }
  expect_members(K::BatchedDecomposition, [](K key, K, auto) { return key == K::Batched; });
  expect_members(K::CompositeImplicitAutogradNestedTensor, [](K key, K layer, auto) {
    return layer == K::NestedTensor || key == K::AutogradNestedTensor;
  });
}

TEST(Alias, A12_AutogradIsEveryAutogradKey) {
  expect_members(K::Autograd, [](K, K layer, auto) { return is_autograd_layer(layer); });
}

TEST(Alias, A13_CompositeExplicitAutogradIsEveryBackendKey) {
  expect_members(K::CompositeExplicitAutograd,
                 [](K, K layer, auto) { return is_backend_layer(layer); });
  EXPECT_EQ(backend_keys(), runtime_keys_of(K::CompositeExplicitAutograd));
}

TEST(Alias, A14_NonFunctionalLeavesOutFunctionalBackendsAndSparse) {
  expect_members(K::CompositeExplicitAutogradNonFunctional,
                 [](K, K layer, std::optional<Backend> backend) {
                   return (layer == K::Dense || layer == K::Quantized) && backend != Backend::XLA &&
                          backend != Backend::Lazy;
                 });
}

TEST(Alias, A15_CompositeImplicitAutogradIsBackendAndAutogradKeys) {
  expect_members(K::CompositeImplicitAutograd, [](K, K layer, auto) {
    return is_backend_layer(layer) || is_autograd_layer(layer);
  });
}

TEST(Alias, A16_AKernelAtAnAliasMayServeItsMembersOnly) {
  EXPECT_TRUE(alias_includes(K::Autograd, K::AutogradCPU));
  EXPECT_FALSE(alias_includes(K::Autograd, K::CPU));
  EXPECT_TRUE(alias_includes(K::CompositeExplicitAutograd, K::SparseCUDA));
  EXPECT_FALSE(alias_includes(K::CompositeExplicitAutograd, K::Undefined));
  EXPECT_FALSE(alias_includes(K::CPU, K::CPU)) << "CPU is no alias";
}

TEST(Alias, A16_TheBackendsBehindAnAutogradKey) {
  EXPECT_EQ(backend_keys_of_autograd(K::AutogradCPU), DispatchKeySet(K::CPU));
  const DispatchKeySet other = backend_keys_of_autograd(K::AutogradOther);
  for (const K key : all_dispatch_keys()) {
    if (!is_instance(key)) continue;
    EXPECT_EQ(other.has(key), layer_of(key) == K::Quantized || layer_of(key) == K::Sparse)
        << to_string(key);
  }
  EXPECT_TRUE(backend_keys_of_autograd(K::AutogradNestedTensor).has(K::NestedTensorCUDA));
  EXPECT_TRUE(backend_keys_of_autograd(K::Tracer).empty());
  EXPECT_TRUE(backend_keys_of_autograd(K::CPU).empty());
  EXPECT_TRUE(backend_keys_of_autograd(K::Autograd).empty());
}

TEST(Alias, A17_TheAutogradKeyOfABackendAgreesWithTheBackendsBehindIt) {
  EXPECT_EQ(autograd_key_of(K::CPU), K::AutogradCPU);
  EXPECT_EQ(autograd_key_of(K::PrivateUse1), K::AutogradPrivateUse1);
  EXPECT_EQ(autograd_key_of(K::QuantizedCPU), K::AutogradOther);
  EXPECT_EQ(autograd_key_of(K::SparseCUDA), K::AutogradOther);
  EXPECT_EQ(autograd_key_of(K::NestedTensorCPU), K::AutogradNestedTensor);
  for (const K key : all_dispatch_keys()) {
    if (!is_instance(key) || layer_of(key) == K::AutogradFunctionality) continue;
    EXPECT_TRUE(backend_keys_of_autograd(autograd_key_of(key)).has(key)) << to_string(key);
  }
}

TEST(Alias, A17_OnlyABackendKeyHasAnAutogradKey) {
  EXPECT_THROWN(autograd_key_of(K::AutogradCPU), BadValue,
                "AutogradCPU is no backend key and has no autograd key");
  EXPECT_THROWN(autograd_key_of(K::Undefined), BadValue,
                "Undefined is no backend key and has no autograd key");
  EXPECT_THROWN(autograd_key_of(K::Dense), BadValue,
                "Dense is no backend key and has no autograd key");
  EXPECT_THROWN(autograd_key_of(K::Sparse), BadValue,
                "Sparse is no backend key and has no autograd key");
}

}  // namespace
}  // namespace opyard::test_alias_keys
