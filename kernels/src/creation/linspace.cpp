// kernels/creation/linspace.cpp: linspace: numbers at equal distances.
//
// The first half is counted from start and the second from end, so that both are there exactly; in
// float64, and cut to integers for integers.
#include <cmath>
#include <complex>

#include "common/check.h"
#include "common/dtypes.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"

namespace opyard::kernels {
namespace {

template <typename T>
void write_line(T* out, std::int64_t steps, T start, T end) {
  const T step = steps > 1 ? (end - start) / T(double(steps - 1)) : T(0);
  for (std::int64_t i = 0; i < steps; ++i) {
    out[i] = i < steps / 2 || steps == 1 ? start + step * T(double(i))
                                         : end - step * T(double(steps - 1 - i));
  }
}

}  // namespace

Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps, MaybeDType dtype,
                MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::linspace";
  require_plain(kOp, layout, pin_memory);
  const bool is_of_complex = start.is_complex() || end.is_complex();
  const DType chosen = dtype.value_or(is_of_complex ? DType::ComplexFloat : kDefaultFloat);
  if (steps < 0)
    refuse(ErrorKind::BadValue, {kOp, ": steps is ", steps, "; accepted are 0 and more"});
  if (chosen == DType::Bool || (is_of_complex && !is_complex(chosen))) {
    refuse(ErrorKind::Unsupported,
           {kOp, ": dtype is ", chosen, ", start is ", start, " and end is ", end,
            "; accepted are integers and floats, and complex numbers for complex ones"});
  }
  const DType carrier = is_complex(chosen) ? DType::ComplexDouble : DType::Float64;
  const std::array sizes = {steps};
  require_sizes_of(kOp, "the result", sizes, carrier);
  const Tensor result = Tensor::empty(sizes, carrier, device.value_or(Device{}));
  if (!is_meta(result)) {
    void* const out = result.impl()->data();
    without_gil_for(steps, [&] {
      if (is_complex(chosen)) {
        write_line(static_cast<std::complex<double>*>(out), steps, start.to_complex(),
                   end.to_complex());
      } else {
        write_line(static_cast<double*>(out), steps, start.to_double(), end.to_double());
      }
    });
  }
  return ops::to(result, chosen);
}

}  // namespace opyard::kernels
