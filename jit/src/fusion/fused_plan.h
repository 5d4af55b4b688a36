// fusion/fused_plan.h: the plan of a fused group for certain dtypes, sizes and strides.
//
// [Tail] A tail is computed with its part, if it can be: a reduction of the last dimensions, or
// what is joined of row-major tensors. Else its operands are outputs, and its operator is called.
//
// [Results] What a run makes: the outputs of each part in turn, then what the tail gives.
//
// Depends on: fusion/part_plan.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fusion/part_plan.h"

namespace opyard::jit {

struct TailPlan {
  // A row longer than this is cut, or its reduction is called.
  static constexpr std::int64_t kRowBytes = 16384;

  enum class How : std::uint8_t { Called, Reduced, Joined };
  // One of the group's inputs, or of the results.
  struct Source {
    bool is_input;
    std::uint16_t index;
  };

  How how = How::Called;
  std::vector<Source> sources;  // of a called one
  FusedValue result;            // of the others
  BlockRows rows{};             // of a reduction
  std::int64_t length = 1;      // of a row
};

struct FusedPlan {
  std::vector<std::int64_t> key;  // of the inputs
  bool computes = false;          // else the group calls its operators for such inputs
  std::vector<PartPlan> parts;
  std::optional<TailPlan> tail;
  std::size_t results = 0;
  std::vector<std::uint16_t> outputs;  // of the group, among the results

  // Whether the plan is for such inputs.
  bool fits(std::span<const Tensor* const> inputs) const;
};

// Never null. The inputs are defined, on the CPU, and have no policies.
std::unique_ptr<const FusedPlan> make_fused_plan(const FusedProgram& program,
                                                 std::span<const Tensor* const> inputs);

}  // namespace opyard::jit
