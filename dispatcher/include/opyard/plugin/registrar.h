// opyard/plugin/registrar.h: registrars of a shared library, waiting to be run.
//
// OPYARD_LIBRARY only lists. Each block is a static Registrar that links itself into a list of
// its own shared library; the list is hidden, so that every library has its own. Running a
// block may throw, and a throw from a static initialiser would end the process; so a block is
// run inside guarded():
//
//   linked in, or opened with plain dlopen    at once, by libopyard, when it is listed
//   opened by load_library()                  by the loader, through opyard_plugin_v1
//
// The weak function opyard_plugin_v1 is the only symbol a plugin exports. It names the
// Opyard it was built with and the head of the list.
//
// Depends on: keys/dispatch_key.h, version.h.
#pragma once

#include <cstdint>
#include <optional>

#include "opyard/base/export.h"
#include "opyard/keys/dispatch_key.h"
#include "opyard/version.h"

namespace opyard {

class Library;
enum class LibraryKind;

namespace detail {

class Registrar;

// The list of one shared library. Written by its static initialisers only.
struct RegistrarList {
  Registrar* first = nullptr;
  Registrar* last = nullptr;
};
OPYARD_HIDDEN inline constinit RegistrarList registrar_list;

// What opyard_plugin_v1 returns. Append only; `bytes` tells a loader how much there is.
struct PluginV1 {
  std::uint32_t bytes;
  std::uint32_t version_major;
  std::uint32_t version_minor;
  std::uint32_t version_patch;
  const RegistrarList* blocks;
};

using RegisterBlock = void (*)(Library&);

// One block. Constructed by a static initialiser: it joins the list, and allocates nothing.
class Registrar {
 public:
  Registrar(LibraryKind kind, const char* name_space, std::optional<DispatchKey> key,
            RegisterBlock block, const char* file, int line)
      : kind(kind), name_space(name_space), key(key), block(block), file(file), line(line) {
    if (registrar_list.last == nullptr) {
      registrar_list.first = this;
    } else {
      registrar_list.last->next = this;
    }
    registrar_list.last = this;
    announce(*this);
  }
  Registrar(const Registrar&) = delete;
  Registrar& operator=(const Registrar&) = delete;

  const LibraryKind kind;
  const char* const name_space;
  const std::optional<DispatchKey> key;
  const RegisterBlock block;
  const char* const file;
  const int line;
  const Registrar* next = nullptr;

 private:
  // Runs the block now, unless the loader on this thread is going to.
  OPYARD_API static void announce(const Registrar& registrar);
};

}  // namespace detail
}  // namespace opyard

#ifndef OPYARD_BUILDING_LIBOPYARD
// In every plugin once, whichever of its files include this header.
extern "C" __attribute__((weak, used, visibility("default"))) const opyard::detail::PluginV1*
opyard_plugin_v1() {
  static constexpr opyard::detail::PluginV1 plugin{
      sizeof(opyard::detail::PluginV1), OPYARD_VERSION_MAJOR, OPYARD_VERSION_MINOR,
      OPYARD_VERSION_PATCH, &opyard::detail::registrar_list};
  return &plugin;
}
#endif
