// test_kernels_tables.cpp: protects the argument checks that all operators of kernels/ share.
// Suspect kernels/src/common/check.cpp.
//
// The rows are generated: every operator of aten that is registered, every dtype of dtypes.def,
// every argument that is a tensor or a Scalar. An operator that is added has its rows from then on.
// What has to be said by hand is a plain call of it, where the usual arguments do not do
// (kSamples), and whether it moves elements without looking at them (kMoves), so that it takes
// every dtype.
//
// The file is one piece since every row is made of the same plain calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "../aten.h"
#include "../registering.h"

namespace opyard::test_kernels_tables {
namespace {

struct Named {
  const char* name;
  DType dtype;
};
constexpr Named kDTypes[] = {
#define OPYARD_DTYPE(code, Name, python_name, type, dlpack, bits, ...) {#python_name, DType::Name},
#include "opyard/inspect/inspect.h"
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
};

Tensor zeros_of(const Tensor& like, DType dtype) {
  const Tensor zeros = Tensor::empty(like.sizes(), dtype);
  std::memset(zeros.impl()->data(), 0, std::size_t(zeros.numel()) * item_size(dtype));
  return zeros;
}

Tensor square() { return f32({2, 2}, {1, 2, 3, 4}); }
Tensor positions() { return i64({2, 2}, {0, 1, 1, 0}); }

using Sample = std::map<std::string, Value>;
// Arguments of a plain call that are not the usual ones, by operator without overload, or with it.
const std::map<std::string, Sample>& samples() {
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

// Operators that take tensors of every dtype, all of one.
const std::set<std::string> kMoves = {
    "_to_copy",
    "alias",
    "as_strided",
    "cat",
    "clone",
    "contiguous",
    "copy_",
    "detach",
    "dim",
    "empty_like",
    "expand",
    "flatten",
    "gather",
    "index",
    "index_put_",
    "index_select",
    "is_contiguous",
    "is_non_overlapping_and_dense",
    "is_strides_like_format",
    "narrow",
    "numel",
    "permute",
    "reshape",
    "select",
    "size",
    "slice",
    "squeeze",
    "stack",
    "stride",
    "sym_numel",
    "sym_size",
    "sym_storage_offset",
    "sym_stride",
    "t",
    "to.prim_Device",
    "transpose",
    "unsqueeze",
    "view",
};

// What formulas of derivatives are made of: test/python/operators/test_formulas.py calls them by
// those.
const std::set<std::string> kOfFormulas = {"conj", "index_select_backward", "select_backward",
                                           "slice_backward", "storage_offset"};
// Operators that test/python/operators/test_aten_*.py calls, by samples of their own.
const std::set<std::string> kElsewhere = {"__and__",
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
                                          "any.dims",
                                          "argsort",
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
                                          "binary_cross_entropy",
                                          "bitwise_left_shift",
                                          "bitwise_left_shift_",
                                          "bitwise_right_shift",
                                          "bitwise_right_shift_",
                                          "bmm",
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
                                          "col2im",
                                          "combinations",
                                          "complex.out",
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
                                          "cross",
                                          "cross_entropy_loss",
                                          "cumprod",
                                          "cumprod_",
                                          "cumprod_backward",
                                          "cumsum",
                                          "cumsum_",
                                          "diagonal",
                                          "diagonal_backward",
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
                                          "fill",
                                          "flip",
                                          "fmod",
                                          "fmod_",
                                          "gelu",
                                          "gelu_",
                                          "ger",
                                          "glu",
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
                                          "histc",
                                          "huber_loss",
                                          "im2col",
                                          "imag",
                                          "index_add",
                                          "index_add_",
                                          "index_fill",
                                          "index_fill_",
                                          "index_put",
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
                                          "linalg_cross",
                                          "linalg_norm.ord_str",
                                          "linalg_vector_norm",
                                          "log_sigmoid",
                                          "logaddexp",
                                          "logit",
                                          "logit_",
                                          "logsumexp",
                                          "lstm.input",
                                          "lstm_cell",
                                          "mT",
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
                                          "mish",
                                          "mish_",
                                          "moveaxis",
                                          "movedim",
                                          "msort",
                                          "multinomial",
                                          "native_batch_norm",
                                          "native_batch_norm_backward",
                                          "native_dropout",
                                          "native_dropout_backward",
                                          "native_group_norm",
                                          "native_group_norm_backward",
                                          "native_layer_norm",
                                          "native_layer_norm_backward",
                                          "nll_loss",
                                          "nll_loss2d",
                                          "nll_loss2d_forward",
                                          "nll_loss_forward",
                                          "nll_loss_nd",
                                          "nonzero",
                                          "norm",
                                          "normal",
                                          "normal_",
                                          "one_hot",
                                          "outer",
                                          "pdist",
                                          "pixel_shuffle",
                                          "pixel_unshuffle",
                                          "polar.out",
                                          "prelu",
                                          "prod",
                                          "rand",
                                          "rand_like",
                                          "randint",
                                          "randn",
                                          "randn_like",
                                          "random_",
                                          "randperm",
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
                                          "scalar_tensor",
                                          "scaled_dot_product_attention",
                                          "scatter",
                                          "scatter_",
                                          "scatter_add",
                                          "scatter_add_",
                                          "scatter_reduce",
                                          "scatter_reduce_",
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
                                          "softplus",
                                          "softshrink",
                                          "sort",
                                          "special_logsumexp",
                                          "split",
                                          "split_with_sizes",
                                          "square",
                                          "square_",
                                          "squeeze.dims",
                                          "std",
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
                                          "triu",
                                          "triu_",
                                          "unbind",
                                          "unflatten",
                                          "unfold",
                                          "unfold_backward",
                                          "uniform_",
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
                                          "view_as_real",
                                          "xlogy",
                                          "xlogy_"};

// Operators that compute in every number, and those that leave out complex ones.
const std::set<std::string> kNumbers = {"abs",
                                        "add.Tensor",
                                        "add_.Scalar",
                                        "addmm",
                                        "all",
                                        "cos",
                                        "div.Tensor",
                                        "dot",
                                        "eq.Tensor",
                                        "equal",
                                        "exp",
                                        "isnan",
                                        "log",
                                        "log1p",
                                        "logical_not",

                                        "mm",
                                        "mul.Tensor",
                                        "mul_.Tensor",
                                        "mv",
                                        "ne.Scalar",
                                        "neg",
                                        "pow.Tensor_Scalar",
                                        "reciprocal",
                                        "sigmoid",
                                        "sqrt",
                                        "sub.Tensor",
                                        "sum",
                                        "sum.dim_IntList",
                                        "tanh",
                                        "where.self"};
const std::set<std::string> kRealNumbers = {
    "amax",      "amin", "argmax",  "argmin",  "atan2",   "clamp", "erf",   "ge.Tensor",
    "lt.Scalar", "max",  "max.dim", "maximum", "minimum", "relu",  "relu_", "sign"};

std::vector<OperatorName> operators() {
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
std::string bare(const OperatorName& name) { return to_string(name).substr(6); }
std::string without_overload(const std::string& bare) { return bare.substr(0, bare.find('.')); }
bool is_in(const std::set<std::string>& set, const OperatorName& name) {
  return set.count(without_overload(bare(name))) + set.count(bare(name)) > 0;
}
// Whether the elements are positions, whatever self is.
bool is_index(const std::string& argument) { return argument == "index" || argument == "indices"; }

bool is_tensor(const Argument& argument) { return argument.type->kind() == TypeKind::Tensor; }
bool is_scalar(const Argument& argument) {
  const Type& type = *argument.type;
  return type.kind() == TypeKind::Scalar ||
         (type.kind() == TypeKind::Optional && type.element().kind() == TypeKind::Scalar);
}

Value usual(const Argument& argument) {
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

std::vector<Given> plain_call(const Operator& op) {
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

Thrown called(const Operator& op, const std::vector<Given>& given) {
  return thrown_by([&] { call_aten(bare(op.name()), given); });
}

TEST(KernelTables, EveryOperatorHasAPlainCall) {
  const std::vector<OperatorName> all = operators();
  EXPECT_GT(all.size(), 100u);
  for (const OperatorName& name : all) {
    const Operator& op = registry().require(name);
    EXPECT_NO_THROW(call_aten(bare(name), plain_call(op))) << op.declaration();
  }
}

TEST(KernelTables, WhatMovesElementsTakesEveryDType) {
  std::set<std::string> seen;
  for (const OperatorName& name : operators()) {
    if (!is_in(kMoves, name)) continue;
    seen.insert(kMoves.count(bare(name)) > 0 ? bare(name) : without_overload(bare(name)));
    const Operator& op = registry().require(name);
    for (const auto& [dtype_name, dtype] : kDTypes) {
      std::vector<Given> given = plain_call(op);
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (is_index(given[i].name)) continue;
        Value& value = given[i].value;
        if (is_tensor(op.schema().arguments[i])) {
          value = zeros_of(value.to_tensor(), dtype);
        } else if (value.is_list() && !value.to_list().empty() && value.to_list()[0].is_tensor()) {
          value = tensors({zeros_of(square(), dtype), zeros_of(square(), dtype)});
        }
      }
      EXPECT_NO_THROW(call_aten(bare(name), given)) << dtype_name << ": " << op.declaration();
    }
  }
  EXPECT_EQ(seen, kMoves) << "a name that is no operator";
}

// One tensor of another dtype than the rest: answered, or refused by name.
TEST(KernelTables, EveryDTypeIsAnsweredOrRefusedByName) {
  int answered = 0, refused = 0;
  for (const OperatorName& name : operators()) {
    const Operator& op = registry().require(name);
    const std::vector<Argument>& arguments = op.schema().arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!is_tensor(arguments[i])) continue;
      for (const auto& [dtype_name, dtype] : kDTypes) {
        std::vector<Given> given = plain_call(op);
        given[i].value = zeros_of(given[i].value.to_tensor(), dtype);
        try {
          call_aten(bare(name), given);
          ++answered;
          if (!is_index(arguments[i].name)) continue;
          EXPECT_TRUE(dtype == DType::Int64 || dtype == DType::Int32)
              << dtype_name << " for " << arguments[i].name << ": " << op.declaration();
        } catch (const Error& error) {
          ++refused;
          const std::string row = std::string(dtype_name) + " for " + arguments[i].name + ": " +
                                  op.declaration() + "\n" + error.what();
          EXPECT_TRUE(error.kind() == ErrorKind::Unsupported ||
                      error.kind() == ErrorKind::BadArgument || error.kind() == ErrorKind::BadValue)
              << row;
          const bool is_divided = std::string(error.what()).find("zero") != std::string::npos;
          EXPECT_TRUE(is_divided || std::string(error.what()).find(dtype_name) != std::string::npos)
              << row;
        }
      }
    }
  }
  EXPECT_GT(answered, 2000);
  EXPECT_GT(refused, 500);
}

TEST(KernelTables, WhatComputesInNumbersTakesAllOfThem) {
  std::size_t found = 0;
  for (const OperatorName& name : operators()) {
    const bool takes_complex = kNumbers.count(bare(name)) > 0;
    if (!takes_complex && kRealNumbers.count(bare(name)) == 0) continue;
    ++found;
    const Operator& op = registry().require(name);
    for (const auto& [dtype_name, dtype] : kDTypes) {
      if (dtype == DType::Bool) continue;
      std::vector<Given> given = plain_call(op);
      for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string& argument = op.schema().arguments[i].name;
        if (!is_tensor(op.schema().arguments[i]) || is_index(argument)) continue;
        if (argument == "condition") continue;
        given[i].value = zeros_of(given[i].value.to_tensor(), dtype);
      }
      const std::string row = std::string(dtype_name) + ": " + op.declaration();
      if (takes_complex || !is_complex(dtype)) {
        EXPECT_NO_THROW(call_aten(bare(name), given)) << row;
      } else {
        EXPECT_EQ(called(op, given).kind, ErrorKind::Unsupported) << row;
      }
    }
  }
  EXPECT_EQ(found, kNumbers.size() + kRealNumbers.size()) << "a name that is no operator";
}

// Operators whose answer is in the elements, so that there is none on meta, and one that copies
// them to the cpu.
const std::set<std::string> kElements = {"_local_scalar_dense", "equal", "is_nonzero", "item",
                                         "to.device"};

// A copy whose dimensions are in reverse order, and one without elements.
Tensor turned(const Tensor& x) {
  DimVector sizes(x.sizes()), order;
  for (std::size_t i = sizes.size(); i-- > 0;) order.push_back(std::int64_t(i));
  std::vector<std::int64_t> reversed(sizes.begin(), sizes.end());
  std::reverse(reversed.begin(), reversed.end());
  const Tensor block = Tensor::empty(reversed, x.dtype());
  DimVector strides(block.strides());
  std::reverse(strides.begin(), strides.end());
  const Tensor made = block.as_strided(sizes, strides, 0);
  aten("copy_", {made, x});
  return made;
}
Tensor on_meta(const Tensor& x) {
  const Device meta{Backend::Meta};
  return Tensor::empty(std::array{x.numel()}, x.dtype(), meta)
      .as_strided(x.sizes(), x.strides(), 0);
}
template <typename Change>
std::vector<Given> with_tensors(std::vector<Given> given, const Change& change) {
  for (Given& one : given) {
    if (one.value.is_tensor()) one.value = change(one.value.to_tensor());
    if (!one.value.is_list() || one.value.to_list().empty()) continue;
    if (!one.value.to_list()[0].is_tensor()) continue;
    std::vector<Tensor> changed;
    for (const Value& item : one.value.to_list()) changed.push_back(change(item.to_tensor()));
    one.value = tensors(changed);
  }
  return given;
}
std::string geometry(const std::vector<Value>& results) {
  std::string text;
  for (const Value& result : results) {
    if (!result.is_tensor()) continue;
    const Tensor x = result.to_tensor();
    text += describe(x) + " strides";
    for (std::size_t i = 0; i < x.sizes().size(); ++i) {
      if (x.sizes()[i] > 1) text += ' ' + std::to_string(x.strides()[i]);
    }
    text += "; ";
  }
  return text;
}

TEST(KernelTables, EveryOperatorGivesOnMetaWhatItGivesOnTheCpu) {
  int rows = 0;
  for (const OperatorName& name : operators()) {
    if (is_in(kElements, name)) continue;
    const Operator& op = registry().require(name);
    for (const bool in_order : {true, false}) {
      // view and the like refuse what is in another order.
      std::vector<Given> given = plain_call(op);
      if (!in_order) given = with_tensors(given, turned);
      const std::vector<Given> meta = with_tensors(given, on_meta);
      std::string expected;
      try {
        expected = geometry(call_aten(bare(name), given));
      } catch (const Error&) {
        EXPECT_FALSE(in_order) << op.declaration();
        continue;
      }
      if (expected.empty()) continue;
      std::string found;
      EXPECT_NO_THROW(found = geometry(call_aten(bare(name), meta))) << op.declaration();
      EXPECT_EQ(found, expected) << op.declaration();
      ++rows;
    }
  }
  EXPECT_GT(rows, 200);
}

TEST(KernelTables, EveryScalarThatIsComplexIsAnsweredOrRefusedByName) {
  const Value complex(std::complex<double>(1, 1));
  int answered = 0, refused = 0;
  for (const OperatorName& name : operators()) {
    const Operator& op = registry().require(name);
    const std::vector<Argument>& arguments = op.schema().arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!is_scalar(arguments[i])) continue;
      std::vector<Given> given = plain_call(op);
      given[i].value = complex;
      try {
        call_aten(bare(name), given);
        ++answered;
      } catch (const Error& error) {
        ++refused;
        EXPECT_TRUE(error.kind() == ErrorKind::Unsupported ||
                    error.kind() == ErrorKind::BadArgument)
            << op.declaration() << "\n"
            << error.what();
        const std::string text = error.what();
        EXPECT_TRUE(text.find(arguments[i].name + " is 1.+1.j") != std::string::npos ||
                    text.find("complex64") != std::string::npos)
            << op.declaration() << "\n"
            << text;
      }
    }
  }
  EXPECT_GT(answered, 5);
  EXPECT_GT(refused, 20);
}

// Rows that no list above leads to: what is left of a quotient, and sizes that fit by half.
TEST(KernelTables, EdgesOfNumbersAndSizes) {
  EXPECT_EQ(aten("floor_divide", {i64({4}, {-6, -7, 6, 7}), i64({}, {3})}), "int64[4] -2 -3 2 2");
  EXPECT_EQ(aten("floor_divide", {f32({2}, {-0.F, 0}), f32({}, {3})}), "float32[2] -0 0");
  EXPECT_EQ(aten("abs", {i64({3}, {-3, 0, 3})}), "int64[3] 3 0 3");
  EXPECT_EQ(aten("clamp", {i64({2}, {1, 3}), Value(), 1.5}), "float32[2] 1 1.5");
  EXPECT_EQ(aten("equal", {f32({1}, {1}), f32({2}, {1, 1})}), "False");
  EXPECT_EQ(aten("equal", {f32({2}, {1, 1}), f32({1}, {1})}), "False");
  EXPECT_THROW(aten("_softmax", {i64({2}, {1, 2}), 0, false}), Error);
  EXPECT_THROW(aten("expand", {f32({3}, {1, 2, 3}), ints({2})}), Error);
  EXPECT_THROW(aten("index.Tensor", {f32({2}, {1, 2}), tensors({b8({3}, {true, true, false})})}),
               Error);
  const std::int64_t sizes[] = {2}, strides[] = {0};
  const Tensor expanded = f32({1}, {1}).as_strided(sizes, strides, 0);
  EXPECT_THROW(aten("add_.Tensor", {expanded, f32({2}, {1, 2})}), Error);
}

// An out that one of the factors reads is written to when all has been read.
TEST(KernelTables, AProductIntoEitherOfItsFactorsIsWhole) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4});
  const Tensor b = f32({2, 2}, {5, 6, 7, 8});
  const std::string product = show(aten_tensor("mm", {a, b}));
  const Tensor into_b = aten_tensor("clone", {b});
  EXPECT_EQ(aten("mm.out", {a, into_b, keyword("out", into_b)}), product);
  const Tensor into_a = aten_tensor("clone", {a});
  EXPECT_EQ(aten("mm.out", {into_a, b, keyword("out", into_a)}), product);
}

}  // namespace
}  // namespace opyard::test_kernels_tables
