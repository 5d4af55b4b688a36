// plugin/plugin.cpp: loading and unloading of plugins.
//
// Unloading unregisters and leaves the code where it is, because a thread may be
// running it. A second load finds the library still mapped, its constructors done; the list of
// blocks is still there and is run again.
//
// [Fork] The child of a fork has one thread. A plugin that another thread was loading or unloading
// then is forgotten there, since no one would ever finish it.
#include "opyard/plugin/plugin.h"
#include "opyard/inspect/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "base/versioned_struct.h"
#include "opyard/base/warning.h"
#include "opyard/detail/base/mutex.h"
#include "opyard/detail/registry/finder.h"
#include "opyard/detail/registry/formula_check.h"
#include "opyard/registry/library.h"
#include "plugin/c_block.h"
#include "plugin/loader.h"
#include "plugin/survivors.h"

namespace opyard {
namespace {

struct Plugin {
  std::string path;                                 // empty if it was forgotten, see [Fork]
  std::thread::id worker;                           // the thread that loads or unloads it
  bool ready = false;                               // its blocks have run, and are registered
  std::vector<std::unique_ptr<Library>> libraries;  // one a block, in order
  std::vector<std::string> provenances;             // of what the blocks registered
};

struct Plugins {
  // Guards what follows, and `ready`. Never held while a file is opened or a block runs.
  Mutex mutex{LockRank::Plugins, [] { instance().after_fork_in_child(); }};
  // Replaced in the child of a fork, which has none of the threads that waited: the former one
  // cannot be destroyed with waiters, and is leaked.
  struct Changed {
    std::condition_variable_any condition;
    Changed* former = nullptr;
  };
  Changed* changed = new Changed;
  std::vector<std::shared_ptr<Plugin>> loaded;

  static Plugins& instance() {
    static auto* const plugins = new Plugins;
    return *plugins;
  }
  // See [Fork].
  void after_fork_in_child() {
    for (const auto& plugin : loaded) {
      if (!plugin->ready && plugin->worker != std::this_thread::get_id()) plugin->path.clear();
    }
    changed = new Changed{{}, changed};
  }
  std::vector<std::shared_ptr<Plugin>>::iterator find(const std::string& path) {
    return std::find_if(loaded.begin(), loaded.end(),
                        [&](const auto& plugin) { return plugin->path == path; });
  }
  // Waits while another thread loads or unloads this path. A plugin that loads itself goes on.
  bool wait_until_loaded(std::unique_lock<Mutex>& lock, const std::string& path) {
    for (auto found = find(path); found != loaded.end(); found = find(path)) {
      if ((*found)->ready || (*found)->worker == std::this_thread::get_id()) return true;
      // Not wait(), of which GCC 12 made a new version: a wheel would run on no older libstdc++.
      changed->condition.wait_for(lock, std::chrono::hours(1));
    }
    return false;
  }
};

// Made when libopyard is loaded, so that no fork() meets it half made.
[[maybe_unused]] const Status made_plugins = guarded([] { Plugins::instance(); });

std::string absolute(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    fail(ErrorKind::BadPlugin,
         fmt::format("a plugin is loaded from a path, and {} is none",
                     path.empty() ? "an empty text" : "a text with a zero byte in it"));
  }
  std::error_code error;
  const auto canonical = std::filesystem::canonical(path, error);
  return error ? path : canonical.string();
}

// The blocks in C++ first: one in C may register kernels for what they define.
void run_blocks(const OpenedPlugin& opened, Plugin& plugin) {
  const auto keep = [&plugin](std::unique_ptr<Library> library, const char* file, int line) {
    plugin.libraries.push_back(std::move(library));
    if (file != nullptr) {
      plugin.provenances.push_back(fmt::format("registered at {}:{}", file, line));
    }
  };
  if (opened.in_cpp != nullptr) {
    for (const detail::Registrar* block = opened.in_cpp->blocks->first; block != nullptr;
         block = block->next) {
      std::unique_ptr<Library> linked = take_linked_library(*block);
      keep(linked != nullptr ? std::move(linked) : run_block(*block), block->file, block->line);
    }
  }
  if (opened.in_c != nullptr) {
    const opyard_c_plugin known = read_sized(opened.in_c, "opyard_c_plugin");
    for (const opyard_block* given : blocks_of(known)) {
      const opyard_block block = read_sized(given, "opyard_block");
      keep(run_c_block(block), block.file, block.line);
    }
  }
}

// Warns of kernels for operators that no one defined, in namespaces that have some: slips in names,
// mostly. Those of a namespace without operators may come before the library that defines them.
// Raises what a handler of warnings raises.
void warn_of_kernels_alone(const Plugin& plugin) {
  for (const OperatorName& name : inspect::names_at(std::nullopt)) {
    if (Registry::instance().find(name) != nullptr) continue;
    const std::string space(name.name_space());
    if (!has_operators_of(space)) continue;
    for (const inspect::RegisteredKernel& kernel : inspect::registered(name).kernels) {
      if (std::ranges::find(plugin.provenances, kernel.provenance) == plugin.provenances.end()) {
        continue;
      }
      const std::string meant = near_operator(name.name);
      const std::string instead = meant.empty() ? "" : fmt::format("; '{}' may be meant", meant);
      warn_at_once(WarningKind::User,
                   fmt::format("{} has a kernel for {} at {}, {}, which no call can reach: no "
                               "such operator is defined{}",
                               plugin.path, to_string(name), to_string(kernel.key),
                               kernel.provenance, instead));
    }
  }
}

// Two builds of one source have their lines in common: a second definition is told by file, too.
OPYARD_COLD Error with_files(const Error& error, const std::string& path, const Plugins& plugins) {
  std::string text = error.what();
  for (const auto& former : plugins.loaded) {
    const auto& places = former->provenances;
    const bool is_named = std::any_of(places.begin(), places.end(), [&](const std::string& place) {
      return text.find(place) != std::string::npos;
    });
    if (!is_named || former->path.empty() || former->path == path) continue;
    text += fmt::format(". The former is in {}, the latter in {}", former->path, path);
    break;
  }
  return Error(error.kind(), std::move(text), error.carried());
}

}  // namespace

void load_library(const std::string& file) {
  const std::string path = absolute(file);
  Plugins& plugins = Plugins::instance();
  auto plugin = std::make_shared<Plugin>();
  plugin->path = path;
  plugin->worker = std::this_thread::get_id();
  {
    std::unique_lock lock(plugins.mutex);
    if (plugins.wait_until_loaded(lock, path)) return;
    plugins.loaded.push_back(plugin);  // holds the place while the blocks run
  }
  try {
    detail::LateFormulaChecks formulas;
    run_blocks(open_plugin(path), *plugin);
    formulas.run();
    warn_of_kernels_alone(*plugin);
  } catch (...) {
    while (!plugin->libraries.empty()) plugin->libraries.pop_back();
    const std::lock_guard lock(plugins.mutex);
    plugins.loaded.erase(plugins.find(path));
    plugins.changed->condition.notify_all();
    try {
      throw;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::BadRegistration) throw;
      throw with_files(error, path, plugins);
    }
  }
  const std::lock_guard lock(plugins.mutex);
  plugin->ready = true;
  plugins.changed->condition.notify_all();
}

UnloadReport unload_and_report(const std::string& file) {
  const std::string path = absolute(file);
  Plugins& plugins = Plugins::instance();
  std::shared_ptr<Plugin> plugin;
  {
    std::unique_lock lock(plugins.mutex);
    plugins.wait_until_loaded(lock, path);
    const auto found = plugins.find(path);
    if (found == plugins.loaded.end()) {
      fail(ErrorKind::NotFound, fmt::format("no plugin is loaded from {}", path));
    }
    if (!(*found)->ready) {
      fail(ErrorKind::BadPlugin,
           fmt::format("{} is still being loaded or unloaded by this thread", path));
    }
    // It keeps its place until all is unregistered: a thread that loads it meanwhile waits.
    plugin = *found;
    plugin->ready = false;
    plugin->worker = std::this_thread::get_id();
  }
  UnloadReport report;
  std::optional<SurvivorSearch> search;
  const auto finish = [&](bool unloaded) {
    const std::lock_guard lock(plugins.mutex);
    if (unloaded) plugins.loaded.erase(plugins.find(path));
    plugin->ready = !unloaded;
    plugins.changed->condition.notify_all();
  };
  try {
    report.path = path;
    std::vector<std::string> name_spaces;
    for (const auto& library : plugin->libraries) name_spaces.push_back(library->name_space());
    search.emplace(name_spaces);
  } catch (...) {
    finish(false);  // there was no memory to begin
    throw;
  }
  while (!plugin->libraries.empty()) plugin->libraries.pop_back();
  // Before the entry is free: a thread that waits to load it again defines its operators anew.
  try {
    Registry::instance().reclaim();
    report.in_use = inspect::retired_count();
    report.survivors = search->find(plugin->provenances);
  } catch (const std::bad_alloc&) {
    // What there was memory for is the report: the plugin is unloaded.
  }
  finish(true);
  return report;
}

std::size_t unload_library(const std::string& file) { return unload_and_report(file).in_use; }

std::vector<std::string> loaded_libraries() {
  Plugins& plugins = Plugins::instance();
  const std::lock_guard lock(plugins.mutex);
  std::vector<std::string> paths;
  for (const auto& plugin : plugins.loaded) {
    if (!plugin->path.empty()) paths.push_back(plugin->path);
  }
  return paths;
}

}  // namespace opyard
