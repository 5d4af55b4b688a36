// kernels/pointwise/carried.h: loops of a computed dtype over elements of another.
//
//   float16 line ── converted ──> float32 buffer ── loop ──> float32 buffer ── converted ──> line
//
// 256 elements at a time, so that the buffers stay in the processor's nearest cache. See loop.h
// [Carriers].
//
// Depends on: loops/loop.h.
#pragma once

#include <array>
#include <cstdint>

#include "loops/loop.h"

namespace opyard::kernels {

inline constexpr bool is_carried(DType dtype) { return carrier_of(dtype) != dtype; }

class Carrying {
 public:
  static constexpr int kMostOperands = 4;

  // `context` is the loop's own, and outlives this object.
  Carrying(Loop loop, const void* context) : loop_(loop), context_(context) {}

  // The next operand, the written one first. One of a dtype that is carried is converted, uint64
  // in order if that is asked for; others are handed to the loop where they are.
  void add(DType dtype, bool in_order);

  // A loop whose context is a Carrying.
  static void run(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                  const void* carrying);

 private:
  struct Operand {
    Loop load = nullptr;   // to the carrier; null if nothing is converted
    Loop store = nullptr;  // from it
    std::int64_t item = 0;
  };
  Loop loop_;
  const void* context_;
  std::array<Operand, kMostOperands> operands_{};
  int count_ = 0;
};

}  // namespace opyard::kernels
