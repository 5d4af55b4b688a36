// test/cpp/kernels/plain_calls.h: a plain call of every operator of kernels/, which rows of tests change.
//
// operators() lists every operator of aten that is registered, so that one that is added has its
// rows from then on. What has to be said by hand is a plain call of it, if the usual arguments do
// not do (samples()), and whether other tests call it (kOfFormulas, kElsewhere).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../aten.h"
#include "opyard/inspect/inspect.h"

namespace opyard::plain_calls {

inline Tensor square() { return f32({2, 2}, {1, 2, 3, 4}); }
inline Tensor positions() { return i64({2, 2}, {0, 1, 1, 0}); }

using Sample = std::map<std::string, Value>;
// Arguments of a plain call that are not the usual ones, by operator without overload, or with it.
inline const std::map<std::string, Sample>& samples() {
  static const std::map<std::string, Sample> samples = {
      {"mv", {{"vec", f32({2}, {1, 2})}}},
      {"dot", {{"self", f32({2}, {1, 2})}, {"tensor", f32({2}, {1, 2})}}},
      {"item", {{"self", f32({}, {1})}}},
      {"_local_scalar_dense", {{"self", f32({}, {1})}}},
      {"is_nonzero", {{"self", f32({}, {1})}}},
      {"index_select", {{"index", i64({2}, {0, 1})}}},
      {"gather", {{"index", positions()}}},
      {"where", {{"condition", b8({2, 2}, {true, false, true, false})}}},
      {"masked_fill", {{"mask", b8({2, 2}, {true, false, true, false})}}},
      {"masked_fill_", {{"mask", b8({2, 2}, {true, false, true, false})}}},
      {"fill_.Tensor", {{"value", f32({}, {1})}}},
      {"bitwise_not", {{"self", positions()}}},
      {"bitwise_and", {{"self", positions()}}},
      {"bitwise_or", {{"self", positions()}}},
      {"bitwise_xor", {{"self", positions()}}},
      {"bitwise_and.Tensor", {{"other", positions()}}},
      {"bitwise_or.Tensor", {{"other", positions()}}},
      {"bitwise_xor.Tensor", {{"other", positions()}}},
      {"bitwise_not_", {{"self", positions()}}},
      {"bitwise_and_", {{"self", positions()}}},
      {"bitwise_or_", {{"self", positions()}}},
      {"bitwise_xor_", {{"self", positions()}}},
      {"bitwise_and_.Tensor", {{"other", positions()}}},
      {"bitwise_or_.Tensor", {{"other", positions()}}},
      {"bitwise_xor_.Tensor", {{"other", positions()}}},
      {"permute", {{"dims", ints({1, 0})}}},
      {"transpose", {{"dim0", 0}, {"dim1", 1}}},
      {"view", {{"size", ints({4})}}},
      {"reshape", {{"shape", ints({4})}}},
      {"narrow", {{"length", 1}}},
      {"arange", {{"end", 3}}},
      {"clamp", {{"min", 1}}},
      {"clamp_", {{"min", 1}}},
      {"index_put_", {{"values", f32({}, {1})}}},
      {"to.dtype", {{"dtype", dtype_value(DType::Float64)}}},
      {"as_strided", {{"size", ints({2})}, {"stride", ints({1})}}},
      {"as_strided_", {{"size", ints({2})}, {"stride", ints({1})}}},
      {"squeeze_.dims", {{"dim", ints({0})}}},
  };
  return samples;
}

// What formulas of derivatives are made of: test/python/operators/test_formulas.py calls them by
// those.
inline const std::set<std::string> kOfFormulas = {
    "conj", "index_select_backward", "select_backward", "slice_backward", "storage_offset"};
// Operators that test/python/operators/test_aten_*.py calls, by samples of their own.
inline const std::set<std::string> kElsewhere = {"__and__",
                                                 "__iand__",
                                                 "__ilshift__",
                                                 "__ior__",
                                                 "__irshift__",
                                                 "__ixor__",
                                                 "__lshift__",
                                                 "__or__",
                                                 "__rshift__",
                                                 "__xor__",
                                                 "_adaptive_avg_pool2d",
                                                 "_adaptive_avg_pool2d_backward",
                                                 "_adaptive_avg_pool3d",
                                                 "_adaptive_avg_pool3d_backward",
                                                 "_cdist_forward",
                                                 "_convolution",
                                                 "_embedding_bag",
                                                 "_embedding_bag_backward",
                                                 "_embedding_bag_dense_backward",
                                                 "_embedding_bag_forward_only",
                                                 "_embedding_bag_per_sample_weights_backward",
                                                 "_native_batch_norm_legit",
                                                 "_native_batch_norm_legit_functional",
                                                 "_native_batch_norm_legit_no_training",
                                                 "_native_multi_head_attention",
                                                 "_pdist_forward",
                                                 "_prelu_kernel",
                                                 "_upsample_nearest_exact1d",
                                                 "_upsample_nearest_exact2d",
                                                 "_upsample_nearest_exact3d",
                                                 "absolute",
                                                 "absolute_",
                                                 "adaptive_avg_pool1d",
                                                 "adaptive_avg_pool2d",
                                                 "adaptive_avg_pool3d",
                                                 "adaptive_max_pool1d",
                                                 "adaptive_max_pool2d",
                                                 "adaptive_max_pool3d",
                                                 "addbmm",
                                                 "addbmm_",
                                                 "addcdiv",
                                                 "addcdiv_",
                                                 "addcmul",
                                                 "addcmul_",
                                                 "addmv",
                                                 "addmv_",
                                                 "addr",
                                                 "addr_",
                                                 "all.dims",
                                                 "alpha_dropout",
                                                 "alpha_dropout_",
                                                 "any.dims",
                                                 "arccos",
                                                 "arccos_",
                                                 "arccosh",
                                                 "arccosh_",
                                                 "arcsin",
                                                 "arcsin_",
                                                 "arcsinh",
                                                 "arcsinh_",
                                                 "arctan",
                                                 "arctan2",
                                                 "arctan2_",
                                                 "arctan_",
                                                 "arctanh",
                                                 "arctanh_",
                                                 "argsort",
                                                 "argwhere",
                                                 "as_strided_copy",
                                                 "atleast_1d",
                                                 "atleast_2d",
                                                 "avg_pool1d",
                                                 "avg_pool2d",
                                                 "avg_pool2d_backward",
                                                 "avg_pool3d",
                                                 "avg_pool3d_backward",
                                                 "baddbmm",
                                                 "baddbmm_",
                                                 "batch_norm",
                                                 "bernoulli",
                                                 "bernoulli_",
                                                 "bilinear",
                                                 "binary_cross_entropy",
                                                 "bitwise_left_shift",
                                                 "bitwise_left_shift_",
                                                 "bitwise_right_shift",
                                                 "bitwise_right_shift_",
                                                 "bmm",
                                                 "broadcast_tensors",
                                                 "broadcast_to",
                                                 "cartesian_prod",
                                                 "cdist",
                                                 "celu",
                                                 "celu_",
                                                 "channel_shuffle",
                                                 "chunk",
                                                 "clamp.Tensor",
                                                 "clamp_max",
                                                 "clamp_max_",
                                                 "clamp_min",
                                                 "clamp_min_",
                                                 "clip",
                                                 "clip_",
                                                 "col2im",
                                                 "combinations",
                                                 "complex.out",
                                                 "concat",
                                                 "concatenate",
                                                 "constant_pad_nd",
                                                 "conv1d",
                                                 "conv2d",
                                                 "conv3d",
                                                 "conv_transpose1d",
                                                 "conv_transpose2d",
                                                 "conv_transpose3d",
                                                 "convolution",
                                                 "convolution_backward",
                                                 "copy",
                                                 "copysign",
                                                 "copysign_",
                                                 "cosine_embedding_loss",
                                                 "cross",
                                                 "cross_entropy_loss",
                                                 "cumprod",
                                                 "cumprod_",
                                                 "cumprod_backward",
                                                 "cumsum",
                                                 "cumsum_",
                                                 "diagonal",
                                                 "diagonal_backward",
                                                 "diagonal_copy",
                                                 "diagonal_scatter",
                                                 "dist",
                                                 "divide",
                                                 "divide_",
                                                 "dropout",
                                                 "dropout_",
                                                 "einsum",
                                                 "elu",
                                                 "elu_",
                                                 "embedding",
                                                 "embedding_backward",
                                                 "embedding_bag",
                                                 "embedding_bag.padding_idx",
                                                 "embedding_dense_backward",
                                                 "empty_permuted",
                                                 "expand_as",
                                                 "exponential_",
                                                 "feature_dropout",
                                                 "feature_dropout_",
                                                 "fill",
                                                 "fix",
                                                 "fix_",
                                                 "flip",
                                                 "fmod",
                                                 "fmod_",
                                                 "gelu",
                                                 "gelu_",
                                                 "ger",
                                                 "glu",
                                                 "greater",
                                                 "greater_",
                                                 "greater_equal",
                                                 "greater_equal_",
                                                 "grid_sampler",
                                                 "grid_sampler_2d",
                                                 "grid_sampler_3d",
                                                 "group_norm",
                                                 "gru.input",
                                                 "gru_cell",
                                                 "hardshrink",
                                                 "hardsigmoid",
                                                 "hardsigmoid_",
                                                 "hardswish",
                                                 "hardswish_",
                                                 "hardtanh",
                                                 "hardtanh_",
                                                 "hinge_embedding_loss",
                                                 "histc",
                                                 "huber_loss",
                                                 "im2col",
                                                 "imag",
                                                 "index_add",
                                                 "index_add_",
                                                 "index_copy",
                                                 "index_copy_",
                                                 "index_fill",
                                                 "index_fill_",
                                                 "index_put",
                                                 "index_reduce",
                                                 "index_reduce_",
                                                 "instance_norm",
                                                 "isinf.out",
                                                 "isnan.out",
                                                 "isneginf.out",
                                                 "isposinf.out",
                                                 "kl_div",
                                                 "kthvalue",
                                                 "layer_norm",
                                                 "leaky_relu",
                                                 "leaky_relu_",
                                                 "lerp",
                                                 "lerp_",
                                                 "less",
                                                 "less_",
                                                 "less_equal",
                                                 "less_equal_",
                                                 "linalg_cross",
                                                 "linalg_norm.ord_str",
                                                 "linalg_vector_norm",
                                                 "linspace",
                                                 "log_sigmoid",
                                                 "logaddexp",
                                                 "logit",
                                                 "logit_",
                                                 "logsumexp",
                                                 "lstm.input",
                                                 "lstm_cell",
                                                 "mT",
                                                 "margin_ranking_loss",
                                                 "masked_fill.Tensor",
                                                 "masked_fill_.Tensor",
                                                 "masked_scatter",
                                                 "masked_scatter_",
                                                 "masked_select",
                                                 "max_pool1d",
                                                 "max_pool1d_with_indices",
                                                 "max_pool2d",
                                                 "max_pool2d_with_indices",
                                                 "max_pool2d_with_indices_backward",
                                                 "max_pool3d",
                                                 "max_pool3d_with_indices",
                                                 "max_pool3d_with_indices_backward",
                                                 "max_unpool2d",
                                                 "max_unpool3d",
                                                 "meshgrid",
                                                 "mish",
                                                 "mish_",
                                                 "moveaxis",
                                                 "movedim",
                                                 "msort",
                                                 "multinomial",
                                                 "multiply",
                                                 "multiply_",
                                                 "narrow_copy",
                                                 "native_batch_norm",
                                                 "native_batch_norm_backward",
                                                 "native_dropout",
                                                 "native_dropout_backward",
                                                 "native_group_norm",
                                                 "native_group_norm_backward",
                                                 "native_layer_norm",
                                                 "native_layer_norm_backward",
                                                 "negative",
                                                 "negative_",
                                                 "nll_loss",
                                                 "nll_loss2d",
                                                 "nll_loss2d_forward",
                                                 "nll_loss_forward",
                                                 "nll_loss_nd",
                                                 "nonzero",
                                                 "nonzero_static",
                                                 "norm",
                                                 "normal",
                                                 "normal_",
                                                 "not_equal",
                                                 "not_equal_",
                                                 "numpy_T",
                                                 "one_hot",
                                                 "outer",
                                                 "pairwise_distance",
                                                 "pdist",
                                                 "permute_copy",
                                                 "pixel_shuffle",
                                                 "pixel_unshuffle",
                                                 "poisson_nll_loss",
                                                 "polar.out",
                                                 "prelu",
                                                 "prod",
                                                 "put",
                                                 "put_",
                                                 "rand",
                                                 "rand_like",
                                                 "randint",
                                                 "randn",
                                                 "randn_like",
                                                 "random_",
                                                 "randperm",
                                                 "ravel",
                                                 "reflection_pad1d",
                                                 "reflection_pad1d_backward",
                                                 "reflection_pad2d",
                                                 "reflection_pad2d_backward",
                                                 "reflection_pad3d",
                                                 "reflection_pad3d_backward",
                                                 "relu6",
                                                 "relu6_",
                                                 "repeat",
                                                 "replication_pad1d",
                                                 "replication_pad1d_backward",
                                                 "replication_pad2d",
                                                 "replication_pad2d_backward",
                                                 "replication_pad3d",
                                                 "replication_pad3d_backward",
                                                 "reshape_as",
                                                 "rms_norm",
                                                 "rnn_relu.input",
                                                 "rnn_relu_cell",
                                                 "rnn_tanh.input",
                                                 "rnn_tanh_cell",
                                                 "roll",
                                                 "row_stack",
                                                 "scalar_tensor",
                                                 "scaled_dot_product_attention",
                                                 "scatter",
                                                 "scatter_",
                                                 "scatter_add",
                                                 "scatter_add_",
                                                 "scatter_reduce",
                                                 "scatter_reduce_",
                                                 "select_copy",
                                                 "select_scatter",
                                                 "selu",
                                                 "selu_",
                                                 "signbit.out",
                                                 "silu",
                                                 "silu_",
                                                 "sinc",
                                                 "sinc_",
                                                 "size.int",
                                                 "slice_scatter",
                                                 "smooth_l1_loss",
                                                 "soft_margin_loss",
                                                 "softplus",
                                                 "softshrink",
                                                 "sort",
                                                 "special_logsumexp",
                                                 "split",
                                                 "split_with_sizes",
                                                 "square",
                                                 "square_",
                                                 "squeeze.dims",
                                                 "squeeze_copy",
                                                 "std",
                                                 "subtract",
                                                 "subtract_",
                                                 "sym_is_contiguous",
                                                 "sym_size.int",
                                                 "sym_stride.int",
                                                 "take",
                                                 "take_along_dim",
                                                 "tensor_split",
                                                 "tensordot",
                                                 "threshold",
                                                 "threshold_",
                                                 "topk",
                                                 "tril",
                                                 "tril_",
                                                 "triplet_margin_loss",
                                                 "triu",
                                                 "triu_",
                                                 "true_divide",
                                                 "true_divide_",
                                                 "unbind",
                                                 "unflatten",
                                                 "unfold",
                                                 "unfold_backward",
                                                 "unfold_copy",
                                                 "uniform_",
                                                 "unsqueeze_copy",
                                                 "upsample_bicubic2d",
                                                 "upsample_bilinear2d",
                                                 "upsample_linear1d",
                                                 "upsample_nearest1d",
                                                 "upsample_nearest2d",
                                                 "upsample_nearest3d",
                                                 "upsample_trilinear3d",
                                                 "vander",
                                                 "var",
                                                 "vdot",
                                                 "view_as",
                                                 "view_as_complex_copy",
                                                 "view_as_real",
                                                 "view_as_real_copy",
                                                 "xlogy",
                                                 "xlogy_"};

inline std::vector<OperatorName> operators() {
  load_library(kKernelsLibrary);
  std::vector<OperatorName> found;
  for (const OperatorName& name : inspect::names()) {
    const bool is_of_formulas = kOfFormulas.count(name.name.substr(name.name.rfind(':') + 1)) > 0;
    const std::string own = to_string(name).substr(to_string(name).rfind(':') + 1);
    if (kElsewhere.count(own) + kElsewhere.count(own.substr(0, own.find('.'))) > 0) continue;
    if (name.name.starts_with("aten::") && !is_of_formulas && registry().find(name) != nullptr) {
      found.push_back(name);
    }
  }
  return found;
}

// The name without its namespace, as call_aten() takes it.
inline std::string bare(const OperatorName& name) { return to_string(name).substr(6); }
inline std::string without_overload(const std::string& bare) {
  return bare.substr(0, bare.find('.'));
}
inline bool is_in(const std::set<std::string>& set, const OperatorName& name) {
  return set.count(without_overload(bare(name))) + set.count(bare(name)) > 0;
}
// Whether the elements are positions, whatever self is.
inline bool is_index(const std::string& argument) {
  return argument == "index" || argument == "indices";
}

inline bool is_tensor(const Argument& argument) {
  return argument.type->kind() == TypeKind::Tensor;
}
inline bool is_scalar(const Argument& argument) {
  const Type& type = *argument.type;
  return type.kind() == TypeKind::Scalar ||
         (type.kind() == TypeKind::Optional && type.element().kind() == TypeKind::Scalar);
}

inline Value usual(const Argument& argument) {
  if (argument.default_value) return *argument.default_value;
  switch (argument.type->kind()) {
    case TypeKind::Tensor:
      return square();
    case TypeKind::List:
      if (argument.type->element().kind() == TypeKind::Tensor) return tensors({square(), square()});
      if (argument.type->element().kind() == TypeKind::Optional) {
        return tensors({i64({1}, {0})});
      }
      return ints({2, 2});
    case TypeKind::Optional:
      return Value();
    case TypeKind::Scalar:
      return 1;
    case TypeKind::Bool:
      return false;
    case TypeKind::Device:
      return Device{};
    default:
      return 0;
  }
}

inline std::vector<Given> plain_call(const Operator& op) {
  std::vector<Given> given;
  const std::string name = bare(op.name());
  for (const Argument& argument : op.schema().arguments) {
    Value value = usual(argument);
    for (const std::string& key : {without_overload(name), name}) {
      const auto sample = samples().find(key);
      if (sample == samples().end()) continue;
      const auto own = sample->second.find(argument.name);
      if (own != sample->second.end()) value = own->second;
    }
    given.push_back(keyword(argument.name, std::move(value)));
  }
  return given;
}

}  // namespace opyard::plain_calls
