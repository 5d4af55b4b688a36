// autograd/functions/fit_gradient.cpp: checking and converting gradients.
#include "functions/fit_gradient.h"

#include <fmt/format.h>

#include <algorithm>

#include "functions/calls.h"
#include "opyard/tensor/broadcast.h"

namespace opyard::autograd {

void refuse_gradient(const Function& function, std::size_t index, const std::string& what) {
  fail(ErrorKind::BadReturn,
       fmt::format("Function {} returned an invalid gradient at index {} - {}", function.name(),
                   index, what));
}

namespace {

// Of aten::_to_copy, whose formula hands the gradient on as it is.
bool copies_between_devices(const Function& function) {
  return function.name().find("_to_copy") != std::string::npos ||
         function.name().find("ToCopy") != std::string::npos;
}

}  // namespace

void fit_gradient(const Function& function, std::size_t index, Tensor& gradient,
                  const Expected& expected) {
  if (gradient.device() != expected.device && copies_between_devices(function)) {
    gradient = calls::to_device(gradient, expected.device);
  }
  if (gradient.device() != expected.device) {
    refuse_gradient(function, index,
                    fmt::format("expected device {} but got {}", to_string(expected.device),
                                to_string(gradient.device())));
  }
  const IntSpan sizes(expected.sizes);
  if (!gradient.impl()->has_policy(TensorImpl::kSymbolic) &&
      !std::ranges::equal(gradient.sizes(), sizes)) {
    if (!can_expand(sizes, gradient.sizes())) {
      refuse_gradient(function, index,
                      fmt::format("got {} but expected shape compatible with {}",
                                  describe_sizes(gradient.sizes()), describe_sizes(sizes)));
    }
    gradient = calls::sum_to(gradient, sizes);
  }
  if (is_complex(gradient.dtype()) && is_floating_point(expected.dtype)) {
    gradient = calls::real_part(gradient);
  }
  if (gradient.dtype() != expected.dtype) {
    if (!is_floating_point(gradient.dtype()) && !is_complex(gradient.dtype())) {
      refuse_gradient(function, index,
                      fmt::format("got dtype {} but expected {}", name_of(gradient.dtype()),
                                  name_of(expected.dtype)));
    }
    gradient = calls::to_dtype(gradient, expected.dtype);
  }
}

}  // namespace opyard::autograd
