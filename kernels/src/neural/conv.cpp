// kernels/neural/conv.cpp: conv1d to conv3d, their transposed forms, and _convolution, which traced
// TorchScript has; they call convolution.
//
// An input without a batch gets one of size 1. padding="same" puts the odd one of an even kernel at
// the end.
#include <string_view>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"
#include "common/ops.h"
#include "common/options.h"
#include "geometry/symbolic_calls.h"

namespace opyard::kernels {
namespace {

struct Call {
  const char* op;
  std::int64_t dims;
  IntSpan stride, padding, dilation;
  bool transposed = false;
  IntSpan output_padding = {};
  std::int64_t groups = 1;
};

constexpr std::int64_t kZero[] = {0};

Tensor convolve(const Call& call, const Tensor& input, const Tensor& weight,
                const MaybeTensor& bias) {
  using Convolution = Tensor(const Tensor&, const Tensor&, const MaybeTensor&, IntSpan, IntSpan,
                             IntSpan, bool, IntSpan, std::int64_t);
  static constinit FoundOperator<Convolution> op("aten::convolution");
  require_defined(call.op, "input", input);
  require_defined(call.op, "weight", weight);
  if ((input.dim() != call.dims + 2 && input.dim() != call.dims + 1) ||
      weight.dim() != call.dims + 2) {
    refuse(ErrorKind::BadShape, {call.op, ": input is ", input, " and weight is ", weight,
                                 "; an input of ", call.dims + 1, " or ", call.dims + 2,
                                 " dimensions and a weight of ", call.dims + 2, " are needed"});
  }
  const bool batched = input.dim() == call.dims + 2;
  const Tensor batch = batched ? input : ops::unsqueeze(input, 0);
  const Tensor result = named(call.op, "aten::convolution", [&] {
    return op.call(batch, weight, bias, call.stride, call.padding, call.dilation, call.transposed,
                   call.transposed ? call.output_padding : IntSpan(kZero), call.groups);
  });
  return batched ? result : ops::squeeze(result, 0);
}

template <int dims>
constexpr const char* kConvName = dims == 1   ? "aten::conv1d"
                                  : dims == 2 ? "aten::conv2d"
                                              : "aten::conv3d";
template <int dims>
constexpr const char* kPaddedName = dims == 1   ? "aten::conv1d.padding"
                                    : dims == 2 ? "aten::conv2d.padding"
                                                : "aten::conv3d.padding";
template <int dims>
constexpr const char* kTransposedName = dims == 1   ? "aten::conv_transpose1d"
                                        : dims == 2 ? "aten::conv_transpose2d.input"
                                                    : "aten::conv_transpose3d.input";

template <int dims>
Tensor conv(const Tensor& input, const Tensor& weight, const MaybeTensor& bias, IntSpan stride,
            IntSpan padding, IntSpan dilation, std::int64_t groups) {
  const Call call{.op = kConvName<dims>,
                  .dims = dims,
                  .stride = stride,
                  .padding = padding,
                  .dilation = dilation,
                  .groups = groups};
  return convolve(call, input, weight, bias);
}

template <int dims>
Tensor conv_transposed(const Tensor& input, const Tensor& weight, const MaybeTensor& bias,
                       IntSpan stride, IntSpan padding, IntSpan output_padding, std::int64_t groups,
                       IntSpan dilation) {
  const Call call{kTransposedName<dims>, dims,  stride, padding, dilation, true,
                  output_padding,        groups};
  return convolve(call, input, weight, bias);
}

template <int dims>
Tensor conv_named_padding(const Tensor& input, const Tensor& weight, const MaybeTensor& bias,
                          IntSpan stride, std::string_view padding, IntSpan dilation,
                          std::int64_t groups) {
  constexpr const char* kOp = kPaddedName<dims>;
  const auto convolved = [&](const Tensor& given, IntSpan numbers) {
    return named(kOp, kConvName<dims>, [&] {
      return conv<dims>(given, weight, bias, stride, numbers, dilation, groups);
    });
  };
  if (padding == "valid") return convolved(input, kZero);
  if (padding != "same") {
    refuse(ErrorKind::BadValue,
           {kOp, ": padding is \"", padding, "\"; accepted are \"valid\", \"same\" and numbers"});
  }
  for (const std::int64_t step : stride) {
    if (step != 1) {
      refuse(ErrorKind::BadValue,
             {kOp, ": stride is ", stride, ", and padding \"same\" accepts 1 alone"});
    }
  }
  require_defined(kOp, "weight", weight);
  if (weight.dim() != dims + 2) {
    refuse(ErrorKind::BadShape,
           {kOp, ": weight is ", weight, "; ", dims + 2, " dimensions are needed"});
  }
  DimVector both;
  DimVector at_end(std::size_t(2 * dims), 0);
  bool uneven = false;
  for (int i = 0; i < dims; ++i) {
    const std::int64_t by = dilation[dilation.size() == 1 ? 0 : std::size_t(i)];
    const std::int64_t all = by * (weight.sizes()[std::size_t(i + 2)] - 1);
    both.push_back(all / 2);
    at_end[std::size_t(2 * (dims - 1 - i) + 1)] = all % 2;
    uneven = uneven || all % 2 != 0;
  }
  using Pad = Tensor(const Tensor&, IntSpan, const Scalar&);
  static constinit FoundOperator<Pad> pad("aten::constant_pad_nd");
  return convolved(uneven ? pad.call(input, at_end, 0) : input, both);
}

// The last arguments choose among PyTorch's libraries.
Tensor convolve_as_traced(const Tensor& input, const Tensor& weight, const MaybeTensor& bias,
                          IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
                          IntSpan output_padding, std::int64_t groups, bool /*benchmark*/,
                          bool /*deterministic*/, bool /*cudnn_enabled*/, bool /*allow_tf32*/) {
  constexpr const char* kOp = "aten::_convolution";
  require_defined(kOp, "weight", weight);
  const Call call{kOp,      weight.dim() - 2, stride,         padding,
                  dilation, transposed,       output_padding, groups};
  return convolve(call, input, weight, bias);
}
Tensor convolve_as_traced_before(const Tensor& input, const Tensor& weight, const MaybeTensor& bias,
                                 IntSpan stride, IntSpan padding, IntSpan dilation, bool transposed,
                                 IntSpan output_padding, std::int64_t groups, bool benchmark,
                                 bool deterministic, bool cudnn_enabled) {
  return named("aten::_convolution.deprecated", "aten::_convolution", [&] {
    return convolve_as_traced(input, weight, bias, stride, padding, dilation, transposed,
                              output_padding, groups, benchmark, deterministic, cudnn_enabled,
                              true);
  });
}

}  // namespace

#define OPYARD_TRACED                                                                        \
  "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] " \
  "dilation, bool transposed, "
#define OPYARD_CHOICES "SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled"

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] "
          "padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
          "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] "
          "padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
          "conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] "
          "padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor",
          "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, "
          "SymInt[1] padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) "
          "-> Tensor",
          "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
          "stride=1, SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] "
          "dilation=1) -> Tensor",
          "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
          "stride=1, SymInt[3] padding=0, SymInt[3] output_padding=0, SymInt groups=1, SymInt[3] "
          "dilation=1) -> Tensor"});
  define(m,
         {"conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str "
          "padding=\"valid\", SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
          "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str "
          "padding=\"valid\", SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
          "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str "
          "padding=\"valid\", SymInt[3] dilation=1, SymInt groups=1) -> Tensor"},
         Tagged::Overlapping);
  define(m, "_convolution" OPYARD_TRACED "SymInt[] output_padding, " OPYARD_CHOICES
            ", bool allow_tf32) -> Tensor");
  define(m, "_convolution.deprecated" OPYARD_TRACED "int[] output_padding, " OPYARD_CHOICES
            ") -> Tensor");
  m.impl("_convolution", Kernel::with_symbolic<&convolve_as_traced, &decide_symbolic>());
  m.impl("_convolution.deprecated",
         Kernel::with_symbolic<&convolve_as_traced_before, &decide_symbolic>());
  m.impl("conv1d", Kernel::with_symbolic<&conv<1>, &decide_symbolic>());
  m.impl("conv2d", Kernel::with_symbolic<&conv<2>, &decide_symbolic>());
  m.impl("conv3d", Kernel::with_symbolic<&conv<3>, &decide_symbolic>());
  m.impl("conv1d.padding", Kernel::with_symbolic<&conv_named_padding<1>, &decide_symbolic>());
  m.impl("conv2d.padding", Kernel::with_symbolic<&conv_named_padding<2>, &decide_symbolic>());
  m.impl("conv3d.padding", Kernel::with_symbolic<&conv_named_padding<3>, &decide_symbolic>());
  m.impl("conv_transpose1d", Kernel::with_symbolic<&conv_transposed<1>, &decide_symbolic>());
  m.impl("conv_transpose2d.input", Kernel::with_symbolic<&conv_transposed<2>, &decide_symbolic>());
  m.impl("conv_transpose3d.input", Kernel::with_symbolic<&conv_transposed<3>, &decide_symbolic>());
}
#undef OPYARD_CHOICES
#undef OPYARD_TRACED

}  // namespace opyard::kernels
