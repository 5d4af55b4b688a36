// kernels/common/copy.cpp: one loop for each pair of dtypes.
//
// [Conversion] Integers wrap to the width of the target. To bool: whether it is not zero. Floats
// are cut towards zero and then wrapped; NaN and floats beyond int64 become the smallest int64
// first, so that no conversion is undefined.
#include "common/copy.h"

#include <cstring>

#include "common/walk.h"

namespace opyard::kernels {
namespace {

template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const bool fits = value >= From(-0x1p63) && value < From(0x1p63);
    return To(fits ? std::int64_t(value) : INT64_MIN);
  } else {
    return To(value);
  }
}

template <typename To, typename From>
void convert_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
                  const void*) {
  if (steps[0] == sizeof(To) && steps[1] == sizeof(From)) {
    auto* const to = reinterpret_cast<To*>(data[0]);
    const auto* const from = reinterpret_cast<const From*>(data[1]);
    OPYARD_IVDEP
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
    return;
  }
  std::byte* to = data[0];
  const std::byte* from = data[1];
  for (std::int64_t i = 0; i < count; ++i, to += steps[0], from += steps[1]) {
    *reinterpret_cast<To*>(to) = convert<To>(*reinterpret_cast<const From*>(from));
  }
}

// Elements of equal dtype are moved as so many bytes.
template <std::size_t bytes>
void move_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count, const void*) {
  std::byte* to = data[0];
  const std::byte* from = data[1];
  if (steps[0] == bytes && steps[1] == bytes) {
    std::memcpy(to, from, std::size_t(count) * bytes);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, to += steps[0], from += steps[1]) {
    std::memcpy(to, from, bytes);
  }
}

Loop move_loop_for(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return &move_loop<1>;
    case 2:
      return &move_loop<2>;
    case 4:
      return &move_loop<4>;
    case 8:
      return &move_loop<8>;
    default:
      return &move_loop<16>;
  }
}

// Bool, integers, float32 and float64 convert into each other.
template <typename To, typename From>
constexpr Loop conversion() {
  if constexpr (std::is_arithmetic_v<To> && std::is_arithmetic_v<From>) {
    return &convert_loop<To, From>;
  } else {
    return nullptr;
  }
}

template <typename From>
Loop loop_from(DType to) {
  switch (to) {
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    return conversion<type, From>();
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return nullptr;
}

Loop find_conversion(DType to, DType from) {
  switch (from) {
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    return loop_from<type>(to);
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return nullptr;
}

template <typename T>
void fill_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
               const void* context) {
  const T value = static_cast<const Number*>(context)->as<T>();
  if (steps[0] == sizeof(T)) {
    auto* const to = reinterpret_cast<T*>(data[0]);
    for (std::int64_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  std::byte* to = data[0];
  for (std::int64_t i = 0; i < count; ++i, to += steps[0]) std::memcpy(to, &value, sizeof(T));
}

}  // namespace

void copy_elements(const char* op, const Tensor& written, const Tensor& source) {
  const Loop loop = written.dtype() == source.dtype()
                        ? move_loop_for(item_size(source.dtype()))
                        : find_conversion(written.dtype(), source.dtype());
  if (loop == nullptr) {
    refuse(ErrorKind::Unsupported,
           {op, ": ", source.dtype(), " is not converted to ", written.dtype(),
            "; bool, uint8, int8, int16, int32, int64, float32 and float64 convert into each "
            "other, and every dtype is copied to itself"});
  }
  Walk walk(written.sizes());
  walk.add(written);
  walk.add(source);
  walk.run_by_many(loop);
}

Tensor row_major_copy(const char* op, const Tensor& source) {
  Tensor copy = Tensor::empty(source.sizes(), source.dtype());
  copy_elements(op, copy, source);
  return copy;
}

Tensor row_major(const char* op, const Tensor& source) {
  return source.is_contiguous() ? source : row_major_copy(op, source);
}

Tensor converted(const char* op, const Tensor& source, DType dtype) {
  if (source.dtype() == dtype) return source;
  Tensor copy = Tensor::empty(source.sizes(), dtype);
  copy_elements(op, copy, source);
  return copy;
}

void fill_elements(const Tensor& written, const Number& number) {
  Walk walk(written.sizes());
  walk.add(written);
  switch (item_size(written.dtype())) {
    case 1:
      return walk.run_by_many(&fill_loop<std::uint8_t>, &number);
    case 2:
      return walk.run_by_many(&fill_loop<std::uint16_t>, &number);
    case 4:
      return walk.run_by_many(&fill_loop<std::uint32_t>, &number);
    default:
      return walk.run_by_many(&fill_loop<std::uint64_t>, &number);
  }
}

}  // namespace opyard::kernels
