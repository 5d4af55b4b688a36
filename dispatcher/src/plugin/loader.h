// plugin/loader.h: what the loader and the registrars of plugins share.
//
// Depends on: plugin/registrar.h.
#pragma once

#include <memory>

#include "opyard/plugin/registrar.h"

namespace opyard {

// True while load_library() opens a file on this thread: its blocks then only record.
extern constinit thread_local bool loader_at_work;

// Runs one block in a library of its own. Whatever the block throws leaves nothing registered.
std::unique_ptr<Library> run_block(const detail::Registrar& registrar);

}  // namespace opyard
