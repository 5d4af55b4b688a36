// test_plugin.cpp: protects loading and unloading: all or nothing, and again as often as wanted.
// Suspect dispatcher/src/plugin/plugin.cpp and open.cpp.
//
// The plugins are built from test/cpp/plugins/ into the folder that OPYARD_TEST_PLUGINS names.
// One test a plugin: what a plugin does when it is loaded for the first time happens once in a
// process.
#include "opyard/inspect/inspect.h"
#include "opyard/plugin/plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "../registering.h"
#include "../thrown_by.h"
#include "opyard/library.h"
#include "plugin_files.h"

extern "C" int opyard_test_linked();

OPYARD_LIBRARY(plugin_of_the_program, m) { m.def("f(int n) -> int"); }

namespace opyard::test_plugin {
namespace {

namespace fs = std::filesystem;

// What is registered, as text.
std::string whole_registry() {
  inspect::check_invariants();
  std::string text;
  for (const OperatorName& name : inspect::names()) {
    text += inspect::dump(name) + inspect::dump_table(name);
  }
  return text;
}

// A refusal changes nothing.
Thrown refusal(const std::string& file) {
  const std::string before = whole_registry();
  const std::vector<std::string> loaded = loaded_libraries();
  const Thrown thrown = thrown_by([&] { load_library(file); });
  EXPECT_EQ(whole_registry(), before);
  EXPECT_EQ(loaded_libraries(), loaded);
  EXPECT_THROWN(unload_library(file), NotFound, "no plugin is loaded from " + file);
  return thrown;
}

TEST(Plugin, LoadingRegistersUnloadingTakesBackAndLoadingAgainRegistersAnew) {
  const std::string before = whole_registry();
  const std::string file = file_of("a");
  std::string loaded;
  for (int round = 0; round < 3; ++round) {
    load_library(file);
    EXPECT_EQ(loaded_libraries(), std::vector<std::string>{file});
    EXPECT_EQ(call("plugin_a::twice", 7), 14);
    EXPECT_EQ(call("plugin_a::thrice", 7), 21);
    EXPECT_EQ(call("plugin_a::four_times", 7), 28) << "blocks of every file of the plugin";
    const std::string now = whole_registry();
    EXPECT_TRUE(round == 0 || now == loaded) << now;
    loaded = now;
    load_library(file);  // a second load of a loaded plugin does nothing
    EXPECT_EQ(whole_registry(), loaded);
    EXPECT_EQ(unload_library(file), 0u) << "no call is under way";
    EXPECT_TRUE(loaded_libraries().empty());
    EXPECT_EQ(whole_registry(), before);
    EXPECT_THROWN(static_cast<void>(unload_library(file)), NotFound,
                  "no plugin is loaded from " + file);
  }
}

TEST(Plugin, B34_AHandleIntoAnUnloadedPluginRaisesUntilItIsLoadedAgain) {
  const std::string file = file_of("a");
  load_library(file);
  const auto twice = require_operator("plugin_a::twice").typed<std::int64_t(std::int64_t)>();
  EXPECT_EQ(twice(2), 4);
  unload_library(file);
  EXPECT_EQ(thrown_by([&] { twice(2); }).kind, ErrorKind::OperatorGone);
  load_library(file);
  EXPECT_EQ(twice(2), 4);
  unload_library(file);
}

TEST(Plugin, TwoBuildsOfOneSourceAreToldApartByTheirFiles) {
  const std::string file = file_of("a");
  const std::string other =
      std::filesystem::temp_directory_path() / ("libother_" + std::to_string(getpid()) + ".so");
  std::filesystem::copy_file(file, other, std::filesystem::copy_options::overwrite_existing);
  load_library(file);
  const Thrown thrown = refusal(other);
  EXPECT_EQ(thrown.kind, ErrorKind::BadRegistration);
  const std::string end = ". The former is in " + file + ", the latter in " + other;
  EXPECT_TRUE(thrown.text.ends_with(end)) << thrown.text;
  unload_library(file);
  std::filesystem::remove(other);
}

TEST(Plugin, TwoPluginsSideBySideKeepTheirOwnLists) {
  load_library(file_of("a"));
  load_library(file_of("b"));
  EXPECT_EQ(loaded_libraries(), (std::vector{file_of("a"), file_of("b")})) << "in order of loading";
  EXPECT_EQ(call("plugin_a::twice", 1) + call("plugin_b::thrice", 1), 5);
  unload_library(file_of("a"));
  EXPECT_FALSE(is_defined("plugin_a::twice"));
  EXPECT_EQ(call("plugin_b::twice", 1), 2);
  unload_library(file_of("b"));
  EXPECT_FALSE(is_defined("plugin_b::twice"));
}

TEST(Plugin, APathIsMadeAbsolute) {
  const fs::path former = fs::current_path();
  fs::current_path(fs::path(file_of("a")).parent_path());
  load_library("./libtest_plugin_a.so");
  fs::current_path(former);
  EXPECT_EQ(loaded_libraries(), std::vector{file_of("a")});
  unload_library(file_of("a"));
}

TEST(Plugin, AMissingFileAndOneThatIsNoLibraryAreRefused) {
  const Thrown missing = refusal("/no/such/plugin.so");
  EXPECT_EQ(missing.kind, ErrorKind::BadPlugin);
  EXPECT_EQ(missing.text, "cannot load /no/such/plugin.so: No such file or directory");
  const fs::path text = fs::temp_directory_path() / ("opyard_text_" + std::to_string(getpid()));
  std::ofstream(text) << "this is text and no shared library";
  const Thrown no_library = refusal(text.string());
  EXPECT_EQ(no_library.kind, ErrorKind::BadPlugin);
  EXPECT_EQ(no_library.text.find("cannot load " + text.string() + ": "), 0u) << no_library.text;
  fs::remove(text);
}

TEST(Plugin, AnEmptyPathAndOneWithAZeroByteAreRefused) {
  EXPECT_THROWN(load_library(""), BadPlugin,
                "a plugin is loaded from a path, and an empty text is none");
  EXPECT_THROWN(load_library(std::string("a\0b", 3)), BadPlugin,
                "a plugin is loaded from a path, and a text with a zero byte in it is none");
}

// The dynamic linker would map it and then read past its end.
TEST(Plugin, AFileThatIsCutShortIsRefused) {
  const std::string whole = file_of("a");
  const auto bytes = fs::file_size(whole);
  const fs::path cut = fs::temp_directory_path() / ("opyard_cut_" + std::to_string(getpid()));
  for (const std::uintmax_t kept : {std::uintmax_t{1}, std::uintmax_t{40}, std::uintmax_t{100},
                                    std::uintmax_t{5000}, bytes / 4}) {
    fs::copy_file(whole, cut, fs::copy_options::overwrite_existing);
    fs::resize_file(cut, kept);
    const Thrown thrown = refusal(cut.string());
    EXPECT_EQ(thrown.kind, ErrorKind::BadPlugin);
    EXPECT_EQ(thrown.text.find("cannot load " + cut.string() + ": "), 0u) << thrown.text;
  }
  fs::resize_file(cut, 5000);
  const std::string text = refusal(cut.string()).text;
  EXPECT_NE(text.find("the file is cut short; it has 5000 bytes and needs at least "),
            std::string::npos)
      << text;
  fs::remove(cut);
}

TEST(Plugin, OneThatWasOpenedWithPlainDlopenIsTakenOver) {
  const fs::path copy = fs::temp_directory_path() / ("opyard_open_" + std::to_string(getpid()));
  fs::copy_file(file_of("b"), copy, fs::copy_options::overwrite_existing);
  void* const handle = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  ASSERT_NE(handle, nullptr) << dlerror();
  EXPECT_EQ(call("plugin_b::twice", 2), 4) << "its blocks ran at once";
  load_library(copy.string());
  EXPECT_EQ(call("plugin_b::twice", 2), 4);
  EXPECT_EQ(unload_library(copy.string()), 0u);
  EXPECT_FALSE(is_defined("plugin_b::twice"));
  load_library(copy.string());
  EXPECT_EQ(call("plugin_b::twice", 2), 4);
  unload_library(copy.string());
  dlclose(handle);
  fs::remove(copy);
}

TEST(Plugin, ASharedLibraryThatIsNoPluginIsRefused) {
  for (int round = 0; round < 2; ++round) {
    const Thrown thrown = refusal(file_of("no_plugin"));
    EXPECT_EQ(thrown.kind, ErrorKind::BadPlugin);
    EXPECT_EQ(thrown.text,
              file_of("no_plugin") +
                  " is a shared library but no Opyard plugin: it has no OPYARD_LIBRARY "
                  "block");
  }
}

TEST(Plugin, APluginOfAnotherVersionIsRefused) {
  const Thrown thrown = refusal(file_of("old_version"));
  EXPECT_EQ(thrown.kind, ErrorKind::BadPlugin);
  EXPECT_EQ(thrown.text, file_of("old_version") + " was built with Opyard 0.99.0, but this is " +
                             version() + "; rebuild it");
}

TEST(Plugin, ABlockThatThrowsLeavesNothingRegistered) {
  for (int round = 0; round < 2; ++round) {
    const std::string before = whole_registry();
    try {
      load_library(file_of("throws"));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the second block has no luck");
    }
    EXPECT_EQ(whole_registry(), before);
    EXPECT_FALSE(is_defined("plugin_throws::first"));
    EXPECT_TRUE(loaded_libraries().empty());
  }
}

TEST(Plugin, ABlockThatThrowsNoExceptionIsNamed) {
  const Thrown thrown = refusal(file_of("throws_number"));
  EXPECT_EQ(thrown.kind, ErrorKind::Foreign);
  EXPECT_EQ(thrown.text.find("the block of namespace plugin_throws_number at "), 0u) << thrown.text;
  EXPECT_NE(
      thrown.text.find("throws_number.cpp:4 threw something that is no std::exception; nothing "
                       "of it is registered"),
      std::string::npos)
      << thrown.text;
  EXPECT_FALSE(is_defined("plugin_throws_number::first"));
}

TEST(Plugin, AKernelThatNoCallCanReachIsWarnedOf) {
  const std::string file = file_of("slips");
  const std::string before = whole_registry();
  {
    const CaughtWarnings caught;
    load_library(file);
    ASSERT_EQ(caught.texts().size(), 1u);
    EXPECT_EQ(caught.texts()[0],
              fs::canonical(file).string() +
                  " has a kernel for plugin_slips::twise at CPU, registered at "
                  "test/cpp/plugins/slips.cpp:4, which no call can reach: no such operator is "
                  "defined; 'plugin_slips::twice' may be meant");
  }
  unload_library(file);
  const WarningHandler former = set_warning_handler(
      [](const Warning& warning) { throw std::runtime_error(warning.message); });
  EXPECT_THROW(load_library(file), std::runtime_error);
  set_warning_handler(former);
  EXPECT_EQ(whole_registry(), before);
  EXPECT_TRUE(loaded_libraries().empty());
}

TEST(Plugin, APipeIsRefusedAndNotWaitedFor) {
  const fs::path pipe = fs::temp_directory_path() / ("opyard_pipe_" + std::to_string(getpid()));
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROWN(load_library(pipe.string()), BadPlugin,
                "cannot load " + pipe.string() + ": it is no regular file");
  fs::remove(pipe);
}

TEST(Plugin, ABadSchemaInABlockIsShownWithItsMark) {
  const Thrown thrown = refusal(file_of("bad_schema"));
  EXPECT_EQ(thrown.kind, ErrorKind::BadSchema);
  EXPECT_NE(thrown.text.find("broken(int n -> int\n"), std::string::npos) << thrown.text;
  EXPECT_FALSE(is_defined("plugin_bad_schema::fine"));
}

TEST(Plugin, APluginThatUnloadsItselfWhileItLoadsIsRefused) {
  const Thrown thrown = refusal(file_of("loads_itself"));
  EXPECT_EQ(thrown.kind, ErrorKind::BadPlugin);
  EXPECT_EQ(thrown.text,
            file_of("loads_itself") + " is still being loaded or unloaded by this thread");
}

TEST(Plugin, ALibraryThatIsLinkedInRunsAtOnceAndKeepsItsErrors) {
  EXPECT_TRUE(is_defined("plugin_of_the_program::f"));
  EXPECT_EQ(opyard_test_linked(), 1);
  EXPECT_EQ(call("plugin_linked::five_times", 2), 10);
  EXPECT_FALSE(is_defined("plugin_linked::half_done")) << "its block failed";
  ASSERT_EQ(linked_library_errors().size(), 1u);
  EXPECT_EQ(linked_library_errors()[0].find("Tried to register an operator "
                                            "(plugin_linked::five_times(int n) -> int) with the "
                                            "same name and overload name multiple times."),
            0u)
      << linked_library_errors()[0];
}

TEST(Plugin, ALibraryThatAPluginLinksToRunsAsALinkedOne) {
  const std::size_t errors = linked_library_errors().size();
  load_library(file_of("depends"));
  EXPECT_EQ(call("plugin_depends::f", 1), 2);
  EXPECT_EQ(call("plugin_beside::five_times", 2), 10);
  EXPECT_EQ(linked_library_errors().size(), errors + 1);
  unload_library(file_of("depends"));
  EXPECT_FALSE(is_defined("plugin_depends::f"));
  EXPECT_EQ(call("plugin_beside::five_times", 2), 10) << "it is no part of the plugin";
}

TEST(Plugin, ARebuiltFileIsReadAnew) {
  const fs::path file = fs::temp_directory_path() / ("opyard_" + std::to_string(getpid()) + ".so");
  const auto load_build = [&](int build) {
    fs::copy_file(file_of("changing_" + std::to_string(build)), file,
                  fs::copy_options::overwrite_existing);
    fs::last_write_time(file, fs::file_time_type(std::chrono::seconds(1000000 + build)));
    load_library(file.string());
    const std::int64_t answer =
        require_operator("plugin_changing::answer").typed<std::int64_t()>().call();
    unload_library(file.string());
    return answer;
  };
  EXPECT_EQ(load_build(1), 1);
  fs::remove(file);  // writing into a mapped file would change the code under our feet
  // Of copies that others made: one of a process that has ended, one that is in use, and no copy at
  // all.
  const std::string copies = (file.parent_path() / ("." + file.filename().string())).string();
  for (const char* end : {".opyard-ended1", ".opyard-in_use", ".opyard-mine"}) {
    std::ofstream(copies + end) << "bytes";
  }
  const int in_use = open((copies + ".opyard-in_use").c_str(), O_RDONLY);
  ASSERT_EQ(flock(in_use, LOCK_EX), 0);
  EXPECT_EQ(load_build(2), 2);
  EXPECT_FALSE(fs::exists(copies + ".opyard-ended1")) << "left behind, and no one else removes it";
  EXPECT_TRUE(fs::remove(copies + ".opyard-in_use"));
  EXPECT_TRUE(fs::remove(copies + ".opyard-mine"));
  close(in_use);
  EXPECT_FALSE(is_defined("plugin_changing::answer"));
  for (const fs::directory_entry& entry : fs::directory_iterator(file.parent_path())) {
    EXPECT_EQ(entry.path().filename().string().find("." + file.filename().string()),
              std::string::npos)
        << "the private copy is gone";
  }
  fs::remove(file);
}

TEST(Plugin, ThreadsThatLoadTheSamePluginFindItLoadedOnce) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        load_library(file_of("a"));
        EXPECT_EQ(call("plugin_a::twice", 3), 6) << "a caller that returns finds it ready";
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(loaded_libraries().size(), 1u);
    unload_library(file_of("a"));
  }
}

}  // namespace
}  // namespace opyard::test_plugin
