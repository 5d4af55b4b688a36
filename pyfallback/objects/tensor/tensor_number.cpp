// objects/tensor/tensor_number.cpp: arithmetic: each symbol is a call of one aten operator.
//
// [Operands] The other operand is a Tensor, a number (bool, int, float, complex, a scalar of
// NumPy), or an array of another library on either side, which becomes a Tensor on its memory: so
// is the result. Bytes are no array here. For anything else the answer is NotImplemented, and
// Python asks the other operand.
//
// [Reflected] A number on the left meets a tensor on the right:
//   + * & | ^   the operands change places
//   -           aten.rsub
//   ** << >>    aten.pow and the shifts take a number as their first operand
//   / // %      the number becomes a tensor without dimensions, which promotes as a number
//               would, and the operator is called in the order that was written. Division through
//               the reciprocal would round twice.
#include "objects/arrays/foreign_array.h"
#include "objects/arrays/numpy_types.h"
#include "objects/tensor/aten.h"
#include "objects/tensor/tensor_parts.h"
#include "objects/tensor/traced_read.h"
#include "objects/values/dtype.h"
#include "objects/values/element.h"
#include "objects/values/integer.h"
#include "runtime/require_stack.h"
#include "runtime/types.h"

#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace opyard::python {
namespace {

bool is_plain_number(PyObject* object) noexcept {
  return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object);
}

}  // namespace

bool is_complex_number(PyObject* object) noexcept {
  return PyComplex_Check(object) || is_numpy_scalar(object, {"complex", "clong"});
}

bool is_number(PyObject* object) noexcept {
  return is_plain_number(object) || is_complex_number(object) ||
         is_numpy_scalar(object, {"bool", "int", "uint", "float", "long", "ulong"});
}

// The widest numbers of NumPy are those whose item() is no Python number.
Owned plain_number(PyObject* number) {
  if (is_plain_number(number)) return Owned::share(number);
  require_stack();
  Owned plain = checked(PyObject_CallMethod(number, "item", nullptr));
  if (is_plain_number(plain.get())) return plain;
  if (is_complex_number(number)) {
    return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), number));
  }
  return checked(PyNumber_Float(number));
}

Owned find_array_operand(Runtime& runtime, PyObject* object) {
  require_stack();  // Python may ask the object next, as its __radd__
  if (PyBytes_Check(object) || PyByteArray_Check(object) || !is_foreign_array(runtime, object)) {
    return {};
  }
  Value value;
  try {
    if (!to_foreign_tensor(runtime, object, nullptr, value)) return {};
  } catch (const RefusedArray& refusal) {
    fail(refusal.kind(), std::string("an operand of type '") + Py_TYPE(object)->tp_name +
                             "' cannot be taken as a Tensor: " + refusal.what());
  }
  return wrap(runtime, value.take_tensor());
}

namespace {

// `plain` is the first argument of the operator.
Number number_from(PyObject* plain, AtenName op, bool beside_uint64) {
  if (PyBool_Check(plain)) return Number::of_bool(plain == Py_True);
  if (PyFloat_Check(plain)) return Number::of_float(PyFloat_AS_DOUBLE(plain));
  if (PyComplex_Check(plain)) {
    return Number::of_complex(PyComplex_RealAsDouble(plain), PyComplex_ImagAsDouble(plain));
  }
  if (const std::optional<std::int64_t> value = find_int64(plain)) return Number::of_int(*value);
  if (const std::optional<std::uint64_t> above = find_uint64_above(plain); above && beside_uint64) {
    return Number::of_uint64(*above);
  }
  fail(ErrorKind::BadArgument, std::string("aten::") + name_of(op) +
                                   ": argument 'self' at position 0 is the int " + shown(plain) +
                                   "; accepted are Tensors, floats, and ints from " + kInt64Range);
}

bool is_higher(Number::Kind number, DType than) {
  if (is_complex(than)) return false;
  if (is_floating_point(than)) return number == Number::Kind::Complex;
  return number > (than == DType::Bool ? Number::Kind::Bool : Number::Kind::Int);
}

// The dtype that keeps a number as exact as an operator may need it, and that promotes beside
// tensors with dimensions as the number does.
DType exact_dtype(Number::Kind number, DType other) {
  const bool is_wide = other == DType::Float64 || other == DType::ComplexDouble;
  switch (number) {
    case Number::Kind::Bool:
      return DType::Bool;
    case Number::Kind::Int:
      return DType::Int64;
    case Number::Kind::Float:
      return is_wide ? DType::Float64 : DType::Float32;
    case Number::Kind::Complex:
      return is_wide ? DType::ComplexDouble : DType::ComplexFloat;
  }
  fail(ErrorKind::Internal, "a number of no kind");
}

// In a dtype of the number's kind, or of a higher one; integers wrap.
void store_wrapped(Number number, const Tensor& to) {
  if (number.kind == Number::Kind::Int && is_integral(to.dtype())) {
    // The lowest bytes, which is where little-endian machines begin.
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(to.mutable_raw(), &number.integer, item_size(to.dtype()));
    return;
  }
  store_number(to.dtype(), number, to.mutable_raw());
}

// As an operator makes it, so that a graph has the number, as it has the others of a program.
OPYARD_COLD Owned traced_number(Runtime& runtime, PyObject* number, const Tensor& as) {
  const Owned name = checked(PyUnicode_FromString("scalar_tensor"));
  const Owned packet = find_aten(runtime, name.get());
  if (!packet) return wrap(runtime, as);
  const Owned dtype = wrap(runtime, as.dtype());
  const Owned kwargs = checked(Py_BuildValue("{s:O}", "dtype", dtype.get()));
  const Owned args = checked(PyTuple_Pack(1, number));
  return checked(PyObject_Call(packet.get(), args.get(), kwargs.get()));
}

// Beside a tensor without dimensions a tensor without dimensions counts as much as that; a number
// counts only if its category (bool, int, float, complex) is higher. So it takes the other one's
// dtype. See [Reflected].
Owned number_as_tensor(Runtime& runtime, AtenName op, PyObject* number, const Tensor& other) {
  const bool beside_uint64 = other.dtype() == DType::UInt64;
  const Number value = number_from(plain_number(number).get(), op, beside_uint64);
  if (value.is_above) {
    const Tensor wide = Tensor::empty({}, DType::UInt64);
    store_number(DType::UInt64, value, wide.mutable_raw());
    return wrap(runtime, wide);
  }
  const bool is_quotient = op == AtenName::div && is_integral(other.dtype());  // a float anyhow
  const bool yields = other.dim() == 0 && !is_quotient && !is_higher(value.kind, other.dtype());
  const Tensor tensor =
      Tensor::empty({}, yields ? other.dtype() : exact_dtype(value.kind, other.dtype()));
  store_wrapped(value, tensor);
  if (__builtin_expect(is_tracing_calls(), 0)) return traced_number(runtime, number, tensor);
  return wrap(runtime, tensor);
}

}  // namespace

Owned number_beside(Runtime& runtime, PyObject* number, const Tensor& other) {
  return number_as_tensor(runtime, AtenName::add, number, other);
}

Owned call_with_number(Runtime& runtime, AtenName name, PyObject* tensor, PyObject* number) {
  try {
    return call_aten(runtime, name, {tensor, number});
  } catch (const PythonErrorSet&) {
    PyObject* const refusal = take_exception();
    const bool is_uint64 = tensor_unchecked(tensor).dtype() == DType::UInt64;
    if (!is_uint64 || !PyLong_Check(number) || !find_uint64_above(number)) {
      restore_exception(refusal);
      throw;
    }
    const Owned forgotten = Owned::steal(refusal);
    const Owned wide = number_as_tensor(runtime, name, number, tensor_unchecked(tensor));
    return call_aten(runtime, name, {tensor, wide.get()});
  }
}

namespace {

enum class Reflect { Swap, Subtract, AsIs, AsTensor, Never };

// a <symbol> b, if one or both are tensors. See [Operands].
template <AtenName Name, Reflect How>
PyObject* binary_operator(PyObject* a, PyObject* b) {
  return enter_from_python([&]() -> PyObject* {
    Runtime* const runtime = find_runtime();
    if (runtime == nullptr) Py_RETURN_NOTIMPLEMENTED;
    if (is_tensor(*runtime, a)) {
      if (is_tensor(*runtime, b)) return call_aten(*runtime, Name, {a, b}).release();
      if (How != Reflect::Never && is_number(b)) {
        return call_with_number(*runtime, Name, a, b).release();
      }
      const Owned array = find_array_operand(*runtime, b);
      if (!array) Py_RETURN_NOTIMPLEMENTED;
      return call_aten(*runtime, Name, {a, array.get()}).release();
    }
    if (How == Reflect::Never || !is_number(a)) {
      const Owned array = find_array_operand(*runtime, a);
      if (!array) Py_RETURN_NOTIMPLEMENTED;
      return call_aten(*runtime, Name, {array.get(), b}).release();
    }
    if constexpr (How == Reflect::Swap) return call_with_number(*runtime, Name, b, a).release();
    if constexpr (How == Reflect::Subtract) {
      return call_with_number(*runtime, AtenName::rsub, b, a).release();
    }
    if constexpr (How == Reflect::AsIs) return call_aten(*runtime, Name, {a, b}).release();
    const Owned left = number_as_tensor(*runtime, Name, a, tensor_unchecked(b));
    return call_aten(*runtime, Name, {left.get(), b}).release();
  });
}

bool has_no_bits(PyObject* operand) { return PyFloat_Check(operand) || is_complex_number(operand); }

// a <symbol> b for operators on bits: the operands may change places, and floats have no bits.
template <AtenName Name>
PyObject* bitwise(PyObject* a, PyObject* b) {
  if (has_no_bits(a) || has_no_bits(b)) Py_RETURN_NOTIMPLEMENTED;
  return binary_operator<Name, Reflect::Swap>(a, b);
}

template <AtenName Name>
PyObject* shifted_bits(PyObject* a, PyObject* b) {
  if (has_no_bits(a) || has_no_bits(b)) Py_RETURN_NOTIMPLEMENTED;
  return binary_operator<Name, Reflect::AsIs>(a, b);
}

template <AtenName Name>
PyObject* unary_operator(PyObject* self) {
  return enter_from_python(
      [&] { return call_aten(runtime_of_tensor(self), Name, {self}).release(); });
}

PyObject* positive(PyObject* self) { return Owned::share(self).release(); }

// The operator gives its first argument back, which has one wrapper: the very `self`.
template <AtenName Name>
PyObject* in_place(PyObject* self, PyObject* other) {
  return enter_from_python([&]() -> PyObject* {
    Runtime& runtime = runtime_of_tensor(self);
    if (is_tensor(runtime, other)) return call_aten(runtime, Name, {self, other}).release();
    if (is_number(other)) return call_with_number(runtime, Name, self, other).release();
    const Owned array = find_array_operand(runtime, other);
    if (!array) Py_RETURN_NOTIMPLEMENTED;
    return call_aten(runtime, Name, {self, array.get()}).release();
  });
}

template <AtenName Name>
PyObject* bitwise_in_place(PyObject* self, PyObject* other) {
  if (has_no_bits(other)) Py_RETURN_NOTIMPLEMENTED;
  return in_place<Name>(self, other);
}

PyObject* power_in_place(PyObject* self, PyObject* other, PyObject*) {
  return in_place<AtenName::pow_>(self, other);
}

// pow(a, b, modulus) has no operator.
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary_operator<AtenName::pow, Reflect::AsIs>(a, b);
}

PyType_Slot arithmetic_slots[] = {
    {Py_nb_add, slot(binary_operator<AtenName::add, Reflect::Swap>)},
    {Py_nb_subtract, slot(binary_operator<AtenName::sub, Reflect::Subtract>)},
    {Py_nb_multiply, slot(binary_operator<AtenName::mul, Reflect::Swap>)},
    {Py_nb_true_divide, slot(binary_operator<AtenName::div, Reflect::AsTensor>)},
    {Py_nb_floor_divide, slot(binary_operator<AtenName::floor_divide, Reflect::AsTensor>)},
    {Py_nb_remainder, slot(binary_operator<AtenName::remainder, Reflect::AsTensor>)},
    {Py_nb_matrix_multiply, slot(binary_operator<AtenName::matmul, Reflect::Never>)},
    {Py_nb_power, slot(power)},
    {Py_nb_and, slot(bitwise<AtenName::bitwise_and>)},
    {Py_nb_or, slot(bitwise<AtenName::bitwise_or>)},
    {Py_nb_xor, slot(bitwise<AtenName::bitwise_xor>)},
    {Py_nb_lshift, slot(shifted_bits<AtenName::bitwise_left_shift>)},
    {Py_nb_rshift, slot(shifted_bits<AtenName::bitwise_right_shift>)},
    {Py_nb_negative, slot(unary_operator<AtenName::neg>)},
    {Py_nb_positive, slot(positive)},
    {Py_nb_absolute, slot(unary_operator<AtenName::abs>)},
    {Py_nb_invert, slot(unary_operator<AtenName::bitwise_not>)},
    {Py_nb_inplace_add, slot(in_place<AtenName::add_>)},
    {Py_nb_inplace_subtract, slot(in_place<AtenName::sub_>)},
    {Py_nb_inplace_multiply, slot(in_place<AtenName::mul_>)},
    {Py_nb_inplace_true_divide, slot(in_place<AtenName::div_>)},
    {Py_nb_inplace_floor_divide, slot(in_place<AtenName::floor_divide_>)},
    {Py_nb_inplace_remainder, slot(in_place<AtenName::remainder_>)},
    {Py_nb_inplace_power, slot(power_in_place)},
    {Py_nb_inplace_and, slot(bitwise_in_place<AtenName::bitwise_and_>)},
    {Py_nb_inplace_or, slot(bitwise_in_place<AtenName::bitwise_or_>)},
    {Py_nb_inplace_xor, slot(bitwise_in_place<AtenName::bitwise_xor_>)},
    {Py_nb_inplace_lshift, slot(bitwise_in_place<AtenName::bitwise_left_shift_>)},
    {Py_nb_inplace_rshift, slot(bitwise_in_place<AtenName::bitwise_right_shift_>)}};

}  // namespace

TypeSlots number_slots() { return arithmetic_slots; }

}  // namespace opyard::python
