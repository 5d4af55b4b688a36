// plugin/c_block.h: making libraries of the blocks that C programs describe.
//
// Depends on: plugin/c_plugin.h, registry/library.h.
#pragma once

#include <memory>

#include "opyard/plugin/c_plugin.h"
#include "opyard/registry/library.h"

namespace opyard {

// To C a library is only a pointer.
inline opyard_library* c_library(Library* library) noexcept {
  return reinterpret_cast<opyard_library*>(library);
}

// Makes the library and runs the block. What the block left behind as this thread's error is
// raised, and then nothing of it is registered. Raises what Library() does, BadArgument for a bad
// block.
std::unique_ptr<Library> run_c_block(const opyard_block& block);

// The blocks of a plugin, in order. Raises BadArgument for one that says nothing sensible of
// itself.
std::vector<const opyard_block*> blocks_of(const opyard_c_plugin& plugin);

}  // namespace opyard
