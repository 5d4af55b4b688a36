// kernels/creation/random.cpp: rand, randn, randint, randperm and their like, from a generator or from
// that of the process.
#include "creation/random.h"

#include <numeric>

#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "common/symbolic_results.h"

namespace opyard::kernels {

Tensor empty_for(const char* op, IntSpan size, DType dtype, MaybeLayout layout, MaybeDevice device,
                 MaybeBool pin_memory) {
  require_sizes_of(op, "size", size, dtype);
  require_plain(op, layout, pin_memory);
  const Device at = device.value_or(Device{});
  if (!at.is_cpu() && at.backend != Backend::Meta) {
    refuse(ErrorKind::Unsupported,
           {op, ": device is ", to_string(at), "; this kernel accepts cpu and meta"});
  }
  return Tensor::empty(size, dtype, at);
}

namespace {

// Writes a float tensor element by element: of(numbers, i, T()) gives a double or float.
template <typename Of>
Tensor filled_with_random(const char* op, Tensor result, const MaybeGenerator& generator,
                          const Of& of) {
  require_floats(op, "self", result);
  if (is_meta(result)) return result;
  const DType dtype = result.dtype(), carrier = carrier_of(dtype);
  if (carrier != dtype) result = Tensor::empty(result.sizes(), carrier);
  const RandomNumbers numbers(op, result.numel(), generator);
  visit_floats(result, [&](auto sample) {
    using T = decltype(sample);
    T* const out = elements_of<T>(result);
    const std::int64_t count = result.numel();
    without_gil_for(count, [&] {
      for (std::int64_t i = 0; i < count; ++i) out[i] = of(numbers, i, T());
    });
  });
  return converted(op, result, dtype);
}
// From 0 on and below 1. The numbers of a half are multiples of one that it holds exactly, since
// rounding could give 1.
struct Uniform {
  float multiples;  // 0 for all floats that are drawn

  explicit Uniform(DType dtype)
      : multiples(dtype == DType::Half       ? 0x1p11F
                  : dtype == DType::BFloat16 ? 0x1p8F
                                             : 0) {}
  float operator()(const RandomNumbers& numbers, std::int64_t i, float) const {
    const float drawn = numbers.uniform_float(i);
    return multiples == 0 ? drawn : std::floor(drawn * multiples) / multiples;
  }
  double operator()(const RandomNumbers& numbers, std::int64_t i, double) const {
    return numbers.uniform(i);
  }
};
struct Normal {
  template <typename T>
  T operator()(const RandomNumbers& numbers, std::int64_t i, T) const {
    return T(numbers.normal(i));
  }
};

}  // namespace

Tensor with_uniform(const char* op, Tensor result, const MaybeGenerator& generator) {
  const Uniform uniform(result.dtype());
  return filled_with_random(op, std::move(result), generator, uniform);
}
Tensor with_normal(const char* op, Tensor result, const MaybeGenerator& generator) {
  return filled_with_random(op, std::move(result), generator, Normal());
}
Tensor uniform_like(const char* op, const Tensor& self, DType dtype,
                    const MaybeGenerator& generator) {
  if (!has_symbolic_sizes(self)) {
    return with_uniform(op, Tensor::empty(self.sizes(), dtype, self.device()), generator);
  }
  const Tensor result = symbolic_like(op, self, dtype);
  require_floats(op, "self", result);
  return result;
}

namespace {

constexpr MaybeGenerator kOfProcess;

// Complex numbers as their parts, which `fill` makes: of a variance of one half each if
// `is_halved`.
template <typename Fill>
Tensor drawn(const char* op, Fill fill, Tensor result, const MaybeGenerator& generator,
             bool is_halved) {
  if (!is_complex(result.dtype())) return fill(op, std::move(result), generator);
  DimVector sizes(result.sizes());
  sizes.push_back(2);
  const bool is_double = result.dtype() == DType::ComplexDouble;
  const DType part = is_double ? DType::Float64 : DType::Float32;
  const Tensor parts = fill(op, Tensor::empty(sizes, part, result.device()), generator);
  if (is_meta(parts)) return result;
  const std::int64_t count = parts.numel();
  const double scale = is_halved ? 0.70710678118654752440 : 1;
  if (is_double) {
    auto* const to = reinterpret_cast<double*>(bytes_of(result));
    const double* const from = elements_of<double>(parts);
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * scale;
  } else {
    auto* const to = reinterpret_cast<float*>(bytes_of(result));
    const float* const from = elements_of<float>(parts);
    for (std::int64_t i = 0; i < count; ++i) to[i] = float(double(from[i]) * scale);
  }
  return result;
}

Tensor rand_from(IntSpan size, const MaybeGenerator& generator, MaybeDType dtype,
                 MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::rand";
  const DType wanted = dtype.value_or(kDefaultFloat);
  return drawn(kOp, &with_uniform, empty_for(kOp, size, wanted, layout, device, pin_memory),
               generator, false);
}
Tensor rand(IntSpan size, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
            MaybeBool pin_memory) {
  return rand_from(size, kOfProcess, dtype, layout, device, pin_memory);
}
Tensor randn_from(IntSpan size, const MaybeGenerator& generator, MaybeDType dtype,
                  MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::randn";
  const DType wanted = dtype.value_or(kDefaultFloat);
  return drawn(kOp, &with_normal, empty_for(kOp, size, wanted, layout, device, pin_memory),
               generator, true);
}
Tensor randn(IntSpan size, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
             MaybeBool pin_memory) {
  return randn_from(size, kOfProcess, dtype, layout, device, pin_memory);
}

Tensor randint_low_from(std::int64_t low, std::int64_t high, IntSpan size,
                        const MaybeGenerator& generator, MaybeDType dtype, MaybeLayout layout,
                        MaybeDevice device, MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::randint.low";
  if (low >= high) {
    refuse(ErrorKind::BadValue,
           {kOp, ": low is ", low, " and high is ", high, "; low must be the smaller one"});
  }
  const Tensor whole = empty_for(kOp, size, DType::Int64, layout, device, pin_memory);
  if (!is_meta(whole)) {
    const RandomNumbers numbers(kOp, whole.numel(), generator);
    auto* const out = elements_of<std::int64_t>(whole);
    const std::uint64_t range = std::uint64_t(high) - std::uint64_t(low);
    const std::int64_t count = whole.numel();
    without_gil_for(count, [&] {
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = std::int64_t(std::uint64_t(low) + numbers.below(i, range));
      }
    });
  }
  return ops::to(whole, dtype.value_or(DType::Int64));
}
Tensor randint_low(std::int64_t low, std::int64_t high, IntSpan size, MaybeDType dtype,
                   MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  return randint_low_from(low, high, size, kOfProcess, dtype, layout, device, pin_memory);
}
Tensor randint_from(std::int64_t high, IntSpan size, const MaybeGenerator& generator,
                    MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                    MaybeBool pin_memory) {
  return randint_low_from(0, high, size, generator, dtype, layout, device, pin_memory);
}
Tensor randint(std::int64_t high, IntSpan size, MaybeDType dtype, MaybeLayout layout,
               MaybeDevice device, MaybeBool pin_memory) {
  return randint_low_from(0, high, size, kOfProcess, dtype, layout, device, pin_memory);
}

Tensor randperm_from(std::int64_t n, const MaybeGenerator& generator, MaybeDType dtype,
                     MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::randperm";
  const std::array sizes = {n};
  const Tensor order = empty_for(kOp, sizes, DType::Int64, layout, device, pin_memory);
  if (!is_meta(order)) {
    const RandomNumbers numbers(kOp, n, generator);
    auto* const out = elements_of<std::int64_t>(order);
    without_gil_for(n, [&] {
      std::iota(out, out + n, std::int64_t{0});
      for (std::int64_t i = n; i > 1; --i) {
        std::swap(out[i - 1], out[numbers.below(i - 1, std::uint64_t(i))]);
      }
    });
  }
  return ops::to(order, dtype.value_or(DType::Int64));
}
Tensor randperm(std::int64_t n, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                MaybeBool pin_memory) {
  return randperm_from(n, kOfProcess, dtype, layout, device, pin_memory);
}

// rand_like and randn_like: `fill` is with_uniform or with_normal, which is halved.
template <typename Fill>
Tensor noise_like(const char* op, Fill fill, bool is_halved, const Tensor& self,
                  const MaybeGenerator& generator, MaybeDType dtype, MaybeLayout layout,
                  MaybeDevice device, MaybeBool pin_memory, MaybeFormat memory_format) {
  require_defined(op, "self", self);
  require_row_major(op, memory_format);
  const DType wanted = dtype.value_or(self.dtype());
  if (has_symbolic_sizes(self)) return uniform_like(op, self, wanted, generator);
  return drawn(
      op, fill,
      empty_for(op, self.sizes(), wanted, layout, device.value_or(self.device()), pin_memory),
      generator, is_halved);
}
Tensor rand_like_from(const Tensor& self, const MaybeGenerator& generator, MaybeDType dtype,
                      MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory,
                      MaybeFormat memory_format) {
  return noise_like("aten::rand_like", &with_uniform, false, self, generator, dtype, layout, device,
                    pin_memory, memory_format);
}
Tensor rand_like(const Tensor& self, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                 MaybeBool pin_memory, MaybeFormat memory_format) {
  return rand_like_from(self, kOfProcess, dtype, layout, device, pin_memory, memory_format);
}
Tensor randn_like_from(const Tensor& self, const MaybeGenerator& generator, MaybeDType dtype,
                       MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory,
                       MaybeFormat memory_format) {
  return noise_like("aten::randn_like", &with_normal, true, self, generator, dtype, layout, device,
                    pin_memory, memory_format);
}
Tensor randn_like(const Tensor& self, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                  MaybeBool pin_memory, MaybeFormat memory_format) {
  return randn_like_from(self, kOfProcess, dtype, layout, device, pin_memory, memory_format);
}

}  // namespace

#define OPYARD_OPTIONS "Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define OPYARD_LIKE \
  "ScalarType? dtype=None, " OPYARD_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor"

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(
      m,
      {"rand(SymInt[] size, *, ScalarType? dtype=None, " OPYARD_OPTIONS ") -> Tensor",
       "rand.generator(SymInt[] size, *, Generator? generator, ScalarType? "
       "dtype=None, " OPYARD_OPTIONS ") -> Tensor",
       "randn(SymInt[] size, *, ScalarType? dtype=None, " OPYARD_OPTIONS ") -> Tensor",
       "randn.generator(SymInt[] size, *, Generator? generator, ScalarType? "
       "dtype=None, " OPYARD_OPTIONS ") -> Tensor",
       "randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, " OPYARD_OPTIONS ") -> Tensor",
       "randint.generator(SymInt high, SymInt[] size, *, Generator? generator, "
       "ScalarType? dtype=4, " OPYARD_OPTIONS ") -> Tensor",
       "randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, " OPYARD_OPTIONS
       ") -> Tensor",
       "randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, "
       "ScalarType? dtype=4, " OPYARD_OPTIONS ") -> Tensor",
       "randperm(SymInt n, *, ScalarType? dtype=4, " OPYARD_OPTIONS ") -> Tensor",
       "randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, " OPYARD_OPTIONS
       ") -> Tensor",
       "rand_like(Tensor self, *, " OPYARD_LIKE,
       "rand_like.generator(Tensor self, *, Generator? generator, " OPYARD_LIKE,
       "randn_like(Tensor self, *, " OPYARD_LIKE,
       "randn_like.generator(Tensor self, *, Generator? generator, " OPYARD_LIKE},
      Tagged::Random);
  for (const char* name :
       {"rand_like", "rand_like.generator", "randn_like", "randn_like.generator"}) {
    m.derivative(name, {{"self", "None"}});
  }
}
#undef OPYARD_LIKE
#undef OPYARD_OPTIONS

// Not what a composition is made of: modes and handlers see the operator that draws.
OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("rand", &rand);
  m.impl("rand.generator", &rand_from);
  m.impl("randn", &randn);
  m.impl("randn.generator", &randn_from);
  m.impl("randint", &randint);
  m.impl("randint.generator", &randint_from);
  m.impl("randint.low", &randint_low);
  m.impl("randint.low_generator", &randint_low_from);
  m.impl("randperm", &randperm);
  m.impl("randperm.generator", &randperm_from);
  m.impl("rand_like", &rand_like);
  m.impl("rand_like.generator", &rand_like_from);
  m.impl("randn_like", &randn_like);
  m.impl("randn_like.generator", &randn_like_from);
}

}  // namespace opyard::kernels
