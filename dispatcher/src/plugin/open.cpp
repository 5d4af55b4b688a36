// plugin/open.cpp: opening a plugin's shared library, and finding its blocks.
//
// [Waiting blocks] While the file is opened its static initialisers list their blocks, and so
// do those of libraries that it links to. The blocks of the file itself wait for load_library();
// the others are those of libraries that were linked in, and are run as such.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <utility>

#include "base/shared_library.h"
#include "opyard/base/error.h"
#include "plugin/loader.h"

namespace opyard {
namespace {

// Whether a symbol is the library's own, and not that of one it links to.
bool is_symbol_of(void* handle, void* symbol) {
  Dl_info info{};
  link_map* map = nullptr;
  return dladdr(symbol, &info) != 0 && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 &&
         reinterpret_cast<std::uintptr_t>(info.dli_fbase) == map->l_addr;
}

// What the library says of itself through the function of this name; null if it has none.
template <typename Plugin>
const Plugin* plugin_in(void* handle, const char* name) {
  using Entry = const Plugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, name));
  if (entry == nullptr || !is_symbol_of(handle, reinterpret_cast<void*>(entry))) return nullptr;
  return entry();
}

bool is_block_of(const detail::PluginV1* plugin, const detail::Registrar* block) {
  if (plugin == nullptr) return false;
  const detail::Registrar* own = plugin->blocks->first;
  while (own != nullptr && own != block) own = own->next;
  return own != nullptr;
}

// C++ is promised within a minor version.
void check_version(const detail::PluginV1& plugin, const std::string& path) {
  if (plugin.version_major == OPYARD_VERSION_MAJOR &&
      plugin.version_minor == OPYARD_VERSION_MINOR) {
    return;
  }
  fail(ErrorKind::BadPlugin,
       fmt::format("{} was built with Opyard {}.{}.{}, but this is {}.{}.{}; rebuild it", path,
                   plugin.version_major, plugin.version_minor, plugin.version_patch,
                   OPYARD_VERSION_MAJOR, OPYARD_VERSION_MINOR, OPYARD_VERSION_PATCH));
}
// The C interface is promised as long as the number of its ABI stays.
void check_version(const opyard_c_plugin& plugin, const std::string& path) {
  if (plugin.abi == OPYARD_C_ABI) return;
  fail(ErrorKind::BadPlugin,
       fmt::format("{} was built for C ABI {} of Opyard {}.{}.{}, but this is C ABI {} of Opyard "
                   "{}.{}.{}; rebuild it",
                   path, plugin.abi, plugin.version_major, plugin.version_minor,
                   plugin.version_patch, OPYARD_C_ABI, OPYARD_VERSION_MAJOR, OPYARD_VERSION_MINOR,
                   OPYARD_VERSION_PATCH));
}

}  // namespace

OpenedPlugin open_plugin(const std::string& path) {
  WaitingBlocks waiting;
  void* handle = nullptr;
  {
    struct AtWork {
      WaitingBlocks* const former;
      ~AtWork() { waiting_blocks = former; }
    };
    [[maybe_unused]] const AtWork at_work{std::exchange(waiting_blocks, &waiting)};
    handle = open_shared_library(path);
  }
  if (waiting.lost) throw std::bad_alloc();
  const OpenedPlugin plugin{plugin_in<detail::PluginV1>(handle, "opyard_plugin_v1"),
                            plugin_in<opyard_c_plugin>(handle, "opyard_c_plugin_v1")};
  for (const detail::Registrar* block : waiting.blocks) {
    if (!is_block_of(plugin.in_cpp, block)) run_linked_block(*block);
  }
  if (plugin.in_cpp == nullptr && plugin.in_c == nullptr) {
    fail(ErrorKind::BadPlugin,
         fmt::format("{} is a shared library but no Opyard plugin: it has no OPYARD_LIBRARY block",
                     path));
  }
  if (plugin.in_cpp != nullptr) check_version(*plugin.in_cpp, path);
  if (plugin.in_c != nullptr) check_version(*plugin.in_c, path);
  return plugin;
}

}  // namespace opyard
