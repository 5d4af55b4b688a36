"""Arithmetic, comparisons, logic and functions, element by element."""

POINTWISE = """
pointwise Abs(Tensor x) { abs(x) }
pointwise Neg(Tensor x) { neg(x) }
pointwise Ceil(Tensor x) { ceil(x) }
pointwise Floor(Tensor x) { floor(x) }
pointwise Round(Tensor x) { round(x) }
pointwise Sqrt(Tensor x) { sqrt(x) }
pointwise Exp(Tensor x) { exp(x) }
pointwise Log(Tensor x) { log(x) }
pointwise Reciprocal(Tensor x) { reciprocal(x) }
pointwise Sin(Tensor x) { sin(x) }
pointwise Cos(Tensor x) { cos(x) }
pointwise Tan(Tensor x) { tan(x) }
pointwise Asin(Tensor x) { asin(x) }
pointwise Acos(Tensor x) { acos(x) }
pointwise Atan(Tensor x) { atan(x) }
pointwise Sinh(Tensor x) { sinh(x) }
pointwise Cosh(Tensor x) { cosh(x) }
pointwise Asinh(Tensor x) { asinh(x) }
pointwise Acosh(Tensor x) { acosh(x) }
pointwise Atanh(Tensor x) { atanh(x) }
pointwise Erf(Tensor x) { erf(x) }
pointwise Sign(Tensor x) { sign(x) }
pointwise IsNaN(Tensor x) -> bool { isnan(x) }
pointwise IsInf(Tensor x; int detect_negative=1, int detect_positive=1) -> bool {
  if detect_negative == 0 {
    if detect_positive == 0 { isnan(x).logical_and(isinf(x)) } else { x == inf }
  } else {
    if detect_positive == 0 { x == -inf } else { isinf(x) }
  }
}

pointwise Add(Tensor a, Tensor b) { a + b }
pointwise Sub(Tensor a, Tensor b) { a - b }
pointwise Mul(Tensor a, Tensor b) { a * b }
pointwise Div(Tensor a, Tensor b) { if a_floats { a / b } else { a.div(b, rounding_mode="trunc") } }
pointwise Mod(Tensor a, Tensor b; int fmod=0) {
  if fmod == 1 { fmod(a, b) } else { remainder(a, b) }
}
pointwise Pow(Tensor a, Tensor b) {
  if a_floats { pow(a, b.to(a_dtype)) } else {
    if b_floats { pow(a.to(7), b.to(7)).to(a_dtype) } else { pow(a, b.to(a_dtype)) }
  }
}
pointwise BitwiseAnd(Tensor a, Tensor b) { bitwise_and(a, b) }
pointwise BitwiseOr(Tensor a, Tensor b) { bitwise_or(a, b) }
pointwise BitwiseXor(Tensor a, Tensor b) { bitwise_xor(a, b) }
pointwise BitwiseNot(Tensor x) { bitwise_not(x) }
pointwise BitShift(Tensor a, Tensor b; str direction) {
  if direction == "LEFT" { bitwise_left_shift(a, b) } else { bitwise_right_shift(a, b) }
}

pointwise Equal(Tensor a, Tensor b) -> bool { a == b }
pointwise Less(Tensor a, Tensor b) -> bool { a < b }
pointwise LessOrEqual(Tensor a, Tensor b) -> bool { a <= b }
pointwise Greater(Tensor a, Tensor b) -> bool { a > b }
pointwise GreaterOrEqual(Tensor a, Tensor b) -> bool { a >= b }
pointwise Not(Tensor x) -> bool { logical_not(x) }
pointwise And(Tensor a, Tensor b) -> bool { logical_and(a, b) }
pointwise Or(Tensor a, Tensor b) -> bool { logical_or(a, b) }
pointwise Xor(Tensor a, Tensor b) -> bool { logical_xor(a, b) }
pointwise Where(Tensor c, Tensor a, Tensor b) -> a { where(c, a, b) }
pointwise Identity(Tensor x) { x }
"""
