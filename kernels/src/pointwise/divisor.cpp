// kernels/pointwise/divisor.cpp: search for zero divisors.
#include "pointwise/divisor.h"

#include "common/copy.h"
#include "common/walk.h"

namespace opyard::kernels {
namespace {

void find_zero_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                    const void* context) {
  const std::byte* at = data[0];
  bool found = false;
  for (std::int64_t i = 0; i < count; ++i, at += steps[0]) {
    found = found || *reinterpret_cast<const std::int64_t*>(at) == 0;
  }
  if (found) **static_cast<bool* const*>(context) = true;
}

bool has_zero(const char* op, const Tensor& given, DType dtype) {
  if (is_meta(given)) return false;
  const Tensor divisor = converted(op, converted(op, given, dtype), DType::Int64);
  bool found = false;
  bool* const out = &found;
  Walk walk(divisor.sizes());
  walk.add(divisor);
  walk.run(&find_zero_loop, &out);
  return found;
}
bool has_zero(const char*, const Scalar& divisor, DType) { return !divisor.to_bool(); }

template <typename Divisor>
void require(const Elementwise& call, const Divisor& divisor, DType dtype) {
  if (is_floating_point(dtype) || !has_zero(call.op(), divisor, dtype)) return;
  if (count_elements(call.sizes()) == 0) return;
  refuse(ErrorKind::BadValue,
         {call.op(),
          ": other contains a zero, by which integers cannot be divided; convert self "
          "to a float dtype for inf and nan"});
}

}  // namespace

void require_divisor(const Elementwise& call, const Tensor& divisor, DType dtype) {
  require(call, divisor, dtype);
}
void require_divisor(const Elementwise& call, const Scalar& divisor, DType dtype) {
  require(call, divisor, dtype);
}

}  // namespace opyard::kernels
