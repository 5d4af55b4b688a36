// test_dispatch_key.cpp: protects the names and numbers of keys, which are ABI.
// Suspect dispatcher/src/keys/dispatch_key.cpp.
#include "opyard/keys/dispatch_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "../thrown_by.h"
#include "opyard/keys/dispatch_key_set.h"

namespace opyard::test_dispatch_key {
namespace {

struct Layer {
  int position;
  const char* name;
};

TEST(DispatchKey, A2_BackendsHaveTheirPriorityForEver) {
  const std::vector<std::string> lowest_first = {
      "CPU",          "CUDA",         "XLA",          "Meta",
      "Lazy",         "PrivateUse1",  "PrivateUse2",  "PrivateUse3",
      "UserBackend1", "UserBackend2", "UserBackend3", "UserBackend4",
      "UserBackend5", "UserBackend6", "UserBackend7", "UserBackend8"};
  ASSERT_EQ(int(lowest_first.size()), kBackendCount);
  for (int i = 0; i < kBackendCount; ++i) EXPECT_EQ(to_string(Backend(i)), lowest_first[i]);
}

TEST(DispatchKey, A3_APerBackendLayerHasOneKeyForEachBackend) {
  const std::pair<DispatchKey, const char*> prefixes[] = {
      {DispatchKey::Dense, ""},
      {DispatchKey::Quantized, "Quantized"},
      {DispatchKey::Sparse, "Sparse"},
      {DispatchKey::NestedTensor, "NestedTensor"},
      {DispatchKey::AutogradFunctionality, "Autograd"}};
  static_assert(std::size(prefixes) == kPerBackendLayerCount);
  std::set<DispatchKey> instances;
  for (const auto& [layer, prefix] : prefixes) {
    EXPECT_TRUE(is_per_backend_layer(layer));
    for (int i = 0; i < kBackendCount; ++i) {
      const DispatchKey key = instance_of(layer, Backend(i));
      EXPECT_EQ(to_string(key), prefix + to_string(Backend(i)));
      EXPECT_TRUE(is_instance(key));
      EXPECT_TRUE(instances.insert(key).second);
    }
  }
  EXPECT_EQ(int(DispatchKey::CPU), 64);
  EXPECT_EQ(int(DispatchKey::SparseCUDA), 97);
  EXPECT_EQ(int(DispatchKey::AutogradXLA), 130);
}

TEST(DispatchKey, A4_LayersStandInAFixedOrder) {
  const Layer lowest_first[] = {{0, "Dense"},
                                {1, "Quantized"},
                                {2, "Sparse"},
                                {3, "NestedTensor"},
                                {6, "BackendSelect"},
                                {7, "AboveBackendSelect1"},
                                {8, "AboveBackendSelect2"},
                                {10, "Python"},
                                {17, "ADInplaceOrView"},
                                {18, "AboveADInplaceOrView1"},
                                {19, "AboveADInplaceOrView2"},
                                {21, "AutogradOther"},
                                {22, "AutogradFunctionality"},
                                {23, "AutogradNestedTensor"},
                                {24, "AboveAutograd1"},
                                {25, "AboveAutograd2"},
                                {27, "Tracer"},
                                {29, "AutocastCPU"},
                                {30, "AutocastCUDA"},
                                {32, "Batched"},
                                {38, "PythonTLSSnapshot"},
                                {40, "OnTop1"},
                                {41, "OnTop2"},
                                {44, "PythonDispatcher"},
                                {46, "Observe"},
                                {47, "ThreadEntry"}};
  int layers = 0;
  for (const Layer& layer : lowest_first) {
    const DispatchKey key = parse_dispatch_key(layer.name);
    EXPECT_EQ(int(key), 1 + layer.position) << layer.name;
    EXPECT_TRUE(is_layer(key));
    EXPECT_EQ(DispatchKeySet(key).raw(), std::uint64_t{1} << (16 + layer.position)) << layer.name;
  }
  for (const DispatchKey key : all_dispatch_keys()) layers += is_layer(key) ? 1 : 0;
  EXPECT_EQ(layers, int(std::size(lowest_first))) << "a layer was added; add it here, too";
}

TEST(DispatchKey, A7_AListWithTwoKeysInOnePlaceOrNoneInRangeDoesNotCompile) {
  // The same predicate that static_asserts hold against keys.def.
  static_assert(detail::distinct_below(4, {0, 3, 1}));
  static_assert(!detail::distinct_below(4, {0, 3, 0}));
  static_assert(!detail::distinct_below(4, {0, 4}));
  static_assert(!detail::distinct_below(4, {-1}));
  std::set<int> numbers;
  for (const DispatchKey key : all_dispatch_keys()) {
    EXPECT_TRUE(numbers.insert(int(key)).second) << to_string(key) << " shares its number";
  }
}

TEST(DispatchKey, A8_AKeyIsItsLayerAndItsBackend) {
  static_assert(layer_of(DispatchKey::AutogradCPU) == DispatchKey::AutogradFunctionality);
  static_assert(backend_of(DispatchKey::CPU) == Backend::CPU);
  static_assert(!backend_of(DispatchKey::BackendSelect).has_value());
  static_assert(!backend_of(DispatchKey::Dense).has_value());
  static_assert(instance_of(DispatchKey::AutogradFunctionality, Backend::XLA) ==
                DispatchKey::AutogradXLA);
  static_assert(instance_of(DispatchKey::Tracer, Backend::XLA) == DispatchKey::Tracer);
  static_assert(layer_of(DispatchKey::Undefined) == DispatchKey::Undefined);
  static_assert(layer_of(DispatchKey::Autograd) == DispatchKey::Undefined);
  for (const DispatchKey key : all_dispatch_keys()) {
    if (is_alias(key) || key == DispatchKey::Undefined) continue;
    const std::optional<Backend> backend = backend_of(key);
    EXPECT_EQ(backend.has_value(), is_instance(key)) << to_string(key);
    EXPECT_EQ(instance_of(layer_of(key), backend.value_or(Backend::CPU)),
              is_per_backend_layer(key) ? instance_of(key, Backend::CPU) : key)
        << to_string(key);
  }
}

TEST(DispatchKey, A8_EveryKeyIsOfExactlyOneSort) {
  int runtime_keys = 0;
  for (const DispatchKey key : all_dispatch_keys()) {
    const int sorts = int(key == DispatchKey::Undefined) + int(is_layer(key)) +
                      int(is_instance(key)) + int(is_alias(key));
    EXPECT_EQ(sorts, 1) << to_string(key);
    EXPECT_EQ(is_runtime_key(key), !is_alias(key) && !is_per_backend_layer(key)) << to_string(key);
    runtime_keys += is_runtime_key(key) ? 1 : 0;
  }
  EXPECT_EQ(runtime_keys, 1 + 26 - 5 + 5 * 16);
}

TEST(DispatchKey, A9_EveryNameParsesBackToItsKey) {
  const std::vector<DispatchKey> keys = all_dispatch_keys();
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  for (const DispatchKey key : keys) EXPECT_EQ(parse_dispatch_key(to_string(key)), key);
}

TEST(DispatchKey, A9_AnUnknownNameIsAnError) {
  const std::string advice =
      ". A key is a name such as CPU, Meta, AutogradCPU or CompositeImplicitAutograd; a backend "
      "has keys "
      "once its plugin is loaded";
  EXPECT_THROWN(parse_dispatch_key("GPU"), NotFound, "could not parse dispatch key: GPU" + advice);
  EXPECT_THROWN(parse_dispatch_key("cpu"), NotFound,
                "could not parse dispatch key: cpu. Did you mean CPU?");
  EXPECT_THROWN(parse_dispatch_key(""), NotFound, "could not parse dispatch key: " + advice);
  for (const char* name : {"CPUU", "CUPU", "CP"}) {
    const std::string hint = name == std::string("CP") ? advice : ". Did you mean CPU?";
    EXPECT_THROWN(parse_dispatch_key(name), NotFound,
                  "could not parse dispatch key: " + (name + hint));
  }
  EXPECT_THROWN(parse_dispatch_key("Mta"), NotFound,
                "could not parse dispatch key: Mta. Did you mean Meta?");
}

TEST(DispatchKey, A25_AKeyPrintsAsItsBareName) {
  EXPECT_EQ(to_string(DispatchKey::AutogradCPU), "AutogradCPU");
  EXPECT_EQ(to_string(DispatchKey::Undefined), "Undefined");
  EXPECT_EQ(to_string(DispatchKey::CompositeExplicitAutograd), "CompositeExplicitAutograd");
  EXPECT_EQ(to_string(DispatchKey(6)), "DispatchKey(6)") << "a free position has no name";
}

}  // namespace
}  // namespace opyard::test_dispatch_key
