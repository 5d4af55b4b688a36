// exported/check_inputs.cpp: input checks of a model: dtypes, sizes, ranges.
//
// [Sizes] Numbers and names are checked at once: a name has the value that the first input gives
// it. Expressions wait until all inputs are seen. One whose names are known is computed; one that
// is linear in its only unknown name gives that name its value: 2*n = 6 says that n is 3. This is
// repeated for as long as one more name becomes known.
#include <fmt/format.h>

#include "files/json.h"
#include "files/sizes.h"
#include "opyard/base/error.h"
#include "opyard/models/model.h"

namespace opyard::jit {
namespace {

// See [Sizes].
class SizeChecker {
 public:
  explicit SizeChecker(const Model& model) : model_(model) {}

  // `place` is "input %x: size 3 of dimension 0", and `input` is "input %x".
  void add(const SizeExpression& wanted, std::int64_t size, const std::string& input,
           const std::string& place) {
    if (wanted.kind == SizeExpression::Kind::Number) {
      OPYARD_CHECK(size == wanted.number, BadShape,
                   fmt::format("{}; the model was exported for {}", place, wanted.number));
    } else if (wanted.kind == SizeExpression::Kind::Name) {
      check_range(wanted.name, size, place);
      const auto [found, is_new] = values_.try_emplace(wanted.name, size);
      if (is_new) first_.emplace(wanted.name, input);
      OPYARD_CHECK(found->second == size, BadShape,
                   fmt::format("{}, and the same size of {} is {}", place, first_[wanted.name],
                               found->second));
    } else {
      waiting_.push_back({&wanted, size, place});
    }
  }

  void finish() {
    for (std::size_t before = 0; before != waiting_.size();) {
      before = waiting_.size();
      std::erase_if(waiting_, [this](const Waiting& each) { return is_checked(each); });
    }
    if (waiting_.empty()) return;
    const Waiting& each = waiting_.front();
    fail(ErrorKind::BadShape,
         fmt::format("{}; the model was exported for {}, which cannot be checked: no input says "
                     "what {} is",
                     each.place, to_string(*each.wanted), *find_unknown(*each.wanted, values_)));
  }

 private:
  struct Waiting {
    const SizeExpression* wanted;
    std::int64_t size;
    std::string place;
  };

  void check_range(const std::string& name, std::int64_t value, const std::string& place) const {
    const auto range = model_.ranges.find(name);
    if (range == model_.ranges.end()) return;
    const auto [least, most] = range->second;
    OPYARD_CHECK(least <= value && value <= most, BadShape,
                 fmt::format("{} is out of the range that the model was exported for, {} to {}",
                             place, least, most));
  }

  bool is_checked(const Waiting& each) {
    const std::string* const unknown = find_unknown(*each.wanted, values_);
    if (unknown == nullptr) {
      const std::optional<LinearSize> value = linear_size(*each.wanted, values_);
      OPYARD_CHECK(value && value->rest == each.size, BadShape,
                   fmt::format("{}; the model was exported for {}, which is {} by the other sizes",
                               each.place, to_string(*each.wanted),
                               value ? std::to_string(value->rest) : "no number"));
      return true;
    }
    const std::optional<LinearSize> linear = linear_size(*each.wanted, values_, *unknown);
    if (!linear || linear->factor == 0) return false;
    const std::string text = to_string(*each.wanted);
    std::int64_t product = 0;
    // A factor of -1 is the only one whose quotient can leave 64 bits.
    const bool fits = !__builtin_sub_overflow(each.size, linear->rest, &product) &&
                      product != INT64_MIN && product % linear->factor == 0;
    OPYARD_CHECK(fits, BadShape,
                 fmt::format("{}; the model was exported for {}, which no {} makes {}", each.place,
                             text, *unknown, each.size));
    const std::int64_t value = product / linear->factor;
    check_range(*unknown, value,
                fmt::format("{}, which is {} with {} = {},", each.place, text, *unknown, value));
    first_.emplace(*unknown, each.place);
    values_.emplace(*unknown, value);
    return true;
  }

  const Model& model_;
  SizeValues values_;
  std::map<std::string, std::string> first_;  // which input gave a name its value
  std::vector<Waiting> waiting_;
};

void check_tensor(const InputCheck& check, const opyard::Value& value, SizeChecker& sizes) {
  OPYARD_CHECK(
      value.is_tensor() && value.tensor_unchecked().defined(), BadArgument,
      fmt::format("input %{} is a tensor, and {} was given", check.name, name_of(value.kind())));
  const Tensor& tensor = value.tensor_unchecked();
  OPYARD_CHECK(tensor.dtype() == *check.dtype, BadArgument,
               fmt::format("input %{} is of dtype {}; the model was exported for {}", check.name,
                           name_of(tensor.dtype()), name_of(*check.dtype)));
  OPYARD_CHECK(tensor.sizes().size() == check.sizes.size(), BadShape,
               fmt::format("input %{} has {} dimensions; the model was exported for {}", check.name,
                           tensor.sizes().size(), check.sizes.size()));
  const std::string input = "input %" + check.name;
  for (std::size_t dim = 0; dim < check.sizes.size(); ++dim) {
    if (!check.sizes[dim]) continue;
    const std::int64_t size = tensor.sizes()[dim];
    sizes.add(*check.sizes[dim], size, input,
              fmt::format("{}: size {} of dimension {}", input, size, dim));
  }
}

// An int, which sizes may depend on.
void check_int(const InputCheck& check, const opyard::Value& value, SizeChecker& sizes) {
  OPYARD_CHECK(
      value.is_int(), BadArgument,
      fmt::format("input %{} is an int, and {} was given", check.name, name_of(value.kind())));
  const std::string input = "input %" + check.name;
  if (check.sizes[0]) {
    sizes.add(*check.sizes[0], value.to_int(), input, fmt::format("{}: {}", input, value.to_int()));
  }
}

bool is_constant(const opyard::Value& value, const std::string& json) {
  const Json wanted = parse_json(json, "a constant input");
  if (value.is_none()) return wanted.is_null();
  if (value.is_bool()) return wanted.is_boolean() && wanted.get<bool>() == value.to_bool();
  if (value.is_int())
    return wanted.is_number_integer() && wanted.get<std::int64_t>() == value.to_int();
  if (value.is_double()) return wanted.is_number() && wanted.get<double>() == value.to_double();
  return value.is_string() && wanted.is_string() &&
         wanted.get_ref<const std::string&>() == value.to_string_view();
}

}  // namespace

void check_inputs(const Model& model, std::span<const opyard::Value> inputs) {
  const std::size_t wanted = model.graph->inputs().size() - model.state.size();
  OPYARD_CHECK(inputs.size() == wanted, BadArgument,
               fmt::format("the model takes {} inputs, and {} were given", wanted, inputs.size()));
  SizeChecker sizes(model);
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const InputCheck& check = model.inputs[i];
    if (check.dtype) {
      check_tensor(check, inputs[i], sizes);
    } else if (!check.constant.empty()) {
      OPYARD_CHECK(
          is_constant(inputs[i], check.constant), BadValue,
          fmt::format("input {} was {} when the model was exported, and can be nothing else", i,
                      check.constant));
    } else if (check.sizes.size() == 1) {
      check_int(check, inputs[i], sizes);
    }
  }
  sizes.finish();
}

}  // namespace opyard::jit
