// kernels/gradients/parts.cpp: gradients of views of parts, and of scatter.
//
// All are compositions, and so differentiable again.
#include <string_view>
#include <tuple>

#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// The gradient of a view of a row-major tensor: `geometry` is the same view of any such tensor.
template <typename View>
Tensor view_backward(const Tensor& grad, IntSpan sizes, const View& view) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, IntSpan, IntSpan,
                                        std::int64_t)>
      scatter("opyard::scatter_strided");
  const Tensor geometry = view(Tensor::empty(sizes, grad.dtype(), {Backend::Meta}));
  return reshape(scatter.call(grad, count_elements(sizes), geometry.sizes(), geometry.strides(),
                              geometry.storage_offset()),
                 sizes);
}
Tensor diagonal_backward(const Tensor& grad, IntSpan sizes, std::int64_t offset, std::int64_t dim1,
                         std::int64_t dim2) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      op("aten::diagonal");
  return view_backward(grad, sizes,
                       [&](const Tensor& whole) { return op.call(whole, offset, dim1, dim2); });
}
Tensor unfold_backward(const Tensor& grad, IntSpan sizes, std::int64_t dim, std::int64_t size,
                       std::int64_t step) {
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, std::int64_t, std::int64_t)>
      op("aten::unfold");
  return view_backward(grad, sizes,
                       [&](const Tensor& whole) { return op.call(whole, dim, size, step); });
}

// The elements at the beginning of zeros of these sizes.
Tensor pad_gradient(const Tensor& self, IntSpan sizes) {
  using Backward = Tensor(const Tensor&, IntSpan, std::int64_t, std::int64_t, std::int64_t);
  static constinit FoundOperator<Backward> op("opyard::narrow_backward");
  Tensor result = self;
  DimVector now(self.sizes());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (now[i] == sizes[i]) continue;
    const std::int64_t length = now[i];
    now[i] = sizes[i];
    result = op.call(result, now, std::int64_t(i), 0, length);
  }
  return result;
}

// The slope of a product by a factor is the product of the others: the result over the factor. Of a
// factor that is zero it is the product of all that are not, if there is no other zero, and zero
// else. The other zero of a pair is a factor of that, so that second gradients are right; third
// ones by three zeros in one place are zero, which they are not.
std::tuple<Tensor, Tensor> scatter_product_backward(const Tensor& grad, const Tensor& self,
                                                    std::int64_t dim, const Tensor& index,
                                                    const Tensor& src, bool include_self,
                                                    const Tensor& result) {
  using Reduce =
      Tensor(const Tensor&, std::int64_t, const Tensor&, const Tensor&, std::string_view, bool);
  static constinit FoundOperator<Reduce> reduced("aten::scatter_reduce.two");
  const Tensor zero_in_self = equals(detach(self), 0), zero_in_src = equals(detach(src), 0);
  const auto scattered = [&](const Tensor& from_self, const Tensor& from_src, const char* how) {
    return reduced.call(from_self, dim, index, from_src, how, include_self);
  };
  const auto zeros_of = [&](const Tensor& x, const Tensor& zero) {
    return masked(x, negation(zero), 0);
  };
  const Tensor others =
      scattered(masked(self, zero_in_self, 1), masked(src, zero_in_src, 1), "prod");
  const Tensor count =
      scattered(to(zero_in_self, DType::Int64), to(zero_in_src, DType::Int64), "sum");
  const Tensor pair = masked(others, differs(count, 2), 0);
  const Tensor zeros_there =
      scattered(zeros_of(self, zero_in_self), zeros_of(src, zero_in_src), "sum");
  const Tensor single = masked(others, differs(count, 1), 0) + pair * zeros_there;
  // The slope by factors, from what is there in the place of each.
  const auto slope = [&](const Tensor& x, const Tensor& zero, const auto& at_place) {
    return where(zero, at_place(single) - at_place(pair) * x,
                 at_place(result) / masked(x, zero, 1));
  };
  const auto itself = [](const Tensor& x) { return x; };
  const auto at_index = [&](const Tensor& x) {
    return pad_gradient(gather(x, dim, index), src.sizes());
  };
  static constinit FoundOperator<Tensor(const Tensor&, std::int64_t, const Tensor&, const Scalar&)>
      scatter("aten::scatter.value");
  return {include_self ? grad * conj(slope(self, zero_in_self, itself))
                       : scatter.call(grad, dim, index, 0),
          at_index(grad) * conj(slope(src, zero_in_src, at_index))};
}

std::tuple<Tensor, Tensor> scatter_reduce_backward(const Tensor& grad, const Tensor& self,
                                                   std::int64_t dim, const Tensor& index,
                                                   const Tensor& src, std::string_view reduce,
                                                   bool include_self, const Tensor& result) {
  using Scatter = Tensor(const Tensor&, std::int64_t, const Tensor&, const Scalar&);
  static constinit FoundOperator<Scatter> scatter("aten::scatter.value");
  if (reduce == "prod")
    return scatter_product_backward(grad, self, dim, index, src, include_self, result);
  const auto without = [&](const Tensor& x) {
    return include_self ? x : scatter.call(x, dim, index, 0);
  };
  Tensor share = grad;
  Tensor to_self = full(self, self.sizes(), 1), to_src = full(src, src.sizes(), 1);
  if (reduce == "amax" || reduce == "amin") {
    to_self = to(equals(detach(self), detach(result)), self.dtype());
    const Tensor reached = pad_gradient(gather(detach(result), dim, index), src.sizes());
    to_src = to(equals(detach(src), reached), src.dtype());
  }
  if (reduce != "sum") {
    const Tensor count = scatter_add(without(to_self), dim, index, to_src);
    share = grad / masked(count, equals(count, 0), 1);
  }
  return {without(share * to_self), pad_gradient(gather(share, dim, index), src.sizes()) * to_src};
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def(
      "diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> "
      "Tensor",
      &diagonal_backward);
  m.def("unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor",
        &unfold_backward);
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("pad_gradient(Tensor self, int[] sizes) -> Tensor", &pad_gradient);
  m.def(
      "scatter_reduce_backward(Tensor grad, Tensor self, int dim, Tensor index, Tensor src, str "
      "reduce, bool include_self, Tensor result) -> (Tensor, Tensor)",
      &scatter_reduce_backward);
}

}  // namespace opyard::kernels
