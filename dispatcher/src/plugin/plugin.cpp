// plugin/plugin.cpp: opening shared libraries, running their blocks, taking them back.
//
// A plugin is opened with RTLD_NODELETE: unloading takes registrations back and leaves the
// code where it is, because a thread may be running it. A second load of the same file finds
// the library still mapped, its constructors done; the list of blocks is still there and is
// run again.
#include "opyard/plugin/plugin.h"

#include <dlfcn.h>
#include <link.h>
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "opyard/registry/library.h"
#include "plugin/loader.h"

namespace opyard {
namespace {

struct Plugin {
  std::string path;
  std::thread::id loader;  // the thread that runs the blocks
  bool ready = false;      // they have run
  std::vector<std::unique_ptr<Library>> libraries;  // one a block, in order
};

struct Plugins {
  std::mutex mutex;  // guards the list and `ready`; never held while a file is opened or a block runs
  std::condition_variable changed;
  std::vector<std::shared_ptr<Plugin>> loaded;

  static Plugins& instance() {
    static auto* const plugins = new Plugins;
    return *plugins;
  }
  std::vector<std::shared_ptr<Plugin>>::iterator find(const std::string& path) {
    return std::find_if(loaded.begin(), loaded.end(),
                        [&](const auto& plugin) { return plugin->path == path; });
  }
  // Waits while another thread loads this path. A plugin that loads itself goes on.
  bool wait_until_loaded(std::unique_lock<std::mutex>& lock, const std::string& path) {
    for (auto found = find(path); found != loaded.end(); found = find(path)) {
      if ((*found)->ready || (*found)->loader == std::this_thread::get_id()) return true;
      changed.wait(lock);
    }
    return false;
  }
};

std::string absolute(const std::string& path) {
  std::error_code error;
  const auto canonical = std::filesystem::canonical(path, error);
  return error ? path : canonical.string();
}

// Whether a symbol is the library's own, and not that of one it links to.
bool is_symbol_of(void* handle, void* symbol) {
  Dl_info info{};
  link_map* map = nullptr;
  return dladdr(symbol, &info) != 0 && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
         reinterpret_cast<std::uintptr_t>(info.dli_fbase) == map->l_addr;
}

const detail::PluginV1& open_plugin(const std::string& path) {
  struct AtWork {
    const bool former = std::exchange(loader_at_work, true);
    ~AtWork() { loader_at_work = former; }
  };
  void* handle = nullptr;
  {
    [[maybe_unused]] const AtWork at_work;
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  }
  if (handle == nullptr) {
    fail(ErrorKind::BadPlugin, fmt::format("cannot load {}: {}", path, dlerror()));
  }
  using Entry = const detail::PluginV1* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, "opyard_plugin_v1"));
  if (entry == nullptr || !is_symbol_of(handle, reinterpret_cast<void*>(entry))) {
    fail(ErrorKind::BadPlugin,
         fmt::format("{} is a shared library but no Opyard plugin: it has no OPYARD_LIBRARY block",
                     path));
  }
  const detail::PluginV1& plugin = *entry();
  if (plugin.version_major != OPYARD_VERSION_MAJOR || plugin.version_minor != OPYARD_VERSION_MINOR) {
    fail(ErrorKind::BadPlugin,
         fmt::format("{} was built with Opyard {}.{}.{}, but this is {}.{}.{}; rebuild it", path,
                     plugin.version_major, plugin.version_minor, plugin.version_patch,
                     OPYARD_VERSION_MAJOR, OPYARD_VERSION_MINOR, OPYARD_VERSION_PATCH));
  }
  return plugin;
}

}  // namespace

void load_library(const std::string& file) {
  const std::string path = absolute(file);
  Plugins& plugins = Plugins::instance();
  auto plugin = std::make_shared<Plugin>();
  plugin->path = path;
  plugin->loader = std::this_thread::get_id();
  {
    std::unique_lock lock(plugins.mutex);
    if (plugins.wait_until_loaded(lock, path)) return;
    plugins.loaded.push_back(plugin);  // holds the place while the blocks run
  }
  try {
    for (const detail::Registrar* block = open_plugin(path).blocks->first; block != nullptr;
         block = block->next) {
      plugin->libraries.push_back(run_block(*block));
    }
  } catch (...) {
    while (!plugin->libraries.empty()) plugin->libraries.pop_back();
    const std::lock_guard lock(plugins.mutex);
    plugins.loaded.erase(plugins.find(path));
    plugins.changed.notify_all();
    throw;
  }
  const std::lock_guard lock(plugins.mutex);
  plugin->ready = true;
  plugins.changed.notify_all();
}

std::size_t unload_library(const std::string& file) {
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
    plugin = std::move(*found);
    plugins.loaded.erase(found);
  }
  while (!plugin->libraries.empty()) plugin->libraries.pop_back();
  Registry::instance().reclaim();
  return Registry::instance().retired_count();
}

std::vector<std::string> loaded_libraries() {
  Plugins& plugins = Plugins::instance();
  const std::lock_guard lock(plugins.mutex);
  std::vector<std::string> paths;
  for (const auto& plugin : plugins.loaded) paths.push_back(plugin->path);
  return paths;
}

}  // namespace opyard
