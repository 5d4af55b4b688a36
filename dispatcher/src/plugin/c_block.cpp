// plugin/c_block.cpp: running the blocks of C programs.
#include "plugin/c_block.h"

#include <fmt/format.h>

#include "base/thread_error.h"
#include "base/versioned_struct.h"
#include "opyard/ffi/c_error.h"

namespace opyard {
namespace {

LibraryKind library_kind_of(const opyard_block& block) {
  switch (block.kind) {
    case OPYARD_DEFINE:
      return LibraryKind::Def;
    case OPYARD_FRAGMENT:
      return LibraryKind::Fragment;
    case OPYARD_IMPLEMENT:
      return LibraryKind::Impl;
    default:
      fail(ErrorKind::BadArgument,
           fmt::format("the kind of a block is OPYARD_DEFINE (0), OPYARD_FRAGMENT (1) or "
                       "OPYARD_IMPLEMENT (2), not {}",
                       block.kind));
  }
}

// The block gave a status: raises its error, or the status if it left none.
[[noreturn]] void raise_from_block(const opyard_block& block, int status) {
  if (const std::optional<Error> error = take_error()) throw *error;
  const bool known = status > OPYARD_OK && status < OPYARD_STATUS_COUNT;
  fail(known ? ErrorKind(status - 1) : ErrorKind::BadReturn,
       fmt::format("the block of namespace {} at {}:{} failed with status {} and left no text",
                   block.name_space, block.file == nullptr ? "?" : block.file, block.line, status));
}

}  // namespace

std::unique_ptr<Library> run_c_block(const opyard_block& given) {
  const opyard_block block = read_sized(&given, "opyard_block");
  if (block.name_space == nullptr) {
    fail(ErrorKind::BadArgument, "a block names its namespace, but a null pointer was given");
  }
  std::optional<DispatchKey> key;
  if (block.key != nullptr) key = parse_dispatch_key(block.key);
  auto library = std::make_unique<Library>(library_kind_of(block), block.name_space, key,
                                           block.file == nullptr ? "" : block.file, block.line);
  if (block.run == nullptr) return library;
  take_error();  // one that is there afterwards is the block's
  int status = OPYARD_OK;
  const Status thrown = guarded([&] { status = block.run(c_library(library.get())); });
  if (thrown != Status::Ok) status = int(thrown);
  if (status != OPYARD_OK) raise_from_block(block, status);
  return library;
}

std::vector<const opyard_block*> blocks_of(const opyard_c_plugin& plugin) {
  std::vector<const opyard_block*> blocks;
  if (plugin.count == 0) return blocks;
  if (plugin.blocks == nullptr) {
    fail(ErrorKind::BadArgument,
         fmt::format("the plugin has {} blocks at a null pointer", plugin.count));
  }
  const auto* const first = reinterpret_cast<const std::byte*>(plugin.blocks);
  for (std::size_t i = 0; i < plugin.count; ++i) {
    blocks.push_back(reinterpret_cast<const opyard_block*>(first + i * plugin.blocks->bytes));
  }
  return blocks;
}

}  // namespace opyard
