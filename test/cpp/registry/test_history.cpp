// test_history.cpp: protects that the registry remembers what came and went (X3).
// Suspect dispatcher/src/registry/history_ring.h.
#include "opyard/inspect/inspect.h"
#include "opyard/registry/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "../registering.h"
#include "../thrown_by.h"

namespace opyard::test_history {
namespace {

using K = DispatchKey;

// What was written down since, without the numbers and times.
class Since {
 public:
  std::vector<RegistryEvent> events() const {
    std::vector<RegistryEvent> all = inspect::history();
    std::erase_if(all, [&](const RegistryEvent& event) { return event.number <= last_; });
    return all;
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const RegistryEvent& event : events()) {
      const char* const things[] = {"operator", "kernel", "fallback", "namespace"};
      std::string line = event.added ? "+ " : "- ";
      line += things[int(event.thing)];
      if (!event.name.empty()) line += " " + event.name;
      if (event.key != K::Undefined) line += " at " + to_string(event.key);
      lines.push_back(line + ", " + event.provenance);
    }
    return lines;
  }

 private:
  static std::uint64_t last_number() {
    const auto all = inspect::history();
    return all.empty() ? 0 : all.back().number;
  }
  const std::uint64_t last_ = last_number();
};

using Lines = std::vector<std::string>;

TEST(History, WritesDownWhatComesAndGoes) {
  const Since since;
  {
    const Registration space = registry().claim_namespace("h", "registered at h.cpp:1");
    const Registration op = define("h::f.out(Tensor x) -> Tensor", "registered at h.cpp:2");
    Registration kernel =
        registry().implement({"h::f", "out"}, K::CPU, echo(""), "registered at h.cpp:3");
    kernel.undo();
    const Registration fallback =
        registry().implement_fallback(K::XLA, boxed_echo(""), "registered at h.cpp:4");
  }
  EXPECT_EQ(
      since.lines(),
      (Lines{"+ namespace h, registered at h.cpp:1", "+ operator h::f.out, registered at h.cpp:2",
             "+ kernel h::f.out at CPU, registered at h.cpp:3",
             "- kernel h::f.out at CPU, registered at h.cpp:3",
             "+ fallback at XLA, registered at h.cpp:4", "- fallback at XLA, registered at h.cpp:4",
             "- operator h::f.out, registered at h.cpp:2",
             "- namespace h, registered at h.cpp:1"}));
}

TEST(History, AReplacedKernelGoesAndItsSuccessorComes) {
  const char owner = 0;
  const Registration first = implement("h::g", K::CPU, echo(""), "registered at 1.cpp:1", &owner);
  const Since since;
  const Registration second = implement("h::g", K::CPU, echo(""), "registered at 2.cpp:1", &owner);
  EXPECT_EQ(since.lines(), (Lines{"- kernel h::g at CPU, registered at 1.cpp:1",
                                  "+ kernel h::g at CPU, registered at 2.cpp:1"}));
}

TEST(History, WhatIsRefusedIsNotWrittenDown) {
  const Registration op = define("h::once(Tensor x) -> Tensor");
  const Since since;
  static_cast<void>(thrown_by([] { define("h::once(Tensor x) -> Tensor"); }));
  static_cast<void>(thrown_by([] { implement("h::once", K::Dense, echo("")); }));
  static_cast<void>(inspect::what_if({"h::once", ""}, K::CPU, WhatIf::Kernel));
  EXPECT_EQ(since.lines(), Lines());
}

TEST(History, ReplayedItGivesWhatStands) {
  const CaughtWarnings warnings;
  const Since since;
  std::vector<Registration> standing;
  for (int i = 0; i < 200; ++i) {
    if (i % 3 == 2) {
      standing.erase(standing.begin() + (i * 7) % std::ptrdiff_t(standing.size()));
    } else {
      standing.push_back(implement("h::replay", i % 2 == 0 ? K::CPU : K::Autograd, echo("")));
    }
  }
  std::map<std::uint64_t, K> replayed;
  for (const RegistryEvent& event : since.events()) {
    if (event.added) {
      EXPECT_TRUE(replayed.emplace(event.registration, event.key).second);
    } else {
      EXPECT_EQ(replayed.erase(event.registration), 1u);
    }
  }
  EXPECT_EQ(replayed.size(), standing.size());
  const auto at_cpu = std::count_if(replayed.begin(), replayed.end(),
                                    [](const auto& at) { return at.second == K::CPU; });
  const std::string dumped = dump("h::replay");
  std::ptrdiff_t lines = 0;
  for (std::size_t at = dumped.find("\nCPU"); at != std::string::npos;
       at = dumped.find("\nCPU", at + 1)) {
    ++lines;
  }
  EXPECT_EQ(lines, at_cpu);
}

TEST(History, LongTextsLoseTheirBeginning) {
  const std::string fits(kHistoryText, 'p');
  const std::string space = "h" + std::string(kHistoryText, 'n');
  const Since since;
  const Registration exact = implement("h::long", K::CPU, echo(""), fits);
  const Registration cut = implement(space + "::f", K::CPU, echo(""), "x" + fits);
  const Registration overload =
      implement("h::f." + std::string(kHistoryText - 2, 'o'), K::CPU, echo(""), "");
  const std::vector<RegistryEvent> events = since.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].provenance, fits);
  EXPECT_EQ(events[1].provenance, "…" + fits);
  EXPECT_EQ(events[1].name, "…" + std::string(kHistoryText - 3, 'n') + "::f");
  EXPECT_EQ(events[2].name, "…f." + std::string(kHistoryText - 2, 'o'));
}

TEST(History, RemembersTheLastEventsInOrder) {
  for (std::size_t i = 0; i < kHistoryLength; ++i) implement("h::many", K::CPU, echo("")).undo();
  const std::vector<RegistryEvent> events = inspect::history();
  ASSERT_EQ(events.size(), kHistoryLength);
  for (std::size_t i = 1; i < events.size(); ++i) {
    ASSERT_EQ(events[i].number, events[i - 1].number + 1);
    ASSERT_GE(events[i].time, events[i - 1].time);
  }
}

TEST(History, IsReadWhileOthersRegister) {
  std::thread writer([] {
    for (int i = 0; i < 2000; ++i) implement("h::busy", K::CPU, echo("")).undo();
  });
  for (int i = 0; i < 50; ++i) {
    const std::vector<RegistryEvent> events = inspect::history();
    for (std::size_t at = 1; at < events.size(); ++at) {
      ASSERT_LT(events[at - 1].number, events[at].number);
    }
  }
  writer.join();
}

}  // namespace
}  // namespace opyard::test_history
