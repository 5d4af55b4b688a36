// kernels/pointwise/carried.cpp: conversion of elements to the computed dtype and back.
#include "pointwise/carried.h"

#include <algorithm>

#include "common/copy.h"

namespace opyard::kernels {

void Carrying::add(DType dtype, bool in_order) {
  Operand& operand = operands_[std::size_t(count_++)];
  if (!is_carried(dtype)) return;
  const DType carrier = carrier_of(dtype);
  const bool is_flipped = in_order && dtype == DType::UInt64;
  operand.load = is_flipped ? order_loop() : conversion_loop(carrier, dtype);
  operand.store = is_flipped ? order_loop() : conversion_loop(dtype, carrier);
  operand.item = std::int64_t(item_size(carrier));
}

void Carrying::run(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                   const void* carrying) {
  constexpr std::int64_t kChunk = 256;
  const auto& self = *static_cast<const Carrying*>(carrying);
  alignas(64) std::byte buffers[kMostOperands][kChunk * 8];
  std::array<std::byte*, kMostOperands> own{};
  std::array<std::int64_t, kMostOperands> own_steps{};
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    const std::int64_t here = std::min(kChunk, count - begin);
    for (int k = 0; k < self.count_; ++k) {
      const Operand& operand = self.operands_[std::size_t(k)];
      std::byte* const from = data[k] + begin * steps[k];
      if (operand.load == nullptr) {
        own[k] = from;
        own_steps[k] = steps[k];
        continue;
      }
      own[k] = buffers[k];
      own_steps[k] = k > 0 && steps[k] == 0 ? 0 : operand.item;
      if (k == 0) continue;
      const std::array<std::byte*, 2> ends = {buffers[k], from};
      const std::array<std::int64_t, 2> gaps = {operand.item, steps[k]};
      operand.load(ends.data(), gaps.data(), own_steps[k] == 0 ? 1 : here, nullptr);
    }
    self.loop_(own.data(), own_steps.data(), here, self.context_);
    const Operand& written = self.operands_[0];
    if (written.store == nullptr) continue;
    const std::array<std::byte*, 2> ends = {data[0] + begin * steps[0], buffers[0]};
    const std::array<std::int64_t, 2> gaps = {steps[0], written.item};
    written.store(ends.data(), gaps.data(), here, nullptr);
  }
}

}  // namespace opyard::kernels
