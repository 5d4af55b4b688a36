// test_plugin_c.cpp: protects plugins that are written in C: loaded, refused and unregistered like others.
// Suspect dispatcher/src/plugin/c_block.cpp.
#include <gtest/gtest.h>

#include <filesystem>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/c_api.h"
#include "opyard/library.h"
#include "opyard/plugin/plugin.h"
#include "plugin_files.h"

namespace opyard::test_plugin_c {
namespace {

namespace fs = std::filesystem;

Thrown refusal(const std::string& file) {
  const Thrown thrown = thrown_by([&] { load_library(file); });
  EXPECT_TRUE(loaded_libraries().empty());
  EXPECT_FALSE(is_defined("plugin_in_c::tenfold"));
  return thrown;
}

TEST(PluginInC, IsAFullLibraryEachTimeThatItIsLoaded) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(opyard_load_library(file_of("c").c_str()), OPYARD_OK) << opyard_last_error();
    EXPECT_EQ(call("plugin_in_c::tenfold", 7), 70);
    EXPECT_NE(dump("plugin_in_c::tenfold").find("in_c.c:"), std::string::npos)
        << "it says where it is";
    std::size_t in_use = 77;
    EXPECT_EQ(opyard_unload_library(file_of("c").c_str(), &in_use), OPYARD_OK);
    EXPECT_EQ(in_use, 0u);
    EXPECT_FALSE(is_defined("plugin_in_c::tenfold"));
  }
}

TEST(PluginInC, MayHaveBlocksInCxxBesides) {
  load_library(file_of("both"));
  EXPECT_EQ(call("plugin_both::twice", 7), 14);
  EXPECT_EQ(call("plugin_both::tenfold", 7), 70);
  unload_library(file_of("both"));
  EXPECT_FALSE(is_defined("plugin_both::tenfold"));
  EXPECT_FALSE(is_defined("plugin_both::twice"));
}

TEST(PluginInC, OfAnotherAbiIsRefusedWithBothVersionsNamed) {
  const Thrown thrown = refusal(file_of("c_old_abi"));
  EXPECT_EQ(thrown.kind, ErrorKind::BadPlugin);
  EXPECT_EQ(thrown.text, file_of("c_old_abi") +
                             " was built for C ABI 99 of Opyard 9.8.7, but this is C ABI 1 of "
                             "Opyard " +
                             version() + "; rebuild it");
}

TEST(PluginInC, MayHaveNoBlocksAtAllButNoneAtANullPointer) {
  load_library(file_of("c_empty"));
  EXPECT_EQ(loaded_libraries(), std::vector<std::string>{file_of("c_empty")});
  unload_library(file_of("c_empty"));
  const Thrown thrown = refusal(file_of("c_nowhere"));
  EXPECT_EQ(thrown.kind, ErrorKind::BadArgument);
  EXPECT_NE(thrown.text.find("the plugin has 2 blocks at a null pointer"), std::string::npos)
      << thrown.text;
}

TEST(PluginInC, ThatAsksForAFunctionOfALaterVersionIsRefused) {
  const Thrown thrown = refusal(file_of("c_missing_symbol"));
  EXPECT_EQ(thrown.kind, ErrorKind::BadPlugin);
  EXPECT_NE(thrown.text.find("undefined symbol: opyard_of_a_later_version"), std::string::npos)
      << thrown.text;
}

TEST(PluginInC, WhoseBlockFailsLeavesNothingRegistered) {
  for (int round = 0; round < 2; ++round) {
    const Thrown thrown = refusal(file_of("c_fails"));
    EXPECT_EQ(thrown.kind, ErrorKind::BadSchema) << "with the block's own error";
    EXPECT_NE(thrown.text.find("broken(int n -> int\n"), std::string::npos) << thrown.text;
  }
}

TEST(PluginInC, TheExampleWorks) {
  load_library(file_of("c_operators"));
  const Tensor x = require_operator("cops::ramp").typed<Tensor(std::int64_t)>().call(4);
  const auto dot = require_operator("cops::dot").typed<double(const Tensor&, const Tensor&)>();
  EXPECT_EQ(dot(x, x), 14.0);
  const auto norm = require_operator("cops::norm").typed<double(const Tensor&)>();
  EXPECT_DOUBLE_EQ(norm(x) * norm(x), 14.0);
  const auto hypot = require_operator("cops::hypot").typed<double(double, double)>();
  EXPECT_EQ(hypot(3, 4), 5.0);
  EXPECT_EQ(require_operator("cops::calls").typed<std::int64_t()>().call(), 3)
      << "the layer above autograd counted, and passed on";
  EXPECT_EQ(thrown_by([&] { dot(x, Tensor::empty(IntSpan())); }).kind, ErrorKind::BadValue);
  EXPECT_EQ(unload_library(file_of("c_operators")), 0u);
}

}  // namespace
}  // namespace opyard::test_plugin_c
