// kernels/reduction/sum.cpp: sum and mean, over everything or some dimensions.
//
// The result of sum has self's dtype, int64 for bool; mean needs a float. `dtype` converts self
// first. The sum of nothing is 0, its mean nan. See loops/sums.h [Order of summation].
#include <opyard/library.h>
#include <opyard/parallel.h>

#include <cstring>

#include "common/block_functions.h"
#include "common/builds.h"
#include "common/complex_parts.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/releasing.h"
#include "common/symbolic_results.h"
#include "loops/sums.h"
#include "reduction/rows.h"

namespace opyard::kernels {
namespace {

// A single long row, by several threads: the pieces are cut where sum_row() cuts.
class LongSum {
 public:
  LongSum(PieceLoop loop, const std::byte* row, std::int64_t item)
      : loop_(loop), row_(row), item_(item) {}

  template <typename S>
  S total(std::int64_t length) {
    cut(0, length);
    SmallVector<S, 64> totals(pieces_.size(), S());
    parallel_for(0, std::int64_t(pieces_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Piece& piece = pieces_[std::size_t(i)];
        loop_(row_ + piece.begin * item_, piece.length, &totals[std::size_t(i)]);
      }
    });
    const S* next = totals.begin();
    return join(length, next);
  }

 private:
  struct Piece {
    std::int64_t begin, length;
  };
  static bool is_piece(std::int64_t length) { return length <= kElementsOfAThread; }

  void cut(std::int64_t begin, std::int64_t length) {
    if (is_piece(length)) return pieces_.push_back({begin, length});
    const std::int64_t left = cut_sum(length);
    cut(begin, left);
    cut(begin + left, length - left);
  }
  template <typename S>
  static S join(std::int64_t length, const S*& next) {
    if (is_piece(length)) return *next++;
    const std::int64_t left = cut_sum(length);
    const S first = join(left, next);
    return first + join(length - left, next);
  }

  PieceLoop loop_;
  const std::byte* row_;
  std::int64_t item_;
  SmallVector<Piece, 64> pieces_;
};

// Writes the sum of a row that many threads take part in; false if it is not such a row.
bool sum_long_row(const Tensor& input, const Reduction& reduction, const SumContext& context) {
  if (reduction.length() != input.numel() || input.numel() < 2 * kElementsOfAThread ||
      !input.is_contiguous()) {
    return false;
  }
  const auto item = std::int64_t(item_size(input.dtype()));
  LongSum sum(loops().sums.pieces[std::size_t(computed_index(input.dtype()))], bytes_of(input),
              item);
  without_gil([&] {
    visit_computed(input.dtype(), [&](auto sample) {
      using T = decltype(sample);
      const auto total = sum.total<SumOf<T>>(reduction.length());
      *static_cast<T*>(context.out) = element_of_sum<T>(total, context.divisor);
    });
  });
  return true;
}

// Of an input in the dtype that is summed in.
Tensor sum_rows(const char* op, const Tensor& input, const SmallVector<bool, 8>& reduced,
                bool keepdim, bool is_mean) {
  const Reduction reduction(op, input, reduced, keepdim);
  Tensor result = empty_beside(input, reduction.result_sizes(), input.dtype());
  if (is_meta(result)) return result;
  SumContext target{result.impl()->data(), 0};
  if (is_mean) {
    target.divisor = double(reduction.length());
    if (reduction.length() == 0) {
      const Scalar nan(__builtin_nan(""));
      fill_elements(result, number_in(op, "mean", nan, input.dtype()));
      return result;
    }
  }
  if (!sum_long_row(input, reduction, target)) {
    reduction.each_row(loops().sums.sum.of[std::size_t(computed_index(input.dtype()))], &target);
  }
  return result;
}

Tensor sum_as(const char* op, const Tensor& self, std::optional<IntSpan> dims, bool keepdim,
              DType dtype, bool is_mean) {
  SmallVector<bool, 8> reduced = reduced_dims(op, dims, self);
  if (dtype == DType::Bool) {
    refuse(ErrorKind::Unsupported,
           {op, ": dtype is bool; accepted are integers, floats and complex numbers"});
  }
  if (has_symbolic_sizes(self)) return symbolic_reduction(op, self, reduced, keepdim, dtype);
  if (is_complex(dtype)) {
    reduced.resize(std::size_t(self.dim()), false);
    reduced.push_back(false);
    const Tensor parts = as_real(converted(op, self, dtype));
    return as_complex(sum_rows(op, parts, reduced, keepdim, is_mean));
  }
  const Tensor input = converted(op, self, carrier_of(dtype));
  return converted(op, sum_rows(op, input, reduced, keepdim, is_mean), dtype);
}

Tensor sum_dims(const char* op, const Tensor& self, std::optional<IntSpan> dims, bool keepdim,
                std::optional<DType> dtype) {
  require_cpu(op, "self", self);
  const DType own = category_of(self.dtype()) < 2 ? DType::Int64 : self.dtype();
  return sum_as(op, self, dims, keepdim, dtype.value_or(own), false);
}

Tensor mean_dims(const char* op, const Tensor& self, std::optional<IntSpan> dims, bool keepdim,
                 std::optional<DType> dtype) {
  require_cpu(op, "self", self);
  if (category_of(dtype.value_or(self.dtype())) < 2) {
    refuse(ErrorKind::BadArgument,
           {op, ": self is ", self, " and dtype is ", dtype ? name_of(*dtype) : "None",
            "; a mean is a float, so give a float dtype, as float32"});
  }
  return sum_as(op, self, dims, keepdim, dtype.value_or(self.dtype()), true);
}

// For groups of fused operators: see opyard/jit/block_functions.h [Tails].
template <typename T>
void total_of(const std::byte* row, std::int64_t length, void* total) {
  loops().sums.pieces[std::size_t(computed_index(dtype_of<T>))](row, length, total);
}
template <typename T>
void join_totals(void* total, const void* next) {
  *static_cast<SumOf<T>*>(total) += *static_cast<const SumOf<T>*>(next);
}
template <typename T, bool is_mean>
void give_total(const void* total, std::int64_t length, std::byte* element) {
  const T value =
      element_of_sum<T>(*static_cast<const SumOf<T>*>(total), is_mean ? double(length) : 0);
  std::memcpy(element, &value, sizeof(value));
}
template <typename T, bool is_mean>
constexpr jit::BlockRows kSumBlock = {&total_of<T>, &join_totals<T>, &cut_sum,
                                      &give_total<T, is_mean>};

constexpr RowsOfDTypes kSumRows = {
    {{}, kSumBlock<std::int64_t, false>, kSumBlock<float, false>, kSumBlock<double, false>}};
constexpr RowsOfDTypes kMeanRows = {{{}, {}, kSumBlock<float, true>, kSumBlock<double, true>}};

Tensor sum_kernel(const Tensor& self, std::optional<DType> dtype) {
  return sum_dims("aten::sum", self, std::nullopt, false, dtype);
}
Tensor sum_dim(const Tensor& self, std::optional<IntSpan> dim, bool keepdim,
               std::optional<DType> dtype) {
  return sum_dims("aten::sum.dim_IntList", self, dim, keepdim, dtype);
}
Tensor mean_kernel(const Tensor& self, std::optional<DType> dtype) {
  return mean_dims("aten::mean", self, std::nullopt, false, dtype);
}
Tensor mean_dim(const Tensor& self, std::optional<IntSpan> dim, bool keepdim,
                std::optional<DType> dtype) {
  return mean_dims("aten::mean.dim", self, dim, keepdim, dtype);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor");
  m.def(
      "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) "
      "-> Tensor");
  m.def("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor");
  m.def(
      "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) "
      "-> Tensor");
}

OPYARD_KERNELS(m) {
  name_build(m);
  m.impl("sum", &sum_kernel);
  m.impl("sum.dim_IntList", &sum_dim);
  m.impl("mean", &mean_kernel);
  m.impl("mean.dim", &mean_dim);
  fusible_reduction("aten::sum", "", &sum_kernel, kSumRows);
  fusible_reduction("aten::sum", "dim_IntList", &sum_dim, kSumRows);
  fusible_reduction("aten::mean", "", &mean_kernel, kMeanRows);
  fusible_reduction("aten::mean", "dim", &mean_dim, kMeanRows);
}

}  // namespace opyard::kernels
