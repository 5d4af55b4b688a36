// kernels/creation/arange.cpp: arange in its three overloads.
//
// The number of elements is counted exactly if start, end and step are integers, and as
// ceil((end - start) / step) in float64 if one is a float. Element i is start + i * step:
// computed in float64 for floats, so that no error adds up, and with the parts cut to integers for
// integers, which wrap.
#include <opyard/library.h>

#include <cmath>

#include "common/check.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/options.h"
#include "common/releasing.h"

namespace opyard::kernels {
namespace {

struct Range {
  const char* op;
  Scalar start;
  Scalar end;
  Scalar step;

  bool is_float() const {
    return start.is_floating_point() || end.is_floating_point() || step.is_floating_point();
  }
};

[[noreturn]] OPYARD_COLD void refuse_range(const Range& range, const char* why) {
  refuse(ErrorKind::BadValue, {range.op, ": start is ", range.start, ", end is ", range.end,
                               " and step is ", range.step, "; ", why});
}

void require_direction(const Range& range, bool step_is_zero, bool leads_away) {
  if (step_is_zero) refuse_range(range, "step must not be 0");
  if (leads_away) refuse_range(range, "step must lead from start towards end");
}

std::int64_t count_integers(const Range& range) {
  const std::int64_t start = range.start.to_int(), end = range.end.to_int(),
                     step = range.step.to_int();
  require_direction(range, step == 0, step > 0 ? end < start : end > start);
  // Distances between two int64 fit into uint64.
  const auto distance = step > 0 ? std::uint64_t(end) - std::uint64_t(start)
                                 : std::uint64_t(start) - std::uint64_t(end);
  const auto stride = step > 0 ? std::uint64_t(step) : std::uint64_t(0) - std::uint64_t(step);
  const std::uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
  if (count > std::uint64_t(INT64_MAX))
    refuse_range(range, "that is more elements than there can be");
  return std::int64_t(count);
}

std::int64_t count_floats(const Range& range) {
  const double start = range.start.to_double(), end = range.end.to_double(),
               step = range.step.to_double();
  if (!std::isfinite(start) || !std::isfinite(end) || !std::isfinite(step)) {
    refuse_range(range, "all three must be finite");
  }
  require_direction(range, step == 0, step > 0 ? end < start : end > start);
  const double count = std::ceil((end - start) / step);
  if (!(count < 0x1p62)) refuse_range(range, "that is more elements than there can be");
  return std::int64_t(count);
}

template <typename T>
void write_integers(T* out, std::int64_t count, std::int64_t start, std::int64_t step) {
  auto value = std::uint64_t(start);
  for (std::int64_t i = 0; i < count; ++i, value += std::uint64_t(step)) {
    out[i] = T(std::int64_t(value));
  }
}
template <typename T>
void write_floats(T* out, std::int64_t count, double start, double step) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = T(start + double(i) * step);
}

Tensor fill_range(const Range& range, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                  MaybeBool pin_memory) {
  require_plain(range.op, layout, pin_memory);
  const DType chosen = dtype.value_or(range.is_float() ? kDefaultFloat : DType::Int64);
  if (chosen == DType::Bool || is_complex(chosen)) {
    refuse(ErrorKind::Unsupported,
           {range.op, ": dtype is ", chosen, "; accepted are integers and floats"});
  }
  const DType carrier = carrier_of(chosen);
  const std::int64_t count = range.is_float() ? count_floats(range) : count_integers(range);
  const std::array<std::int64_t, 1> sizes = {count};
  Tensor result = Tensor::empty(sizes, carrier, device.value_or(Device{}));
  if (is_meta(result)) return converted(range.op, result, chosen);
  void* const out = result.impl()->data();
  without_gil_for(count, [&] {
    if (carrier == DType::Int64) {
      write_integers(static_cast<std::int64_t*>(out), count, range.start.to_int(),
                     range.step.to_int());
    } else if (carrier == DType::Float32) {
      write_floats(static_cast<float*>(out), count, range.start.to_double(),
                   range.step.to_double());
    } else {
      write_floats(static_cast<double*>(out), count, range.start.to_double(),
                   range.step.to_double());
    }
  });
  return converted(range.op, result, chosen);
}

// An int64 result of float bounds: the bounds are cut to integers first.
Tensor arange_of(Range range, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                 MaybeBool pin_memory) {
  require_real(range.op, "start", range.start);
  require_real(range.op, "end", range.end);
  require_real(range.op, "step", range.step);
  if (dtype == DType::Int64 && range.is_float()) {
    range = {range.op, range.start.to_int(), range.end.to_int(), range.step.to_int()};
  }
  return fill_range(range, dtype, layout, device, pin_memory);
}

Tensor arange_kernel(const Scalar& end, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                     MaybeBool pin_memory) {
  return arange_of({"aten::arange", 0, end, 1}, dtype, layout, device, pin_memory);
}
Tensor arange_start(const Scalar& start, const Scalar& end, MaybeDType dtype, MaybeLayout layout,
                    MaybeDevice device, MaybeBool pin_memory) {
  return arange_of({"aten::arange.start", start, end, 1}, dtype, layout, device, pin_memory);
}
Tensor arange_start_step(const Scalar& start, const Scalar& end, const Scalar& step,
                         MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                         MaybeBool pin_memory) {
  return arange_of({"aten::arange.start_step", start, end, step}, dtype, layout, device,
                   pin_memory);
}

}  // namespace

OPYARD_KERNELS(m) {
  m.impl("arange", &arange_kernel);
  m.impl("arange.start", &arange_start);
  m.impl("arange.start_step", &arange_start_step);
}

}  // namespace opyard::kernels
