// fusion/chain.h: compilation of arithmetic to a chain.
//
// See jit/block_functions.h [Chains].
//
// Depends on: jit/block_functions.h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "opyard/jit/block_functions.h"

namespace opyard::jit {

// An instruction whose operand is a value of the part.
struct ChainStep {
  std::uint64_t code;
  std::uint16_t value;
};

// One step of a part: an operation, or several as a chain.
struct BlockOperation {
  BlockLoop loop;                    // null of a chain
  BlockArithmetic arithmetic;        // None of a chain
  DType dtype;                       // that it computes in
  std::vector<std::uint16_t> reads;  // of a chain: each once
  std::vector<std::uint16_t> gives;  // of a chain: what it stores, also for itself
  std::vector<ChainStep> chain;
};

// What the writer of a chain asks of a value.
struct ChainValues {
  // Whether what an operation of the chain gives is needed outside of it.
  std::function<bool(std::uint16_t)> is_kept;
  // Of what the chain takes: how it lies.
  std::function<ChainOperand(std::uint16_t)> operand;
};

// The operations have two operands each, and are of one dtype.
BlockOperation write_chain(std::span<const BlockOperation> operations, const ChainValues& values);

}  // namespace opyard::jit
