// opyard/jit/block_functions.h: block functions of kernel libraries, for fused groups.
//
// A block function computes one operator on a few hundred elements; a group calls those of its
// operators in turn for each block, so that what is between them stays in the processor's nearest
// cache. It gives the bits of its operator's kernel, wherever a block begins.
//
// [Offering] A library defines the operator opyard_fusion::block_functions() -> int, which gives
// the address of a BlockFunctions that is never freed. So neither library is linked to the other,
// and without such an operator nothing is fused. Its kernel has to be a function of C++, which is
// trusted as all native code is; one in Python, in front of it or alone, is not asked.
//
// [Kernel] A group runs its block functions only if each operator's call would reach the kernel
// that is named here. Where a layer, a mode, an override or a watcher is in between, the group
// calls the operators.
//
// [DTypes] All tensors that an operator computes with are of one dtype, and there is a loop for it:
// bool, int64, float32 and float64 are asked for. A number among the operands is one of that dtype,
// of which a float is not among int64s and nothing is among bools.
//
// [Chains] Operations of arithmetic in a row are one loop, which interprets a program: what an
// operation gives is held in the processor's registers, a few hundred bytes of it, and the next one
// takes it from there. So what is between two operations is not stored, unless a later one needs
// it. Each operation is rounded by itself, as its operator's kernel does.
//
// [Tails] The last operator of a group may be a reduction of its last dimensions, or one that joins
// tensors. The elements that it takes are computed a block at a time, and lie only where it takes
// them: in a row that fits into the nearest cache, or in the result of what is joined.
//
// Depends on: opyard/tensor/dtype.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "opyard/tensor/dtype.h"

namespace opyard::jit {

// The operator whose call gives the functions of the build for this processor.
inline constexpr const char* kBlockFunctionsOperator = "opyard_fusion::block_functions";

// Operand i begins at data[i], the written one first, and its next element is steps[i] bytes
// further. What is written is apart from what is read, or exactly on an operand whose elements have
// its size. `context` has 16 bytes, which are 0.
using BlockLoop = void (*)(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                           const void* context);

// What dtype a result has.
enum class BlockKind : std::uint32_t {
  Same,       // the one of the operands
  Compared,   // bool
  Selected,   // the one of all operands but the first, which is a bool
  Converted,  // the one that the second argument names, a constant; all others are None or False
};

// What a chain computes. See [Chains].
enum class BlockArithmetic : std::int32_t { None = -1, Add, Subtract, Multiply, Divide };

// What an instruction of a chain does with what is held, `h`, and its operand, `x`.
enum class ChainOperation : std::uint64_t {
  Load,          // h = x
  Store,         // x = h
  Add,           // h = h + x
  Subtract,      // h = h - x
  SubtractFrom,  // h = x - h
  Multiply,      // h = h * x
  Divide,        // h = h / x
  DivideInto,    // h = x / h
  count_
};
enum class ChainOperand : std::uint64_t {
  Moving,  // elements next to each other, one for each that is computed
  Fixed,   // kChainBytes, which the program uses again: stored before they are read
  Number,  // one element, which is not written
  count_
};
struct ChainInstruction {
  std::uint64_t code;  // chain_code(), or kChainEnd behind the last one
  std::byte* at;       // the operand
};
// The number of an instruction in a chain, and of its end.
constexpr std::uint64_t chain_code(ChainOperation operation, ChainOperand operand) {
  return std::uint64_t(operation) * std::uint64_t(ChainOperand::count_) + std::uint64_t(operand);
}
inline constexpr std::uint64_t kChainEnd = chain_code(ChainOperation::count_, ChainOperand::Moving);
inline constexpr std::size_t kChainBytes = 1024;
inline constexpr std::size_t kMostChainInstructions = 128;  // with the end

// Computes `count` elements; some of them twice, unless it is told that it works in place: that an
// operand that is loaded from outside is stored behind its last load.
using BlockChain = void (*)(const ChainInstruction* program, std::int64_t count, bool in_place);

struct BlockFunction {
  static constexpr std::size_t kMostOperands = 3;
  static constexpr std::size_t kDTypes = 4;  // see [DTypes]; -1 for others
  static constexpr int index_of(DType dtype) {
    switch (dtype) {
      case DType::Bool:
        return 0;
      case DType::Int64:
        return 1;
      case DType::Float32:
        return 2;
      case DType::Float64:
        return 3;
      case DType::UInt8:
      case DType::Int8:
      case DType::Int16:
      case DType::Int32:
      case DType::Half:
      case DType::ComplexFloat:
      case DType::ComplexDouble:
      case DType::BFloat16:
      case DType::UInt16:
      case DType::UInt32:
      case DType::UInt64:
        return -1;
    }
    return -1;
  }

  const char* name;      // "aten::add"
  const char* overload;  // "Tensor"
  void (*kernel)();      // see [Kernel]
  BlockKind kind;
  std::uint32_t operands;  // the first 1 to 3 arguments; all others have to be their defaults
  std::array<std::uint32_t, kMostOperands> order;  // which argument each operand of the loop is
  BlockArithmetic arithmetic;                      // of its two operands, in a chain
  std::array<BlockLoop, kDTypes> loops;            // null: not there
};

// How a reduction makes one element of a row, which has one element or more, all of the result's
// dtype. A total is eight bytes.
struct BlockRows {
  void (*total)(const std::byte* row, std::int64_t length, void* total);  // null: not there
  // Adds the total of what follows. Null if a row is not cut, else it is cut where cut() says: it
  // gives the length of the left one of two parts, for more than 512 elements.
  void (*join)(void* total, const void* next);
  std::int64_t (*cut)(std::int64_t length);
  void (*give)(const void* total, std::int64_t length, std::byte* element);
};

// What arguments a tail takes; all others are None.
enum class TailKind : std::uint32_t {
  Reduced,     // a tensor, the dimensions (a list, or None for all), and whether they are kept
  ReducedAll,  // a tensor
  Joined,      // a list of tensors, and the dimension along which they are joined
};

// See [Tails].
struct BlockTail {
  const char* name;
  const char* overload;
  void (*kernel)();  // see [Kernel]
  TailKind kind;
  std::array<BlockRows, BlockFunction::kDTypes> rows;  // of a reduction
};

// How a tensor is laid out in memory.
struct BlockGeometry {
  const std::int64_t* sizes;
  const std::int64_t* strides;
  std::size_t dims;
};

struct BlockFunctions {
  std::uint64_t bytes;  // kBlockFunctionsBytes, which tells another version
  std::atomic<std::size_t> count;
  const BlockFunction* functions;
  // Null if there is none.
  BlockLoop (*conversion)(DType to, DType from);
  // Null if there is none.
  BlockChain (*chain)(DType dtype);
  // The strides of what operators give, whose operands broadcast to `sizes` and are not all
  // row-major.
  void (*strides)(const std::int64_t* sizes, std::size_t dims, const BlockGeometry* operands,
                  std::size_t count, std::int64_t* strides);
  std::atomic<std::size_t> tail_count;
  const BlockTail* tails;
};

// Another number for each layout of the structs here.
inline constexpr std::uint64_t kBlockFunctionsBytes =
    (sizeof(BlockTail) * 1024 + sizeof(BlockFunction)) * 1024 + sizeof(BlockFunctions);

}  // namespace opyard::jit
