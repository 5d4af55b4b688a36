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
