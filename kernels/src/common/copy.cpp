// kernels/common/copy.cpp: copy loops for each pair of dtypes.
//
// [Conversion] Integers wrap to the width of the target. To bool: whether it is not zero. Floats
// are cut towards zero and then wrapped; NaN and floats beyond int64 become the smallest int64
// first, so that no conversion is undefined. float16 and bfloat16 are rounded from float32, to the
// nearest. Of a complex number that becomes a real one the imaginary part is dropped, but to bool
// both parts count.
//
// [Few loops] uint16, uint32 and uint64 are stored as the integers with a sign of their width are,
// whose loops give the same bytes. They have loops of their own only to wider dtypes, and uint64
// from floats, which reach further than int64. All pairs of dtypes would make this file half as
// large again.
#include "common/copy.h"

#include <array>
#include <cstring>

#include "common/broadcast.h"
#include "common/symbolic_results.h"
#include "common/walk.h"
#include "loops/element.h"

namespace opyard::kernels {
namespace {

template <typename To, typename From>
To convert(From value) {
  if constexpr (is_half_type<From>) {
    return convert<To>(float(value));
  } else if constexpr (is_complex_type<From> && is_complex_type<To>) {
    return To(value);
  } else if constexpr (is_complex_type<From> && !std::is_same_v<To, bool>) {
    return convert<To>(value.real());
  } else if constexpr (is_complex_type<To>) {
    return To(convert<typename To::value_type>(value));
  } else if constexpr (is_half_type<To>) {
    return To(convert<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if constexpr (std::is_same_v<To, std::uint64_t>) {
      if (value >= From(0x1p63) && value < From(0x1p64)) return To(value);
    }
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
  const std::int64_t step = steps[1];
  if (steps[0] == bytes) {  // fused groups do so with what has gaps
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, from + i * step, bytes);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, to += steps[0], from += step) {
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

// See [Few loops].
template <typename From>
Loop loop_from(DType to) {
  switch (to) {
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    if constexpr (is_wide_unsigned(DType::name))    \
      break;                                        \
    else                                            \
      return &convert_loop<type, From>;
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return nullptr;
}

// From a wide unsigned dtype to one that is wider, or is no integer.
template <typename From>
Loop loop_from_unsigned(DType to) {
  switch (to) {
#define OPYARD_DTYPE(code, name, python, type, ...)                              \
  case DType::name:                                                              \
    if constexpr (is_wide_unsigned(DType::name) || DType::name == DType::Bool || \
                  (is_integral(DType::name) && sizeof(type) <= sizeof(From))) {  \
      break;                                                                     \
    } else {                                                                     \
      return &convert_loop<type, From>;                                          \
    }
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return nullptr;
}
Loop loop_to_uint64(DType from) {
  switch (from) {
#define OPYARD_DTYPE(code, name, python, type, ...)                         \
  case DType::name:                                                         \
    if constexpr (is_integral(DType::name) || DType::name == DType::Bool) { \
      break;                                                                \
    } else {                                                                \
      return &convert_loop<std::uint64_t, type>;                            \
    }
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return nullptr;
}

// Of a pair with a wide unsigned dtype; null if the dtypes with a sign have the same loop.
Loop find_unsigned_loop(DType to, DType from) {
  if (to == DType::UInt64 && !is_wide_unsigned(from)) {
    if (const Loop loop = loop_to_uint64(from)) return loop;
  }
  switch (from) {
    case DType::UInt16:
      return loop_from_unsigned<std::uint16_t>(signed_like(to));
    case DType::UInt32:
      return loop_from_unsigned<std::uint32_t>(signed_like(to));
    case DType::UInt64:
      return loop_from_unsigned<std::uint64_t>(signed_like(to));
    default:
      return nullptr;
  }
}

// See loop.h [Unsigned].
void flip_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count, const void*) {
  std::byte* to = data[0];
  const std::byte* from = data[1];
  for (std::int64_t i = 0; i < count; ++i, to += steps[0], from += steps[1]) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, sizeof(bits));
    bits ^= std::uint64_t{1} << 63;
    std::memcpy(to, &bits, sizeof(bits));
  }
}

// Whether each of its bytes is 0; -0.0 is not.
template <typename T>
bool is_all_zero(const T& value) {
  constexpr std::array<std::byte, sizeof(T)> kZero{};
  return std::memcmp(&value, kZero.data(), sizeof(T)) == 0;
}

template <typename T>
void fill_loop(std::byte* const* data, const std::int64_t* steps, std::int64_t count,
               const void* context) {
  const T value = static_cast<const Number*>(context)->as<T>();
  if (steps[0] == sizeof(T)) {
    if (is_all_zero(value)) {
      std::memset(data[0], 0, std::size_t(count) * sizeof(T));
      return;
    }
    auto* const to = reinterpret_cast<T*>(data[0]);
    for (std::int64_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  std::byte* to = data[0];
  for (std::int64_t i = 0; i < count; ++i, to += steps[0]) std::memcpy(to, &value, sizeof(T));
}

}  // namespace

Loop conversion_loop(DType to, DType from) {
  if (to == from) return move_loop_for(item_size(to));
  if (is_wide_unsigned(to) || is_wide_unsigned(from)) {
    if (const Loop loop = find_unsigned_loop(to, from)) return loop;
    return conversion_loop(signed_like(to), signed_like(from));
  }
  switch (from) {
#define OPYARD_DTYPE(code, name, python, type, ...) \
  case DType::name:                                 \
    if constexpr (is_wide_unsigned(DType::name))    \
      break;                                        \
    else                                            \
      return loop_from<type>(to);
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  }
  return nullptr;
}

Loop order_loop() { return &flip_loop; }

namespace {
// Raises BadShape for a source that does not broadcast, Unsupported for one without elements.
void require_readable(const char* op, const Tensor& written, const Tensor& source) {
  if (const SizeClash misfit = find_misfit(source.sizes(), written.sizes())) {
    refuse_misfit(op, {"the source", source}, {"what is written", written}, misfit);
  }
  if (is_meta(source) && !is_meta(written)) {
    refuse(ErrorKind::Unsupported, {op, ": ", written, " is to be written with ", source,
                                    ", which is on meta and has no elements"});
  }
}
}  // namespace

void copy_elements(const char* op, const Tensor& written, const Tensor& source) {
  if (has_symbolic_sizes(written) || has_symbolic_sizes(source)) return;  // on meta
  require_readable(op, written, source);
  if (is_meta(written)) return;
  const Loop loop = conversion_loop(written.dtype(), source.dtype());
  OPYARD_REQUIRE(loop != nullptr, Internal, op, ": no conversion from ", source.dtype(), " to ",
                 written.dtype());
  Walk walk(written.sizes());
  walk.add(written);
  walk.add(source);
  walk.run_by_many(loop);
}

Tensor row_major_copy(const char* op, const Tensor& source) {
  if (has_symbolic_sizes(source)) return symbolic_like(op, source, source.dtype());
  Tensor copy = empty_beside(source, source.sizes(), source.dtype());
  copy_elements(op, copy, source);
  return copy;
}

Tensor row_major(const char* op, const Tensor& source) {
  return !has_symbolic_sizes(source) && source.is_contiguous() ? source
                                                               : row_major_copy(op, source);
}

Tensor converted(const char* op, const Tensor& source, DType dtype) {
  if (source.dtype() == dtype) return source;
  if (has_symbolic_sizes(source)) return symbolic_like(op, source, dtype);
  Tensor copy = empty_beside(source, source.sizes(), dtype);
  copy_elements(op, copy, source);
  return copy;
}

Tensor in_order(const char* op, const Tensor& source) {
  if (source.dtype() != DType::UInt64) {
    return converted(op, source, carrier_of(source.dtype()));
  }
  if (has_symbolic_sizes(source)) return symbolic_like(op, source, DType::Int64);
  Tensor copy = empty_beside(source, source.sizes(), DType::Int64);
  if (is_meta(copy)) return copy;
  Walk walk(copy.sizes());
  walk.add(copy);
  walk.add(source);
  walk.run_by_many(&flip_loop);
  return copy;
}

Tensor from_order(const char* op, const Tensor& source, DType dtype) {
  if (dtype != DType::UInt64 || is_meta(source)) return converted(op, source, dtype);
  const Tensor copy = Tensor::empty(source.sizes(), dtype);
  Walk walk(copy.sizes());
  walk.add(copy);
  walk.add(source);
  walk.run_by_many(&flip_loop);
  return copy;
}

void fill_elements(const Tensor& written, const Number& number) {
  if (is_meta(written)) return;
  Walk walk(written.sizes());
  walk.add(written);
  switch (item_size(written.dtype())) {
    case 1:
      return walk.run_by_many(&fill_loop<std::uint8_t>, &number);
    case 2:
      return walk.run_by_many(&fill_loop<std::uint16_t>, &number);
    case 4:
      return walk.run_by_many(&fill_loop<std::uint32_t>, &number);
    case 8:
      return walk.run_by_many(&fill_loop<std::uint64_t>, &number);
    default:
      return walk.run_by_many(&fill_loop<Complex128>, &number);
  }
}

}  // namespace opyard::kernels
