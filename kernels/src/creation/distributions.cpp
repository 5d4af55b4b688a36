// kernels/creation/distributions.cpp: numbers of one distribution or another, and what is dropped by
// chance: bernoulli, uniform_, normal, exponential_, random_, multinomial, dropout.
#include <algorithm>
#include <limits>
#include <numeric>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/define.h"
#include "common/dtypes.h"
#include "common/kernels_block.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"
#include "common/releasing.h"
#include "common/write.h"
#include "creation/random.h"

namespace opyard::kernels {
namespace {

using namespace ops;

void require_chance(const char* op, double p) {
  if (!(p >= 0 && p <= 1)) {
    refuse(ErrorKind::BadValue, {op, ": p is ", p, "; accepted are 0 to 1"});
  }
}

// Between 0 and 1, to be compared with a chance: a half has too few numbers for that.
Tensor chances_like(const char* op, const Tensor& self, const MaybeGenerator& generator) {
  const DType own = self.dtype();
  const DType drawn = is_floating_point(own) ? carrier_of(own) : kDefaultFloat;
  return uniform_like(op, self, drawn, generator);
}

Tensor bernoulli_of(const Tensor& self, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::bernoulli";
  require_defined(kOp, "self", self);
  return to(detach(self) - chances_like(kOp, self, generator) > 0, self.dtype());
}
Tensor bernoulli_p(const Tensor& self, double p, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::bernoulli.p";
  require_defined(kOp, "self", self);
  require_chance(kOp, p);
  return to(chances_like(kOp, self, generator) < p, self.dtype());
}
Tensor& bernoulli_in_place(Tensor& self, double p, const MaybeGenerator& generator) {
  copy_into(self, bernoulli_p(self, p, generator));
  return self;
}

Tensor& uniform_in_place(Tensor& self, double from, double to, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::uniform_";
  require_defined(kOp, "self", self);
  if (!(from <= to)) {
    refuse(ErrorKind::BadValue,
           {kOp, ": from is ", from, " and to is ", to, "; from must not be the larger one"});
  }
  const DType own = self.dtype();
  const Tensor noise =
      uniform_like(kOp, self, is_floating_point(own) ? own : kDefaultFloat, generator);
  copy_into(self, noise * (to - from) + from);
  return self;
}

Tensor normal_noise(const char* op, IntSpan sizes, const Tensor& like,
                    const MaybeGenerator& generator) {
  require_floats(op, "self", like);
  return with_normal(op, Tensor::empty(sizes, carrier_of(like.dtype()), like.device()), generator);
}
void require_deviation(const char* op, double std) {
  if (!(std >= 0)) refuse(ErrorKind::BadValue, {op, ": std is ", std, "; 0 or more is needed"});
}
void require_deviations(const char* op, const Tensor& std) {
  require_defined(op, "std", std);
  require_floats(op, "std", std);
  if (is_meta(std)) return;
  const Tensor plain = to(contiguous(detach(std)), DType::Float64);
  const double* const each = elements_of<double>(plain);
  const double* const bad =
      std::find_if_not(each, each + plain.numel(), [](double given) { return given >= 0; });
  if (bad != each + plain.numel()) {
    refuse(ErrorKind::BadValue, {op, ": std is ", std, " with ", *bad, " at element ", bad - each,
                                 "; each must be 0 or more"});
  }
}
Tensor& normal_in_place(Tensor& self, double mean, double std, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::normal_";
  require_defined(kOp, "self", self);
  require_deviation(kOp, std);
  copy_into(self, normal_noise(kOp, self.sizes(), self, generator) * std + mean);
  return self;
}
Tensor normal_means(const Tensor& mean, double std, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::normal.Tensor_float";
  require_defined(kOp, "mean", mean);
  require_deviation(kOp, std);
  return to(normal_noise(kOp, mean.sizes(), mean, generator) * std + detach(mean), mean.dtype());
}
Tensor normal_deviations(double mean, const Tensor& std, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::normal.float_Tensor";
  require_deviations(kOp, std);
  return to(normal_noise(kOp, std.sizes(), std, generator) * detach(std) + mean, std.dtype());
}
Tensor normal_both(const Tensor& mean, const Tensor& std, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::normal.Tensor_Tensor";
  require_defined(kOp, "mean", mean);
  require_deviations(kOp, std);
  require_broadcast(kOp, {{"mean", mean}, {"std", std}});
  const Tensor both = detach(mean) + detach(std);  // for its sizes
  return to(normal_noise(kOp, both.sizes(), mean, generator) * detach(std) + detach(mean),
            mean.dtype());
}
Tensor normal_numbers(double mean, double std, IntSpan size, const MaybeGenerator& generator,
                      MaybeDType dtype, MaybeLayout layout, MaybeDevice device,
                      MaybeBool pin_memory) {
  constexpr const char* kOp = "aten::normal.float_float";
  require_deviation(kOp, std);
  const DType wanted = dtype.value_or(kDefaultFloat);
  return with_normal(kOp, empty_for(kOp, size, wanted, layout, device, pin_memory), generator) *
             std +
         mean;
}

Tensor& exponential_in_place(Tensor& self, double lambd, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::exponential_";
  require_writable(kOp, "self", self);
  require_floats(kOp, "self", self);
  if (!(lambd > 0)) {
    refuse(ErrorKind::BadValue, {kOp, ": lambd is ", lambd, "; a number above 0 is needed"});
  }
  if (is_meta(self)) return self;
  const Tensor drawn = Tensor::empty(self.sizes(), DType::Float64);
  const RandomNumbers numbers(kOp, drawn.numel(), generator);
  double* const out = elements_of<double>(drawn);
  const std::int64_t count = drawn.numel();
  without_gil_for(count, [&] {
    for (std::int64_t i = 0; i < count; ++i) out[i] = numbers.exponential(i) / lambd;
  });
  copy_into(self, to(drawn, self.dtype()));
  return self;
}

// The whole numbers that a dtype holds exactly, from 0 on: as many as random_() draws from.
std::int64_t last_whole(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 1;
    case DType::Half:
      return 1 << 11;
    case DType::BFloat16:
      return 1 << 8;
    case DType::Float32:
      return 1 << 24;
    case DType::Float64:
      return std::int64_t{1} << 53;
    case DType::UInt8:
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
    case DType::ComplexFloat:
    case DType::ComplexDouble:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
      break;
  }
  const int bits = 8 * int(item_size(dtype)) - (is_unsigned(dtype) ? 0 : 1);
  return bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
}
// From `low` on, `range` numbers; a `range` of 0 means 2^64.
Tensor& random_whole(const char* op, Tensor& self, std::int64_t low, std::uint64_t range,
                     const MaybeGenerator& generator) {
  require_writable(op, "self", self);
  if (is_meta(self)) return self;
  const Tensor drawn = Tensor::empty(self.sizes(), DType::Int64);
  const RandomNumbers numbers(op, drawn.numel(), generator);
  auto* const out = elements_of<std::int64_t>(drawn);
  const std::int64_t count = drawn.numel();
  without_gil_for(count, [&] {
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = std::int64_t(std::uint64_t(low) + numbers.below(i, range));
    }
  });
  copy_into(self, to(drawn, self.dtype()));
  return self;
}
Tensor& random_in_place(Tensor& self, const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::random_";
  require_ordered(kOp, "self", self);
  return random_whole(kOp, self, 0, std::uint64_t(last_whole(self.dtype())) + 1, generator);
}
Tensor& random_from_in_place(Tensor& self, std::int64_t from, std::optional<std::int64_t> to,
                             const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::random_.from";
  require_ordered(kOp, "self", self);
  const std::int64_t last = to ? *to - (*to > from ? 1 : 0) : last_whole(self.dtype());
  if (to ? from >= *to : from > last) {
    refuse(ErrorKind::BadValue, {kOp, ": from is ", from, " and to is ", to ? *to : last,
                                 "; from must be the smaller one"});
  }
  number_in(kOp, "from", from, self.dtype());
  number_in(kOp, "to - 1", last, self.dtype());
  const std::uint64_t range = std::uint64_t(last) - std::uint64_t(from) + 1;
  return random_whole(kOp, self, from, range, generator);
}
Tensor& random_to_in_place(Tensor& self, std::int64_t to, const MaybeGenerator& generator) {
  return named("aten::random_.to", "aten::random_.from",
               [&]() -> Tensor& { return random_from_in_place(self, 0, to, generator); });
}

// One row of weights: the places of `drawn` samples of it.
struct SampleWeights {
  const double* row;
  std::int64_t count;
};
// Raises BadValue for a weight below 0, infinite or NaN, and for too few above 0.
double require_category_weights(const char* op, SampleWeights weights, std::int64_t wanted,
                                bool replacement) {
  double sum = 0;
  std::int64_t positive = 0;
  for (std::int64_t i = 0; i < weights.count; ++i) {
    const double weight = weights.row[i];
    if (!(weight >= 0 && weight <= std::numeric_limits<double>::max())) {
      refuse(ErrorKind::BadValue,
             {op, ": self has the weight ", weight, "; accepted are numbers of 0 or more"});
    }
    sum += weight;
    positive += weight > 0 ? 1 : 0;
  }
  if (positive == 0 || (!replacement && positive < wanted)) {
    refuse(ErrorKind::BadValue,
           {op, ": a row of self has ", positive, " weights above 0 and num_samples is ", wanted,
            "; as many are needed, or one with replacement=True"});
  }
  return sum;
}
// By the place at which the sum of weights passes a number below it.
void draw_again(SampleWeights weights, double sum, const RandomNumbers& numbers, std::int64_t first,
                std::int64_t wanted, std::int64_t* out) {
  std::vector<double> sums(weights.row, weights.row + weights.count);
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  for (std::int64_t i = 0; i < wanted; ++i) {
    const double at = numbers.uniform(first + i) * sum;
    std::int64_t found = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
    while (found == weights.count || weights.row[found] == 0) --found;  // `at` was rounded up
    out[i] = found;
  }
}
// Each weight waits an exponential time that is the shorter the larger it is; the first ones win.
void draw_once(SampleWeights weights, const RandomNumbers& numbers, std::int64_t first,
               std::int64_t wanted, std::int64_t* out) {
  std::vector<std::pair<double, std::int64_t>> times;
  for (std::int64_t i = 0; i < weights.count; ++i) {
    if (weights.row[i] > 0) times.emplace_back(numbers.exponential(first + i) / weights.row[i], i);
  }
  std::partial_sort(times.begin(), times.begin() + wanted, times.end());
  for (std::int64_t i = 0; i < wanted; ++i) out[i] = times[std::size_t(i)].second;
}
Tensor multinomial(const Tensor& self, std::int64_t num_samples, bool replacement,
                   const MaybeGenerator& generator) {
  constexpr const char* kOp = "aten::multinomial";
  require_cpu(kOp, "self", self);
  require_floats(kOp, "self", self);
  const std::int64_t dims = self.dim();
  const std::int64_t count = dims == 0 ? 0 : self.sizes().back();
  if (dims < 1 || dims > 2 || num_samples <= 0 || (!replacement && num_samples > count)) {
    refuse(ErrorKind::BadShape,
           {kOp, ": self is ", self, " and num_samples is ", num_samples,
            "; accepted are weights in one row or in several, and 1 to as many samples as a row "
            "has weights, or more with replacement=True"});
  }
  DimVector sizes(self.sizes());
  sizes.back() = num_samples;
  const Tensor result = empty_beside(self, sizes, DType::Int64);
  if (is_meta(self)) return result;
  const Tensor weights = to(contiguous(detach(self)), DType::Float64);
  const std::int64_t rows = dims == 1 ? 1 : self.sizes()[0];
  const std::int64_t each = replacement ? num_samples : count;
  const double* const row = elements_of<double>(weights);
  std::vector<double> sums;
  for (std::int64_t i = 0; i < rows; ++i) {
    sums.push_back(
        require_category_weights(kOp, {row + i * count, count}, num_samples, replacement));
  }
  const RandomNumbers numbers(kOp, rows * each, generator);
  auto* const out = elements_of<std::int64_t>(result);
  for (std::int64_t i = 0; i < rows; ++i) {
    const SampleWeights own = {row + i * count, count};
    if (replacement) {
      draw_again(own, sums[std::size_t(i)], numbers, i * each, num_samples, out + i * num_samples);
    } else {
      draw_once(own, numbers, i * each, num_samples, out + i * num_samples);
    }
  }
  return result;
}

// Of what is kept, so that the mean stays.
double dropout_scale(double p, MaybeBool train) {
  if (train && !*train) return 1;
  return p == 1 ? 0 : 1 / (1 - p);
}
std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, MaybeBool train) {
  constexpr const char* kOp = "aten::native_dropout";
  require_defined(kOp, "input", input);
  require_chance(kOp, p);
  if (train && !*train) return {clone(input), full(input, input.sizes(), true, DType::Bool)};
  const Tensor mask = chances_like(kOp, input, std::nullopt) >= p;
  return {input * to(mask, input.dtype()) * dropout_scale(p, train), mask};
}
Tensor native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale) {
  require_broadcast("aten::native_dropout_backward",
                    {{"grad_output", grad_output}, {"mask", mask}});
  return grad_output * to(mask, grad_output.dtype()) * scale;
}
Tensor dropout(const Tensor& input, double p, bool train) {
  constexpr const char* kOp = "aten::dropout";
  require_defined(kOp, "input", input);
  require_chance(kOp, p);
  static constinit FoundOperator<TwoTensors(const Tensor&, double, MaybeBool)> native(
      "aten::native_dropout");
  return train && p > 0 ? std::get<0>(native.call(input, p, true)) : input;
}
Tensor& dropout_in_place(Tensor& self, double p, bool train) {
  require_chance("aten::dropout_", p);
  const Tensor result = dropout(clone(self), p, train);
  if (train && p > 0) copy_into(self, result);
  return self;
}

}  // namespace

#define OPYARD_GENERATOR "*, Generator? generator=None"

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"bernoulli(Tensor self, " OPYARD_GENERATOR ") -> Tensor",
          "bernoulli.p(Tensor self, float p, " OPYARD_GENERATOR ") -> Tensor",
          "bernoulli_.float(Tensor(a!) self, float p=0.5, " OPYARD_GENERATOR ") -> Tensor(a!)",
          "uniform_(Tensor(a!) self, float from=0.0, float to=1.0, " OPYARD_GENERATOR
          ") -> Tensor(a!)",
          "normal_(Tensor(a!) self, float mean=0.0, float std=1.0, " OPYARD_GENERATOR
          ") -> Tensor(a!)",
          "normal.Tensor_float(Tensor mean, float std=1.0, " OPYARD_GENERATOR ") -> Tensor",
          "normal.float_Tensor(float mean, Tensor std, " OPYARD_GENERATOR ") -> Tensor",
          "normal.Tensor_Tensor(Tensor mean, Tensor std, " OPYARD_GENERATOR ") -> Tensor",
          "normal.float_float(float mean, float std, SymInt[] size, " OPYARD_GENERATOR
          ", ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
          "pin_memory=None) -> Tensor",
          "exponential_(Tensor(a!) self, float lambd=1.0, " OPYARD_GENERATOR ") -> Tensor(a!)",
          "random_(Tensor(a!) self, " OPYARD_GENERATOR ") -> Tensor(a!)",
          "random_.from(Tensor(a!) self, int from, int? to, " OPYARD_GENERATOR ") -> Tensor(a!)",
          "random_.to(Tensor(a!) self, int to, " OPYARD_GENERATOR ") -> Tensor(a!)",
          "multinomial(Tensor self, SymInt num_samples, bool replacement=False, " OPYARD_GENERATOR
          ") -> Tensor",
          "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
          "dropout(Tensor input, float p, bool train) -> Tensor",
          "dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)"},
         Tagged::Random);
  define(m, "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor");
  m.impl("native_dropout_backward", &native_dropout_backward);
  m.impl("dropout", &dropout);
  m.impl("dropout_", &dropout_in_place);
  // What is drawn does not change with small changes of a tensor that is written.
  for (const char* name : {"bernoulli", "bernoulli.p", "bernoulli_.float", "uniform_", "normal_",
                           "exponential_", "random_", "random_.from", "random_.to"}) {
    m.derivative(name, {{"self", "None"}});
  }
  m.derivative("normal.Tensor_float", {{"mean", "None"}});
  m.derivative("normal.float_Tensor", {{"std", "None"}});
  m.derivative("normal.Tensor_Tensor", {{"mean", "None"}, {"std", "None"}});
  m.derivative("native_dropout",
               {{"input", "native_dropout_backward(grad0, result1, dropout_scale(p, train))"}});
}
#undef OPYARD_GENERATOR

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("dropout_scale(float p, bool? train) -> float", &dropout_scale);
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("bernoulli", &bernoulli_of);
  m.impl("bernoulli.p", &bernoulli_p);
  m.impl("bernoulli_.float", &bernoulli_in_place);
  m.impl("uniform_", &uniform_in_place);
  m.impl("normal_", &normal_in_place);
  m.impl("normal.Tensor_float", &normal_means);
  m.impl("normal.float_Tensor", &normal_deviations);
  m.impl("normal.Tensor_Tensor", &normal_both);
  m.impl("normal.float_float", &normal_numbers);
  m.impl("native_dropout", &native_dropout);
}

OPYARD_KERNELS(m) {
  m.impl("exponential_", &exponential_in_place);
  m.impl("random_", &random_in_place);
  m.impl("random_.from", &random_from_in_place);
  m.impl("random_.to", &random_to_in_place);
  m.impl("multinomial", &multinomial);
}

}  // namespace opyard::kernels
