// test_plugin_cycles.cpp: protects loading and unloading again and again while others call: nothing
// grows, nothing dangles, and every load is a full library.
// Suspect dispatcher/src/plugin/survivors.cpp and dispatcher/src/registry/reclaim.cpp.
//
// A cycle of ours is load, look, unload. What the process holds is counted in /proc/self: mappings,
// descriptors and records that wait to be freed.
#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/base/warning.h"
#include "opyard/inspect/inspect.h"
#include "opyard/library.h"
#include "opyard/plugin/plugin.h"
#include "plugin_files.h"

namespace opyard::test_plugin_cycles {
namespace {

namespace fs = std::filesystem;

std::size_t count_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);) {
    // The allocator maps more for a thread that asks for more; those mappings have no file.
    if (line.find(".so") != std::string::npos) ++lines;
  }
  return lines;
}
std::size_t count_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kCycles = 200;
#else
constexpr int kCycles = 1000;
#endif

// Calls an operator that comes and goes, until told to stop. What it may get is its answer, or an
// error that says that it is not there.
class Callers {
 public:
  Callers(int count, const char* name, std::int64_t factor) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, name, factor, n = std::int64_t{i}] {
        while (!stop_) {
          try {
            const auto op = require_operator(name).typed<std::int64_t(std::int64_t)>();
            for (int round = 0; round < 50 && !stop_; ++round) {
              if (op(n) != factor * n) ++wrong_;
              ++answered_;
            }
          } catch (const Error& error) {
            const bool gone =
                error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::OperatorGone ||
                error.kind() == ErrorKind::NoKernel || error.kind() == ErrorKind::BadSignature;
            if (!gone) ++wrong_;
          }
        }
      });
    }
  }
  ~Callers() { join(); }
  void join() {
    stop_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  std::int64_t wrong() const { return wrong_; }
  std::int64_t answered() const { return answered_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> wrong_{0};
  std::atomic<std::int64_t> answered_{0};
  std::vector<std::thread> threads_;
};

void cycle(const std::string& plugin, const char* name, std::int64_t factor) {
  const std::string file = file_of(plugin);
  std::size_t mappings = 0;
  std::size_t descriptors = 0;
  Callers callers(4, name, factor);
  for (int round = 0; round < kCycles; ++round) {
    load_library(file);
    ASSERT_EQ(require_operator(name).typed<std::int64_t(std::int64_t)>().call(3), 3 * factor);
    if (round % 50 == 0) std::this_thread::yield();  // callers have their turn while it is there
    unload_library(file);
    if (round == 20) {
      mappings = count_mappings();
      descriptors = count_descriptors();
    }
  }
  while (callers.answered() == 0) {
    load_library(file);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    unload_library(file);
  }
  callers.join();
  EXPECT_EQ(callers.wrong(), 0);
  EXPECT_EQ(count_mappings(), mappings);
  EXPECT_EQ(count_descriptors(), descriptors);
  registry().reclaim();
  EXPECT_EQ(inspect::retired_count(), 0u) << "no one calls any more";
  EXPECT_TRUE(loaded_libraries().empty());
  inspect::check_invariants();
}

TEST(PluginCycles, ManyCyclesOfAPluginInCxxWhileFourThreadsCall) {
  cycle("a", "plugin_a::twice", 2);
}
TEST(PluginCycles, ManyCyclesOfAPluginInCWhileFourThreadsCall) {
  cycle("c", "plugin_in_c::tenfold", 10);
}

TEST(PluginCycles, AFileThatKeepsChangingIsReadAnewAndLeavesNoFileOpen) {
  const fs::path folder = fs::temp_directory_path() / ("opyard_cycles_" + std::to_string(getpid()));
  fs::create_directory(folder);
  const fs::path file = folder / "plugin.so";
  std::size_t descriptors = 0;
  for (int round = 0; round < 40; ++round) {
    const int build = 1 + round % 2;
    fs::remove(file);
    fs::copy_file(file_of("changing_" + std::to_string(build)), file);
    fs::last_write_time(file, fs::file_time_type(std::chrono::seconds(1000000 + round)));
    load_library(file.string());
    EXPECT_EQ(require_operator("plugin_changing::answer").typed<std::int64_t()>().call(), build);
    unload_library(file.string());
    if (round == 5) descriptors = count_descriptors();
  }
  EXPECT_EQ(count_descriptors(), descriptors);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1)
      << "private copies are gone";
  fs::remove_all(folder);
}

TEST(PluginCycles, AnObjectOfAPluginLivesOnAfterItsUnloading) {
  load_library(file_of("c_operators"));
  const auto ramp = require_operator("cops::ramp").typed<Tensor(std::int64_t)>();
  const Tensor made = ramp(4);
  const Operator& op = require_operator("cops::ramp");
  unload_library(file_of("c_operators"));
  EXPECT_EQ(made.data<double>()[3], 3.0);
  EXPECT_EQ(thrown_by([&] { ramp(4); }).kind, ErrorKind::OperatorGone);
  load_library(file_of("c_operators"));
  EXPECT_EQ(&require_operator("cops::ramp"), &op) << "the same definition is the same operator";
  EXPECT_EQ(ramp(2).numel(), 2);
  unload_library(file_of("c_operators"));
}

TEST(PluginCycles, APluginWhoseConstructorThrowsIsRefusedEachTime) {
  for (int round = 0; round < 2; ++round) {
    try {
      load_library(file_of("throwing_constructor"));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the constructor found no device");
    }
    EXPECT_EQ(registry().find(parse_operator_name("plugin_constructor::f")), nullptr);
    EXPECT_TRUE(loaded_libraries().empty());
  }
}

// Two plugins that define one operator: the second is refused, and the first stays.
TEST(PluginCycles, APluginThatDefinesWhatAnotherDefinesIsRefused) {
  const fs::path copy = fs::temp_directory_path() / ("opyard_twin_" + std::to_string(getpid()));
  fs::copy_file(file_of("a"), copy, fs::copy_options::overwrite_existing);
  load_library(file_of("a"));
  const Thrown thrown = thrown_by([&] { load_library(copy.string()); });
  EXPECT_EQ(thrown.kind, ErrorKind::BadRegistration);
  EXPECT_NE(thrown.text.find("plugin_a"), std::string::npos) << thrown.text;
  EXPECT_EQ(loaded_libraries(), std::vector<std::string>{file_of("a")});
  EXPECT_EQ(require_operator("plugin_a::twice").typed<std::int64_t(std::int64_t)>().call(2), 4);
  unload_library(file_of("a"));
  load_library(copy.string());  // now that the name is free
  unload_library(copy.string());
  fs::remove(copy);
}

// ---- What is left

TEST(PluginSurvivors, X30_NothingIsLeftWhereNobodyHoldsAnything) {
  load_library(file_of("b"));
  const UnloadReport report = unload_and_report(file_of("b"));
  EXPECT_TRUE(report.survivors.empty()) << to_string(report);
  EXPECT_EQ(report.path, file_of("b"));
  EXPECT_EQ(to_string(report), file_of("b") + " was unloaded, and nothing of it is in use");
}

TEST(PluginSurvivors, WhatAnotherLibraryDefinesInItsNamespaceIsNotLeftOfIt) {
  load_library(file_of("b"));
  const Registration other = define("plugin_b::other(int n) -> int");
  const Registration kernel =
      implement("plugin_b::other", DispatchKey::CompositeImplicitAutograd,
                Kernel::from([](std::int64_t n) { return n; }), "registered at other.cpp:12");
  const auto handle = require_operator("plugin_b::other").typed<std::int64_t(std::int64_t)>();
  const UnloadReport report = unload_and_report(file_of("b"));
  EXPECT_TRUE(report.survivors.empty()) << to_string(report);
  EXPECT_EQ(handle.call(4), 4);
}

TEST(PluginSurvivors, X30_AKernelOfAnotherLibraryWaitsForADefinition) {
  load_library(file_of("b"));
  const Registration kernel =
      implement("plugin_b::twice", DispatchKey::CUDA,
                Kernel::from([](std::int64_t n) { return n; }), "registered at other.cpp:12");
  const UnloadReport report = unload_and_report(file_of("b"));
  ASSERT_EQ(report.survivors.size(), 1u) << to_string(report);
  EXPECT_EQ(report.survivors[0].kind, Survivor::Kind::Registration);
  EXPECT_EQ(report.survivors[0].name, "plugin_b::twice");
  EXPECT_EQ(report.survivors[0].key, "CUDA");
  EXPECT_EQ(report.survivors[0].provenance, "registered at other.cpp:12");
  EXPECT_EQ(to_string(report),
            file_of("b") +
                " was unloaded, and this is left of it:\n  plugin_b::twice: the kernel at CUDA, "
                "registered at other.cpp:12, waits for a definition");
}

TEST(PluginSurvivors, X30_AHandleIsNamed) {
  load_library(file_of("both"));
  const auto handle = require_operator("plugin_both::thrice").typed<std::int64_t(std::int64_t)>();
  const UnloadReport report = unload_and_report(file_of("both"));
  ASSERT_EQ(report.survivors.size(), 1u) << to_string(report);
  EXPECT_EQ(report.survivors[0].kind, Survivor::Kind::Handle);
  EXPECT_EQ(report.survivors[0].name, "plugin_both::thrice");
  EXPECT_EQ(thrown_by([&] { handle(1); }).kind, ErrorKind::OperatorGone);
}

TEST(PluginSurvivors, X30_ACallUnderWayIsNamedByItsKernel) {
  // plugin_c::tenfold is called while the plugin is unloaded, by an argument that waits: a layer
  // below which the kernel runs.
  load_library(file_of("c"));
  std::atomic<int> inside{0};
  std::atomic<bool> stop{false};
  // The layer's kernel raises the depth of its thread and waits, so that what its call has seen
  // stays.
  const Registration layer =
      implement("plugin_in_c::tenfold", DispatchKey::Tracer, Kernel::from([&](std::int64_t n) {
                  ++inside;
                  while (!stop) std::this_thread::yield();
                  return n;
                }));
  std::thread caller([] {
    const IncludeDispatchKeyGuard guard(DispatchKey::Tracer);
    InlineStack<1> stack;
    stack.push(std::int64_t{1});
    require_operator("plugin_in_c::tenfold").call_boxed(stack);
  });
  while (inside == 0) std::this_thread::yield();
  const UnloadReport report = unload_and_report(file_of("c"));
  stop = true;
  caller.join();
  EXPECT_GE(report.in_use, 1u);
  const auto call =
      std::find_if(report.survivors.begin(), report.survivors.end(),
                   [](const Survivor& survivor) { return survivor.kind == Survivor::Kind::Call; });
  ASSERT_NE(call, report.survivors.end()) << to_string(report);
  EXPECT_NE(call->provenance.find("in_c.c:"), std::string::npos) << call->provenance;
  EXPECT_NE(to_string(report).find("may still be running"), std::string::npos);
  registry().reclaim();
  EXPECT_EQ(inspect::retired_count(), 0u) << "once the call has ended";
}

// ---- The environment

std::vector<std::string> warnings;

TEST(PluginEnvironment, NamesPluginsThatAreLoadedOnce) {
  EXPECT_TRUE(load_environment_libraries().empty()) << "the variable is not set";
  const std::string paths = file_of("a") + "::/no/such.so:" + file_of("c");
  setenv("OPYARD_LIBRARIES", paths.c_str(), 1);
  WarningHandler const former =
      set_warning_handler([](const Warning& each) { warnings.push_back(each.message); });
  const std::vector<std::string> failures = load_environment_libraries();
  set_warning_handler(former);
  EXPECT_EQ(loaded_libraries(), (std::vector{file_of("a"), file_of("c")}));
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0],
            "OPYARD_LIBRARIES names /no/such.so, which was not loaded: cannot load /no/such.so: "
            "No such file or directory");
  EXPECT_EQ(warnings, failures);
  unload_library(file_of("a"));
  unload_library(file_of("c"));
  EXPECT_TRUE(load_environment_libraries().empty());
  EXPECT_TRUE(loaded_libraries().empty()) << "once is enough";
  unsetenv("OPYARD_LIBRARIES");
}

}  // namespace
}  // namespace opyard::test_plugin_cycles
