// kernels/common/block_functions.h: block functions that fused groups call in place of kernels.
//
//   fusible("aten::add", "Tensor", &add_tensor, loops().arithmetic.add);
//
// A loop is given that computes what the kernel does where all tensors are of one dtype, and its
// further arguments are their defaults. See opyard/jit/block_functions.h.
//
// Depends on: common/builds.h, loops/chains.h, opyard/jit/block_functions.h.
#pragma once

#include <opyard/jit/block_functions.h>

#include <algorithm>
#include <type_traits>

#include "common/builds.h"
#include "loops/chains.h"

namespace opyard::kernels {

// Of the build that loops() is of.
const ChainLoops& chain_loops();

// Called while the plugin registers; a second offer of the same operator is ignored.
void offer_block_function(const jit::BlockFunction& function);
void offer_tail(const jit::BlockTail& tail);

// How an operator differs from one that computes the result's dtype from its operands in order.
struct Fusible {
  jit::BlockKind kind = jit::BlockKind::Same;
  std::array<std::uint32_t, jit::BlockFunction::kMostOperands> order = {0, 1, 2};
  jit::BlockArithmetic arithmetic = jit::BlockArithmetic::None;
};

template <typename Kernel>
jit::BlockFunction block_function(const char* name, const char* overload, Kernel* kernel,
                                  unsigned operands, const Fusible& how) {
  return {name,           overload, reinterpret_cast<void (*)()>(kernel),
          how.kind,       operands, how.order,
          how.arithmetic, {}};
}

// The operands are the kernel's first two arguments that are tensors or numbers: not alpha.
template <typename A>
inline constexpr bool is_operand = std::is_same_v<std::remove_cvref_t<A>, Tensor> ||
                                   std::is_same_v<std::remove_cvref_t<A>, Scalar>;

template <typename... A>
void fusible(const char* name, const char* overload, Tensor (*kernel)(A...), const Loops& loops,
             const Fusible& how = {}) {
  constexpr unsigned kOperands = std::min(2u, (0u + ... + unsigned(is_operand<A>)));
  const bool is_selection = how.kind == jit::BlockKind::Selected;
  jit::BlockFunction function =
      block_function(name, overload, kernel, is_selection ? 3 : kOperands, how);
  for (const DType dtype : kComputed) {
    const int at = jit::BlockFunction::index_of(dtype);
    if (at >= 0) function.loops[std::size_t(at)] = loops.of[std::size_t(computed_index(dtype))];
  }
  offer_block_function(function);
}

// A reduction, of the dimensions that the second argument names, or of all if it takes none.
using RowsOfDTypes = std::array<jit::BlockRows, jit::BlockFunction::kDTypes>;
template <typename... A>
void fusible_reduction(const char* name, const char* overload, Tensor (*kernel)(A...),
                       const RowsOfDTypes& rows) {
  constexpr bool kTakesDims = sizeof...(A) > 2;
  offer_tail({name, overload, reinterpret_cast<void (*)()>(kernel),
              kTakesDims ? jit::TailKind::Reduced : jit::TailKind::ReducedAll, rows});
}

// An operator that copies its first argument, into the dtype that the second one names.
template <typename... A>
void fusible_conversion(const char* name, const char* overload, Tensor (*kernel)(A...)) {
  offer_block_function(
      block_function(name, overload, kernel, 1, {.kind = jit::BlockKind::Converted}));
}

}  // namespace opyard::kernels
