// test_dump.cpp: protects the text forms that people and their tools read, to the letter.
// Suspect dispatcher/src/inspect/dump.cpp.
#include <gtest/gtest.h>

#include "../registering.h"
#include "../thrown_by.h"

// A friend of Operator, under the name of the registry's own class, which this program does not
// see: the one way to break a table from outside.
namespace opyard {
struct OperatorEntry {
  static void set_slot(const Operator& op, DispatchKey key, const Record& record) {
    const_cast<Operator&>(op).table_.slots[slot_of(key)].store(&record);
  }
  static std::uint64_t set_mask(const Operator& op, std::uint64_t mask) {
    return const_cast<Operator&>(op).table_.mask.exchange(mask);
  }
  static std::uint64_t set_key_positions(const Operator& op, std::uint64_t positions) {
    return std::exchange(const_cast<Operator&>(op).key_positions_, positions);
  }
};
}  // namespace opyard

namespace opyard::test_dump {
namespace {

using K = DispatchKey;

TEST(Dump, B38_EveryLineOfADump) {
  const CaughtWarnings warnings;
  EXPECT_EQ(dump("t::none"), "") << "empty for an unknown operator";
  const Registration op =
      define("t::f.over(Tensor(a) x, *, int n=3) -> Tensor(a)", "registered at d.cpp:1");
  EXPECT_EQ(dump("t::f.over"),
            "name: t::f.over\nschema: t::f.over(Tensor(a) x, *, int n=3) -> Tensor(a)\n"
            "debug: registered at d.cpp:1\nalias analysis kind: FROM_SCHEMA\n");
  std::vector<Registration> kernels;
  for (const K key : {K::Autograd, K::AutogradCPU, K::QuantizedCPU, K::Meta, K::CPU, K::Tracer,
                      K::AutogradOther, K::BackendSelect}) {
    kernels.push_back(implement("t::f.over", key, boxed_echo(""), "registered at k.cpp:2"));
  }
  kernels.push_back(implement("t::f.over", K::CPU,
                              Kernel::from([](const Tensor& x, std::int64_t) { return x; }),
                              "registered at k.cpp:3"));
  kernels.push_back(
      implement("t::f.over", K::Autograd, Kernel::fallthrough(), "registered at k.cpp:4"));
  EXPECT_EQ(dump("t::f.over"),
            "name: t::f.over\n"
            "schema: t::f.over(Tensor(a) x, *, int n=3) -> Tensor(a)\n"
            "debug: registered at d.cpp:1\n"
            "alias analysis kind: FROM_SCHEMA\n"
            "BackendSelect: registered at k.cpp:2 :: (none) [ boxed ]\n"
            "AutogradOther: registered at k.cpp:2 :: (none) [ boxed ]\n"
            "Tracer: registered at k.cpp:2 :: (none) [ boxed ]\n"
            "CPU: registered at k.cpp:3 :: (Tensor _0, int _1) -> Tensor _0 [ boxed unboxed ]\n"
            "CPU (inactive): registered at k.cpp:2 :: (none) [ boxed ]\n"
            "Meta: registered at k.cpp:2 :: (none) [ boxed ]\n"
            "QuantizedCPU: registered at k.cpp:2 :: (none) [ boxed ]\n"
            "AutogradCPU: registered at k.cpp:2 :: (none) [ boxed ]\n"
            "Autograd[alias]: registered at k.cpp:4 :: (none) [ fallthrough boxed ]\n"
            "Autograd[alias] (inactive): registered at k.cpp:2 :: (none) [ boxed ]\n")
      << "the order is that of the enum, aliases last";
}

TEST(Dump, B38_B16_AliasAnalysisKinds) {
  const auto kind_line = [](AliasAnalysis kind, bool is_default) {
    Definition definition;
    definition.schema = parse_schema("t::kind(Tensor x) -> Tensor");
    definition.alias_analysis = kind;
    definition.alias_analysis_is_default = is_default;
    const Registration op = registry().define(std::move(definition));
    const std::string text = dump("t::kind");
    return text.substr(text.find("alias"));
  };
  EXPECT_EQ(kind_line(AliasAnalysis::FromSchema, false), "alias analysis kind: FROM_SCHEMA\n");
  EXPECT_EQ(kind_line(AliasAnalysis::PureFunction, false), "alias analysis kind: PURE_FUNCTION\n");
  EXPECT_EQ(kind_line(AliasAnalysis::Conservative, true),
            "alias analysis kind: CONSERVATIVE (default)\n");
}

// The lines of a table that do not come from the built-in fallthroughs of layers.
std::string without_built_in(const std::string& table) {
  std::string kept;
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at) + 1;
    const std::string line = table.substr(at, end - at);
    if (line.find(": fallthrough built in") == std::string::npos) kept += line;
    at = end;
  }
  return kept;
}

TEST(Dump, B39_EveryLineOfATable) {
  EXPECT_EQ(dump_table("t::none"), "");
  const Registration op = define("t::table(Tensor x) -> Tensor");
  EXPECT_EQ(without_built_in(dump_table("t::table")),
            "Python: built in [backend fallback]\n"
            "PythonTLSSnapshot: built in [backend fallback]\n"
            "PythonDispatcher: built in [backend fallback]\n"
            "Observe: built in [backend fallback]\n");
  std::vector<Registration> kernels;
  for (const K key : {K::Tracer, K::AutogradCPU, K::AutogradOther, K::BackendSelect,
                      K::QuantizedCPU, K::Meta, K::CPU}) {
    kernels.push_back(implement("t::table", key, echo(""), "registered at k.cpp:2"));
  }
  kernels.push_back(implement("t::table", K::XLA, Kernel::fallthrough(), "registered at k.cpp:3"));
  kernels.push_back(
      registry().implement_fallback(K::Lazy, boxed_echo(""), "registered at k.cpp:4"));
  EXPECT_EQ(without_built_in(dump_table("t::table")),
            "CPU: registered at k.cpp:2 [kernel]\n"
            "XLA: fallthrough registered at k.cpp:3 [kernel]\n"
            "Meta: registered at k.cpp:2 [kernel]\n"
            "Lazy: registered at k.cpp:4 [backend fallback]\n"
            "QuantizedCPU: registered at k.cpp:2 [kernel]\n"
            "BackendSelect: registered at k.cpp:2 [kernel]\n"
            "Python: built in [backend fallback]\n"
            "AutogradOther: registered at k.cpp:2 [kernel]\n"
            "AutogradCPU: registered at k.cpp:2 [kernel]\n"
            "Tracer: registered at k.cpp:2 [kernel]\n"
            "PythonTLSSnapshot: built in [backend fallback]\n"
            "PythonDispatcher: built in [backend fallback]\n"
            "Observe: built in [backend fallback]\n")
      << "the order is that of priority";
  const std::string table = dump_table("t::table");
  EXPECT_NE(table.find("\nAutogradCUDA: fallthrough built in [backend fallback]\n"),
            std::string::npos);
  EXPECT_EQ(table.find("ThreadEntry"), std::string::npos) << "it never shows";
  kernels.push_back(implement("t::table", std::nullopt, echo(""), "registered at k.cpp:5"));
  EXPECT_EQ(dump_table("t::table").find("Undefined: registered at k.cpp:5 [math kernel]\n"), 0u)
      << "Undefined is first";
}

TEST(Dump, B39_ATableOfKernelsWithoutADefinition) {
  const Registration kernel = implement("t::dangling", K::CPU, echo(""), "registered at k.cpp:2");
  EXPECT_EQ(dump_table("t::dangling").find("CPU: registered at k.cpp:2 [kernel]\n"), 0u);
}

TEST(Dump, B40_AViolatedTableShowsBothViews) {
  const Registration op = define("t::broken(Tensor x) -> Tensor");
  const Registration kernel = implement("t::broken", K::CPU, echo(""), "registered at k.cpp:2");
  inspect::check_invariants();
  const Operator& broken = registry().require("t::broken");
  const Record& right = broken.record(DispatchKeySet(K::CPU));
  Record wrong;
  wrong.provenance = "planted";
  OperatorEntry::set_slot(broken, K::CPU, wrong);
  EXPECT_THROWN(inspect::check_invariants(), Internal,
                "t::broken at CPU: the table holds \"planted\", registrations make it \"registered "
                "at k.cpp:2\" [kernel]\nCanonical state\n" +
                    dump("t::broken") + "Computed table:\n" + dump_table("t::broken"));
  OperatorEntry::set_slot(broken, K::CPU, right);
  inspect::check_invariants();
}

TEST(Dump, B40_AViolatedMaskIsFoundAsWell) {
  const Registration op = define("t::masked(Tensor x) -> Tensor");
  const Operator& masked = registry().require("t::masked");
  const std::uint64_t right =
      OperatorEntry::set_mask(masked, masked.mask().raw() | DispatchKeySet(K::Tracer).raw());
  const Thrown thrown = thrown_by([] { inspect::check_invariants(); });
  EXPECT_EQ(thrown.kind, ErrorKind::Internal);
  EXPECT_EQ(thrown.text.find("t::masked: the mask is DispatchKeySet("), 0u) << thrown.text;
  OperatorEntry::set_mask(masked, right);
  inspect::check_invariants();
}

TEST(Dump, B40_ArgumentsThatCarryKeysAreThoseOfTheSchema) {
  const Registration op = define("t::keys(int n, Tensor x, Tensor[] xs) -> Tensor");
  const Operator& keys = registry().require("t::keys");
  const std::uint64_t right = OperatorEntry::set_key_positions(keys, 0b010);
  EXPECT_EQ(right, 0b110u);
  const Thrown thrown = thrown_by([] { inspect::check_invariants(); });
  EXPECT_EQ(thrown.kind, ErrorKind::Internal);
  EXPECT_EQ(
      thrown.text.find("t::keys takes keys from other arguments than its schema says\nCanonical"),
      0u)
      << thrown.text;
  OperatorEntry::set_key_positions(keys, right);
  inspect::check_invariants();
}

TEST(Dump, B40_AnOperatorHasTheNameOfItsEntry) {
  const Registration op = define("t::named(Tensor x) -> Tensor");
  const Operator& named = registry().require("t::named");
  auto& name = const_cast<OperatorName&>(named.name());
  name.overload = "other";
  const Thrown thrown = thrown_by([] { inspect::check_invariants(); });
  EXPECT_EQ(thrown.kind, ErrorKind::Internal);
  EXPECT_EQ(thrown.text.find("t::named holds the operator t::named.other\nCanonical state\n"), 0u)
      << thrown.text;
  name.overload.clear();
  inspect::check_invariants();
}

TEST(Dump, B40_NoKernelIsAtUndefined) {
  const Registration op = define("t::undefined(Tensor x) -> Tensor");
  const Registration cpu = implement("t::undefined", K::CPU, echo(""));
  const Record& record = registry().require("t::undefined").record(DispatchKeySet(K::CPU));
  auto& key = const_cast<DispatchKey&>(record.key);
  key = K::Undefined;
  const Thrown thrown = thrown_by([] { inspect::check_invariants(); });
  EXPECT_EQ(thrown.kind, ErrorKind::Internal);
  EXPECT_EQ(
      thrown.text.find("t::undefined has a misplaced stack of kernels at Undefined\nCanonical"), 0u)
      << thrown.text;
  key = K::CPU;
  inspect::check_invariants();
}

TEST(Dump, B41_ACallWithoutAKernelChecksTheTableFirst) {
  const Registration op = define("t::lost(Tensor x) -> Tensor");
  const Registration kernel = implement("t::lost", K::CPU, echo(""), "registered at k.cpp:2");
  const Operator& lost = registry().require("t::lost");
  const Record& right = lost.record(DispatchKeySet(K::CPU));
  OperatorEntry::set_slot(lost, K::CPU, lost.record(DispatchKeySet(K::XLA)));
  const auto call = [&] {
    InlineStack<1> stack;
    stack.push(Value(tensor_with({K::CPU})));
    lost.call_boxed(stack);
  };
  const Thrown thrown = thrown_by(call);
  EXPECT_EQ(thrown.kind, ErrorKind::Internal);
  EXPECT_EQ(thrown.text.find("t::lost at CPU: the table holds"), 0u) << thrown.text;
  OperatorEntry::set_slot(lost, K::CPU, right);
  call();
  EXPECT_EQ(last_ran, "");
}

}  // namespace
}  // namespace opyard::test_dump
