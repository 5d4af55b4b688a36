// kernels/neural/embedding_bag.cpp: rows of a table by number, added up in bags.
//
// A bag is a run of `indices`: bag i begins at offsets[i] and ends where the next begins, the last
// with the indices. With include_last_offset the last offset is that end, and no bag. The bag of
// each index is given back as `offset2bag`, how many indices a bag has without padding as
// `bag_size`, and the rows that the largest numbers came from as `maximum_indices`; like PyTorch's,
// these are empty or zeros if a sum takes its short way and no gradient reads them.
//
// All but the largest numbers is a composition, gradients too, so that they have gradients.
#include <algorithm>
#include <tuple>

#include "common/broadcast.h"
#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/releasing.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

using namespace ops;

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;
enum Mode : std::int64_t { kSum, kMean, kMax };

Tensor numbers_as_int64(const Tensor& numbers) { return contiguous(to(numbers, DType::Int64)); }

Tensor add_rows(const Tensor& rows, std::int64_t count, const Tensor& places) {
  using Backward = Tensor(const Tensor&, IntSpan, std::int64_t, const Tensor&);
  static constinit FoundOperator<Backward> op("aten::index_select_backward");
  return op.call(rows, std::array{count, rows.size(1)}, 0, places);
}

// The bag of each index as int64. Raises BadValue for offsets that do not begin with 0, fall, or
// leave the indices.
Tensor bag_of_each(const char* op, const Tensor& indices, const Tensor& offsets,
                   bool last_is_end = false) {
  const std::int64_t count = indices.numel(), given = offsets.numel();
  const std::array sizes = {count};
  Tensor bags = empty_beside(indices, sizes, DType::Int64);
  if (is_meta(indices) || is_meta(offsets)) return bags;
  // What was checked must not change, which another thread may do to the argument while the GIL is
  // released.
  const Tensor begins =
      count < kReleasingElements ? numbers_as_int64(offsets) : clone(numbers_as_int64(offsets));
  const std::int64_t* begin = elements_of<std::int64_t>(begins);
  const auto refuse_offset = [&](std::int64_t place, std::string_view wanted) {
    refuse(ErrorKind::BadValue, {op, ": offsets is ", begin[place], " at [", place, "]; ", wanted});
  };
  if (given > 0 && begin[0] != 0) refuse_offset(0, "the first bag begins at 0");
  for (std::int64_t i = 1; i < given; ++i) {
    if (begin[i] < begin[i - 1]) refuse_offset(i, "no offset is less than the one before it");
  }
  if (given > 0 && begin[given - 1] > count) {
    refuse_offset(given - 1, "no offset is more than the number of indices");
  }
  if (last_is_end && begin[given - 1] != count) {
    refuse_offset(given - 1, "with include_last_offset the last is the number of indices");
  }
  if (given == 0 && count > 0) {
    refuse(ErrorKind::BadShape, {op, ": offsets is ", offsets, "; without a bag there can be no ",
                                 "indices, and indices is ", indices});
  }
  std::int64_t* bag = elements_of<std::int64_t>(bags);
  without_gil_for(count, [&] {
    for (std::int64_t i = 0; i < given; ++i) {
      const std::int64_t end = i + 1 < given ? begin[i + 1] : count;
      std::fill(bag + begin[i], bag + end, i);
    }
  });
  return bags;
}

void require_number_row(const char* op, const char* argument, const Tensor& numbers) {
  require_index_dtype(op, argument, numbers);
  require_dims(op, argument, numbers, 1, 1);
}
void require_mode(const char* op, std::int64_t mode, bool sparse) {
  if (mode < kSum || mode > kMax) {
    refuse(ErrorKind::BadValue,
           {op, ": mode is ", mode, "; accepted are 0 (sum), 1 (mean) and 2 (max)"});
  }
  if (sparse) {
    refuse(ErrorKind::Unsupported,
           {op, ": sparse is True, and gradients here are dense; pass False"});
  }
}
void require_sample_weights(const char* op, const std::optional<Tensor>& weights, const Tensor& of,
                            const Tensor& indices, std::int64_t mode) {
  if (!weights) return;
  if (mode != kSum) {
    refuse(ErrorKind::BadArgument,
           {op, ": per_sample_weights is given and mode is ", mode, "; sums (0) only take it"});
  }
  if (weights->dtype() != of.dtype() || weights->dim() != 1 ||
      weights->numel() != indices.numel()) {
    refuse(ErrorKind::BadShape,
           {op, ": per_sample_weights is ", *weights, "; a number of the dtype of ", of,
            " is needed for each index of ", indices});
  }
}

// Of each bag and column the largest number, and its row in the table; 0 and 0 of an empty bag.
struct Largest {
  Tensor values, rows;
};
Largest largest_of_bags(const Tensor& values, const Tensor& rows, const Tensor& bags,
                        std::int64_t count, const Tensor& is_left_out) {
  const std::int64_t width = values.size(1);
  const std::array sizes = {count, width};
  Largest found{zeros(values, sizes), full(values, sizes, 0, DType::Int64)};
  if (is_meta(values)) return found;
  const Tensor from = contiguous(values);
  SmallVector<bool, 8> begun(std::size_t(count), false);
  visit_floats(from, [&](auto zero) {
    using T = decltype(zero);
    const T* value = elements_of<T>(from);
    T* const best = elements_of<T>(found.values);
    std::int64_t* const best_row = elements_of<std::int64_t>(found.rows);
    const std::int64_t* const row = elements_of<std::int64_t>(rows);
    const std::int64_t* const bag = elements_of<std::int64_t>(bags);
    const bool* const left_out = is_left_out.defined() ? elements_of<bool>(is_left_out) : nullptr;
    const std::int64_t indices = rows.numel();
    without_gil_for(from.numel(), [&] {
      for (std::int64_t i = 0; i < indices; ++i, value += width) {
        if (left_out != nullptr && left_out[i]) continue;
        bool& has_begun = begun[std::size_t(bag[i])];
        for (std::int64_t c = 0; c < width; ++c) {
          const std::int64_t place = bag[i] * width + c;
          if (has_begun && !(value[c] > best[place])) continue;
          best[place] = value[c];
          best_row[place] = row[i];
        }
        has_begun = true;
      }
    });
  });
  return found;
}

// How many indices of a bag are no padding.
Tensor sizes_of_bags(const Tensor& bags, std::int64_t count, const Tensor& is_padding) {
  const std::array sizes = {count}, all = {bags.numel()};
  Tensor ones = full(bags, all, 1, DType::Int64);
  if (is_padding.defined()) ones = masked(ones, is_padding, 0);
  return scatter_add(full(bags, sizes, 0, DType::Int64), 0, bags, ones);
}

Four embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                   bool /*scale_grad_by_freq*/, std::int64_t mode, bool sparse,
                   const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
                   std::int64_t padding_idx) {
  constexpr const char* kOp = "aten::_embedding_bag";
  require_mode(kOp, mode, sparse);
  require_number_row(kOp, "indices", indices);
  require_number_row(kOp, "offsets", offsets);
  require_cpu(kOp, "weight", weight);
  require_dims(kOp, "weight", weight, 2, 2);
  if (!is_floating_point(weight.dtype())) {
    refuse(ErrorKind::Unsupported, {kOp, ": weight is ", weight, "; floats are accepted"});
  }
  require_sample_weights(kOp, per_sample_weights, weight, indices, mode);
  if (include_last_offset && offsets.numel() == 0) {
    refuse(ErrorKind::BadShape,
           {kOp, ": offsets is ", offsets, "; with include_last_offset one at least is needed"});
  }
  const std::int64_t count = offsets.numel() - (include_last_offset ? 1 : 0);
  const Tensor rows = numbers_as_int64(indices);
  const Tensor bags = bag_of_each(kOp, indices, offsets, include_last_offset);
  const Tensor is_padding = padding_idx >= 0 ? equals(rows, padding_idx) : Tensor();

  // float16 and bfloat16 are added up in float32.
  const bool is_half = weight.dtype() == DType::Half || weight.dtype() == DType::BFloat16;
  Tensor values = index_select(weight, 0, rows);
  if (is_half) values = to(values, DType::Float32);
  if (per_sample_weights)
    values = values * ops::unsqueeze(to(*per_sample_weights, values.dtype()), 1);
  const bool is_short = mode == kSum && padding_idx < 0 && weight.strides()[1] == 1 &&
                        (weight.dtype() == DType::Float32 || is_half) &&
                        (!per_sample_weights || per_sample_weights->strides()[0] == 1);
  const std::array bag_sizes = {count}, none = {std::int64_t{0}};
  const DType index_dtype = offsets.dtype();
  const Tensor offset2bag = is_short ? full(bags, none, 0, index_dtype) : to(bags, index_dtype);
  if (mode == kMax) {
    const Largest found = largest_of_bags(values, rows, bags, count, is_padding);
    return {to(found.values, weight.dtype()), offset2bag,
            to(sizes_of_bags(bags, count, is_padding), index_dtype), to(found.rows, index_dtype)};
  }
  if (is_padding.defined()) values = masked(values, ops::unsqueeze(is_padding, 1), 0);
  Tensor output = add_rows(values, count, bags);
  if (mode == kSum) {
    return {to(output, weight.dtype()), offset2bag, full(bags, bag_sizes, 0, index_dtype),
            full(bags, bag_sizes, 0, index_dtype)};
  }
  const Tensor lengths = sizes_of_bags(bags, count, is_padding);
  output = output / ops::unsqueeze(to(clamp(lengths, 1, std::nullopt), output.dtype()), 1);
  return {to(output, weight.dtype()), offset2bag, to(lengths, index_dtype),
          clone(to(lengths, index_dtype))};
}

// The gradient of the table, once the bag of each index is known.
Tensor table_gradient(const char* op, const Tensor& grad, const Tensor& indices, const Tensor& bags,
                      const Tensor& maximum_indices, std::int64_t num_weights,
                      bool scale_grad_by_freq, std::int64_t mode,
                      const std::optional<Tensor>& per_sample_weights, std::int64_t padding_idx) {
  require_dims(op, "grad", grad, 2, 2);
  require_sample_weights(op, per_sample_weights, grad, indices, mode);
  const std::int64_t count = grad.size(0);
  const Tensor rows = numbers_as_int64(indices);
  const Tensor is_padding = padding_idx >= 0 ? equals(rows, padding_idx) : Tensor();
  const Tensor lengths = mode == kSum ? Tensor() : sizes_of_bags(bags, count, is_padding);
  if (mode == kMax) {
    const std::array sizes = {num_weights, grad.size(1)};
    const Tensor there = masked(grad, ops::unsqueeze(equals(lengths, 0), 1), 0);
    return scatter_add(zeros(grad, sizes), 0, to(maximum_indices, DType::Int64), there);
  }
  Tensor values = index_select(grad, 0, bags);
  if (per_sample_weights) values = values * ops::unsqueeze(*per_sample_weights, 1);
  if (mode == kMean) {
    const Tensor divisor = to(clamp(lengths, 1, std::nullopt), grad.dtype());
    values = values / ops::unsqueeze(index_select(divisor, 0, bags), 1);
  }
  if (is_padding.defined()) values = masked(values, ops::unsqueeze(is_padding, 1), 0);
  if (scale_grad_by_freq) {
    const std::array table = {num_weights}, row = {rows.numel()};
    const Tensor often = scatter_add(zeros(grad, table), 0, rows, full(grad, row, 1));
    values = values / ops::unsqueeze(index_select(often, 0, rows), 1);
  }
  return add_rows(values, num_weights, rows);
}

Tensor embedding_bag_dense_backward(const Tensor& grad, const Tensor& indices,
                                    const Tensor& offset2bag, const Tensor& /*bag_size*/,
                                    const Tensor& maximum_indices, std::int64_t num_weights,
                                    bool scale_grad_by_freq, std::int64_t mode,
                                    const std::optional<Tensor>& per_sample_weights,
                                    std::int64_t padding_idx) {
  constexpr const char* kOp = "aten::_embedding_bag_dense_backward";
  require_mode(kOp, mode, false);
  require_int_dtype(kOp, "indices", indices);
  require_dims(kOp, "indices", indices, 1, 1);
  require_int_dtype(kOp, "offset2bag", offset2bag);
  require_dims(kOp, "offset2bag", offset2bag, 1, 1);
  if (offset2bag.numel() != indices.numel()) {
    refuse(ErrorKind::BadShape, {kOp, ": offset2bag is ", offset2bag, " and indices is ", indices,
                                 "; a bag is needed for each index"});
  }
  return table_gradient(kOp, grad, indices, numbers_as_int64(offset2bag), maximum_indices,
                        num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx);
}
Tensor embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                              const Tensor& /*offset2bag*/, const Tensor& /*bag_size*/,
                              const Tensor& maximum_indices, std::int64_t num_weights,
                              bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                              const std::optional<Tensor>& per_sample_weights,
                              std::int64_t padding_idx) {
  constexpr const char* kOp = "aten::_embedding_bag_backward";
  require_mode(kOp, mode, sparse);
  require_number_row(kOp, "indices", indices);
  require_number_row(kOp, "offsets", offsets);
  return table_gradient(kOp, grad, indices, bag_of_each(kOp, indices, offsets), maximum_indices,
                        num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx);
}
Tensor sample_weights_backward(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                               const Tensor& offsets, const Tensor& /*offset2bag*/,
                               std::int64_t mode, std::int64_t padding_idx) {
  constexpr const char* kOp = "aten::_embedding_bag_per_sample_weights_backward";
  require_mode(kOp, mode, false);
  require_number_row(kOp, "indices", indices);
  require_number_row(kOp, "offsets", offsets);
  if (mode != kSum) {
    refuse(ErrorKind::BadValue, {kOp, ": mode is ", mode, "; sums (0) only have such weights"});
  }
  const Tensor rows = numbers_as_int64(indices);
  const Tensor bags = bag_of_each(kOp, indices, offsets);
  const std::array<std::int64_t, 1> last = {1};
  const Tensor each = sum(index_select(grad, 0, bags) * index_select(weight, 0, rows), last);
  return padding_idx < 0 ? each : masked(each, equals(rows, padding_idx), 0);
}

// What calls the operator with the formula.
Four call_bag(const char* name, const Tensor& weight, const Tensor& indices, const Tensor& offsets,
              bool scale_grad_by_freq, std::int64_t mode, bool sparse,
              const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
              std::int64_t padding_idx) {
  using Bag = Four(const Tensor&, const Tensor&, const Tensor&, bool, std::int64_t, bool,
                   const std::optional<Tensor>&, bool, std::int64_t);
  static constinit FoundOperator<Bag> op("aten::_embedding_bag");
  return named(name, "aten::_embedding_bag", [&] {
    return op.call(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
                   include_last_offset, padding_idx);
  });
}
// Without gradients PyTorch gives lengths and rows of sums one element for each offset.
Four forward_only(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                  bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                  const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
                  std::int64_t padding_idx) {
  Four result =
      call_bag("aten::_embedding_bag_forward_only", weight, indices, offsets, scale_grad_by_freq,
               mode, sparse, per_sample_weights, include_last_offset, padding_idx);
  if (mode == kSum && include_last_offset) {
    std::get<2>(result) = full(offsets, offsets.sizes(), 0, offsets.dtype());
    std::get<3>(result) = full(offsets, offsets.sizes(), 0, offsets.dtype());
  }
  return result;
}
Four without_padding(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                     bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                     const std::optional<Tensor>& per_sample_weights, bool include_last_offset) {
  return call_bag("aten::embedding_bag", weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                  per_sample_weights, include_last_offset, -1);
}
Four with_padding(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                  bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                  const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
                  std::optional<std::int64_t> padding_idx) {
  constexpr const char* kOp = "aten::embedding_bag.padding_idx";
  std::int64_t padding = -1;
  if (padding_idx) {
    require_defined(kOp, "weight", weight);
    require_dims(kOp, "weight", weight, 2, 2);
    require_index(kOp, "padding_idx", *padding_idx, 0, weight);
    padding = *padding_idx < 0 ? *padding_idx + weight.size(0) : *padding_idx;
  }
  return call_bag(kOp, weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                  per_sample_weights, include_last_offset, padding);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
          "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
          "per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
          "(Tensor, Tensor, Tensor, Tensor)",
          "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
          "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
          "per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
          "(Tensor, Tensor, Tensor, Tensor)",
          "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
          "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? "
          "per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, "
          "Tensor)",
          "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
          "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
          "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
          "_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, "
          "Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, "
          "int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
          "_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor "
          "bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int "
          "mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
          "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, "
          "Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor"});
  m.impl("_embedding_bag_forward_only", &forward_only);
  m.impl("embedding_bag", &without_padding);
  m.impl("embedding_bag.padding_idx", &with_padding);
  m.impl("_embedding_bag_backward",
         Kernel::with_symbolic<&embedding_bag_backward, &decide_symbolic>());
  m.impl("_embedding_bag_dense_backward",
         Kernel::with_symbolic<&embedding_bag_dense_backward, &decide_symbolic>());
  m.impl("_embedding_bag_per_sample_weights_backward", &sample_weights_backward);
  m.derivative(
      "_embedding_bag",
      {{"weight",
        "_embedding_bag_backward(grad0, indices, offsets, result1, result2, result3, "
        "size(weight, 0), scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx)"},
       {"per_sample_weights",
        "_embedding_bag_per_sample_weights_backward(grad0, weight, indices, offsets, result1, "
        "mode, padding_idx)"},
       {"indices", "None"},
       {"offsets", "None"}});
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("_embedding_bag", &embedding_bag);
}

}  // namespace opyard::kernels
