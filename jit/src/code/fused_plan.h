// code/fused_plan.h: how a fused group computes for inputs of certain dtypes, sizes and strides.
//
// [Places] What a step reads and writes is a place: a number, an input, an output, or a buffer of
// one block on the thread's stack. A buffer is used again behind the last use of what was in it,
// and by the very step that reads it last, if its elements have the size of what is written.
//
// [Lines] Elements are computed a line at a time: `inner` elements in the order in which the first
// output lies, and of each input and output how far its line is from the line before, for each
// dimension outside. Tensors that lie alike without gaps are one line.
//
// [Pairs] Where two steps of arithmetic follow each other and no one else needs what is between
// them, they are one step.
//
// Depends on: code/fused_program.h.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "code/fused_program.h"
#include "opyard/tensor.h"

namespace opyard::jit {

struct FusedPlan {
  static constexpr std::size_t kMostBuffers = 16;
  static constexpr std::int64_t kBlockBytes = 2048;
  // A line of fewer elements costs more to begin than blocks save.
  static constexpr std::int64_t kShortestLine = 32;
  static constexpr std::size_t kMostOperands = 4;  // of a pair: what is written, and three

  struct Step {
    BlockLoop loop;
    std::uint32_t operands;  // with the written one
    std::array<std::uint16_t, kMostOperands> places;
    std::array<std::int64_t, kMostOperands> steps;  // in bytes
  };
  // A place in memory of the caller's: an input or an output.
  struct Tensor {
    std::uint16_t place;
    std::uint16_t index;  // among the inputs, or among the outputs
    bool is_output;
    std::int64_t step;  // within a line, in bytes
    DimVector steps;    // from line to line, as `outer`
  };
  struct Output {
    DType dtype;
    DimVector strides;
    bool is_plain;  // as a tensor of these sizes is made
  };
  struct Buffer {
    std::uint16_t place;
    std::uint16_t index;
  };
  struct Number {
    std::uint16_t place;
    alignas(8) std::array<std::byte, 8> bytes;
  };

  std::vector<std::int64_t> key;  // of the inputs
  bool computes = false;          // else the group calls its operators for such inputs
  std::vector<Step> steps;
  std::vector<Tensor> tensors;
  std::vector<Buffer> buffers;
  std::vector<Number> numbers;
  std::vector<Output> outputs;
  DimVector sizes;  // of each output
  DimVector outer;  // dimensions outside of a line, the fastest first
  std::int64_t inner = 1;
  std::int64_t lines = 1;
  std::int64_t block = 0;  // elements
  std::size_t places = 0;

  // Whether the plan is for such inputs.
  bool fits(std::span<const opyard::Tensor* const> inputs) const;
};

// Never null. The inputs are defined, on the CPU, and have no policies.
std::unique_ptr<const FusedPlan> make_fused_plan(const FusedProgram& program,
                                                 std::span<const opyard::Tensor* const> inputs);

}  // namespace opyard::jit
