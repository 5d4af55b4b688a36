// kernels/common/block_functions.cpp: the list of block functions, and the operator that gives it.
//
// Registering is done by one thread at a time. A thread that reads meanwhile sees whole entries: an
// entry is counted when it is written, and never written again.
#include "common/block_functions.h"

#include <opyard/jit/block_functions.h>

#include <array>
#include <cstring>

#include "common/text.h"

namespace opyard::kernels {
namespace {

constexpr std::size_t kMost = 64;

std::array<jit::BlockFunction, kMost> functions;
jit::BlockFunctions offered{sizeof(jit::BlockFunction), {0}, functions.data()};

}  // namespace

void offer_block_function(const char* name, const char* overload, void (*kernel)(),
                          unsigned operands, const Loops& loops) {
  const std::size_t count = offered.count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    const jit::BlockFunction& known = functions[i];
    if (std::strcmp(known.name, name) == 0 && std::strcmp(known.overload, overload) == 0) return;
  }
  if (count == kMost) refuse(ErrorKind::Internal, {name, ": there is no room for its block"});
  functions[count] = {name,
                      overload,
                      kernel,
                      operands,
                      loops.of[std::size_t(computed_index(DType::Float32))],
                      loops.of[std::size_t(computed_index(DType::Float64))]};
  offered.count.store(count + 1, std::memory_order_release);
}

OPYARD_LIBRARY_FRAGMENT(opyard_fusion, m) {
  m.def("block_functions() -> int", [] { return std::int64_t(std::intptr_t(&offered)); });
}

}  // namespace opyard::kernels
