// kernels/common/block_functions.cpp: the list of block functions, and the operator that gives it.
//
// Registering is done by one thread at a time. A thread that reads meanwhile sees whole entries: an
// entry is counted when it is written, and never written again.
#include "common/block_functions.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/copy.h"
#include "common/order.h"
#include "common/text.h"

namespace opyard::kernels {
namespace {

constexpr std::size_t kMost = 96;

std::array<jit::BlockFunction, kMost> functions;
std::array<jit::BlockTail, 16> tails;

jit::BlockLoop conversion(DType to, DType from) { return conversion_loop(to, from); }

jit::BlockChain chain(DType dtype) {
  if (dtype == DType::Float32) return chain_loops().float32;
  return dtype == DType::Float64 ? chain_loops().float64 : nullptr;
}

void strides(const std::int64_t* sizes, std::size_t dims, const jit::BlockGeometry* operands,
             std::size_t count, std::int64_t* out) {
  std::array<Laid, jit::BlockFunction::kMostOperands> laid;
  for (std::size_t i = 0; i < count; ++i) {
    const jit::BlockGeometry& one = operands[i];
    laid[i] = {{one.sizes, one.dims}, {one.strides, one.dims}};
  }
  const DimVector found =
      ordered_strides(IntSpan(sizes, dims), std::span<const Laid>(laid.data(), count));
  std::copy(found.begin(), found.end(), out);
}

jit::BlockFunctions offered{jit::kBlockFunctionsBytes,
                            {0},
                            functions.data(),
                            &conversion,
                            &chain,
                            &strides,
                            {0},
                            tails.data()};

// Appends `added` unless its operator is there already.
template <typename Offer, std::size_t most>
void append(std::array<Offer, most>& all, std::atomic<std::size_t>& known, const Offer& added) {
  const std::size_t count = known.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_known = std::strcmp(all[i].name, added.name) == 0 &&
                          std::strcmp(all[i].overload, added.overload) == 0;
    if (is_known) return;
  }
  if (count == most) refuse(ErrorKind::Internal, {added.name, ": there is no room for its block"});
  all[count] = added;
  known.store(count + 1, std::memory_order_release);
}

}  // namespace

void offer_block_function(const jit::BlockFunction& function) {
  append(functions, offered.count, function);
}
void offer_tail(const jit::BlockTail& tail) { append(tails, offered.tail_count, tail); }

OPYARD_LIBRARY_FRAGMENT(opyard_fusion, m) {
  m.def("block_functions() -> int", [] { return std::int64_t(std::intptr_t(&offered)); });
}

}  // namespace opyard::kernels
