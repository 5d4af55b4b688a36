// kernels/common/walk.h: elementwise iteration over broadcast, strided operands.
//
// A loop is written for one line: operand i begins at data[i] and its next element is
// steps[i] bytes further. A walk calls it for as few and as long lines as the operands allow:
//
//   sizes [4, 3, 5]   one operand contiguous, one broadcast along the first dimension
//   dimensions without a gap between them in all operands are joined:  [4, 15]
//   so the loop runs four times over 15 elements
//
// [Turned] An operand that is dense across the lines, such as the source of a transposed copy, is
// read a cache line at a time: lines are cut, and the pieces next to each other come first.
//
// Depends on: opyard/tensor.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "loops/loop.h"
#include "opyard/tensor.h"

namespace opyard::kernels {

class Walk {
 public:
  static constexpr int kMostOperands = 4;

  explicit Walk(IntSpan sizes);

  // The next operand; its sizes broadcast to those of the walk. The first operand is the one
  // that is written, and decides the order in which memory is visited.
  void add(std::byte* data, IntSpan sizes, IntSpan strides, std::int64_t item_bytes);
  void add(const Tensor& tensor);
  // One element that stands for all.
  void add_number(const void* number);

  // Once, after all operands were added. Other threads may run Python code meanwhile if there are
  // many elements.
  void run(Loop loop, const void* context = nullptr);
  // The same, by several threads if there are many: for loops whose elements have nothing to do
  // with each other, and whose bits do not depend on where a line begins.
  void run_by_many(Loop loop, const void* context = nullptr);

 private:
  // Gives the number of elements.
  std::int64_t prepare();
  void run_prepared(Loop loop, const void* context, std::int64_t all) const;
  void step_through(Loop loop, const void* context, std::int64_t begin, std::int64_t end) const;
  std::size_t find_turned() const;
  void skip(std::int64_t elements);
  void cut_lines(std::size_t turned);
  void drop_ones();
  void sort();
  void join();

  // Innermost dimension first.
  DimVector sizes_;
  std::array<DimVector, kMostOperands> steps_;
  std::array<std::byte*, kMostOperands> data_{};
  int count_ = 0;
};

}  // namespace opyard::kernels
