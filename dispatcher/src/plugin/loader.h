// plugin/loader.h: declarations that the loader and the registrars of plugins share.
//
// Depends on: plugin/registrar.h, plugin/c_plugin.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "opyard/plugin/c_plugin.h"
#include "opyard/plugin/registrar.h"

namespace opyard {

// Blocks that were listed while load_library() opened a file.
struct WaitingBlocks {
  std::vector<const detail::Registrar*> blocks;
  bool lost = false;  // there was no memory to remember one
};

// Where this thread's blocks wait while it opens a file; null while it does not.
extern constinit thread_local WaitingBlocks* waiting_blocks;

// What a plugin says of itself: of its blocks in C++, of those in C, or of both.
struct OpenedPlugin {
  const detail::PluginV1* in_cpp = nullptr;
  const opyard_c_plugin* in_c = nullptr;
};

// Opens the shared library. Runs the blocks of libraries that came with it, not its own. Raises
// BadPlugin.
OpenedPlugin open_plugin(const std::string& path);

// Runs one block in a library of its own. Whatever the block throws leaves nothing registered.
std::unique_ptr<Library> run_block(const detail::Registrar& registrar);

// The library of a block that was run by run_linked_block(); null if there is none.
std::unique_ptr<Library> take_linked_library(const detail::Registrar& registrar);

// Runs the block of a library that no one loaded by hand. What it throws is stored for
// linked_library_errors().
void run_linked_block(const detail::Registrar& registrar);

}  // namespace opyard
