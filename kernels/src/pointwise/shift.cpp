// kernels/pointwise/shift.cpp: bits moved to the left or to the right: bitwise_left_shift,
// bitwise_right_shift.
//
// A shift by less than 0, or by all bits and more, leaves none of them: 0 is what is left, and -1
// of a negative number that is shifted to the right, whose sign is copied. int64 carries the
// narrower integers (loops/loop.h [Carriers]), whose bits are the lowest ones of it.
#include <opyard/library.h>

#include "common/builds.h"
#include "common/define.h"
#include "common/kernels_block.h"
#include "pointwise/loops.h"

namespace opyard::kernels {
namespace {

template <typename T>
struct ShiftLeft {
  static T apply(T a, T b) { return b < 0 || b >= 64 ? 0 : T(std::uint64_t(a) << b); }
};
template <typename T>
struct ShiftRight {
  static T apply(T a, T b) { return a >> (b < 0 || b >= 64 ? 63 : b); }
};

// Of a uint64 that an int64 carries: loops/loop.h [Unsigned].
template <typename T>
struct ShiftRightUnsigned {
  static T apply(T a, T b) { return b < 0 || b >= 64 ? 0 : T(std::uint64_t(a) >> b); }
};

constexpr Loops kLeft = binary_loops<ShiftLeft, std::int64_t>();
constexpr Loops kRight = binary_loops<ShiftRight, std::int64_t>();
constexpr Loops kRightUnsigned = binary_loops<ShiftRightUnsigned, std::int64_t>();

Tensor shifted(const Elementwise& call, const Loops& loops, const Loops& of_unsigned) {
  const DType dtype = call.common();
  if (category_of(dtype) != 1) {
    refuse(ErrorKind::BadArgument, {call.op(), ": the operands meet in ", dtype,
                                    "; integers are needed, to which aten::to.dtype converts"});
  }
  const Loops& chosen = dtype == DType::UInt64 ? of_unsigned : loops;
  return call.run({call.choose_for_all(chosen, dtype), dtype, dtype});
}

Tensor left_shift(const Tensor& self, const Tensor& other) {
  return shifted(Elementwise("aten::bitwise_left_shift.Tensor", self, other), kLeft, kLeft);
}
Tensor left_shift_by_number(const Tensor& self, const Scalar& other) {
  return shifted(Elementwise("aten::bitwise_left_shift.Tensor_Scalar", self, other), kLeft, kLeft);
}
Tensor left_shift_of_number(const Scalar& self, const Tensor& other) {
  Elementwise call("aten::bitwise_left_shift.Scalar_Tensor");
  call.input("self", self);
  call.input("other", other);
  return shifted(call, kLeft, kLeft);
}
Tensor right_shift(const Tensor& self, const Tensor& other) {
  return shifted(Elementwise("aten::bitwise_right_shift.Tensor", self, other), kRight,
                 kRightUnsigned);
}
Tensor right_shift_by_number(const Tensor& self, const Scalar& other) {
  return shifted(Elementwise("aten::bitwise_right_shift.Tensor_Scalar", self, other), kRight,
                 kRightUnsigned);
}
Tensor right_shift_of_number(const Scalar& self, const Tensor& other) {
  Elementwise call("aten::bitwise_right_shift.Scalar_Tensor");
  call.input("self", self);
  call.input("other", other);
  return shifted(call, kRight, kRightUnsigned);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  for (const std::string name : {"bitwise_left_shift", "bitwise_right_shift"}) {
    define(m, name + ".Tensor(Tensor self, Tensor other) -> Tensor", Tagged::Pointwise);
    define(m, name + ".Tensor_Scalar(Tensor self, Scalar other) -> Tensor", Tagged::Pointwise);
    define(m, name + ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Tagged::Pointwise);
    define_in_place(m, name + ".Tensor", Form::WithFormula);
    define_in_place(m, name + ".Tensor_Scalar", Form::WithFormula);
    define_out(m, name + ".Tensor", "Tensor_out", Form::WithFormula);
    define_out(m, name + ".Tensor_Scalar", "Tensor_Scalar_out", Form::WithFormula);
  }
}

OPYARD_KERNELS(m) {
  m.impl("bitwise_left_shift.Tensor", &left_shift);
  m.impl("bitwise_left_shift.Tensor_Scalar", &left_shift_by_number);
  m.impl("bitwise_left_shift.Scalar_Tensor", &left_shift_of_number);
  m.impl("bitwise_right_shift.Tensor", &right_shift);
  m.impl("bitwise_right_shift.Tensor_Scalar", &right_shift_by_number);
  m.impl("bitwise_right_shift.Scalar_Tensor", &right_shift_of_number);
}

}  // namespace opyard::kernels
