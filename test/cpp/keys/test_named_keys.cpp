// test_named_keys.cpp: protects that keys get names once, that no two share one, and that texts
// use them. A name stays as long as the process, so each test takes its own.
// Suspect dispatcher/src/keys/named_keys.cpp.
#include "opyard/detail/keys/named_keys.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/tensor/device.h"

namespace opyard::test_named_keys {
namespace {

using K = DispatchKey;

TEST(NamedKeys, A10_APrivateUseBackendIsRenamedOnce) {
  EXPECT_EQ(to_string(K::AutogradPrivateUse1), "AutogradPrivateUse1");
  rename_backend(Backend::PrivateUse1, "foo");
  EXPECT_EQ(to_string(Backend::PrivateUse1), "foo");
  EXPECT_EQ(to_string(K::PrivateUse1), "foo");
  EXPECT_EQ(to_string(K::AutogradPrivateUse1), "Autogradfoo");
  EXPECT_EQ(to_string(K::QuantizedPrivateUse1), "Quantizedfoo");
  EXPECT_EQ(parse_dispatch_key("Sparsefoo"), K::SparsePrivateUse1);
  EXPECT_EQ(parse_dispatch_key("SparsePrivateUse1"), K::SparsePrivateUse1) << "the number's name";
  EXPECT_EQ(to_string(Device{Backend::PrivateUse1, 2}), "foo:2");
  EXPECT_EQ(parse_device("foo:2"), (Device{Backend::PrivateUse1, 2}));
  rename_backend(Backend::PrivateUse1, "foo");  // the same again changes nothing
  EXPECT_THROWN(rename_backend(Backend::PrivateUse1, "bar"), BadRegistration,
                "PrivateUse1 is called foo already and cannot be renamed to \"bar\"");
  EXPECT_THROWN(register_layer("SparsePrivateUse1", LayerGap::OnTop), BadValue,
                "\"SparsePrivateUse1\" cannot name a dispatch key: Sparsefoo is one already");
  EXPECT_THROWN(register_backend("Foo"), BadValue,
                "\"Foo\" cannot name a dispatch key: foo is one already");
  EXPECT_THROWN(register_backend("privateuse1"), BadValue,
                "\"privateuse1\" cannot name a dispatch key: foo is one already");
  EXPECT_THROWN(
      rename_backend(Backend::CUDA, "bar"), BadRegistration,
      "CUDA cannot be renamed to \"bar\"; only PrivateUse1, PrivateUse2 and PrivateUse3 can");
  const Registration op = define("t::renamed(Tensor x) -> Tensor");
  const Thrown thrown = thrown_by([] {
    registry()
        .require("t::renamed")
        .typed<Tensor(const Tensor&)>()
        .call(tensor_with({K::PrivateUse1}));
  });
  EXPECT_EQ(thrown.text.find("t::renamed has no kernel at foo, where this call goes."), 0u)
      << thrown.text;
}

TEST(NamedKeys, TwoKeysOrDevicesNeverShareAName) {
  const auto taken = [](const char* name, const char* by) {
    return "\"" + std::string(name) + "\" cannot name a dispatch key: " + by + " is one already";
  };
  EXPECT_THROWN(register_backend("CUDA"), BadValue, taken("CUDA", "CUDA"));
  EXPECT_THROWN(register_backend("cuda"), BadValue, taken("cuda", "CUDA"));
  EXPECT_THROWN(register_backend("Cuda"), BadValue, taken("Cuda", "CUDA"));
  EXPECT_THROWN(rename_backend(Backend::PrivateUse2, "xla"), BadValue, taken("xla", "XLA"));
  EXPECT_THROWN(register_backend("Other"), BadValue, taken("AutogradOther", "AutogradOther"));
  EXPECT_THROWN(register_backend("UserBackend7"), BadValue, taken("UserBackend7", "UserBackend7"));
  EXPECT_THROWN(register_layer("Autograd", LayerGap::OnTop), BadValue,
                taken("Autograd", "Autograd"));
  EXPECT_THROWN(register_layer("SparseCPU", LayerGap::OnTop), BadValue,
                taken("SparseCPU", "SparseCPU"));
  for (const char* name : {"", "1x", "a b", "a:0", "\xc3\xa9"}) {
    EXPECT_EQ(thrown_by([&] { register_backend(name); }).kind, ErrorKind::BadValue) << name;
    EXPECT_EQ(thrown_by([&] { register_layer(name, LayerGap::OnTop); }).kind, ErrorKind::BadValue)
        << name;
  }
  EXPECT_THROWN(
      register_backend("a b"), BadValue,
      "\"a b\" cannot name a dispatch key: a name takes letters, digits and underscores, and "
      "begins with no digit");
}

TEST(NamedKeys, TwoDevicesDifferInMoreThanTheirCapitals) {
  const std::string upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const std::string lower = "abcdefghijklmnopqrstuvwxyz";
  rename_backend(Backend::PrivateUse2, upper);
  EXPECT_THROWN(register_backend(lower), BadValue,
                "\"" + lower + "\" cannot name a dispatch key: " + upper + " is one already");
}

TEST(NamedKeys, ADeviceMayBeCalledLikeAKeyThatIsNone) {
  rename_backend(Backend::PrivateUse3, "quantizedcpu");
  EXPECT_EQ(parse_dispatch_key("quantizedcpu"), K::PrivateUse3);
  EXPECT_EQ(parse_dispatch_key("QuantizedCPU"), K::QuantizedCPU);
  EXPECT_EQ(parse_device("quantizedcpu:1"), (Device{Backend::PrivateUse3, 1}));
}

TEST(NamedKeys, EightBackendsCanBeNamedAndThenNoMore) {
  for (int i = 0; i < 8; ++i) {
    const std::string name = "dev" + std::to_string(i);
    const Backend backend = register_backend(name);
    EXPECT_EQ(int(backend), int(Backend::UserBackend1) + i) << "the lowest free one";
    EXPECT_EQ(to_string(instance_of(K::AutogradFunctionality, backend)), "Autograd" + name);
    EXPECT_EQ(thrown_by([&] { register_backend(name); }).kind, ErrorKind::BadValue);
  }
  EXPECT_THROWN(register_backend("more"), BadRegistration,
                "there is no backend left to call \"more\"; all eight are taken: dev0, dev1, dev2, "
                "dev3, dev4, dev5, dev6, dev7");
}

TEST(NamedKeys, ANamedLayerStandsInItsGap) {
  struct Gap {
    LayerGap gap;
    K above;
    K below;
  };
  for (const Gap& gap : {Gap{LayerGap::AboveBackendSelect, K::BackendSelect, K::Python},
                         Gap{LayerGap::AboveADInplaceOrView, K::ADInplaceOrView, K::AutogradOther},
                         Gap{LayerGap::AboveAutograd, K::AutogradNestedTensor, K::Tracer},
                         Gap{LayerGap::OnTop, K::PythonTLSSnapshot, K::PythonDispatcher}}) {
    const std::string name = "Gap" + std::to_string(int(gap.gap));
    const K low = register_layer(name + "Low", gap.gap);
    const K high = register_layer(name + "High", gap.gap);
    EXPECT_LT(int(gap.above), int(low));
    EXPECT_LT(int(low), int(high));
    EXPECT_LT(int(high), int(gap.below));
    EXPECT_EQ(to_string(low), name + "Low");
    EXPECT_EQ(parse_dispatch_key(name + "High"), high);
    EXPECT_THROWN(register_layer("Third", gap.gap), BadRegistration,
                  "there is no layer left to call \"Third\" in this gap; both are taken: " + name +
                      "Low, " + name + "High");
  }
  const std::vector<K> all = all_dispatch_keys();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
}

TEST(NamedKeys, ANamedLayerTakesCallsAndShowsInDumps) {
  const Registration op = define("t::named(Tensor x) -> Tensor");
  const Registration cpu = implement("t::named", K::CPU, echo("cpu"));
  const Registration layer = implement("t::named", K::OnTop1, echo("layer"));
  EXPECT_EQ(who_ran("t::named", {K::CPU}), "cpu");
  EXPECT_EQ(who_ran("t::named", {K::CPU, K::OnTop1}), "layer");
  EXPECT_NE(dump("t::named").find(to_string(K::OnTop1) + ": registered at"), std::string::npos);
}

}  // namespace
}  // namespace opyard::test_named_keys
