// kernels/reduction/histogram.cpp: histc: counts of elements in equal bins of a range.
//
// The range is that of the elements if it is not given, and one more on both sides if they are all
// equal. Its end belongs to the last part. What is outside, and NaN, is not counted.
#include <algorithm>
#include <cmath>

#include "common/copy.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/releasing.h"

namespace opyard::kernels {
namespace {

constexpr const char* kHistc = "aten::histc";

template <typename T>
struct CountedRange {
  T low, high;
};

// Raises BadValue.
template <typename T>
CountedRange<T> range_of_elements(const T* elements, std::int64_t count, CountedRange<T> given) {
  CountedRange<T> range = given;
  if (range.low == range.high && count > 0) {
    const bool has_nan = std::any_of(elements, elements + count, [](T x) { return std::isnan(x); });
    const auto [least, most] = std::minmax_element(elements, elements + count);
    range = has_nan ? CountedRange<T>{T(NAN), T(NAN)} : CountedRange<T>{*least, *most};
  }
  if (range.low == range.high) range = {range.low - 1, range.high + 1};
  if (!std::isfinite(range.low) || !std::isfinite(range.high)) {
    refuse(ErrorKind::BadValue,
           {kHistc, ": the range is from ", double(range.low), " to ", double(range.high),
            ", which has no equal parts; give a finite min and max"});
  }
  if (!(range.low < range.high)) {
    refuse(ErrorKind::BadValue, {kHistc, ": min is ", double(range.low), " and max is ",
                                 double(range.high), "; min must not be above max"});
  }
  return range;
}

template <typename T>
void count_parts(const T* elements, std::int64_t count, CountedRange<T> range, std::int64_t* parts,
                 std::int64_t bins) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T x = elements[i];
    if (!(x >= range.low && x <= range.high)) continue;
    const auto part = std::int64_t((x - range.low) * T(bins) / (range.high - range.low));
    parts[std::min(part, bins - 1)] += 1;
  }
}

Tensor histc(const Tensor& self, std::int64_t bins, const Scalar& min, const Scalar& max) {
  require_floats(kHistc, "self", self);
  require_real(kHistc, "min", min);
  require_real(kHistc, "max", max);
  if (bins < 1) {
    refuse(ErrorKind::BadValue, {kHistc, ": bins is ", bins, "; accepted are 1 and more"});
  }
  const std::array sizes = {bins};
  require_sizes_of(kHistc, "bins", sizes, self.dtype());
  if (is_meta(self)) return empty_beside(self, sizes, self.dtype());
  const Tensor from = row_major(kHistc, in_carrier(kHistc, self));
  const Tensor result = Tensor::empty(sizes, DType::Int64);
  fill_elements(result, Number());
  visit_floats(from, [&](auto sample) {
    using T = decltype(sample);
    const T* const elements = elements_of<T>(from);
    const std::int64_t count = from.numel();
    const CountedRange<T> range =
        range_of_elements<T>(elements, count, {T(min.to_double()), T(max.to_double())});
    without_gil_for(count, [&] {
      count_parts(elements, count, range, elements_of<std::int64_t>(result), bins);
    });
  });
  return converted(kHistc, result, self.dtype());
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m, "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor");
  define_out(m, "histc", "out", Form::WithFormula);
}

OPYARD_KERNELS(m) { m.impl("histc", &histc); }

}  // namespace opyard::kernels
