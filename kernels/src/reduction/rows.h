// kernels/reduction/rows.h: rows of a reduction: one for each element of its result.
//
//   Reduction sums("aten::sum.dim_IntList", input, flags, keepdim);
//   Tensor out = Tensor::empty(sums.result_sizes(), dtype);
//   sums.each_row(&sum_row<float>, &context);
//
// A row holds the elements that fall together into one result element, in row-major order of the
// reduced dimensions, next to each other in memory. So what a reduction computes does not depend
// on how its input is laid out.
//
// Depends on: common/check.h, loops/row_loop.h.
#pragma once

#include "common/check.h"
#include "loops/row_loop.h"

namespace opyard::kernels {

class Reduction {
 public:
  // `reduced` says for each dimension whether it is reduced. The input outlives this object.
  Reduction(const char* op, const Tensor& input, const SmallVector<bool, 8>& reduced, bool keepdim);

  const DimVector& result_sizes() const noexcept { return result_sizes_; }
  // Elements in each row.
  std::int64_t length() const noexcept { return length_; }

  // Other threads may run Python code meanwhile if there are many elements.
  void each_row(RowLoop loop, void* context) const { run({loop, nullptr}, context, false); }
  // The same, but rows may also be taken side by side, and by several threads at once.
  void each_row(const Rows& loops, void* context) const { run(loops, context, true); }

 private:
  void run(const Rows& loops, void* context, bool by_many) const;
  void each_row_of(const std::byte* data, std::int64_t step, const DimVector& steps,
                   const Rows& loops, void* context, bool by_many) const;
  void take_rows(const std::byte* data, std::int64_t step, const DimVector& steps,
                 const Rows& loops, void* context, std::int64_t begin, std::int64_t end) const;

  const char* op_;
  const Tensor& input_;
  DimVector result_sizes_;
  DimVector remaining_sizes_;
  DimVector order_;  // the remaining dimensions, then the reduced ones
  std::int64_t length_ = 1;
};

// The dimensions of a reduction's argument `dim` as flags: all if the list is empty or None.
SmallVector<bool, 8> reduced_dims(const char* op, std::optional<IntSpan> dims, const Tensor& self);

// Raises BadValue if rows are empty and the operator has no answer for them.
void require_elements(const char* op, const char* what, const Tensor& self,
                      const Reduction& reduction);

}  // namespace opyard::kernels
