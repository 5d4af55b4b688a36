// test_what_if.cpp: protects that what_if() (X2) says what a registration then does, and does nothing.
// Suspect dispatcher/src/inspect/what_if.cpp.
#include "opyard/inspect/inspect.h"
#include "opyard/inspect/what_if.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_what_if {
namespace {

using K = DispatchKey;

const OperatorName kName{"t::f", ""};

// dump_table() by key; "missing" where it has no line.
std::map<K, std::string> table() {
  std::map<K, std::string> lines;
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) lines[key_of_slot(slot)] = "missing";
  const std::string text = dump_table("t::f");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    const std::size_t colon = line.find(": ");
    lines[parse_dispatch_key(line.substr(0, colon))] = line.substr(colon + 2);
    begin = end + 1;
  }
  return lines;
}

void expect_changes(const std::vector<TableChange>& foretold, std::map<K, std::string> before,
                    const std::map<K, std::string>& after) {
  for (const TableChange& change : foretold) {
    EXPECT_EQ(before.at(change.key), change.before) << to_string(change.key);
    before[change.key] = change.after;
  }
  EXPECT_EQ(before, after);
}

TEST(WhatIf, ForetellsAKernel) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, echo(""), "registered at cpu.cpp:1");
  const std::vector<TableChange> changes = inspect::what_if(kName, K::CPU, WhatIf::Kernel);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].key, K::CPU);
  EXPECT_EQ(changes[0].before, "registered at cpu.cpp:1 [kernel]");
  EXPECT_EQ(changes[0].after, "the new kernel [kernel]");
  EXPECT_EQ(changes[1].key, K::Meta);
  EXPECT_EQ(changes[1].before, "registered at cpu.cpp:1 [from CPU]");
  EXPECT_EQ(changes[1].after, "the new kernel [from CPU]");
}

TEST(WhatIf, ForetellsAFallthroughAndARemoval) {
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration cpu = implement("t::f", K::CPU, echo(""), "registered at cpu.cpp:1");
  const auto fallthrough = inspect::what_if(kName, K::CPU, WhatIf::Fallthrough);
  ASSERT_EQ(fallthrough.size(), 2u);
  EXPECT_EQ(fallthrough[0].after, "fallthrough the new kernel [kernel]");
  EXPECT_EQ(fallthrough[1].after, "missing") << "at Meta";
  const auto removal = inspect::what_if(kName, K::CPU, WhatIf::Removal);
  ASSERT_EQ(removal.size(), 2u);
  EXPECT_EQ(removal[0].before, "registered at cpu.cpp:1 [kernel]");
  EXPECT_EQ(removal[0].after, "missing");
}

TEST(WhatIf, ChangesNothing) {
  const CaughtWarnings warnings;
  const Registration op = define("t::f(Tensor x) -> Tensor");
  const Registration first = implement("t::f", K::CPU, echo("first"), "registered at 1.cpp:1");
  const Registration second = implement("t::f", K::CPU, echo("second"), "registered at 2.cpp:1");
  const std::string dumped = dump("t::f");
  for (const WhatIf change : {WhatIf::Kernel, WhatIf::Fallthrough, WhatIf::Removal}) {
    static_cast<void>(inspect::what_if(kName, K::CPU, change));
    EXPECT_EQ(dump("t::f"), dumped);
    EXPECT_EQ(who_ran("t::f", {K::CPU}), "second");
    inspect::check_invariants();
  }
}

// Random sets of kernels; each question, against what the registration then does.
TEST(WhatIf, SaysWhatTheRegistrationThenDoes) {
  std::mt19937 random(20);
  const K keys[] = {K::CPU,
                    K::Meta,
                    K::SparseCPU,
                    K::AutogradCPU,
                    K::AutogradOther,
                    K::Tracer,
                    K::Autograd,
                    K::BatchedDecomposition,
                    K::CompositeImplicitAutograd,
                    K::CompositeExplicitAutograd,
                    K::CompositeExplicitAutogradNonFunctional,
                    K::CompositeImplicitAutogradNestedTensor};
  const auto any_key = [&] { return keys[random() % std::size(keys)]; };
  int changes_seen = 0;
  for (int round = 0; round < 300; ++round) {
    const Registration op = define("t::f(Tensor x) -> Tensor");
    std::map<K, Registration> kernels;
    for (std::size_t count = random() % 5; count > 0; --count) {
      const K key = any_key();
      if (kernels.count(key) == 0) kernels.emplace(key, implement("t::f", key, echo("")));
    }
    const K key = any_key();
    const bool removes = kernels.count(key) != 0;
    const bool falls_through = !removes && random() % 2 == 0;
    const auto foretold = inspect::what_if(kName, key,
                                           removes         ? WhatIf::Removal
                                           : falls_through ? WhatIf::Fallthrough
                                                           : WhatIf::Kernel);
    const std::map<K, std::string> before = table();
    Registration added;
    if (removes) {
      kernels.erase(key);
    } else {
      added = implement("t::f", key, falls_through ? Kernel::fallthrough() : echo(""),
                        "the new kernel");
    }
    expect_changes(foretold, before, table());
    changes_seen += int(foretold.size());
  }
  EXPECT_GT(changes_seen, 1000);
}

TEST(WhatIf, RefusesWhatHasNoAnswer) {
  EXPECT_THROWN(static_cast<void>(inspect::what_if({"t::nobody", ""}, K::CPU, WhatIf::Kernel)),
                NotFound, "operator t::nobody does not exist");
  const Registration op = define("t::f(Tensor x) -> Tensor");
  EXPECT_THROWN(static_cast<void>(inspect::what_if(kName, K::CPU, WhatIf::Removal)), BadValue,
                "t::f: there is no kernel at CPU that could be unregistered");
  EXPECT_THROWN(
      static_cast<void>(inspect::what_if(kName, K::Dense, WhatIf::Kernel)), BadRegistration,
      "t::f: a kernel cannot be registered at Dense, which is a layer of many keys; name the key "
      "of one backend, or an alias key");
  EXPECT_THROWN(
      static_cast<void>(inspect::what_if(kName, K::ThreadEntry, WhatIf::Kernel)), BadRegistration,
      "t::f: a kernel cannot be registered at ThreadEntry, which belongs to the dispatcher");
}

TEST(WhatIf, AnOperatorThatHasKernelsOnlyHasATable) {
  const Registration kernel = implement("t::dangling", K::CPU, echo(""), "registered at d.cpp:1");
  const auto changes = inspect::what_if({"t::dangling", ""}, K::CPU, WhatIf::Removal);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].before, "registered at d.cpp:1 [kernel]");
  EXPECT_EQ(changes[1].before, "registered at d.cpp:1 [from CPU]");
}

}  // namespace
}  // namespace opyard::test_what_if
