// kernels/creation/random.cpp: rand, randn, randint, randperm and their like, bernoulli, dropout.
//
// See random.h [Stream]. Generators of other libraries are refused.
#include "creation/random.h"

#include <opyard/value/generator.h>
#include <pthread.h>

#include <cmath>
#include <mutex>
#include <numeric>
#include <random>

#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"
#include "common/symbolic_results.h"

namespace opyard::kernels {

namespace {

// SplitMix64's last steps: words that differ in a bit give words that differ in half of them.
std::uint64_t mixed(std::uint64_t word) {
  word += 0x9E3779B97F4A7C15;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

struct Stream {
  std::mutex mutex;  // no user code runs under it
  std::uint64_t seed = 0, next = 0;
  std::uint64_t children = 0;  // of this process since it was seeded
  bool seeded = false;
};
Stream& stream();

// See random.h [Children].
void before_fork() {
  stream().mutex.lock();
  ++stream().children;
}
void after_fork() { stream().mutex.unlock(); }
void in_child() {
  Stream& s = stream();
  s.seed = mixed(s.seed ^ mixed(s.children));
  s.next = s.children = 0;
  s.mutex.unlock();
}

Stream& stream() {
  static Stream& one = *[] {
    pthread_atfork(&before_fork, &after_fork, &in_child);
    return new Stream;  // never ends: threads may draw at exit
  }();
  return one;
}

}  // namespace

void seed_random_numbers(std::uint64_t seed) {
  Stream& s = stream();
  const std::lock_guard lock(s.mutex);
  s.seed = seed;
  s.next = s.children = 0;
  s.seeded = true;
}

RandomNumbers::RandomNumbers(std::int64_t count) {
  Stream& s = stream();
  const std::lock_guard lock(s.mutex);
  if (!s.seeded) {
    std::random_device device;
    s.seed = std::uint64_t(device()) << 32 | device();
    s.seeded = true;
  }
  seed_ = s.seed;
  first_ = s.next;
  s.next += std::uint64_t(count);
}

std::array<std::uint32_t, 4> RandomNumbers::bits(std::int64_t i) const {
  const std::uint64_t at = first_ + std::uint64_t(i);
  std::array<std::uint32_t, 4> x = {std::uint32_t(at), std::uint32_t(at >> 32), 0, 0};
  auto low = std::uint32_t(seed_), high = std::uint32_t(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * x[0], b = std::uint64_t{0xCD9E8D57} * x[2];
    x = {std::uint32_t(b >> 32) ^ x[1] ^ low, std::uint32_t(b),
         std::uint32_t(a >> 32) ^ x[3] ^ high, std::uint32_t(a)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return x;
}

namespace {

using MaybeGenerator = std::optional<CountedPtr<Generator>>;

Tensor made(const char* op, IntSpan size, DType dtype, MaybeLayout layout, MaybeDevice device,
            MaybeBool pin_memory) {
  require_sizes(op, size);
  require_plain(op, layout, pin_memory);
  const Device at = device.value_or(Device{});
  if (!at.is_cpu() && at.backend != Backend::Meta) {
    refuse(ErrorKind::Unsupported,
           {op, ": device is ", to_string(at), "; this kernel accepts cpu and meta"});
  }
  return Tensor::empty(size, dtype, at);
}

// Writes a float tensor element by element: fill(numbers, i) gives a double or float.
template <typename Of>
Tensor filled(const char* op, Tensor result, const Of& of) {
  require_floats(op, "self", result);
  if (is_meta(result)) return result;
  const DType dtype = result.dtype(), carrier = carrier_of(dtype);
  if (carrier != dtype) result = Tensor::empty(result.sizes(), carrier);
  const RandomNumbers numbers(result.numel());
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

Tensor rand(IntSpan size, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
            MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::rand";
  const DType wanted = dtype.value_or(kDefaultFloat);
  return filled(kOp, made(kOp, size, wanted, layout, device, pin_memory), Uniform(wanted));
}
Tensor randn(IntSpan size, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
             MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::randn";
  return filled(kOp, made(kOp, size, dtype.value_or(kDefaultFloat), layout, device, pin_memory),
                Normal());
}
Tensor randint_low(std::int64_t low, std::int64_t high, IntSpan size, MaybeDType dtype,
                   MaybeLayout layout, MaybeDevice device, MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::randint.low";
  if (low >= high) {
    refuse(ErrorKind::BadValue,
           {kOp, ": low is ", low, " and high is ", high, "; low must be the smaller one"});
  }
  const Tensor whole = made(kOp, size, DType::Int64, layout, device, pin_memory);
  if (!is_meta(whole)) {
    const RandomNumbers numbers(whole.numel());
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
Tensor randint(std::int64_t high, IntSpan size, MaybeDType dtype, MaybeLayout layout,
               MaybeDevice device, MaybeBool pin_memory) {
  return randint_low(0, high, size, dtype, layout, device, pin_memory);
}
Tensor randperm(std::int64_t n, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                MaybeBool pin_memory) {
  const std::array sizes = {n};
  const Tensor order = made("aten::randperm", sizes, DType::Int64, layout, device, pin_memory);
  if (!is_meta(order)) {
    const RandomNumbers numbers(n);
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
Tensor symbolic_noise(const char* op, const Tensor& self, MaybeDType dtype) {
  const Tensor result = symbolic_like(op, self, dtype.value_or(self.dtype()));
  require_floats(op, "self", result);
  return result;
}
Tensor rand_like(const Tensor& self, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                 MaybeBool pin_memory, MaybeFormat memory_format) {
  require_defined("aten::rand_like", "self", self);
  require_row_major("aten::rand_like", memory_format);
  if (has_symbolic_sizes(self)) return symbolic_noise("aten::rand_like", self, dtype);
  return rand(self.sizes(), dtype.value_or(self.dtype()), layout, device.value_or(self.device()),
              pin_memory);
}
Tensor randn_like(const Tensor& self, MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                  MaybeBool pin_memory, MaybeFormat memory_format) {
  require_defined("aten::randn_like", "self", self);
  require_row_major("aten::randn_like", memory_format);
  if (has_symbolic_sizes(self)) return symbolic_noise("aten::randn_like", self, dtype);
  return randn(self.sizes(), dtype.value_or(self.dtype()), layout, device.value_or(self.device()),
               pin_memory);
}

void require_own(const char* op, const MaybeGenerator& generator) {
  if (generator) {
    refuse(ErrorKind::Unsupported,
           {op, ": generator is given, and numbers come from the process's own; pass None"});
  }
}
void require_chance(const char* op, double p) {
  if (!(p >= 0 && p <= 1)) {
    refuse(ErrorKind::BadValue, {op, ": p is ", p, "; accepted are 0 to 1"});
  }
}
using namespace ops;

Tensor noise_of(const Tensor& self, DType dtype) {
  if (has_symbolic_sizes(self)) return symbolic_noise("aten::rand_like", self, dtype);
  return rand(self.sizes(), dtype, std::nullopt, self.device(), std::nullopt);
}
// Between 0 and 1, to be compared with a chance: a half has too few numbers for that.
Tensor noise_like(const Tensor& self) {
  const DType own = self.dtype();
  return noise_of(self, is_floating_point(own) ? carrier_of(own) : kDefaultFloat);
}
Tensor bernoulli_of(const Tensor& self, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::bernoulli";
  require_defined(kOp, "self", self);
  require_own(kOp, generator);
  return to(detach(self) - noise_like(self) > 0, self.dtype());
}
Tensor bernoulli_p(const Tensor& self, double p, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::bernoulli.p";
  require_defined(kOp, "self", self);
  require_own(kOp, generator);
  require_chance(kOp, p);
  return to(noise_like(self) < p, self.dtype());
}
Tensor& bernoulli_in_place(Tensor& self, double p, const MaybeGenerator& generator) {
  copy_into(self, bernoulli_p(self, p, generator));
  return self;
}
Tensor& uniform_in_place(Tensor& self, double from, double to, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::uniform_";
  require_defined(kOp, "self", self);
  require_own(kOp, generator);
  if (!(from <= to)) {
    refuse(ErrorKind::BadValue,
           {kOp, ": from is ", from, " and to is ", to, "; from must not be the larger one"});
  }
  const DType own = self.dtype();
  const Tensor noise = noise_of(self, is_floating_point(own) ? own : kDefaultFloat);
  copy_into(self, noise * (to - from) + from);
  return self;
}
Tensor& normal_in_place(Tensor& self, double mean, double std, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::normal_";
  require_defined(kOp, "self", self);
  require_own(kOp, generator);
  if (!(std >= 0)) refuse(ErrorKind::BadValue, {kOp, ": std is ", std, "; 0 or more is needed"});
  const DType dtype = carrier_of(self.dtype());
  const Tensor noise = randn(self.sizes(), dtype, std::nullopt, self.device(), std::nullopt);
  copy_into(self, noise * std + mean);
  return self;
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, MaybeBool train) {
  constexpr const char* kOp = "aten::native_dropout";
  require_defined(kOp, "input", input);
  require_chance(kOp, p);
  if (train && !*train) return {clone(input), full(input, input.sizes(), true, DType::Bool)};
  const Tensor mask = noise_like(input) >= p;
  return {input * to(mask, input.dtype()) * (p == 1 ? 0 : 1 / (1 - p)), mask};
}
Tensor native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale) {
  return grad_output * to(mask, grad_output.dtype()) * scale;
}
Tensor dropout(const Tensor& input, double p, bool train) {
  constexpr const char* kOp = "aten::dropout";
  require_defined(kOp, "input", input);
  require_chance(kOp, p);
  return train && p > 0 ? std::get<0>(native_dropout(input, p, true)) : input;
}
Tensor& dropout_in_place(Tensor& self, double p, bool train) {
  const Tensor result = dropout(clone(self), p, train);
  if (train && p > 0) copy_into(self, result);
  return self;
}

}  // namespace

#define OPYARD_OPTIONS "Layout? layout=None, Device? device=None, bool? pin_memory=None"

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("seed_random_numbers(int seed) -> ()",
        [](std::int64_t seed) { seed_random_numbers(std::uint64_t(seed)); });
}

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(
      m,
      {"rand(SymInt[] size, *, ScalarType? dtype=None, " OPYARD_OPTIONS ") -> Tensor",
       "randn(SymInt[] size, *, ScalarType? dtype=None, " OPYARD_OPTIONS ") -> Tensor",
       "randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, " OPYARD_OPTIONS ") -> Tensor",
       "randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, " OPYARD_OPTIONS
       ") -> Tensor",
       "randperm(SymInt n, *, ScalarType? dtype=4, " OPYARD_OPTIONS ") -> Tensor",
       "rand_like(Tensor self, *, ScalarType? dtype=None, " OPYARD_OPTIONS
       ", MemoryFormat? memory_format=None) -> Tensor",
       "randn_like(Tensor self, *, ScalarType? dtype=None, " OPYARD_OPTIONS
       ", MemoryFormat? memory_format=None) -> Tensor",
       "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
       "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
       "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> "
       "Tensor(a!)",
       "uniform_(Tensor(a!) self, float from=0.0, float to=1.0, *, Generator? generator=None) "
       "-> Tensor(a!)",
       "normal_(Tensor(a!) self, float mean=0.0, float std=1.0, *, Generator? generator=None) "
       "-> Tensor(a!)",
       "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
       "dropout(Tensor input, float p, bool train) -> Tensor",
       "dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)"},
      Tagged::Random);
  define(m, "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor");
  m.impl("rand", &rand);
  m.impl("randn", &randn);
  m.impl("randint", &randint);
  m.impl("randint.low", &randint_low);
  m.impl("randperm", &randperm);
  m.impl("rand_like", &rand_like);
  m.impl("randn_like", &randn_like);
  m.impl("bernoulli", &bernoulli_of);
  m.impl("bernoulli.p", &bernoulli_p);
  m.impl("bernoulli_.float", &bernoulli_in_place);
  m.impl("uniform_", &uniform_in_place);
  m.impl("normal_", &normal_in_place);
  m.impl("native_dropout", &native_dropout);
  m.impl("native_dropout_backward", &native_dropout_backward);
  m.impl("dropout", &dropout);
  m.impl("dropout_", &dropout_in_place);
}
#undef OPYARD_OPTIONS

}  // namespace opyard::kernels
