// prepared/fold_batch_norms.cpp: batch norms of evaluation, folded into the convolutions before.
//
//   norm(w * x + b) = (w * s) * x + ((b - mean) * s + bias)       s = weight / sqrt(var + eps)
//
// The new weights are computed in double and rounded once. An output is then the convolution of
// weights that are each off by half a unit in the last place, where it was rounded at every step of
// the norm: neither is exact, and they differ by a few units in the last place of the largest
// product that was summed.
//
// What is not finite stays: a weight times an infinite scale would be nan where the norm gives an
// infinity. So do tensors that the graph writes, dtypes but float32 and float64, and a convolution
// whose result is also used elsewhere.
#include <cmath>
#include <functional>

#include "opyard/tensor/make.h"
#include "prepared/preparing.h"

namespace opyard::jit::prepared {
namespace {

struct Norm {
  const Tensor* weight;  // null for none
  const Tensor* bias;
  const Tensor* mean;
  const Tensor* var;
  double eps;
};

bool is_vector(const Tensor& tensor, std::int64_t elements, DType dtype) {
  return tensor.dim() == 1 && tensor.numel() == elements && tensor.dtype() == dtype;
}

// Nothing for a norm that trains, or whose numbers are no constants.
std::optional<Norm> find_norm(const Node& node) {
  const bool is_full = is_one_of(node, {"aten::batch_norm"}) && node.inputs().size() == 9;
  const bool is_native =
      is_one_of(node, {"aten::_native_batch_norm_legit_no_training"}) && node.inputs().size() == 7;
  if (!is_full && !is_native) return std::nullopt;
  if (is_full && !is_false(node.input(5))) return std::nullopt;
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    if (node.outputs()[i]->has_uses()) return std::nullopt;
  }
  Norm norm{};
  const Tensor** const places[] = {&norm.weight, &norm.bias, &norm.mean, &norm.var};
  for (std::size_t i = 0; i < 4; ++i) {
    *places[i] = find_tensor(node.input(i + 1));
    if (*places[i] == nullptr && (i > 1 || !is_none(node.input(i + 1)))) return std::nullopt;
  }
  const std::optional<double> eps = find_number(node.input(is_full ? 7 : 6));
  if (!eps) return std::nullopt;
  norm.eps = *eps;
  return norm;
}

bool are_read_only(const Aliases& aliases, const Node& node) {
  for (const Value* const input : node.inputs()) {
    if (find_tensor(input) != nullptr && aliases.is_written(input)) return false;
  }
  return true;
}

// Of one channel after the other, in the order in memory of rows.
template <typename T>
void each_element(const Tensor& tensor, const std::function<void(std::int64_t, T)>& visit) {
  const T* const data = tensor.data<T>();
  const IntSpan sizes = tensor.sizes(), strides = tensor.strides();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    std::int64_t offset = 0, rest = i;
    for (std::size_t dim = sizes.size(); dim-- > 0;) {
      offset += rest % sizes[dim] * strides[dim];
      rest /= sizes[dim];
    }
    visit(i, data[offset]);
  }
}

template <typename T>
double element(const Tensor* tensor, std::int64_t index, double otherwise) {
  return tensor == nullptr ? otherwise : double(tensor->data<T>()[index * tensor->strides()[0]]);
}

struct Folded {
  Tensor weight, bias;
};

// Nothing if an element is not finite.
template <typename T>
std::optional<Folded> fold(const Tensor& weight, const Tensor* bias, const Norm& norm) {
  const std::int64_t channels = weight.sizes()[0];
  const Folded folded{Tensor::empty(weight.sizes(), weight.dtype()),
                      Tensor::empty(std::array{channels}, weight.dtype())};
  std::vector<double> scales;
  T* const added = static_cast<T*>(folded.bias.impl()->data());
  bool is_finite = true;
  for (std::int64_t i = 0; i < channels; ++i) {
    const double scale =
        element<T>(norm.weight, i, 1) / std::sqrt(element<T>(norm.var, i, 1) + norm.eps);
    added[i] = T((element<T>(bias, i, 0) - element<T>(norm.mean, i, 0)) * scale +
                 element<T>(norm.bias, i, 0));
    is_finite = is_finite && std::isfinite(added[i]) && std::isfinite(scale);
    scales.push_back(scale);
  }
  T* const to = static_cast<T*>(folded.weight.impl()->data());
  const std::int64_t of_channel = channels == 0 ? 1 : weight.numel() / channels;
  T sum = 0;  // times 0: nan if an element is not finite
  if (weight.is_contiguous()) {
    const T* const from = weight.data<T>();
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const double scale = scales[std::size_t(channel)];
      const std::int64_t end = (channel + 1) * of_channel;
      for (std::int64_t i = channel * of_channel; i < end; ++i) to[i] = T(double(from[i]) * scale);
    }
  } else {
    each_element<T>(weight, [&](std::int64_t i, T from) {
      to[i] = T(double(from) * scales[std::size_t(i / of_channel)]);
    });
  }
  for (std::int64_t i = 0; i < weight.numel(); ++i) sum += to[i] * T(0);
  is_finite = is_finite && sum == T(0);
  if (!is_finite) return std::nullopt;
  return folded;
}

std::optional<Folded> fold_into(const Node& convolution, const Norm& norm) {
  const Tensor* const weight = find_tensor(convolution.input(1));
  if (weight == nullptr || weight->dim() < 3) return std::nullopt;
  const Tensor* bias = nullptr;
  if (convolution.inputs().size() > 2) {
    bias = find_tensor(convolution.input(2));
    if (bias == nullptr && !is_none(convolution.input(2))) return std::nullopt;
  }
  for (const Tensor* const one : {norm.weight, norm.bias, norm.mean, norm.var, bias}) {
    if (one != nullptr && !is_vector(*one, weight->sizes()[0], weight->dtype()))
      return std::nullopt;
  }
  if (weight->device().backend != Backend::CPU) return std::nullopt;
  if (weight->dtype() == DType::Float32) return fold<float>(*weight, bias, norm);
  if (weight->dtype() == DType::Float64) return fold<double>(*weight, bias, norm);
  return std::nullopt;
}

}  // namespace

std::size_t fold_batch_norms(Graph& graph) {
  const Aliases aliases(graph);
  std::size_t places = 0;
  for (auto next = graph.nodes().begin(); next != graph.nodes().end();) {
    Node* const node = *next;
    ++next;
    const std::optional<Norm> norm = find_norm(*node);
    if (!norm || !are_read_only(aliases, *node)) continue;
    Node& before = *node->input(0)->node();
    const bool is_its_own = is_convolution(before) && node->input(0)->uses().size() == 1;
    if (!is_its_own || !are_read_only(aliases, before)) continue;
    if (aliases.is_written(node->input(0))) continue;
    const std::optional<Folded> folded = fold_into(before, *norm);
    if (!folded) continue;
    before.replace_input(1, insert_constant(before, folded->weight));
    Value* const bias = insert_constant(before, folded->bias);
    before.inputs().size() > 2 ? (void)before.replace_input(2, bias) : (void)before.add_input(bias);
    replace(*node, node->input(0));
    ++places;
  }
  return places;
}

}  // namespace opyard::jit::prepared
