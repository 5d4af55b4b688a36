// kernels/composition/other_names.cpp: aliases of operators: those of
// torch.special, of Python's operators on bits, and of NumPy. They call it with what they get.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "common/broadcast.h"
#include "common/define.h"
#include "opyard/library.h"

namespace opyard::kernels {
namespace {

struct Name {
  std::string_view schema, of;
};
// `a & b`, and `a &= b`, by a tensor or by a number.
#define OPYARD_BITS(name, of, of_number)                                                       \
  {"__" name "__.Tensor(Tensor self, Tensor other) -> Tensor", "aten::" of ".Tensor"},         \
      {"__" name "__.Scalar(Tensor self, Scalar other) -> Tensor", "aten::" of "." of_number}, \
      {"__i" name "__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",                    \
       "aten::" of "_.Tensor"},                                                                \
  {                                                                                            \
    "__i" name "__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",                       \
        "aten::" of "_." of_number                                                             \
  }
constexpr std::array kNames = std::to_array<Name>({
    {"special_digamma(Tensor self) -> Tensor", "aten::digamma"},
    {"special_erf(Tensor self) -> Tensor", "aten::erf"},
    {"special_erfc(Tensor self) -> Tensor", "aten::erfc"},
    {"special_exp2(Tensor self) -> Tensor", "aten::exp2"},
    {"special_expit(Tensor self) -> Tensor", "aten::sigmoid"},
    {"special_expm1(Tensor self) -> Tensor", "aten::expm1"},
    {"special_gammaln(Tensor self) -> Tensor", "aten::lgamma"},
    {"special_log1p(Tensor self) -> Tensor", "aten::log1p"},
    {"special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     "aten::log_softmax.int"},
    {"special_logit(Tensor self, float? eps=None) -> Tensor", "aten::logit"},
    {"special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", "aten::logsumexp"},
    {"special_psi(Tensor self) -> Tensor", "aten::digamma"},
    {"special_sinc(Tensor self) -> Tensor", "aten::sinc"},
    {"special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     "aten::softmax.int"},
    {"special_xlogy(Tensor self, Tensor other) -> Tensor", "aten::xlogy.Tensor"},
    {"special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", "aten::xlogy.Scalar_Other"},
    {"special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", "aten::xlogy.Scalar_Self"},
    {"swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", "aten::transpose.int"},
    {"swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", "aten::transpose.int"},
    {"swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", "aten::transpose_"},
    {"swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", "aten::transpose_"},
    {"moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     "aten::movedim.intlist"},
    {"moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", "aten::movedim.int"},
    {"absolute(Tensor self) -> Tensor", "aten::abs"},
    {"absolute_(Tensor(a!) self) -> Tensor(a!)", "aten::abs_"},
    {"arccos(Tensor self) -> Tensor", "aten::acos"},
    {"arccos_(Tensor(a!) self) -> Tensor(a!)", "aten::acos_"},
    {"arccosh(Tensor self) -> Tensor", "aten::acosh"},
    {"arccosh_(Tensor(a!) self) -> Tensor(a!)", "aten::acosh_"},
    {"arcsin(Tensor self) -> Tensor", "aten::asin"},
    {"arcsin_(Tensor(a!) self) -> Tensor(a!)", "aten::asin_"},
    {"arcsinh(Tensor self) -> Tensor", "aten::asinh"},
    {"arcsinh_(Tensor(a!) self) -> Tensor(a!)", "aten::asinh_"},
    {"arctan(Tensor self) -> Tensor", "aten::atan"},
    {"arctan2(Tensor self, Tensor other) -> Tensor", "aten::atan2"},
    {"arctan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::atan2_"},
    {"arctan_(Tensor(a!) self) -> Tensor(a!)", "aten::atan_"},
    {"arctanh(Tensor self) -> Tensor", "aten::atanh"},
    {"arctanh_(Tensor(a!) self) -> Tensor(a!)", "aten::atanh_"},
    {"argwhere(Tensor self) -> Tensor", "aten::nonzero"},
    {"clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", "aten::clamp"},
    {"clip_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)", "aten::clamp_"},
    {"divide.Tensor(Tensor self, Tensor other) -> Tensor", "aten::div.Tensor"},
    {"divide.Scalar(Tensor self, Scalar other) -> Tensor", "aten::div.Scalar"},
    {"divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
     "aten::div.Tensor_mode"},
    {"divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
     "aten::div.Scalar_mode"},
    {"divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::div_.Tensor"},
    {"divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::div_.Scalar"},
    {"fix(Tensor self) -> Tensor", "aten::trunc"},
    {"fix_(Tensor(a!) self) -> Tensor(a!)", "aten::trunc_"},
    {"greater.Tensor(Tensor self, Tensor other) -> Tensor", "aten::gt.Tensor"},
    {"greater.Scalar(Tensor self, Scalar other) -> Tensor", "aten::gt.Scalar"},
    {"greater_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::gt_.Scalar"},
    {"greater_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::gt_.Tensor"},
    {"greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten::ge.Tensor"},
    {"greater_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten::ge.Scalar"},
    {"greater_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::ge_.Scalar"},
    {"greater_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::ge_.Tensor"},
    {"less.Tensor(Tensor self, Tensor other) -> Tensor", "aten::lt.Tensor"},
    {"less.Scalar(Tensor self, Scalar other) -> Tensor", "aten::lt.Scalar"},
    {"less_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::lt_.Scalar"},
    {"less_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::lt_.Tensor"},
    {"less_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten::le.Tensor"},
    {"less_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten::le.Scalar"},
    {"less_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::le_.Scalar"},
    {"less_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::le_.Tensor"},
    {"multiply.Tensor(Tensor self, Tensor other) -> Tensor", "aten::mul.Tensor"},
    {"multiply.Scalar(Tensor self, Scalar other) -> Tensor", "aten::mul.Scalar"},
    {"multiply_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::mul_.Tensor"},
    {"multiply_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::mul_.Scalar"},
    {"negative(Tensor self) -> Tensor", "aten::neg"},
    {"negative_(Tensor(a!) self) -> Tensor(a!)", "aten::neg_"},
    {"not_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten::ne.Tensor"},
    {"not_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten::ne.Scalar"},
    {"not_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::ne_.Scalar"},
    {"not_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::ne_.Tensor"},
    {"row_stack(Tensor[] tensors) -> Tensor", "aten::vstack"},
    {"subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "aten::sub.Tensor"},
    {"subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "aten::sub.Scalar"},
    {"subtract_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
     "aten::sub_.Tensor"},
    {"subtract_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
     "aten::sub_.Scalar"},
    {"true_divide.Tensor(Tensor self, Tensor other) -> Tensor", "aten::div.Tensor"},
    {"true_divide.Scalar(Tensor self, Scalar other) -> Tensor", "aten::div.Scalar"},
    {"true_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::div_.Tensor"},
    {"true_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::div_.Scalar"},
    OPYARD_BITS("and", "bitwise_and", "Scalar"),
    OPYARD_BITS("or", "bitwise_or", "Scalar"),
    OPYARD_BITS("xor", "bitwise_xor", "Scalar"),
    OPYARD_BITS("lshift", "bitwise_left_shift", "Tensor_Scalar"),
    OPYARD_BITS("rshift", "bitwise_right_shift", "Tensor_Scalar"),
});
#undef OPYARD_BITS

std::string_view operator_name(const Name& each) {
  return each.schema.substr(0, each.schema.find('('));
}

void call_other(const Operator& op, DispatchKeySet, Stack& stack) {
  std::string own = to_string(op.name()).substr(std::string_view("aten::").size());
  const auto* const found = std::ranges::find(kNames, own, &operator_name);
  call_named(op, require_operator(found->of), stack);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  for (const Name& each : kNames) {
    const bool is_overload = operator_name(each).find('.') != std::string_view::npos;
    const Tagged plain = each.of == "aten::transpose_" ? Tagged::InPlaceView : Tagged::None;
    define(m, each.schema, is_overload ? Tagged::Overlapping : plain);
    m.impl(operator_name(each), DispatchKey::CompositeImplicitAutograd, &call_other);
  }
}

}  // namespace opyard::kernels
