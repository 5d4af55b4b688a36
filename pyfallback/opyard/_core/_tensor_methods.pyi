"""Methods of Tensor that are operators of aten: tools/method_stubs.py writes it.

It is for type checkers, and in one piece, since it is one class. Arrays of other libraries are
taken where a Tensor is, and what comes then is of their kind.
"""

# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
# pyright: reportOverlappingOverload=false

import builtins as _builtins
import collections.abc as _abc
import typing as _typing

import opyard as _opyard
from opyard._core import _array_types as _opyard_arrays
from opyard._core import layout as _opyard_layout
from opyard._tensor import symbolic as _opyard_symbolic

_SymSizes: _typing.TypeAlias = (
    _abc.Sequence[_opyard_arrays.Int | _opyard_symbolic.SymInt]
    | _opyard_arrays.Int
    | _opyard_symbolic.SymInt
)
_Sizes: _typing.TypeAlias = _abc.Sequence[_opyard_arrays.Int] | _opyard_arrays.Int
_SymInt: _typing.TypeAlias = _opyard_arrays.Int | _opyard_symbolic.SymInt
_Int: _typing.TypeAlias = _opyard_arrays.Int
_Float: _typing.TypeAlias = _opyard_arrays.Float
_Bool: _typing.TypeAlias = _opyard_arrays.Bool
_Complex: _typing.TypeAlias = _opyard_arrays.Complex
_Scalar: _typing.TypeAlias = _opyard_arrays.Scalar
_Operand: _typing.TypeAlias = _opyard_arrays.Operand
_NDArray: _typing.TypeAlias = _opyard_arrays.NDArray
_Array: _typing.TypeAlias = _opyard_arrays.ForeignArray
_Tensor: _typing.TypeAlias = _opyard.Tensor
_dtype: _typing.TypeAlias = _opyard.dtype | _builtins.type | _opyard_arrays.NumPyDType
_int: _typing.TypeAlias = _builtins.int
_float: _typing.TypeAlias = _builtins.float
_complex: _typing.TypeAlias = _builtins.complex
_bool: _typing.TypeAlias = _builtins.bool
_str: _typing.TypeAlias = _builtins.str
_Any: _typing.TypeAlias = _typing.Any

class TensorMethods:
    def bfloat16(self) -> _Tensor: ...
    def bool(self) -> _Tensor: ...
    def byte(self) -> _Tensor: ...
    def char(self) -> _Tensor: ...
    def double(self) -> _Tensor: ...
    def float(self) -> _Tensor: ...
    def half(self) -> _Tensor: ...
    def int(self) -> _Tensor: ...
    def long(self) -> _Tensor: ...
    def short(self) -> _Tensor: ...
    def abs(self) -> _Tensor: ...
    def abs_(self) -> _Tensor: ...
    def absolute(self) -> _Tensor: ...
    def absolute_(self) -> _Tensor: ...
    def acos(self) -> _Tensor: ...
    def acos_(self) -> _Tensor: ...
    def acosh(self) -> _Tensor: ...
    def acosh_(self) -> _Tensor: ...
    @_typing.overload
    def adaptive_avg_pool1d(self, output_size: _Sizes) -> _Tensor: ...
    @_typing.overload
    def adaptive_avg_pool1d(self, *output_size: _Int) -> _Tensor: ...
    @_typing.overload
    def adaptive_avg_pool2d(self, output_size: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def adaptive_avg_pool2d(self, *output_size: _SymInt) -> _Tensor: ...
    @_typing.overload
    def adaptive_avg_pool3d(self, output_size: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def adaptive_avg_pool3d(self, *output_size: _SymInt) -> _Tensor: ...
    @_typing.overload
    def adaptive_max_pool1d(self, output_size: _Sizes) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def adaptive_max_pool1d(self, *output_size: _Int) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def adaptive_max_pool2d(self, output_size: _Sizes) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def adaptive_max_pool2d(self, *output_size: _Int) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def adaptive_max_pool3d(self, output_size: _Sizes) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def adaptive_max_pool3d(self, *output_size: _Int) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def add(self, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def add(self, other: _NDArray, *, alpha: _Scalar = 1) -> _NDArray: ...
    @_typing.overload
    def add(self, other: _Array, *, alpha: _Scalar = 1) -> _Any: ...
    @_typing.overload
    def add(self, other: _Scalar, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def add_(self, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def add_(self, other: _NDArray, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def add_(self, other: _Array, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def add_(self, other: _Scalar, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addbmm(
        self, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addbmm(
        self, batch1: _NDArray, batch2: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _NDArray: ...
    @_typing.overload
    def addbmm(
        self, batch1: _Array, batch2: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Any: ...
    @_typing.overload
    def addbmm_(
        self, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addbmm_(
        self, batch1: _NDArray, batch2: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addbmm_(
        self, batch1: _Array, batch2: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addcdiv(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addcdiv(self, tensor1: _NDArray, tensor2: _NDArray, *, value: _Scalar = 1) -> _NDArray: ...
    @_typing.overload
    def addcdiv(self, tensor1: _Array, tensor2: _Array, *, value: _Scalar = 1) -> _Any: ...
    @_typing.overload
    def addcdiv_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addcdiv_(self, tensor1: _NDArray, tensor2: _NDArray, *, value: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addcdiv_(self, tensor1: _Array, tensor2: _Array, *, value: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addcmul(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addcmul(self, tensor1: _NDArray, tensor2: _NDArray, *, value: _Scalar = 1) -> _NDArray: ...
    @_typing.overload
    def addcmul(self, tensor1: _Array, tensor2: _Array, *, value: _Scalar = 1) -> _Any: ...
    @_typing.overload
    def addcmul_(self, tensor1: _Tensor, tensor2: _Tensor, *, value: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addcmul_(self, tensor1: _NDArray, tensor2: _NDArray, *, value: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addcmul_(self, tensor1: _Array, tensor2: _Array, *, value: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def addmm(
        self, mat1: _Tensor, mat2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addmm(
        self, mat1: _NDArray, mat2: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _NDArray: ...
    @_typing.overload
    def addmm(
        self, mat1: _Array, mat2: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Any: ...
    @_typing.overload
    def addmv(
        self, mat: _Tensor, vec: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addmv(
        self, mat: _NDArray, vec: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _NDArray: ...
    @_typing.overload
    def addmv(self, mat: _Array, vec: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1) -> _Any: ...
    @_typing.overload
    def addmv_(
        self, mat: _Tensor, vec: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addmv_(
        self, mat: _NDArray, vec: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addmv_(
        self, mat: _Array, vec: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addr(
        self, vec1: _Tensor, vec2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addr(
        self, vec1: _NDArray, vec2: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _NDArray: ...
    @_typing.overload
    def addr(
        self, vec1: _Array, vec2: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Any: ...
    @_typing.overload
    def addr_(
        self, vec1: _Tensor, vec2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addr_(
        self, vec1: _NDArray, vec2: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def addr_(
        self, vec1: _Array, vec2: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    def adjoint(self) -> _Tensor: ...
    def alias_copy(self) -> _Tensor: ...
    @_typing.overload
    def all(self) -> _Tensor: ...
    @_typing.overload
    def all(self, dim: _Int, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def all(self, dim: _abc.Sequence[_Int] | None = None, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def all(self, axis: _Int, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def all(self, axis: _Int, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def all(self, dim: _Int, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def all(self, axis: _abc.Sequence[_Int] | None = None, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def all(self, axis: _abc.Sequence[_Int] | None = None, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def all(self, dim: _abc.Sequence[_Int] | None = None, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def allclose(
        self, other: _Tensor, rtol: _Float = 1e-05, atol: _Float = 1e-08, equal_nan: _Bool = False
    ) -> _bool: ...
    @_typing.overload
    def allclose(
        self, other: _NDArray, rtol: _Float = 1e-05, atol: _Float = 1e-08, equal_nan: _Bool = False
    ) -> _bool: ...
    @_typing.overload
    def allclose(
        self, other: _Array, rtol: _Float = 1e-05, atol: _Float = 1e-08, equal_nan: _Bool = False
    ) -> _Any: ...
    def alpha_dropout(self, p: _Float, train: _Bool) -> _Tensor: ...
    def alpha_dropout_(self, p: _Float, train: _Bool) -> _Tensor: ...
    @_typing.overload
    def amax(self, dim: _Sizes = ..., keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def amax(self, axis: _Sizes = ..., keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def amax(self, axis: _Sizes = ..., keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def amax(self, dim: _Sizes = ..., keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def amin(self, dim: _Sizes = ..., keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def amin(self, axis: _Sizes = ..., keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def amin(self, axis: _Sizes = ..., keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def amin(self, dim: _Sizes = ..., keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def aminmax(
        self, *, dim: _Int | None = None, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def aminmax(
        self, *, axis: _Int | None = None, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def aminmax(
        self, *, axis: _Int | None = None, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def aminmax(
        self, *, dim: _Int | None = None, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    def angle(self) -> _Tensor: ...
    @_typing.overload
    def any(self) -> _Tensor: ...
    @_typing.overload
    def any(self, dim: _Int, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def any(self, dim: _abc.Sequence[_Int] | None = None, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def any(self, axis: _Int, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def any(self, axis: _Int, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def any(self, dim: _Int, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def any(self, axis: _abc.Sequence[_Int] | None = None, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def any(self, axis: _abc.Sequence[_Int] | None = None, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def any(self, dim: _abc.Sequence[_Int] | None = None, keepdims: _Bool = False) -> _Tensor: ...
    def arccos(self) -> _Tensor: ...
    def arccos_(self) -> _Tensor: ...
    def arccosh(self) -> _Tensor: ...
    def arccosh_(self) -> _Tensor: ...
    def arcsin(self) -> _Tensor: ...
    def arcsin_(self) -> _Tensor: ...
    def arcsinh(self) -> _Tensor: ...
    def arcsinh_(self) -> _Tensor: ...
    def arctan(self) -> _Tensor: ...
    @_typing.overload
    def arctan2(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def arctan2(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def arctan2(self, other: _Array) -> _Any: ...
    @_typing.overload
    def arctan2_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def arctan2_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def arctan2_(self, other: _Array) -> _Tensor: ...
    def arctan_(self) -> _Tensor: ...
    def arctanh(self) -> _Tensor: ...
    def arctanh_(self) -> _Tensor: ...
    @_typing.overload
    def argmax(self, dim: _Int | None = None, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argmax(self, axis: _Int | None = None, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argmax(self, axis: _Int | None = None, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argmax(self, dim: _Int | None = None, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argmin(self, dim: _Int | None = None, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argmin(self, axis: _Int | None = None, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argmin(self, axis: _Int | None = None, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argmin(self, dim: _Int | None = None, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argsort(self, dim: _Int = -1, descending: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argsort(self, *, stable: _Bool, dim: _Int = -1, descending: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argsort(self, axis: _Int = -1, descending: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def argsort(self, *, stable: _Bool, axis: _Int = -1, descending: _Bool = False) -> _Tensor: ...
    def argwhere(self) -> _Tensor: ...
    def as_strided(
        self,
        size: _abc.Sequence[_SymInt],
        stride: _abc.Sequence[_SymInt],
        storage_offset: _SymInt | None = None,
    ) -> _Tensor: ...
    def as_strided_(
        self,
        size: _abc.Sequence[_SymInt],
        stride: _abc.Sequence[_SymInt],
        storage_offset: _SymInt | None = None,
    ) -> _Tensor: ...
    def as_strided_copy(
        self,
        size: _abc.Sequence[_SymInt],
        stride: _abc.Sequence[_SymInt],
        storage_offset: _SymInt | None = None,
    ) -> _Tensor: ...
    def asin(self) -> _Tensor: ...
    def asin_(self) -> _Tensor: ...
    def asinh(self) -> _Tensor: ...
    def asinh_(self) -> _Tensor: ...
    def atan(self) -> _Tensor: ...
    @_typing.overload
    def atan2(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def atan2(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def atan2(self, other: _Array) -> _Any: ...
    @_typing.overload
    def atan2_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def atan2_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def atan2_(self, other: _Array) -> _Tensor: ...
    def atan_(self) -> _Tensor: ...
    def atanh(self) -> _Tensor: ...
    def atanh_(self) -> _Tensor: ...
    def atleast_1d(self) -> _Tensor: ...
    def atleast_2d(self) -> _Tensor: ...
    def avg_pool1d(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        ceil_mode: _Bool = False,
        count_include_pad: _Bool = True,
    ) -> _Tensor: ...
    def avg_pool2d(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        ceil_mode: _Bool = False,
        count_include_pad: _Bool = True,
        divisor_override: _Int | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def avg_pool2d_backward(
        self_,
        self: _Tensor,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        ceil_mode: _Bool,
        count_include_pad: _Bool,
        divisor_override: _Int | None,
    ) -> _Tensor: ...
    @_typing.overload
    def avg_pool2d_backward(
        self_,
        self: _NDArray,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        ceil_mode: _Bool,
        count_include_pad: _Bool,
        divisor_override: _Int | None,
    ) -> _NDArray: ...
    @_typing.overload
    def avg_pool2d_backward(
        self_,
        self: _Array,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        ceil_mode: _Bool,
        count_include_pad: _Bool,
        divisor_override: _Int | None,
    ) -> _Any: ...
    def avg_pool3d(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        ceil_mode: _Bool = False,
        count_include_pad: _Bool = True,
        divisor_override: _Int | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def avg_pool3d_backward(
        self_,
        self: _Tensor,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        ceil_mode: _Bool,
        count_include_pad: _Bool,
        divisor_override: _Int | None,
    ) -> _Tensor: ...
    @_typing.overload
    def avg_pool3d_backward(
        self_,
        self: _NDArray,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        ceil_mode: _Bool,
        count_include_pad: _Bool,
        divisor_override: _Int | None,
    ) -> _NDArray: ...
    @_typing.overload
    def avg_pool3d_backward(
        self_,
        self: _Array,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        ceil_mode: _Bool,
        count_include_pad: _Bool,
        divisor_override: _Int | None,
    ) -> _Any: ...
    @_typing.overload
    def baddbmm(
        self, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def baddbmm(
        self, batch1: _NDArray, batch2: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _NDArray: ...
    @_typing.overload
    def baddbmm(
        self, batch1: _Array, batch2: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Any: ...
    @_typing.overload
    def baddbmm_(
        self, batch1: _Tensor, batch2: _Tensor, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def baddbmm_(
        self, batch1: _NDArray, batch2: _NDArray, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def baddbmm_(
        self, batch1: _Array, batch2: _Array, *, beta: _Scalar = 1, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def batch_norm(
        self,
        weight: _Tensor | None,
        bias: _Tensor | None,
        running_mean: _Tensor | None,
        running_var: _Tensor | None,
        training: _Bool,
        momentum: _Float,
        eps: _Float,
        cudnn_enabled: _Bool,
    ) -> _Tensor: ...
    @_typing.overload
    def batch_norm(
        self,
        weight: _NDArray | None,
        bias: _NDArray | None,
        running_mean: _NDArray | None,
        running_var: _NDArray | None,
        training: _Bool,
        momentum: _Float,
        eps: _Float,
        cudnn_enabled: _Bool,
    ) -> _NDArray: ...
    @_typing.overload
    def batch_norm(
        self,
        weight: _Array | None,
        bias: _Array | None,
        running_mean: _Array | None,
        running_var: _Array | None,
        training: _Bool,
        momentum: _Float,
        eps: _Float,
        cudnn_enabled: _Bool,
    ) -> _Any: ...
    @_typing.overload
    def bernoulli(self, *, generator: _opyard.Generator | None = None) -> _Tensor: ...
    @_typing.overload
    def bernoulli(self, p: _Float, *, generator: _opyard.Generator | None = None) -> _Tensor: ...
    def bernoulli_(
        self, p: _Float = 0.5, *, generator: _opyard.Generator | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def bilinear(
        self, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def bilinear(
        self, input2: _NDArray, weight: _NDArray, bias: _NDArray | None = None
    ) -> _NDArray: ...
    @_typing.overload
    def bilinear(self, input2: _Array, weight: _Array, bias: _Array | None = None) -> _Any: ...
    @_typing.overload
    def binary_cross_entropy(
        self, target: _Tensor, weight: _Tensor | None = None, reduction: _Int = 1
    ) -> _Tensor: ...
    @_typing.overload
    def binary_cross_entropy(
        self, target: _NDArray, weight: _NDArray | None = None, reduction: _Int = 1
    ) -> _NDArray: ...
    @_typing.overload
    def binary_cross_entropy(
        self, target: _Array, weight: _Array | None = None, reduction: _Int = 1
    ) -> _Any: ...
    @_typing.overload
    def binary_cross_entropy_with_logits(
        self,
        target: _Tensor,
        weight: _Tensor | None = None,
        pos_weight: _Tensor | None = None,
        reduction: _Int = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def binary_cross_entropy_with_logits(
        self,
        target: _NDArray,
        weight: _NDArray | None = None,
        pos_weight: _NDArray | None = None,
        reduction: _Int = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def binary_cross_entropy_with_logits(
        self,
        target: _Array,
        weight: _Array | None = None,
        pos_weight: _Array | None = None,
        reduction: _Int = 1,
    ) -> _Any: ...
    @_typing.overload
    def bincount(self, weights: _Tensor | None = None, minlength: _SymInt = 0) -> _Tensor: ...
    @_typing.overload
    def bincount(self, weights: _NDArray | None = None, minlength: _SymInt = 0) -> _NDArray: ...
    @_typing.overload
    def bincount(self, weights: _Array | None = None, minlength: _SymInt = 0) -> _Any: ...
    @_typing.overload
    def bitwise_and(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_and(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def bitwise_and(self, other: _Array) -> _Any: ...
    @_typing.overload
    def bitwise_and(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bitwise_and_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_and_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def bitwise_and_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def bitwise_and_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bitwise_left_shift(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_left_shift(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def bitwise_left_shift(self, other: _Array) -> _Any: ...
    @_typing.overload
    def bitwise_left_shift(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bitwise_left_shift_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_left_shift_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def bitwise_left_shift_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def bitwise_left_shift_(self, other: _Scalar) -> _Tensor: ...
    def bitwise_not(self) -> _Tensor: ...
    def bitwise_not_(self) -> _Tensor: ...
    @_typing.overload
    def bitwise_or(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_or(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def bitwise_or(self, other: _Array) -> _Any: ...
    @_typing.overload
    def bitwise_or(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bitwise_or_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_or_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def bitwise_or_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def bitwise_or_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bitwise_right_shift(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_right_shift(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def bitwise_right_shift(self, other: _Array) -> _Any: ...
    @_typing.overload
    def bitwise_right_shift(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bitwise_right_shift_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_right_shift_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def bitwise_right_shift_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def bitwise_right_shift_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bitwise_xor(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_xor(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def bitwise_xor(self, other: _Array) -> _Any: ...
    @_typing.overload
    def bitwise_xor(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bitwise_xor_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bitwise_xor_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def bitwise_xor_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def bitwise_xor_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def bmm(self, mat2: _Tensor) -> _Tensor: ...
    @_typing.overload
    def bmm(self, mat2: _NDArray) -> _NDArray: ...
    @_typing.overload
    def bmm(self, mat2: _Array) -> _Any: ...
    @_typing.overload
    def broadcast_to(self, size: _abc.Sequence[_SymInt]) -> _Tensor: ...
    @_typing.overload
    def broadcast_to(self, *size: _SymInt) -> _Tensor: ...
    @_typing.overload
    def bucketize(
        self, boundaries: _Tensor, *, out_int32: _Bool = False, right: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def bucketize(
        self, boundaries: _NDArray, *, out_int32: _Bool = False, right: _Bool = False
    ) -> _NDArray: ...
    @_typing.overload
    def bucketize(
        self, boundaries: _Array, *, out_int32: _Bool = False, right: _Bool = False
    ) -> _Any: ...
    @_typing.overload
    def cdist(self, x2: _Tensor, p: _Float = 2.0, compute_mode: _Int | None = None) -> _Tensor: ...
    @_typing.overload
    def cdist(
        self, x2: _NDArray, p: _Float = 2.0, compute_mode: _Int | None = None
    ) -> _NDArray: ...
    @_typing.overload
    def cdist(self, x2: _Array, p: _Float = 2.0, compute_mode: _Int | None = None) -> _Any: ...
    def ceil(self) -> _Tensor: ...
    def ceil_(self) -> _Tensor: ...
    def celu(self, alpha: _Scalar = 1.0) -> _Tensor: ...
    def celu_(self, alpha: _Scalar = 1.0) -> _Tensor: ...
    def channel_shuffle(self, groups: _SymInt) -> _Tensor: ...
    def cholesky(self, upper: _Bool = False) -> _Tensor: ...
    def cholesky_inverse(self, upper: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def cholesky_solve(self, input2: _Tensor, upper: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def cholesky_solve(self, input2: _NDArray, upper: _Bool = False) -> _NDArray: ...
    @_typing.overload
    def cholesky_solve(self, input2: _Array, upper: _Bool = False) -> _Any: ...
    @_typing.overload
    def chunk(self, chunks: _Int, dim: _Int = 0) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def chunk(self, chunks: _Int, axis: _Int = 0) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def clamp(self, min: _Tensor | None = None, max: _Tensor | None = None) -> _Tensor: ...
    @_typing.overload
    def clamp(self, min: _NDArray | None = None, max: _NDArray | None = None) -> _NDArray: ...
    @_typing.overload
    def clamp(self, min: _Array | None = None, max: _Array | None = None) -> _Any: ...
    @_typing.overload
    def clamp(self, min: _Scalar | None = None, max: _Scalar | None = None) -> _Tensor: ...
    def clamp_(self, min: _Scalar | None = None, max: _Scalar | None = None) -> _Tensor: ...
    @_typing.overload
    def clamp_max(self, max: _Tensor) -> _Tensor: ...
    @_typing.overload
    def clamp_max(self, max: _NDArray) -> _NDArray: ...
    @_typing.overload
    def clamp_max(self, max: _Array) -> _Any: ...
    @_typing.overload
    def clamp_max(self, max: _Scalar) -> _Tensor: ...
    @_typing.overload
    def clamp_max_(self, max: _Tensor) -> _Tensor: ...
    @_typing.overload
    def clamp_max_(self, max: _NDArray) -> _Tensor: ...
    @_typing.overload
    def clamp_max_(self, max: _Array) -> _Tensor: ...
    @_typing.overload
    def clamp_max_(self, max: _Scalar) -> _Tensor: ...
    @_typing.overload
    def clamp_min(self, min: _Tensor) -> _Tensor: ...
    @_typing.overload
    def clamp_min(self, min: _NDArray) -> _NDArray: ...
    @_typing.overload
    def clamp_min(self, min: _Array) -> _Any: ...
    @_typing.overload
    def clamp_min(self, min: _Scalar) -> _Tensor: ...
    @_typing.overload
    def clamp_min_(self, min: _Tensor) -> _Tensor: ...
    @_typing.overload
    def clamp_min_(self, min: _NDArray) -> _Tensor: ...
    @_typing.overload
    def clamp_min_(self, min: _Array) -> _Tensor: ...
    @_typing.overload
    def clamp_min_(self, min: _Scalar) -> _Tensor: ...
    @_typing.overload
    def clip(self, min: _Tensor | None = None, max: _Tensor | None = None) -> _Tensor: ...
    @_typing.overload
    def clip(self, min: _NDArray | None = None, max: _NDArray | None = None) -> _NDArray: ...
    @_typing.overload
    def clip(self, min: _Array | None = None, max: _Array | None = None) -> _Any: ...
    @_typing.overload
    def clip(self, min: _Scalar | None = None, max: _Scalar | None = None) -> _Tensor: ...
    def clip_(self, min: _Scalar | None = None, max: _Scalar | None = None) -> _Tensor: ...
    def clone(self, *, memory_format: _Any | None = None) -> _Tensor: ...
    def col2im(
        self,
        output_size: _SymSizes,
        kernel_size: _Sizes,
        dilation: _Sizes,
        padding: _Sizes,
        stride: _Sizes,
    ) -> _Tensor: ...
    def combinations(self, r: _Int = 2, with_replacement: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def complex(self, imag: _Tensor) -> _Tensor: ...
    @_typing.overload
    def complex(self, imag: _NDArray) -> _NDArray: ...
    @_typing.overload
    def complex(self, imag: _Array) -> _Any: ...
    def conj(self) -> _Tensor: ...
    def conj_physical(self) -> _Tensor: ...
    def conj_physical_(self) -> _Tensor: ...
    def constant_pad_nd(self, pad: _abc.Sequence[_SymInt], value: _Scalar = 0) -> _Tensor: ...
    def contiguous(self, *, memory_format: _Any = 0) -> _Tensor: ...
    @_typing.overload
    def conv1d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def conv1d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def conv1d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def conv1d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def conv1d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Any: ...
    @_typing.overload
    def conv1d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Any: ...
    @_typing.overload
    def conv2d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def conv2d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def conv2d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def conv2d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def conv2d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Any: ...
    @_typing.overload
    def conv2d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Any: ...
    @_typing.overload
    def conv3d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def conv3d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def conv3d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def conv3d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def conv3d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Any: ...
    @_typing.overload
    def conv3d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _str = "valid",
        dilation: _SymSizes = ...,
        groups: _SymInt = 1,
    ) -> _Any: ...
    @_typing.overload
    def conv_transpose1d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _Tensor: ...
    @_typing.overload
    def conv_transpose1d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _NDArray: ...
    @_typing.overload
    def conv_transpose1d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _Any: ...
    @_typing.overload
    def conv_transpose2d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _Tensor: ...
    @_typing.overload
    def conv_transpose2d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _NDArray: ...
    @_typing.overload
    def conv_transpose2d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _Any: ...
    @_typing.overload
    def conv_transpose3d(
        self,
        weight: _Tensor,
        bias: _Tensor | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _Tensor: ...
    @_typing.overload
    def conv_transpose3d(
        self,
        weight: _NDArray,
        bias: _NDArray | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _NDArray: ...
    @_typing.overload
    def conv_transpose3d(
        self,
        weight: _Array,
        bias: _Array | None = None,
        stride: _SymSizes = ...,
        padding: _SymSizes = ...,
        output_padding: _SymSizes = ...,
        groups: _SymInt = 1,
        dilation: _SymSizes = ...,
    ) -> _Any: ...
    @_typing.overload
    def convolution(
        self,
        weight: _Tensor,
        bias: _Tensor | None,
        stride: _abc.Sequence[_SymInt],
        padding: _abc.Sequence[_SymInt],
        dilation: _abc.Sequence[_SymInt],
        transposed: _Bool,
        output_padding: _abc.Sequence[_SymInt],
        groups: _SymInt,
    ) -> _Tensor: ...
    @_typing.overload
    def convolution(
        self,
        weight: _NDArray,
        bias: _NDArray | None,
        stride: _abc.Sequence[_SymInt],
        padding: _abc.Sequence[_SymInt],
        dilation: _abc.Sequence[_SymInt],
        transposed: _Bool,
        output_padding: _abc.Sequence[_SymInt],
        groups: _SymInt,
    ) -> _NDArray: ...
    @_typing.overload
    def convolution(
        self,
        weight: _Array,
        bias: _Array | None,
        stride: _abc.Sequence[_SymInt],
        padding: _abc.Sequence[_SymInt],
        dilation: _abc.Sequence[_SymInt],
        transposed: _Bool,
        output_padding: _abc.Sequence[_SymInt],
        groups: _SymInt,
    ) -> _Any: ...
    @_typing.overload
    def convolution_backward(
        self,
        input: _Tensor,
        weight: _Tensor,
        bias_sizes: _abc.Sequence[_SymInt] | None,
        stride: _abc.Sequence[_SymInt],
        padding: _abc.Sequence[_SymInt],
        dilation: _abc.Sequence[_SymInt],
        transposed: _Bool,
        output_padding: _abc.Sequence[_SymInt],
        groups: _SymInt,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def convolution_backward(
        self,
        input: _NDArray,
        weight: _NDArray,
        bias_sizes: _abc.Sequence[_SymInt] | None,
        stride: _abc.Sequence[_SymInt],
        padding: _abc.Sequence[_SymInt],
        dilation: _abc.Sequence[_SymInt],
        transposed: _Bool,
        output_padding: _abc.Sequence[_SymInt],
        groups: _SymInt,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def convolution_backward(
        self,
        input: _Array,
        weight: _Array,
        bias_sizes: _abc.Sequence[_SymInt] | None,
        stride: _abc.Sequence[_SymInt],
        padding: _abc.Sequence[_SymInt],
        dilation: _abc.Sequence[_SymInt],
        transposed: _Bool,
        output_padding: _abc.Sequence[_SymInt],
        groups: _SymInt,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _Any: ...
    @_typing.overload
    def copy(self, src: _Tensor, non_blocking: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def copy(self, src: _NDArray, non_blocking: _Bool = False) -> _NDArray: ...
    @_typing.overload
    def copy(self, src: _Array, non_blocking: _Bool = False) -> _Any: ...
    @_typing.overload
    def copy_(self, src: _Tensor, non_blocking: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def copy_(self, src: _NDArray, non_blocking: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def copy_(self, src: _Array, non_blocking: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def copy_(self, src: _Operand, non_blocking: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def copysign(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def copysign(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def copysign(self, other: _Array) -> _Any: ...
    @_typing.overload
    def copysign(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def copysign_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def copysign_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def copysign_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def copysign_(self, other: _Scalar) -> _Tensor: ...
    def corrcoef(self) -> _Tensor: ...
    def cos(self) -> _Tensor: ...
    def cos_(self) -> _Tensor: ...
    def cosh(self) -> _Tensor: ...
    def cosh_(self) -> _Tensor: ...
    @_typing.overload
    def cosine_embedding_loss(
        self, input2: _Tensor, target: _Tensor, margin: _Float = 0.0, reduction: _Int = 1
    ) -> _Tensor: ...
    @_typing.overload
    def cosine_embedding_loss(
        self, input2: _NDArray, target: _NDArray, margin: _Float = 0.0, reduction: _Int = 1
    ) -> _NDArray: ...
    @_typing.overload
    def cosine_embedding_loss(
        self, input2: _Array, target: _Array, margin: _Float = 0.0, reduction: _Int = 1
    ) -> _Any: ...
    @_typing.overload
    def cosine_similarity(self, x2: _Tensor, dim: _Int = 1, eps: _Float = 1e-08) -> _Tensor: ...
    @_typing.overload
    def cosine_similarity(self, x2: _Tensor, axis: _Int = 1, eps: _Float = 1e-08) -> _Tensor: ...
    @_typing.overload
    def cosine_similarity(self, x2: _NDArray, dim: _Int = 1, eps: _Float = 1e-08) -> _NDArray: ...
    @_typing.overload
    def cosine_similarity(self, x2: _Array, dim: _Int = 1, eps: _Float = 1e-08) -> _Any: ...
    @_typing.overload
    def count_nonzero(self, dim: _Int | None = None) -> _Tensor: ...
    @_typing.overload
    def count_nonzero(self, dim: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def count_nonzero(self, axis: _Int | None = None) -> _Tensor: ...
    @_typing.overload
    def count_nonzero(self, axis: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def count_nonzero(self, *dim: _Int) -> _Tensor: ...
    @_typing.overload
    def cov(
        self,
        *,
        correction: _Int = 1,
        fweights: _Tensor | None = None,
        aweights: _Tensor | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def cov(
        self,
        *,
        correction: _Int = 1,
        fweights: _NDArray | None = None,
        aweights: _NDArray | None = None,
    ) -> _NDArray: ...
    @_typing.overload
    def cov(
        self,
        *,
        correction: _Int = 1,
        fweights: _Array | None = None,
        aweights: _Array | None = None,
    ) -> _Any: ...
    def cpu(self) -> _Tensor: ...
    @_typing.overload
    def cross(self, other: _Tensor, dim: _Int | None = None) -> _Tensor: ...
    @_typing.overload
    def cross(self, other: _Tensor, axis: _Int | None = None) -> _Tensor: ...
    @_typing.overload
    def cross(self, other: _NDArray, dim: _Int | None = None) -> _NDArray: ...
    @_typing.overload
    def cross(self, other: _Array, dim: _Int | None = None) -> _Any: ...
    @_typing.overload
    def cross_entropy_loss(
        self,
        target: _Tensor,
        weight: _Tensor | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
        label_smoothing: _Float = 0.0,
    ) -> _Tensor: ...
    @_typing.overload
    def cross_entropy_loss(
        self,
        target: _NDArray,
        weight: _NDArray | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
        label_smoothing: _Float = 0.0,
    ) -> _NDArray: ...
    @_typing.overload
    def cross_entropy_loss(
        self,
        target: _Array,
        weight: _Array | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
        label_smoothing: _Float = 0.0,
    ) -> _Any: ...
    @_typing.overload
    def cummax(self, dim: _Int) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def cummax(self, axis: _Int) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def cummin(self, dim: _Int) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def cummin(self, axis: _Int) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def cumprod(self, dim: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def cumprod(self, axis: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def cumprod_(self, dim: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def cumprod_(self, axis: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def cumprod_backward(self, input: _Tensor, dim: _Int, output: _Tensor) -> _Tensor: ...
    @_typing.overload
    def cumprod_backward(self, input: _Tensor, axis: _Int, output: _Tensor) -> _Tensor: ...
    @_typing.overload
    def cumprod_backward(self, input: _NDArray, dim: _Int, output: _NDArray) -> _NDArray: ...
    @_typing.overload
    def cumprod_backward(self, input: _Array, dim: _Int, output: _Array) -> _Any: ...
    @_typing.overload
    def cumsum(self, dim: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def cumsum(self, axis: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def cumsum_(self, dim: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def cumsum_(self, axis: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def cumulative_trapezoid(self, x: _Tensor, *, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def cumulative_trapezoid(self, x: _Tensor, *, axis: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def cumulative_trapezoid(self, x: _NDArray, *, dim: _Int = -1) -> _NDArray: ...
    @_typing.overload
    def cumulative_trapezoid(self, x: _Array, *, dim: _Int = -1) -> _Any: ...
    @_typing.overload
    def cumulative_trapezoid(self, *, dx: _Scalar = 1, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def cumulative_trapezoid(self, *, dx: _Scalar = 1, axis: _Int = -1) -> _Tensor: ...
    def deg2rad(self) -> _Tensor: ...
    def det(self) -> _Tensor: ...
    def detach(self) -> _Tensor: ...
    def detach_(self) -> _Tensor: ...
    def detach_copy(self) -> _Tensor: ...
    def diag(self, diagonal: _Int = 0) -> _Tensor: ...
    def diag_embed(self, offset: _Int = 0, dim1: _Int = -2, dim2: _Int = -1) -> _Tensor: ...
    def diagflat(self, offset: _Int = 0) -> _Tensor: ...
    def diagonal(self, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1) -> _Tensor: ...
    def diagonal_backward(
        self, input_sizes: _abc.Sequence[_Int], offset: _Int, dim1: _Int, dim2: _Int
    ) -> _Tensor: ...
    def diagonal_copy(self, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1) -> _Tensor: ...
    @_typing.overload
    def diagonal_scatter(
        self, src: _Tensor, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1
    ) -> _Tensor: ...
    @_typing.overload
    def diagonal_scatter(
        self, src: _NDArray, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1
    ) -> _NDArray: ...
    @_typing.overload
    def diagonal_scatter(
        self, src: _Array, offset: _Int = 0, dim1: _Int = 0, dim2: _Int = 1
    ) -> _Any: ...
    @_typing.overload
    def diff(
        self,
        n: _Int = 1,
        dim: _Int = -1,
        prepend: _Tensor | None = None,
        append: _Tensor | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def diff(
        self,
        n: _Int = 1,
        axis: _Int = -1,
        prepend: _Tensor | None = None,
        append: _Tensor | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def diff(
        self,
        n: _Int = 1,
        dim: _Int = -1,
        prepend: _NDArray | None = None,
        append: _NDArray | None = None,
    ) -> _NDArray: ...
    @_typing.overload
    def diff(
        self,
        n: _Int = 1,
        dim: _Int = -1,
        prepend: _Array | None = None,
        append: _Array | None = None,
    ) -> _Any: ...
    def digamma(self) -> _Tensor: ...
    def digamma_(self) -> _Tensor: ...
    @_typing.overload
    def dist(self, other: _Tensor, p: _Scalar = 2) -> _Tensor: ...
    @_typing.overload
    def dist(self, other: _NDArray, p: _Scalar = 2) -> _NDArray: ...
    @_typing.overload
    def dist(self, other: _Array, p: _Scalar = 2) -> _Any: ...
    @_typing.overload
    def div(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def div(self, other: _Tensor, *, rounding_mode: _str | None) -> _Tensor: ...
    @_typing.overload
    def div(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def div(self, other: _NDArray, *, rounding_mode: _str | None) -> _NDArray: ...
    @_typing.overload
    def div(self, other: _Array) -> _Any: ...
    @_typing.overload
    def div(self, other: _Array, *, rounding_mode: _str | None) -> _Any: ...
    @_typing.overload
    def div(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def div(self, other: _Scalar, *, rounding_mode: _str | None) -> _Tensor: ...
    @_typing.overload
    def div_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def div_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def div_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def div_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def divide(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def divide(self, other: _Tensor, *, rounding_mode: _str | None) -> _Tensor: ...
    @_typing.overload
    def divide(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def divide(self, other: _NDArray, *, rounding_mode: _str | None) -> _NDArray: ...
    @_typing.overload
    def divide(self, other: _Array) -> _Any: ...
    @_typing.overload
    def divide(self, other: _Array, *, rounding_mode: _str | None) -> _Any: ...
    @_typing.overload
    def divide(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def divide(self, other: _Scalar, *, rounding_mode: _str | None) -> _Tensor: ...
    @_typing.overload
    def divide_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def divide_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def divide_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def divide_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def dot(self, tensor: _Tensor) -> _Tensor: ...
    @_typing.overload
    def dot(self, tensor: _NDArray) -> _NDArray: ...
    @_typing.overload
    def dot(self, tensor: _Array) -> _Any: ...
    def dropout(self, p: _Float, train: _Bool) -> _Tensor: ...
    def dropout_(self, p: _Float, train: _Bool) -> _Tensor: ...
    def elu(self, alpha: _Scalar = 1, scale: _Scalar = 1, input_scale: _Scalar = 1) -> _Tensor: ...
    def elu_(self, alpha: _Scalar = 1, scale: _Scalar = 1, input_scale: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def embedding(
        self,
        indices: _Tensor,
        padding_idx: _SymInt = -1,
        scale_grad_by_freq: _Bool = False,
        sparse: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def embedding(
        self,
        indices: _NDArray,
        padding_idx: _SymInt = -1,
        scale_grad_by_freq: _Bool = False,
        sparse: _Bool = False,
    ) -> _NDArray: ...
    @_typing.overload
    def embedding(
        self,
        indices: _Array,
        padding_idx: _SymInt = -1,
        scale_grad_by_freq: _Bool = False,
        sparse: _Bool = False,
    ) -> _Any: ...
    @_typing.overload
    def embedding_backward(
        self,
        indices: _Tensor,
        num_weights: _SymInt,
        padding_idx: _SymInt,
        scale_grad_by_freq: _Bool,
        sparse: _Bool,
    ) -> _Tensor: ...
    @_typing.overload
    def embedding_backward(
        self,
        indices: _NDArray,
        num_weights: _SymInt,
        padding_idx: _SymInt,
        scale_grad_by_freq: _Bool,
        sparse: _Bool,
    ) -> _NDArray: ...
    @_typing.overload
    def embedding_backward(
        self,
        indices: _Array,
        num_weights: _SymInt,
        padding_idx: _SymInt,
        scale_grad_by_freq: _Bool,
        sparse: _Bool,
    ) -> _Any: ...
    @_typing.overload
    def embedding_bag(
        self,
        indices: _Tensor,
        offsets: _Tensor,
        scale_grad_by_freq: _Bool = False,
        mode: _Int = 0,
        sparse: _Bool = False,
        per_sample_weights: _Tensor | None = None,
        include_last_offset: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def embedding_bag(
        self,
        indices: _Tensor,
        offsets: _Tensor,
        scale_grad_by_freq: _Bool,
        mode: _Int,
        sparse: _Bool,
        per_sample_weights: _Tensor | None,
        include_last_offset: _Bool,
        padding_idx: _Int | None,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def embedding_bag(
        self,
        indices: _NDArray,
        offsets: _NDArray,
        scale_grad_by_freq: _Bool = False,
        mode: _Int = 0,
        sparse: _Bool = False,
        per_sample_weights: _NDArray | None = None,
        include_last_offset: _Bool = False,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def embedding_bag(
        self,
        indices: _NDArray,
        offsets: _NDArray,
        scale_grad_by_freq: _Bool,
        mode: _Int,
        sparse: _Bool,
        per_sample_weights: _NDArray | None,
        include_last_offset: _Bool,
        padding_idx: _Int | None,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def embedding_bag(
        self,
        indices: _Array,
        offsets: _Array,
        scale_grad_by_freq: _Bool = False,
        mode: _Int = 0,
        sparse: _Bool = False,
        per_sample_weights: _Array | None = None,
        include_last_offset: _Bool = False,
    ) -> _Any: ...
    @_typing.overload
    def embedding_bag(
        self,
        indices: _Array,
        offsets: _Array,
        scale_grad_by_freq: _Bool,
        mode: _Int,
        sparse: _Bool,
        per_sample_weights: _Array | None,
        include_last_offset: _Bool,
        padding_idx: _Int | None,
    ) -> _Any: ...
    @_typing.overload
    def embedding_dense_backward(
        self,
        indices: _Tensor,
        num_weights: _SymInt,
        padding_idx: _SymInt,
        scale_grad_by_freq: _Bool,
    ) -> _Tensor: ...
    @_typing.overload
    def embedding_dense_backward(
        self,
        indices: _NDArray,
        num_weights: _SymInt,
        padding_idx: _SymInt,
        scale_grad_by_freq: _Bool,
    ) -> _NDArray: ...
    @_typing.overload
    def embedding_dense_backward(
        self, indices: _Array, num_weights: _SymInt, padding_idx: _SymInt, scale_grad_by_freq: _Bool
    ) -> _Any: ...
    def empty_like(
        self,
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def eq(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def eq(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def eq(self, other: _Array) -> _Any: ...
    @_typing.overload
    def eq(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def eq_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def eq_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def eq_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def eq_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def equal(self, other: _Tensor) -> _bool: ...
    @_typing.overload
    def equal(self, other: _NDArray) -> _bool: ...
    @_typing.overload
    def equal(self, other: _Array) -> _Any: ...
    def erf(self) -> _Tensor: ...
    def erf_(self) -> _Tensor: ...
    def erfc(self) -> _Tensor: ...
    def erfc_(self) -> _Tensor: ...
    def exp(self) -> _Tensor: ...
    def exp2(self) -> _Tensor: ...
    def exp2_(self) -> _Tensor: ...
    def exp_(self) -> _Tensor: ...
    @_typing.overload
    def expand(self, size: _abc.Sequence[_SymInt], *, implicit: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def expand(self, *size: _SymInt, implicit: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def expand_as(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def expand_as(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def expand_as(self, other: _Array) -> _Any: ...
    @_typing.overload
    def expand_copy(self, size: _abc.Sequence[_SymInt], *, implicit: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def expand_copy(self, *size: _SymInt, implicit: _Bool = False) -> _Tensor: ...
    def expm1(self) -> _Tensor: ...
    def expm1_(self) -> _Tensor: ...
    def exponential_(
        self, lambd: _Float = 1.0, *, generator: _opyard.Generator | None = None
    ) -> _Tensor: ...
    def feature_dropout(self, p: _Float, train: _Bool) -> _Tensor: ...
    def feature_dropout_(self, p: _Float, train: _Bool) -> _Tensor: ...
    @_typing.overload
    def fft_fft(
        self, n: _SymInt | None = None, dim: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_fft(
        self, n: _SymInt | None = None, axis: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_fft2(
        self, s: _SymSizes | None = None, dim: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_fft2(
        self, s: _SymSizes | None = None, axis: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_fftn(
        self, s: _SymSizes | None = None, dim: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_fftn(
        self, s: _SymSizes | None = None, axis: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_fftshift(self, dim: _Sizes | None = None) -> _Tensor: ...
    @_typing.overload
    def fft_fftshift(self, axis: _Sizes | None = None) -> _Tensor: ...
    @_typing.overload
    def fft_hfft(
        self, n: _SymInt | None = None, dim: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_hfft(
        self, n: _SymInt | None = None, axis: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_hfft2(
        self, s: _SymSizes | None = None, dim: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_hfft2(
        self, s: _SymSizes | None = None, axis: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_hfftn(
        self, s: _SymSizes | None = None, dim: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_hfftn(
        self, s: _SymSizes | None = None, axis: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ifft(
        self, n: _SymInt | None = None, dim: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ifft(
        self, n: _SymInt | None = None, axis: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ifft2(
        self, s: _SymSizes | None = None, dim: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ifft2(
        self, s: _SymSizes | None = None, axis: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ifftn(
        self, s: _SymSizes | None = None, dim: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ifftn(
        self, s: _SymSizes | None = None, axis: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ifftshift(self, dim: _Sizes | None = None) -> _Tensor: ...
    @_typing.overload
    def fft_ifftshift(self, axis: _Sizes | None = None) -> _Tensor: ...
    @_typing.overload
    def fft_ihfft(
        self, n: _SymInt | None = None, dim: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ihfft(
        self, n: _SymInt | None = None, axis: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ihfft2(
        self, s: _SymSizes | None = None, dim: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ihfft2(
        self, s: _SymSizes | None = None, axis: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ihfftn(
        self, s: _SymSizes | None = None, dim: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_ihfftn(
        self, s: _SymSizes | None = None, axis: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_irfft(
        self, n: _SymInt | None = None, dim: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_irfft(
        self, n: _SymInt | None = None, axis: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_irfft2(
        self, s: _SymSizes | None = None, dim: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_irfft2(
        self, s: _SymSizes | None = None, axis: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_irfftn(
        self, s: _SymSizes | None = None, dim: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_irfftn(
        self, s: _SymSizes | None = None, axis: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_rfft(
        self, n: _SymInt | None = None, dim: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_rfft(
        self, n: _SymInt | None = None, axis: _Int = -1, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_rfft2(
        self, s: _SymSizes | None = None, dim: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_rfft2(
        self, s: _SymSizes | None = None, axis: _Sizes = ..., norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_rfftn(
        self, s: _SymSizes | None = None, dim: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fft_rfftn(
        self, s: _SymSizes | None = None, axis: _Sizes | None = None, norm: _str | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def fill(self, value: _Tensor) -> _Tensor: ...
    @_typing.overload
    def fill(self, value: _NDArray) -> _NDArray: ...
    @_typing.overload
    def fill(self, value: _Array) -> _Any: ...
    @_typing.overload
    def fill(self, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def fill_(self, value: _Tensor) -> _Tensor: ...
    @_typing.overload
    def fill_(self, value: _NDArray) -> _Tensor: ...
    @_typing.overload
    def fill_(self, value: _Array) -> _Tensor: ...
    @_typing.overload
    def fill_(self, value: _Scalar) -> _Tensor: ...
    def fix(self) -> _Tensor: ...
    def fix_(self) -> _Tensor: ...
    def flatten(self, start_dim: _Int = 0, end_dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def flip(self, dims: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def flip(self, axis: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def flip(self, *dims: _Int) -> _Tensor: ...
    def fliplr(self) -> _Tensor: ...
    def flipud(self) -> _Tensor: ...
    @_typing.overload
    def float_power(self, exponent: _Tensor) -> _Tensor: ...
    @_typing.overload
    def float_power(self, exponent: _NDArray) -> _NDArray: ...
    @_typing.overload
    def float_power(self, exponent: _Array) -> _Any: ...
    @_typing.overload
    def float_power(self, exponent: _Scalar) -> _Tensor: ...
    def floor(self) -> _Tensor: ...
    def floor_(self) -> _Tensor: ...
    @_typing.overload
    def floor_divide(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def floor_divide(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def floor_divide(self, other: _Array) -> _Any: ...
    @_typing.overload
    def floor_divide(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def floor_divide_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def floor_divide_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def floor_divide_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def floor_divide_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def fmax(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def fmax(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def fmax(self, other: _Array) -> _Any: ...
    @_typing.overload
    def fmin(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def fmin(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def fmin(self, other: _Array) -> _Any: ...
    @_typing.overload
    def fmod(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def fmod(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def fmod(self, other: _Array) -> _Any: ...
    @_typing.overload
    def fmod(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def fmod_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def fmod_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def fmod_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def fmod_(self, other: _Scalar) -> _Tensor: ...
    def frac(self) -> _Tensor: ...
    def frac_(self) -> _Tensor: ...
    def frexp(self) -> _builtins.tuple[_Tensor, _Tensor]: ...
    def full_like(
        self,
        fill_value: _Scalar,
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def gather(self, dim: _Int, index: _Tensor, *, sparse_grad: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def gather(self, axis: _Int, index: _Tensor, *, sparse_grad: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def gather(self, dim: _Int, index: _NDArray, *, sparse_grad: _Bool = False) -> _NDArray: ...
    @_typing.overload
    def gather(self, dim: _Int, index: _Array, *, sparse_grad: _Bool = False) -> _Any: ...
    @_typing.overload
    def gcd(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def gcd(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def gcd(self, other: _Array) -> _Any: ...
    @_typing.overload
    def ge(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def ge(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def ge(self, other: _Array) -> _Any: ...
    @_typing.overload
    def ge(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def ge_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def ge_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def ge_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def ge_(self, other: _Scalar) -> _Tensor: ...
    def gelu(self, *, approximate: _str = "none") -> _Tensor: ...
    def gelu_(self, *, approximate: _str = "none") -> _Tensor: ...
    @_typing.overload
    def gelu_backward(self_, self: _Tensor, *, approximate: _str = "none") -> _Tensor: ...
    @_typing.overload
    def gelu_backward(self_, self: _NDArray, *, approximate: _str = "none") -> _NDArray: ...
    @_typing.overload
    def gelu_backward(self_, self: _Array, *, approximate: _str = "none") -> _Any: ...
    @_typing.overload
    def ger(self, vec2: _Tensor) -> _Tensor: ...
    @_typing.overload
    def ger(self, vec2: _NDArray) -> _NDArray: ...
    @_typing.overload
    def ger(self, vec2: _Array) -> _Any: ...
    @_typing.overload
    def glu(self, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def glu(self, axis: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def greater(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def greater(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def greater(self, other: _Array) -> _Any: ...
    @_typing.overload
    def greater(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def greater_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def greater_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def greater_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def greater_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def greater_equal(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def greater_equal(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def greater_equal(self, other: _Array) -> _Any: ...
    @_typing.overload
    def greater_equal(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def greater_equal_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def greater_equal_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def greater_equal_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def greater_equal_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def grid_sampler(
        self, grid: _Tensor, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _Tensor: ...
    @_typing.overload
    def grid_sampler(
        self, grid: _NDArray, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _NDArray: ...
    @_typing.overload
    def grid_sampler(
        self, grid: _Array, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _Any: ...
    @_typing.overload
    def grid_sampler_2d(
        self, grid: _Tensor, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _Tensor: ...
    @_typing.overload
    def grid_sampler_2d(
        self, grid: _NDArray, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _NDArray: ...
    @_typing.overload
    def grid_sampler_2d(
        self, grid: _Array, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _Any: ...
    @_typing.overload
    def grid_sampler_3d(
        self, grid: _Tensor, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _Tensor: ...
    @_typing.overload
    def grid_sampler_3d(
        self, grid: _NDArray, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _NDArray: ...
    @_typing.overload
    def grid_sampler_3d(
        self, grid: _Array, interpolation_mode: _Int, padding_mode: _Int, align_corners: _Bool
    ) -> _Any: ...
    @_typing.overload
    def group_norm(
        self,
        num_groups: _Int,
        weight: _Tensor | None = None,
        bias: _Tensor | None = None,
        eps: _Float = 1e-05,
        cudnn_enabled: _Bool = True,
    ) -> _Tensor: ...
    @_typing.overload
    def group_norm(
        self,
        num_groups: _Int,
        weight: _NDArray | None = None,
        bias: _NDArray | None = None,
        eps: _Float = 1e-05,
        cudnn_enabled: _Bool = True,
    ) -> _NDArray: ...
    @_typing.overload
    def group_norm(
        self,
        num_groups: _Int,
        weight: _Array | None = None,
        bias: _Array | None = None,
        eps: _Float = 1e-05,
        cudnn_enabled: _Bool = True,
    ) -> _Any: ...
    @_typing.overload
    def gru(
        self,
        hx: _Tensor,
        params: _abc.Sequence[_Tensor],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def gru(
        self,
        hx: _NDArray,
        params: _abc.Sequence[_NDArray],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _builtins.tuple[_NDArray, _NDArray]: ...
    @_typing.overload
    def gru(
        self,
        hx: _Array,
        params: _abc.Sequence[_Array],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _Any: ...
    @_typing.overload
    def gru_cell(
        self,
        hx: _Tensor,
        w_ih: _Tensor,
        w_hh: _Tensor,
        b_ih: _Tensor | None = None,
        b_hh: _Tensor | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def gru_cell(
        self,
        hx: _NDArray,
        w_ih: _NDArray,
        w_hh: _NDArray,
        b_ih: _NDArray | None = None,
        b_hh: _NDArray | None = None,
    ) -> _NDArray: ...
    @_typing.overload
    def gru_cell(
        self,
        hx: _Array,
        w_ih: _Array,
        w_hh: _Array,
        b_ih: _Array | None = None,
        b_hh: _Array | None = None,
    ) -> _Any: ...
    @_typing.overload
    def gt(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def gt(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def gt(self, other: _Array) -> _Any: ...
    @_typing.overload
    def gt(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def gt_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def gt_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def gt_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def gt_(self, other: _Scalar) -> _Tensor: ...
    def hardshrink(self, lambd: _Scalar = 0.5) -> _Tensor: ...
    def hardsigmoid(self) -> _Tensor: ...
    def hardsigmoid_(self) -> _Tensor: ...
    @_typing.overload
    def hardsigmoid_backward(self_, self: _Tensor) -> _Tensor: ...
    @_typing.overload
    def hardsigmoid_backward(self_, self: _NDArray) -> _NDArray: ...
    @_typing.overload
    def hardsigmoid_backward(self_, self: _Array) -> _Any: ...
    def hardswish(self) -> _Tensor: ...
    def hardswish_(self) -> _Tensor: ...
    @_typing.overload
    def hardswish_backward(self_, self: _Tensor) -> _Tensor: ...
    @_typing.overload
    def hardswish_backward(self_, self: _NDArray) -> _NDArray: ...
    @_typing.overload
    def hardswish_backward(self_, self: _Array) -> _Any: ...
    def hardtanh(self, min_val: _Scalar = -1, max_val: _Scalar = 1) -> _Tensor: ...
    def hardtanh_(self, min_val: _Scalar = -1, max_val: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def heaviside(self, values: _Tensor) -> _Tensor: ...
    @_typing.overload
    def heaviside(self, values: _NDArray) -> _NDArray: ...
    @_typing.overload
    def heaviside(self, values: _Array) -> _Any: ...
    @_typing.overload
    def hinge_embedding_loss(
        self, target: _Tensor, margin: _Float = 1.0, reduction: _Int = 1
    ) -> _Tensor: ...
    @_typing.overload
    def hinge_embedding_loss(
        self, target: _NDArray, margin: _Float = 1.0, reduction: _Int = 1
    ) -> _NDArray: ...
    @_typing.overload
    def hinge_embedding_loss(
        self, target: _Array, margin: _Float = 1.0, reduction: _Int = 1
    ) -> _Any: ...
    def histc(self, bins: _Int = 100, min: _Scalar = 0, max: _Scalar = 0) -> _Tensor: ...
    @_typing.overload
    def huber_loss(self, target: _Tensor, reduction: _Int = 1, delta: _Float = 1.0) -> _Tensor: ...
    @_typing.overload
    def huber_loss(
        self, target: _NDArray, reduction: _Int = 1, delta: _Float = 1.0
    ) -> _NDArray: ...
    @_typing.overload
    def huber_loss(self, target: _Array, reduction: _Int = 1, delta: _Float = 1.0) -> _Any: ...
    @_typing.overload
    def hypot(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def hypot(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def hypot(self, other: _Array) -> _Any: ...
    @_typing.overload
    def hypot_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def hypot_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def hypot_(self, other: _Array) -> _Tensor: ...
    def im2col(
        self, kernel_size: _Sizes, dilation: _Sizes, padding: _Sizes, stride: _Sizes
    ) -> _Tensor: ...
    @_typing.overload
    def index(self, indices: _abc.Sequence[_Tensor | None]) -> _Tensor: ...
    @_typing.overload
    def index(self, indices: _abc.Sequence[_NDArray | None]) -> _NDArray: ...
    @_typing.overload
    def index(self, indices: _abc.Sequence[_Array | None]) -> _Any: ...
    @_typing.overload
    def index_add(
        self, dim: _Int, index: _Tensor, source: _Tensor, *, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def index_add(
        self, axis: _Int, index: _Tensor, source: _Tensor, *, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def index_add(
        self, dim: _Int, index: _NDArray, source: _NDArray, *, alpha: _Scalar = 1
    ) -> _NDArray: ...
    @_typing.overload
    def index_add(
        self, dim: _Int, index: _Array, source: _Array, *, alpha: _Scalar = 1
    ) -> _Any: ...
    @_typing.overload
    def index_add_(
        self, dim: _Int, index: _Tensor, source: _Tensor, *, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def index_add_(
        self, axis: _Int, index: _Tensor, source: _Tensor, *, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def index_add_(
        self, dim: _Int, index: _NDArray, source: _NDArray, *, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def index_add_(
        self, dim: _Int, index: _Array, source: _Array, *, alpha: _Scalar = 1
    ) -> _Tensor: ...
    @_typing.overload
    def index_copy(self, dim: _Int, index: _Tensor, source: _Tensor) -> _Tensor: ...
    @_typing.overload
    def index_copy(self, axis: _Int, index: _Tensor, source: _Tensor) -> _Tensor: ...
    @_typing.overload
    def index_copy(self, dim: _Int, index: _NDArray, source: _NDArray) -> _NDArray: ...
    @_typing.overload
    def index_copy(self, dim: _Int, index: _Array, source: _Array) -> _Any: ...
    @_typing.overload
    def index_copy_(self, dim: _Int, index: _Tensor, source: _Tensor) -> _Tensor: ...
    @_typing.overload
    def index_copy_(self, axis: _Int, index: _Tensor, source: _Tensor) -> _Tensor: ...
    @_typing.overload
    def index_copy_(self, dim: _Int, index: _NDArray, source: _NDArray) -> _Tensor: ...
    @_typing.overload
    def index_copy_(self, dim: _Int, index: _Array, source: _Array) -> _Tensor: ...
    @_typing.overload
    def index_fill(self, dim: _Int, index: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def index_fill(self, axis: _Int, index: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def index_fill(self, dim: _Int, index: _NDArray, value: _Scalar) -> _NDArray: ...
    @_typing.overload
    def index_fill(self, dim: _Int, index: _Array, value: _Scalar) -> _Any: ...
    @_typing.overload
    def index_fill_(self, dim: _Int, index: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def index_fill_(self, axis: _Int, index: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def index_fill_(self, dim: _Int, index: _NDArray, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def index_fill_(self, dim: _Int, index: _Array, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def index_put(
        self, indices: _abc.Sequence[_Tensor | None], values: _Tensor, accumulate: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def index_put(
        self, indices: _abc.Sequence[_NDArray | None], values: _NDArray, accumulate: _Bool = False
    ) -> _NDArray: ...
    @_typing.overload
    def index_put(
        self, indices: _abc.Sequence[_Array | None], values: _Array, accumulate: _Bool = False
    ) -> _Any: ...
    @_typing.overload
    def index_put_(
        self, indices: _abc.Sequence[_Tensor | None], values: _Tensor, accumulate: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def index_put_(
        self, indices: _abc.Sequence[_NDArray | None], values: _NDArray, accumulate: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def index_put_(
        self, indices: _abc.Sequence[_Array | None], values: _Array, accumulate: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def index_reduce(
        self,
        dim: _Int,
        index: _Tensor,
        source: _Tensor,
        reduce: _str,
        *,
        include_self: _Bool = True,
    ) -> _Tensor: ...
    @_typing.overload
    def index_reduce(
        self,
        axis: _Int,
        index: _Tensor,
        source: _Tensor,
        reduce: _str,
        *,
        include_self: _Bool = True,
    ) -> _Tensor: ...
    @_typing.overload
    def index_reduce(
        self,
        dim: _Int,
        index: _NDArray,
        source: _NDArray,
        reduce: _str,
        *,
        include_self: _Bool = True,
    ) -> _NDArray: ...
    @_typing.overload
    def index_reduce(
        self, dim: _Int, index: _Array, source: _Array, reduce: _str, *, include_self: _Bool = True
    ) -> _Any: ...
    @_typing.overload
    def index_reduce_(
        self,
        dim: _Int,
        index: _Tensor,
        source: _Tensor,
        reduce: _str,
        *,
        include_self: _Bool = True,
    ) -> _Tensor: ...
    @_typing.overload
    def index_reduce_(
        self,
        axis: _Int,
        index: _Tensor,
        source: _Tensor,
        reduce: _str,
        *,
        include_self: _Bool = True,
    ) -> _Tensor: ...
    @_typing.overload
    def index_reduce_(
        self,
        dim: _Int,
        index: _NDArray,
        source: _NDArray,
        reduce: _str,
        *,
        include_self: _Bool = True,
    ) -> _Tensor: ...
    @_typing.overload
    def index_reduce_(
        self, dim: _Int, index: _Array, source: _Array, reduce: _str, *, include_self: _Bool = True
    ) -> _Tensor: ...
    @_typing.overload
    def index_select(self, dim: _Int, index: _Tensor) -> _Tensor: ...
    @_typing.overload
    def index_select(self, axis: _Int, index: _Tensor) -> _Tensor: ...
    @_typing.overload
    def index_select(self, dim: _Int, index: _NDArray) -> _NDArray: ...
    @_typing.overload
    def index_select(self, dim: _Int, index: _Array) -> _Any: ...
    @_typing.overload
    def index_select_backward(
        self, self_sizes: _abc.Sequence[_Int], dim: _Int, index: _Tensor
    ) -> _Tensor: ...
    @_typing.overload
    def index_select_backward(
        self, self_sizes: _abc.Sequence[_Int], axis: _Int, index: _Tensor
    ) -> _Tensor: ...
    @_typing.overload
    def index_select_backward(
        self, self_sizes: _abc.Sequence[_Int], dim: _Int, index: _NDArray
    ) -> _NDArray: ...
    @_typing.overload
    def index_select_backward(
        self, self_sizes: _abc.Sequence[_Int], dim: _Int, index: _Array
    ) -> _Any: ...
    @_typing.overload
    def inner(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def inner(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def inner(self, other: _Array) -> _Any: ...
    @_typing.overload
    def instance_norm(
        self,
        weight: _Tensor | None,
        bias: _Tensor | None,
        running_mean: _Tensor | None,
        running_var: _Tensor | None,
        use_input_stats: _Bool,
        momentum: _Float,
        eps: _Float,
        cudnn_enabled: _Bool,
    ) -> _Tensor: ...
    @_typing.overload
    def instance_norm(
        self,
        weight: _NDArray | None,
        bias: _NDArray | None,
        running_mean: _NDArray | None,
        running_var: _NDArray | None,
        use_input_stats: _Bool,
        momentum: _Float,
        eps: _Float,
        cudnn_enabled: _Bool,
    ) -> _NDArray: ...
    @_typing.overload
    def instance_norm(
        self,
        weight: _Array | None,
        bias: _Array | None,
        running_mean: _Array | None,
        running_var: _Array | None,
        use_input_stats: _Bool,
        momentum: _Float,
        eps: _Float,
        cudnn_enabled: _Bool,
    ) -> _Any: ...
    def inverse(self) -> _Tensor: ...
    def is_complex(self) -> _bool: ...
    def is_conj(self) -> _bool: ...
    def is_floating_point(self) -> _bool: ...
    def is_neg(self) -> _bool: ...
    def is_non_overlapping_and_dense(self) -> _bool: ...
    def is_nonzero(self) -> _bool: ...
    def is_signed(self) -> _bool: ...
    def is_strides_like_format(self, memory_format: _Any) -> _bool: ...
    @_typing.overload
    def isclose(
        self, other: _Tensor, rtol: _Float = 1e-05, atol: _Float = 1e-08, equal_nan: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def isclose(
        self, other: _NDArray, rtol: _Float = 1e-05, atol: _Float = 1e-08, equal_nan: _Bool = False
    ) -> _NDArray: ...
    @_typing.overload
    def isclose(
        self, other: _Array, rtol: _Float = 1e-05, atol: _Float = 1e-08, equal_nan: _Bool = False
    ) -> _Any: ...
    def isfinite(self) -> _Tensor: ...
    @_typing.overload
    def isin(
        self, test_elements: _Tensor, *, assume_unique: _Bool = False, invert: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def isin(
        self, test_elements: _NDArray, *, assume_unique: _Bool = False, invert: _Bool = False
    ) -> _NDArray: ...
    @_typing.overload
    def isin(
        self, test_elements: _Array, *, assume_unique: _Bool = False, invert: _Bool = False
    ) -> _Any: ...
    @_typing.overload
    def isin(
        self, test_element: _Scalar, *, assume_unique: _Bool = False, invert: _Bool = False
    ) -> _Tensor: ...
    def isinf(self) -> _Tensor: ...
    def isnan(self) -> _Tensor: ...
    def isneginf(self) -> _Tensor: ...
    def isposinf(self) -> _Tensor: ...
    def isreal(self) -> _Tensor: ...
    @_typing.overload
    def kl_div(
        self, target: _Tensor, reduction: _Int = 1, *, log_target: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def kl_div(
        self, target: _NDArray, reduction: _Int = 1, *, log_target: _Bool = False
    ) -> _NDArray: ...
    @_typing.overload
    def kl_div(self, target: _Array, reduction: _Int = 1, *, log_target: _Bool = False) -> _Any: ...
    @_typing.overload
    def kron(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def kron(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def kron(self, other: _Array) -> _Any: ...
    @_typing.overload
    def kthvalue(
        self, k: _SymInt, dim: _Int = -1, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def kthvalue(
        self, k: _SymInt, axis: _Int = -1, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def kthvalue(
        self, k: _SymInt, axis: _Int = -1, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def kthvalue(
        self, k: _SymInt, dim: _Int = -1, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def l1_loss(self, target: _Tensor, reduction: _Int = 1) -> _Tensor: ...
    @_typing.overload
    def l1_loss(self, target: _NDArray, reduction: _Int = 1) -> _NDArray: ...
    @_typing.overload
    def l1_loss(self, target: _Array, reduction: _Int = 1) -> _Any: ...
    @_typing.overload
    def layer_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _Tensor | None = None,
        bias: _Tensor | None = None,
        eps: _Float = 1e-05,
        cudnn_enable: _Bool = True,
    ) -> _Tensor: ...
    @_typing.overload
    def layer_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _NDArray | None = None,
        bias: _NDArray | None = None,
        eps: _Float = 1e-05,
        cudnn_enable: _Bool = True,
    ) -> _NDArray: ...
    @_typing.overload
    def layer_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _Array | None = None,
        bias: _Array | None = None,
        eps: _Float = 1e-05,
        cudnn_enable: _Bool = True,
    ) -> _Any: ...
    @_typing.overload
    def lcm(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def lcm(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def lcm(self, other: _Array) -> _Any: ...
    @_typing.overload
    def ldexp(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def ldexp(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def ldexp(self, other: _Array) -> _Any: ...
    @_typing.overload
    def le(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def le(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def le(self, other: _Array) -> _Any: ...
    @_typing.overload
    def le(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def le_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def le_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def le_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def le_(self, other: _Scalar) -> _Tensor: ...
    def leaky_relu(self, negative_slope: _Scalar = 0.01) -> _Tensor: ...
    def leaky_relu_(self, negative_slope: _Scalar = 0.01) -> _Tensor: ...
    @_typing.overload
    def leaky_relu_backward(
        self_, self: _Tensor, negative_slope: _Scalar, self_is_result: _Bool
    ) -> _Tensor: ...
    @_typing.overload
    def leaky_relu_backward(
        self_, self: _NDArray, negative_slope: _Scalar, self_is_result: _Bool
    ) -> _NDArray: ...
    @_typing.overload
    def leaky_relu_backward(
        self_, self: _Array, negative_slope: _Scalar, self_is_result: _Bool
    ) -> _Any: ...
    @_typing.overload
    def lerp(self, end: _Tensor, weight: _Tensor) -> _Tensor: ...
    @_typing.overload
    def lerp(self, end: _Tensor, weight: _Scalar) -> _Tensor: ...
    @_typing.overload
    def lerp(self, end: _NDArray, weight: _NDArray) -> _NDArray: ...
    @_typing.overload
    def lerp(self, end: _NDArray, weight: _Scalar) -> _NDArray: ...
    @_typing.overload
    def lerp(self, end: _Array, weight: _Array) -> _Any: ...
    @_typing.overload
    def lerp(self, end: _Array, weight: _Scalar) -> _Any: ...
    @_typing.overload
    def lerp_(self, end: _Tensor, weight: _Tensor) -> _Tensor: ...
    @_typing.overload
    def lerp_(self, end: _Tensor, weight: _Scalar) -> _Tensor: ...
    @_typing.overload
    def lerp_(self, end: _NDArray, weight: _NDArray) -> _Tensor: ...
    @_typing.overload
    def lerp_(self, end: _NDArray, weight: _Scalar) -> _Tensor: ...
    @_typing.overload
    def lerp_(self, end: _Array, weight: _Array) -> _Tensor: ...
    @_typing.overload
    def lerp_(self, end: _Array, weight: _Scalar) -> _Tensor: ...
    @_typing.overload
    def less(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def less(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def less(self, other: _Array) -> _Any: ...
    @_typing.overload
    def less(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def less_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def less_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def less_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def less_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def less_equal(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def less_equal(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def less_equal(self, other: _Array) -> _Any: ...
    @_typing.overload
    def less_equal(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def less_equal_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def less_equal_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def less_equal_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def less_equal_(self, other: _Scalar) -> _Tensor: ...
    def lgamma(self) -> _Tensor: ...
    def lgamma_(self) -> _Tensor: ...
    def lift_fresh(self) -> _Tensor: ...
    def linalg_cholesky(self, *, upper: _Bool = False) -> _Tensor: ...
    def linalg_cholesky_ex(
        self, *, upper: _Bool = False, check_errors: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def linalg_cross(self, other: _Tensor, *, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def linalg_cross(self, other: _Tensor, *, axis: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def linalg_cross(self, other: _NDArray, *, dim: _Int = -1) -> _NDArray: ...
    @_typing.overload
    def linalg_cross(self, other: _Array, *, dim: _Int = -1) -> _Any: ...
    def linalg_det(self) -> _Tensor: ...
    def linalg_eig(self) -> _builtins.tuple[_Tensor, _Tensor]: ...
    def linalg_eigh(self, UPLO: _str = "L") -> _builtins.tuple[_Tensor, _Tensor]: ...
    def linalg_eigvals(self) -> _Tensor: ...
    def linalg_eigvalsh(self, UPLO: _str = "L") -> _Tensor: ...
    def linalg_inv(self) -> _Tensor: ...
    def linalg_inv_ex(
        self, *, check_errors: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def linalg_matmul(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def linalg_matmul(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def linalg_matmul(self, other: _Array) -> _Any: ...
    @_typing.overload
    def linalg_matrix_norm(
        self,
        ord: _Scalar,
        dim: _abc.Sequence[_Int] = ...,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_norm(
        self,
        ord: _str = "fro",
        dim: _abc.Sequence[_Int] = ...,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_norm(
        self,
        ord: _Scalar,
        axis: _abc.Sequence[_Int] = ...,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_norm(
        self,
        ord: _Scalar,
        axis: _abc.Sequence[_Int] = ...,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_norm(
        self,
        ord: _Scalar,
        dim: _abc.Sequence[_Int] = ...,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_norm(
        self,
        ord: _str = "fro",
        axis: _abc.Sequence[_Int] = ...,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_norm(
        self,
        ord: _str = "fro",
        axis: _abc.Sequence[_Int] = ...,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_norm(
        self,
        ord: _str = "fro",
        dim: _abc.Sequence[_Int] = ...,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    def linalg_matrix_power(self, n: _Int) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_rank(
        self, *, atol: _Tensor | None = None, rtol: _Tensor | None = None, hermitian: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_rank(
        self,
        *,
        atol: _NDArray | None = None,
        rtol: _NDArray | None = None,
        hermitian: _Bool = False,
    ) -> _NDArray: ...
    @_typing.overload
    def linalg_matrix_rank(
        self, *, atol: _Array | None = None, rtol: _Array | None = None, hermitian: _Bool = False
    ) -> _Any: ...
    @_typing.overload
    def linalg_matrix_rank(self, tol: _Float, hermitian: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def linalg_matrix_rank(
        self, *, atol: _Float | None = None, rtol: _Float | None = None, hermitian: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_norm(
        self,
        ord: _Scalar | None = None,
        dim: _Sizes | None = None,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_norm(
        self,
        ord: _str,
        dim: _Sizes | None = None,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_norm(
        self,
        ord: _Scalar | None = None,
        axis: _Sizes | None = None,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_norm(
        self,
        ord: _Scalar | None = None,
        axis: _Sizes | None = None,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_norm(
        self,
        ord: _Scalar | None = None,
        dim: _Sizes | None = None,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_norm(
        self,
        ord: _str,
        axis: _Sizes | None = None,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_norm(
        self,
        ord: _str,
        axis: _Sizes | None = None,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_norm(
        self,
        ord: _str,
        dim: _Sizes | None = None,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_pinv(
        self, *, atol: _Tensor | None = None, rtol: _Tensor | None = None, hermitian: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_pinv(
        self,
        *,
        atol: _NDArray | None = None,
        rtol: _NDArray | None = None,
        hermitian: _Bool = False,
    ) -> _NDArray: ...
    @_typing.overload
    def linalg_pinv(
        self, *, atol: _Array | None = None, rtol: _Array | None = None, hermitian: _Bool = False
    ) -> _Any: ...
    @_typing.overload
    def linalg_pinv(self, rcond: _Float, hermitian: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def linalg_pinv(
        self, *, atol: _Float | None = None, rtol: _Float | None = None, hermitian: _Bool = False
    ) -> _Tensor: ...
    def linalg_qr(self, mode: _str = "reduced") -> _builtins.tuple[_Tensor, _Tensor]: ...
    def linalg_slogdet(self) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def linalg_solve(self, B: _Tensor, *, left: _Bool = True) -> _Tensor: ...
    @_typing.overload
    def linalg_solve(self, B: _NDArray, *, left: _Bool = True) -> _NDArray: ...
    @_typing.overload
    def linalg_solve(self, B: _Array, *, left: _Bool = True) -> _Any: ...
    @_typing.overload
    def linalg_solve_ex(
        self, B: _Tensor, *, left: _Bool = True, check_errors: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def linalg_solve_ex(
        self, B: _NDArray, *, left: _Bool = True, check_errors: _Bool = False
    ) -> _builtins.tuple[_NDArray, _NDArray]: ...
    @_typing.overload
    def linalg_solve_ex(
        self, B: _Array, *, left: _Bool = True, check_errors: _Bool = False
    ) -> _Any: ...
    def linalg_svd(
        self, full_matrices: _Bool = True, *, driver: _str | None = None
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    def linalg_svdvals(self, *, driver: _str | None = None) -> _Tensor: ...
    def linalg_tensorinv(self, ind: _Int = 2) -> _Tensor: ...
    @_typing.overload
    def linalg_tensorsolve(
        self, other: _Tensor, dims: _abc.Sequence[_Int] | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_tensorsolve(
        self, other: _Tensor, axis: _abc.Sequence[_Int] | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_tensorsolve(
        self, other: _NDArray, dims: _abc.Sequence[_Int] | None = None
    ) -> _NDArray: ...
    @_typing.overload
    def linalg_tensorsolve(
        self, other: _Array, dims: _abc.Sequence[_Int] | None = None
    ) -> _Any: ...
    def linalg_vander(self, *, N: _SymInt | None = None) -> _Tensor: ...
    @_typing.overload
    def linalg_vecdot(self, y: _Tensor, *, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def linalg_vecdot(self, y: _Tensor, *, axis: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def linalg_vecdot(self, y: _NDArray, *, dim: _Int = -1) -> _NDArray: ...
    @_typing.overload
    def linalg_vecdot(self, y: _Array, *, dim: _Int = -1) -> _Any: ...
    @_typing.overload
    def linalg_vector_norm(
        self,
        ord: _Scalar = 2,
        dim: _Sizes | None = None,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_vector_norm(
        self,
        ord: _Scalar = 2,
        axis: _Sizes | None = None,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_vector_norm(
        self,
        ord: _Scalar = 2,
        axis: _Sizes | None = None,
        keepdim: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linalg_vector_norm(
        self,
        ord: _Scalar = 2,
        dim: _Sizes | None = None,
        keepdims: _Bool = False,
        *,
        dtype: _dtype | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def linear(self, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor: ...
    @_typing.overload
    def linear(self, weight: _NDArray, bias: _NDArray | None = None) -> _NDArray: ...
    @_typing.overload
    def linear(self, weight: _Array, bias: _Array | None = None) -> _Any: ...
    def log(self) -> _Tensor: ...
    def log10(self) -> _Tensor: ...
    def log10_(self) -> _Tensor: ...
    def log1p(self) -> _Tensor: ...
    def log1p_(self) -> _Tensor: ...
    def log2(self) -> _Tensor: ...
    def log2_(self) -> _Tensor: ...
    def log_(self) -> _Tensor: ...
    def log_sigmoid(self) -> _Tensor: ...
    @_typing.overload
    def log_softmax(self, dim: _Int, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def log_softmax(self, axis: _Int, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def logaddexp(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def logaddexp(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def logaddexp(self, other: _Array) -> _Any: ...
    @_typing.overload
    def logaddexp2(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def logaddexp2(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def logaddexp2(self, other: _Array) -> _Any: ...
    @_typing.overload
    def logcumsumexp(self, dim: _Int) -> _Tensor: ...
    @_typing.overload
    def logcumsumexp(self, axis: _Int) -> _Tensor: ...
    def logdet(self) -> _Tensor: ...
    @_typing.overload
    def logical_and(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def logical_and(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def logical_and(self, other: _Array) -> _Any: ...
    @_typing.overload
    def logical_and_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def logical_and_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def logical_and_(self, other: _Array) -> _Tensor: ...
    def logical_not(self) -> _Tensor: ...
    def logical_not_(self) -> _Tensor: ...
    @_typing.overload
    def logical_or(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def logical_or(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def logical_or(self, other: _Array) -> _Any: ...
    @_typing.overload
    def logical_or_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def logical_or_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def logical_or_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def logical_xor(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def logical_xor(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def logical_xor(self, other: _Array) -> _Any: ...
    @_typing.overload
    def logical_xor_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def logical_xor_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def logical_xor_(self, other: _Array) -> _Tensor: ...
    def logit(self, eps: _Float | None = None) -> _Tensor: ...
    def logit_(self, eps: _Float | None = None) -> _Tensor: ...
    @_typing.overload
    def logsumexp(self, dim: _Sizes, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def logsumexp(self, axis: _Sizes, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def logsumexp(self, axis: _Sizes, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def logsumexp(self, dim: _Sizes, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def lstm(
        self,
        hx: _abc.Sequence[_Tensor],
        params: _abc.Sequence[_Tensor],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def lstm(
        self,
        hx: _abc.Sequence[_NDArray],
        params: _abc.Sequence[_NDArray],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def lstm(
        self,
        hx: _abc.Sequence[_Array],
        params: _abc.Sequence[_Array],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _Any: ...
    @_typing.overload
    def lstm_cell(
        self,
        hx: _abc.Sequence[_Tensor],
        w_ih: _Tensor,
        w_hh: _Tensor,
        b_ih: _Tensor | None = None,
        b_hh: _Tensor | None = None,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def lstm_cell(
        self,
        hx: _abc.Sequence[_NDArray],
        w_ih: _NDArray,
        w_hh: _NDArray,
        b_ih: _NDArray | None = None,
        b_hh: _NDArray | None = None,
    ) -> _builtins.tuple[_NDArray, _NDArray]: ...
    @_typing.overload
    def lstm_cell(
        self,
        hx: _abc.Sequence[_Array],
        w_ih: _Array,
        w_hh: _Array,
        b_ih: _Array | None = None,
        b_hh: _Array | None = None,
    ) -> _Any: ...
    @_typing.overload
    def lt(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def lt(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def lt(self, other: _Array) -> _Any: ...
    @_typing.overload
    def lt(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def lt_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def lt_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def lt_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def lt_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def margin_ranking_loss(
        self, input2: _Tensor, target: _Tensor, margin: _Float = 0.0, reduction: _Int = 1
    ) -> _Tensor: ...
    @_typing.overload
    def margin_ranking_loss(
        self, input2: _NDArray, target: _NDArray, margin: _Float = 0.0, reduction: _Int = 1
    ) -> _NDArray: ...
    @_typing.overload
    def margin_ranking_loss(
        self, input2: _Array, target: _Array, margin: _Float = 0.0, reduction: _Int = 1
    ) -> _Any: ...
    @_typing.overload
    def masked_fill(self, mask: _Tensor, value: _Tensor) -> _Tensor: ...
    @_typing.overload
    def masked_fill(self, mask: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def masked_fill(self, mask: _NDArray, value: _NDArray) -> _NDArray: ...
    @_typing.overload
    def masked_fill(self, mask: _NDArray, value: _Scalar) -> _NDArray: ...
    @_typing.overload
    def masked_fill(self, mask: _Array, value: _Array) -> _Any: ...
    @_typing.overload
    def masked_fill(self, mask: _Array, value: _Scalar) -> _Any: ...
    @_typing.overload
    def masked_fill_(self, mask: _Tensor, value: _Tensor) -> _Tensor: ...
    @_typing.overload
    def masked_fill_(self, mask: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def masked_fill_(self, mask: _NDArray, value: _NDArray) -> _Tensor: ...
    @_typing.overload
    def masked_fill_(self, mask: _NDArray, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def masked_fill_(self, mask: _Array, value: _Array) -> _Tensor: ...
    @_typing.overload
    def masked_fill_(self, mask: _Array, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def masked_scatter(self, mask: _Tensor, source: _Tensor) -> _Tensor: ...
    @_typing.overload
    def masked_scatter(self, mask: _NDArray, source: _NDArray) -> _NDArray: ...
    @_typing.overload
    def masked_scatter(self, mask: _Array, source: _Array) -> _Any: ...
    @_typing.overload
    def masked_scatter_(self, mask: _Tensor, source: _Tensor) -> _Tensor: ...
    @_typing.overload
    def masked_scatter_(self, mask: _NDArray, source: _NDArray) -> _Tensor: ...
    @_typing.overload
    def masked_scatter_(self, mask: _Array, source: _Array) -> _Tensor: ...
    @_typing.overload
    def masked_select(self, mask: _Tensor) -> _Tensor: ...
    @_typing.overload
    def masked_select(self, mask: _NDArray) -> _NDArray: ...
    @_typing.overload
    def masked_select(self, mask: _Array) -> _Any: ...
    @_typing.overload
    def matmul(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def matmul(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def matmul(self, other: _Array) -> _Any: ...
    def matrix_power(self, n: _Int) -> _Tensor: ...
    @_typing.overload
    def max(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def max(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def max(self, other: _Array) -> _Any: ...
    @_typing.overload
    def max(self) -> _Tensor: ...
    @_typing.overload
    def max(self, dim: _Int, keepdim: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def max(self, axis: _Int, keepdims: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def max(self, axis: _Int, keepdim: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def max(self, dim: _Int, keepdims: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    def max_pool1d(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        dilation: _Sizes = ...,
        ceil_mode: _Bool = False,
    ) -> _Tensor: ...
    def max_pool1d_with_indices(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        dilation: _Sizes = ...,
        ceil_mode: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    def max_pool2d(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        dilation: _Sizes = ...,
        ceil_mode: _Bool = False,
    ) -> _Tensor: ...
    def max_pool2d_with_indices(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        dilation: _Sizes = ...,
        ceil_mode: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def max_pool2d_with_indices_backward(
        self_,
        self: _Tensor,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        dilation: _Sizes,
        ceil_mode: _Bool,
        indices: _Tensor,
    ) -> _Tensor: ...
    @_typing.overload
    def max_pool2d_with_indices_backward(
        self_,
        self: _NDArray,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        dilation: _Sizes,
        ceil_mode: _Bool,
        indices: _NDArray,
    ) -> _NDArray: ...
    @_typing.overload
    def max_pool2d_with_indices_backward(
        self_,
        self: _Array,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        dilation: _Sizes,
        ceil_mode: _Bool,
        indices: _Array,
    ) -> _Any: ...
    def max_pool3d(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        dilation: _Sizes = ...,
        ceil_mode: _Bool = False,
    ) -> _Tensor: ...
    def max_pool3d_with_indices(
        self,
        kernel_size: _Sizes,
        stride: _Sizes = ...,
        padding: _Sizes = ...,
        dilation: _Sizes = ...,
        ceil_mode: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def max_pool3d_with_indices_backward(
        self_,
        self: _Tensor,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        dilation: _Sizes,
        ceil_mode: _Bool,
        indices: _Tensor,
    ) -> _Tensor: ...
    @_typing.overload
    def max_pool3d_with_indices_backward(
        self_,
        self: _NDArray,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        dilation: _Sizes,
        ceil_mode: _Bool,
        indices: _NDArray,
    ) -> _NDArray: ...
    @_typing.overload
    def max_pool3d_with_indices_backward(
        self_,
        self: _Array,
        kernel_size: _Sizes,
        stride: _Sizes,
        padding: _Sizes,
        dilation: _Sizes,
        ceil_mode: _Bool,
        indices: _Array,
    ) -> _Any: ...
    @_typing.overload
    def max_unpool2d(self, indices: _Tensor, output_size: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def max_unpool2d(self, indices: _NDArray, output_size: _SymSizes) -> _NDArray: ...
    @_typing.overload
    def max_unpool2d(self, indices: _Array, output_size: _SymSizes) -> _Any: ...
    @_typing.overload
    def max_unpool3d(
        self, indices: _Tensor, output_size: _SymSizes, stride: _Sizes, padding: _Sizes
    ) -> _Tensor: ...
    @_typing.overload
    def max_unpool3d(
        self, indices: _NDArray, output_size: _SymSizes, stride: _Sizes, padding: _Sizes
    ) -> _NDArray: ...
    @_typing.overload
    def max_unpool3d(
        self, indices: _Array, output_size: _SymSizes, stride: _Sizes, padding: _Sizes
    ) -> _Any: ...
    @_typing.overload
    def maximum(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def maximum(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def maximum(self, other: _Array) -> _Any: ...
    @_typing.overload
    def mean(self, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def mean(
        self, dim: _Sizes | None, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def mean(
        self, axis: _Sizes | None, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def mean(
        self, axis: _Sizes | None, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def mean(
        self, dim: _Sizes | None, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def median(self) -> _Tensor: ...
    @_typing.overload
    def median(self, dim: _Int, keepdim: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def median(self, axis: _Int, keepdims: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def median(self, axis: _Int, keepdim: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def median(self, dim: _Int, keepdims: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def min(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def min(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def min(self, other: _Array) -> _Any: ...
    @_typing.overload
    def min(self) -> _Tensor: ...
    @_typing.overload
    def min(self, dim: _Int, keepdim: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def min(self, axis: _Int, keepdims: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def min(self, axis: _Int, keepdim: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def min(self, dim: _Int, keepdims: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def minimum(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def minimum(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def minimum(self, other: _Array) -> _Any: ...
    def mish(self) -> _Tensor: ...
    def mish_(self) -> _Tensor: ...
    @_typing.overload
    def mm(self, mat2: _Tensor) -> _Tensor: ...
    @_typing.overload
    def mm(self, mat2: _NDArray) -> _NDArray: ...
    @_typing.overload
    def mm(self, mat2: _Array) -> _Any: ...
    @_typing.overload
    def mode(self, dim: _Int = -1, keepdim: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def mode(
        self, axis: _Int = -1, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def mode(
        self, axis: _Int = -1, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def mode(
        self, dim: _Int = -1, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def moveaxis(
        self, source: _abc.Sequence[_Int], destination: _abc.Sequence[_Int]
    ) -> _Tensor: ...
    @_typing.overload
    def moveaxis(self, source: _Int, destination: _Int) -> _Tensor: ...
    @_typing.overload
    def movedim(self, source: _abc.Sequence[_Int], destination: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def movedim(self, source: _Int, destination: _Int) -> _Tensor: ...
    @_typing.overload
    def mse_loss(self, target: _Tensor, reduction: _Int = 1) -> _Tensor: ...
    @_typing.overload
    def mse_loss(self, target: _NDArray, reduction: _Int = 1) -> _NDArray: ...
    @_typing.overload
    def mse_loss(self, target: _Array, reduction: _Int = 1) -> _Any: ...
    def msort(self) -> _Tensor: ...
    @_typing.overload
    def mul(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def mul(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def mul(self, other: _Array) -> _Any: ...
    @_typing.overload
    def mul(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def mul_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def mul_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def mul_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def mul_(self, other: _Scalar) -> _Tensor: ...
    def multinomial(
        self,
        num_samples: _SymInt,
        replacement: _Bool = False,
        *,
        generator: _opyard.Generator | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def multiply(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def multiply(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def multiply(self, other: _Array) -> _Any: ...
    @_typing.overload
    def multiply(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def multiply_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def multiply_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def multiply_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def multiply_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def mv(self, vec: _Tensor) -> _Tensor: ...
    @_typing.overload
    def mv(self, vec: _NDArray) -> _NDArray: ...
    @_typing.overload
    def mv(self, vec: _Array) -> _Any: ...
    def nan_to_num(
        self, nan: _Float | None = None, posinf: _Float | None = None, neginf: _Float | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def nanmean(
        self, dim: _Sizes | None = None, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def nanmean(
        self, axis: _Sizes | None = None, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def nanmean(
        self, axis: _Sizes | None = None, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def nanmean(
        self, dim: _Sizes | None = None, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def nanmedian(self) -> _Tensor: ...
    @_typing.overload
    def nanmedian(self, dim: _Int, keepdim: _Bool = False) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def nanmedian(
        self, axis: _Int, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def nanmedian(
        self, axis: _Int, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def nanmedian(
        self, dim: _Int, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Tensor,
        dim: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Tensor,
        axis: _Int | None = None,
        keepdims: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Tensor,
        axis: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Tensor,
        dim: _Int | None = None,
        keepdims: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _NDArray,
        dim: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _NDArray: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Array,
        dim: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Any: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Float,
        dim: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Float,
        axis: _Int | None = None,
        keepdims: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Float,
        axis: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def nanquantile(
        self,
        q: _Float,
        dim: _Int | None = None,
        keepdims: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def nansum(
        self, dim: _Sizes | None = None, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def nansum(
        self, axis: _Sizes | None = None, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def nansum(
        self, axis: _Sizes | None = None, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def nansum(
        self, dim: _Sizes | None = None, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def narrow(self, dim: _Int, start: _SymInt, length: _SymInt) -> _Tensor: ...
    @_typing.overload
    def narrow(self, axis: _Int, start: _SymInt, length: _SymInt) -> _Tensor: ...
    @_typing.overload
    def narrow_copy(self, dim: _Int, start: _SymInt, length: _SymInt) -> _Tensor: ...
    @_typing.overload
    def narrow_copy(self, axis: _Int, start: _SymInt, length: _SymInt) -> _Tensor: ...
    @_typing.overload
    def native_batch_norm(
        self,
        weight: _Tensor | None,
        bias: _Tensor | None,
        running_mean: _Tensor | None,
        running_var: _Tensor | None,
        training: _Bool,
        momentum: _Float,
        eps: _Float,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def native_batch_norm(
        self,
        weight: _NDArray | None,
        bias: _NDArray | None,
        running_mean: _NDArray | None,
        running_var: _NDArray | None,
        training: _Bool,
        momentum: _Float,
        eps: _Float,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def native_batch_norm(
        self,
        weight: _Array | None,
        bias: _Array | None,
        running_mean: _Array | None,
        running_var: _Array | None,
        training: _Bool,
        momentum: _Float,
        eps: _Float,
    ) -> _Any: ...
    @_typing.overload
    def native_batch_norm_backward(
        self,
        input: _Tensor,
        weight: _Tensor | None,
        running_mean: _Tensor | None,
        running_var: _Tensor | None,
        save_mean: _Tensor | None,
        save_invstd: _Tensor | None,
        train: _Bool,
        eps: _Float,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def native_batch_norm_backward(
        self,
        input: _NDArray,
        weight: _NDArray | None,
        running_mean: _NDArray | None,
        running_var: _NDArray | None,
        save_mean: _NDArray | None,
        save_invstd: _NDArray | None,
        train: _Bool,
        eps: _Float,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def native_batch_norm_backward(
        self,
        input: _Array,
        weight: _Array | None,
        running_mean: _Array | None,
        running_var: _Array | None,
        save_mean: _Array | None,
        save_invstd: _Array | None,
        train: _Bool,
        eps: _Float,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _Any: ...
    def native_dropout(
        self, p: _Float, train: _Bool | None
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def native_dropout_backward(self, mask: _Tensor, scale: _Float) -> _Tensor: ...
    @_typing.overload
    def native_dropout_backward(self, mask: _NDArray, scale: _Float) -> _NDArray: ...
    @_typing.overload
    def native_dropout_backward(self, mask: _Array, scale: _Float) -> _Any: ...
    @_typing.overload
    def native_group_norm(
        self,
        weight: _Tensor | None,
        bias: _Tensor | None,
        N: _SymInt,
        C: _SymInt,
        HxW: _SymInt,
        group: _Int,
        eps: _Float,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def native_group_norm(
        self,
        weight: _NDArray | None,
        bias: _NDArray | None,
        N: _SymInt,
        C: _SymInt,
        HxW: _SymInt,
        group: _Int,
        eps: _Float,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def native_group_norm(
        self,
        weight: _Array | None,
        bias: _Array | None,
        N: _SymInt,
        C: _SymInt,
        HxW: _SymInt,
        group: _Int,
        eps: _Float,
    ) -> _Any: ...
    @_typing.overload
    def native_group_norm_backward(
        self,
        input: _Tensor,
        mean: _Tensor,
        rstd: _Tensor,
        weight: _Tensor | None,
        N: _SymInt,
        C: _SymInt,
        HxW: _SymInt,
        group: _Int,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def native_group_norm_backward(
        self,
        input: _NDArray,
        mean: _NDArray,
        rstd: _NDArray,
        weight: _NDArray | None,
        N: _SymInt,
        C: _SymInt,
        HxW: _SymInt,
        group: _Int,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def native_group_norm_backward(
        self,
        input: _Array,
        mean: _Array,
        rstd: _Array,
        weight: _Array | None,
        N: _SymInt,
        C: _SymInt,
        HxW: _SymInt,
        group: _Int,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _Any: ...
    @_typing.overload
    def native_layer_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _Tensor | None,
        bias: _Tensor | None,
        eps: _Float,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def native_layer_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _NDArray | None,
        bias: _NDArray | None,
        eps: _Float,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def native_layer_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _Array | None,
        bias: _Array | None,
        eps: _Float,
    ) -> _Any: ...
    @_typing.overload
    def native_layer_norm_backward(
        self,
        input: _Tensor,
        normalized_shape: _abc.Sequence[_SymInt],
        mean: _Tensor,
        rstd: _Tensor,
        weight: _Tensor | None,
        bias: _Tensor | None,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def native_layer_norm_backward(
        self,
        input: _NDArray,
        normalized_shape: _abc.Sequence[_SymInt],
        mean: _NDArray,
        rstd: _NDArray,
        weight: _NDArray | None,
        bias: _NDArray | None,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _builtins.tuple[_NDArray, _NDArray, _NDArray]: ...
    @_typing.overload
    def native_layer_norm_backward(
        self,
        input: _Array,
        normalized_shape: _abc.Sequence[_SymInt],
        mean: _Array,
        rstd: _Array,
        weight: _Array | None,
        bias: _Array | None,
        output_mask: _abc.Sequence[_Bool] | _Bool,
    ) -> _Any: ...
    @_typing.overload
    def ne(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def ne(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def ne(self, other: _Array) -> _Any: ...
    @_typing.overload
    def ne(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def ne_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def ne_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def ne_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def ne_(self, other: _Scalar) -> _Tensor: ...
    def neg(self) -> _Tensor: ...
    def neg_(self) -> _Tensor: ...
    def negative(self) -> _Tensor: ...
    def negative_(self) -> _Tensor: ...
    def nelement(self) -> _int: ...
    @_typing.overload
    def new_empty(
        self,
        size: _abc.Sequence[_SymInt],
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def new_empty(
        self,
        *size: _SymInt,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
    ) -> _Tensor: ...
    def new_empty_strided(
        self,
        size: _abc.Sequence[_SymInt],
        stride: _abc.Sequence[_SymInt],
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
    ) -> _Tensor: ...
    def new_full(
        self,
        size: _abc.Sequence[_SymInt],
        fill_value: _Scalar,
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def new_ones(
        self,
        size: _abc.Sequence[_SymInt],
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def new_ones(
        self,
        *size: _SymInt,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def new_zeros(
        self,
        size: _abc.Sequence[_SymInt],
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def new_zeros(
        self,
        *size: _SymInt,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def nextafter(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def nextafter(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def nextafter(self, other: _Array) -> _Any: ...
    @_typing.overload
    def nll_loss(
        self,
        target: _Tensor,
        weight: _Tensor | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _Tensor: ...
    @_typing.overload
    def nll_loss(
        self,
        target: _NDArray,
        weight: _NDArray | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _NDArray: ...
    @_typing.overload
    def nll_loss(
        self,
        target: _Array,
        weight: _Array | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _Any: ...
    @_typing.overload
    def nll_loss2d(
        self,
        target: _Tensor,
        weight: _Tensor | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _Tensor: ...
    @_typing.overload
    def nll_loss2d(
        self,
        target: _NDArray,
        weight: _NDArray | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _NDArray: ...
    @_typing.overload
    def nll_loss2d(
        self,
        target: _Array,
        weight: _Array | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _Any: ...
    @_typing.overload
    def nll_loss2d_forward(
        self, target: _Tensor, weight: _Tensor | None, reduction: _Int, ignore_index: _SymInt
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def nll_loss2d_forward(
        self, target: _NDArray, weight: _NDArray | None, reduction: _Int, ignore_index: _SymInt
    ) -> _builtins.tuple[_NDArray, _NDArray]: ...
    @_typing.overload
    def nll_loss2d_forward(
        self, target: _Array, weight: _Array | None, reduction: _Int, ignore_index: _SymInt
    ) -> _Any: ...
    @_typing.overload
    def nll_loss_forward(
        self, target: _Tensor, weight: _Tensor | None, reduction: _Int, ignore_index: _SymInt
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def nll_loss_forward(
        self, target: _NDArray, weight: _NDArray | None, reduction: _Int, ignore_index: _SymInt
    ) -> _builtins.tuple[_NDArray, _NDArray]: ...
    @_typing.overload
    def nll_loss_forward(
        self, target: _Array, weight: _Array | None, reduction: _Int, ignore_index: _SymInt
    ) -> _Any: ...
    @_typing.overload
    def nll_loss_nd(
        self,
        target: _Tensor,
        weight: _Tensor | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _Tensor: ...
    @_typing.overload
    def nll_loss_nd(
        self,
        target: _NDArray,
        weight: _NDArray | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _NDArray: ...
    @_typing.overload
    def nll_loss_nd(
        self,
        target: _Array,
        weight: _Array | None = None,
        reduction: _Int = 1,
        ignore_index: _SymInt = -100,
    ) -> _Any: ...
    def nonzero(self) -> _Tensor: ...
    def nonzero_static(self, *, size: _SymInt, fill_value: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def norm(self, p: _Scalar = 2) -> _Tensor: ...
    @_typing.overload
    def norm(self, p: _Scalar | None, dim: _Sizes, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def norm(self, p: _Scalar | None, axis: _Sizes, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def norm(self, p: _Scalar | None, axis: _Sizes, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def norm(self, p: _Scalar | None, dim: _Sizes, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def norm_except_dim(self, pow: _Int = 2, dim: _Int = 0) -> _Tensor: ...
    @_typing.overload
    def norm_except_dim(self, pow: _Int = 2, axis: _Int = 0) -> _Tensor: ...
    @_typing.overload
    def normal(self, std: _Tensor, *, generator: _opyard.Generator | None = None) -> _Tensor: ...
    @_typing.overload
    def normal(self, std: _NDArray, *, generator: _opyard.Generator | None = None) -> _NDArray: ...
    @_typing.overload
    def normal(self, std: _Array, *, generator: _opyard.Generator | None = None) -> _Any: ...
    @_typing.overload
    def normal(
        self, std: _Float = 1.0, *, generator: _opyard.Generator | None = None
    ) -> _Tensor: ...
    def normal_(
        self, mean: _Float = 0.0, std: _Float = 1.0, *, generator: _opyard.Generator | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def not_equal(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def not_equal(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def not_equal(self, other: _Array) -> _Any: ...
    @_typing.overload
    def not_equal(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def not_equal_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def not_equal_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def not_equal_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def not_equal_(self, other: _Scalar) -> _Tensor: ...
    def numpy_T(self) -> _Tensor: ...
    def one_hot(self, num_classes: _Int = -1) -> _Tensor: ...
    def ones_like(
        self,
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def outer(self, vec2: _Tensor) -> _Tensor: ...
    @_typing.overload
    def outer(self, vec2: _NDArray) -> _NDArray: ...
    @_typing.overload
    def outer(self, vec2: _Array) -> _Any: ...
    def pad(
        self, pad: _abc.Sequence[_SymInt], mode: _str = "constant", value: _Float | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def pairwise_distance(
        self, x2: _Tensor, p: _Float = 2.0, eps: _Float = 1e-06, keepdim: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def pairwise_distance(
        self, x2: _Tensor, p: _Float = 2.0, eps: _Float = 1e-06, keepdims: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def pairwise_distance(
        self, x2: _NDArray, p: _Float = 2.0, eps: _Float = 1e-06, keepdim: _Bool = False
    ) -> _NDArray: ...
    @_typing.overload
    def pairwise_distance(
        self, x2: _Array, p: _Float = 2.0, eps: _Float = 1e-06, keepdim: _Bool = False
    ) -> _Any: ...
    def pdist(self, p: _Float = 2.0) -> _Tensor: ...
    @_typing.overload
    def permute(self, dims: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def permute(self, axis: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def permute(self, *dims: _Int) -> _Tensor: ...
    @_typing.overload
    def permute_copy(self, dims: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def permute_copy(self, axis: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def permute_copy(self, *dims: _Int) -> _Tensor: ...
    def pixel_shuffle(self, upscale_factor: _Int) -> _Tensor: ...
    def pixel_unshuffle(self, downscale_factor: _Int) -> _Tensor: ...
    @_typing.overload
    def poisson_nll_loss(
        self, target: _Tensor, log_input: _Bool, full: _Bool, eps: _Float, reduction: _Int
    ) -> _Tensor: ...
    @_typing.overload
    def poisson_nll_loss(
        self, target: _NDArray, log_input: _Bool, full: _Bool, eps: _Float, reduction: _Int
    ) -> _NDArray: ...
    @_typing.overload
    def poisson_nll_loss(
        self, target: _Array, log_input: _Bool, full: _Bool, eps: _Float, reduction: _Int
    ) -> _Any: ...
    @_typing.overload
    def polar(self, angle: _Tensor) -> _Tensor: ...
    @_typing.overload
    def polar(self, angle: _NDArray) -> _NDArray: ...
    @_typing.overload
    def polar(self, angle: _Array) -> _Any: ...
    @_typing.overload
    def pow(self, exponent: _Tensor) -> _Tensor: ...
    @_typing.overload
    def pow(self, exponent: _NDArray) -> _NDArray: ...
    @_typing.overload
    def pow(self, exponent: _Array) -> _Any: ...
    @_typing.overload
    def pow(self, exponent: _Scalar) -> _Tensor: ...
    @_typing.overload
    def pow_(self, exponent: _Tensor) -> _Tensor: ...
    @_typing.overload
    def pow_(self, exponent: _NDArray) -> _Tensor: ...
    @_typing.overload
    def pow_(self, exponent: _Array) -> _Tensor: ...
    @_typing.overload
    def pow_(self, exponent: _Scalar) -> _Tensor: ...
    @_typing.overload
    def prelu(self, weight: _Tensor) -> _Tensor: ...
    @_typing.overload
    def prelu(self, weight: _NDArray) -> _NDArray: ...
    @_typing.overload
    def prelu(self, weight: _Array) -> _Any: ...
    @_typing.overload
    def prod(self, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def prod(
        self, dim: _Int, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def prod(
        self, axis: _Int, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def prod(
        self, axis: _Int, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def prod(
        self, dim: _Int, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def put(self, index: _Tensor, source: _Tensor, accumulate: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def put(self, index: _NDArray, source: _NDArray, accumulate: _Bool = False) -> _NDArray: ...
    @_typing.overload
    def put(self, index: _Array, source: _Array, accumulate: _Bool = False) -> _Any: ...
    @_typing.overload
    def put_(self, index: _Tensor, source: _Tensor, accumulate: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def put_(self, index: _NDArray, source: _NDArray, accumulate: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def put_(self, index: _Array, source: _Array, accumulate: _Bool = False) -> _Tensor: ...
    def qr(self, some: _Bool = True) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def quantile(
        self,
        q: _Tensor,
        dim: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def quantile(
        self,
        q: _Tensor,
        axis: _Int | None = None,
        keepdims: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def quantile(
        self,
        q: _Tensor,
        axis: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def quantile(
        self,
        q: _Tensor,
        dim: _Int | None = None,
        keepdims: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def quantile(
        self,
        q: _NDArray,
        dim: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _NDArray: ...
    @_typing.overload
    def quantile(
        self,
        q: _Array,
        dim: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Any: ...
    @_typing.overload
    def quantile(
        self,
        q: _Float,
        dim: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def quantile(
        self,
        q: _Float,
        axis: _Int | None = None,
        keepdims: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def quantile(
        self,
        q: _Float,
        axis: _Int | None = None,
        keepdim: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    @_typing.overload
    def quantile(
        self,
        q: _Float,
        dim: _Int | None = None,
        keepdims: _Bool = False,
        *,
        interpolation: _str = "linear",
    ) -> _Tensor: ...
    def rad2deg(self) -> _Tensor: ...
    @_typing.overload
    def rand_like(
        self,
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def rand_like(
        self,
        *,
        generator: _opyard.Generator | None,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def randn_like(
        self,
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def randn_like(
        self,
        *,
        generator: _opyard.Generator | None,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def random_(self, *, generator: _opyard.Generator | None = None) -> _Tensor: ...
    @_typing.overload
    def random_(
        self, from_: _Int, /, to: _Int | None, *, generator: _opyard.Generator | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def random_(self, to: _Int, *, generator: _opyard.Generator | None = None) -> _Tensor: ...
    def ravel(self) -> _Tensor: ...
    def reciprocal(self) -> _Tensor: ...
    def reciprocal_(self) -> _Tensor: ...
    @_typing.overload
    def reflection_pad1d(self, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def reflection_pad1d(self, *padding: _SymInt) -> _Tensor: ...
    @_typing.overload
    def reflection_pad1d_backward(self_, self: _Tensor, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def reflection_pad1d_backward(self_, self: _NDArray, padding: _SymSizes) -> _NDArray: ...
    @_typing.overload
    def reflection_pad1d_backward(self_, self: _Array, padding: _SymSizes) -> _Any: ...
    @_typing.overload
    def reflection_pad2d(self, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def reflection_pad2d(self, *padding: _SymInt) -> _Tensor: ...
    @_typing.overload
    def reflection_pad2d_backward(self_, self: _Tensor, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def reflection_pad2d_backward(self_, self: _NDArray, padding: _SymSizes) -> _NDArray: ...
    @_typing.overload
    def reflection_pad2d_backward(self_, self: _Array, padding: _SymSizes) -> _Any: ...
    @_typing.overload
    def reflection_pad3d(self, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def reflection_pad3d(self, *padding: _SymInt) -> _Tensor: ...
    @_typing.overload
    def reflection_pad3d_backward(self_, self: _Tensor, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def reflection_pad3d_backward(self_, self: _NDArray, padding: _SymSizes) -> _NDArray: ...
    @_typing.overload
    def reflection_pad3d_backward(self_, self: _Array, padding: _SymSizes) -> _Any: ...
    def relu(self) -> _Tensor: ...
    def relu6(self) -> _Tensor: ...
    def relu6_(self) -> _Tensor: ...
    def relu_(self) -> _Tensor: ...
    @_typing.overload
    def remainder(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def remainder(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def remainder(self, other: _Array) -> _Any: ...
    @_typing.overload
    def remainder(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def remainder_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def remainder_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def remainder_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def remainder_(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def repeat(self, repeats: _abc.Sequence[_SymInt]) -> _Tensor: ...
    @_typing.overload
    def repeat(self, *repeats: _SymInt) -> _Tensor: ...
    @_typing.overload
    def repeat_interleave(
        self, repeats: _Tensor, dim: _Int | None = None, *, output_size: _SymInt | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def repeat_interleave(
        self, repeats: _Tensor, axis: _Int | None = None, *, output_size: _SymInt | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def repeat_interleave(
        self, repeats: _NDArray, dim: _Int | None = None, *, output_size: _SymInt | None = None
    ) -> _NDArray: ...
    @_typing.overload
    def repeat_interleave(
        self, repeats: _Array, dim: _Int | None = None, *, output_size: _SymInt | None = None
    ) -> _Any: ...
    @_typing.overload
    def repeat_interleave(self, *, output_size: _SymInt | None = None) -> _Tensor: ...
    @_typing.overload
    def repeat_interleave(
        self, repeats: _SymInt, dim: _Int | None = None, *, output_size: _SymInt | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def repeat_interleave(
        self, repeats: _SymInt, axis: _Int | None = None, *, output_size: _SymInt | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def replication_pad1d(self, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def replication_pad1d(self, *padding: _SymInt) -> _Tensor: ...
    @_typing.overload
    def replication_pad1d_backward(self_, self: _Tensor, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def replication_pad1d_backward(self_, self: _NDArray, padding: _SymSizes) -> _NDArray: ...
    @_typing.overload
    def replication_pad1d_backward(self_, self: _Array, padding: _SymSizes) -> _Any: ...
    @_typing.overload
    def replication_pad2d(self, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def replication_pad2d(self, *padding: _SymInt) -> _Tensor: ...
    @_typing.overload
    def replication_pad2d_backward(self_, self: _Tensor, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def replication_pad2d_backward(self_, self: _NDArray, padding: _SymSizes) -> _NDArray: ...
    @_typing.overload
    def replication_pad2d_backward(self_, self: _Array, padding: _SymSizes) -> _Any: ...
    @_typing.overload
    def replication_pad3d(self, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def replication_pad3d(self, *padding: _SymInt) -> _Tensor: ...
    @_typing.overload
    def replication_pad3d_backward(self_, self: _Tensor, padding: _SymSizes) -> _Tensor: ...
    @_typing.overload
    def replication_pad3d_backward(self_, self: _NDArray, padding: _SymSizes) -> _NDArray: ...
    @_typing.overload
    def replication_pad3d_backward(self_, self: _Array, padding: _SymSizes) -> _Any: ...
    @_typing.overload
    def reshape(self, shape: _abc.Sequence[_SymInt]) -> _Tensor: ...
    @_typing.overload
    def reshape(self, *shape: _SymInt) -> _Tensor: ...
    @_typing.overload
    def reshape_as(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def reshape_as(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def reshape_as(self, other: _Array) -> _Any: ...
    @_typing.overload
    def resize_(
        self, size: _abc.Sequence[_SymInt], *, memory_format: _Any | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def resize_(self, *size: _SymInt, memory_format: _Any | None = None) -> _Tensor: ...
    @_typing.overload
    def resize_as_(
        self, the_template: _Tensor, *, memory_format: _Any | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def resize_as_(
        self, the_template: _NDArray, *, memory_format: _Any | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def resize_as_(self, the_template: _Array, *, memory_format: _Any | None = None) -> _Tensor: ...
    def resolve_conj(self) -> _Tensor: ...
    def resolve_neg(self) -> _Tensor: ...
    @_typing.overload
    def rms_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _Tensor | None = None,
        eps: _Float | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def rms_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _NDArray | None = None,
        eps: _Float | None = None,
    ) -> _NDArray: ...
    @_typing.overload
    def rms_norm(
        self,
        normalized_shape: _abc.Sequence[_SymInt],
        weight: _Array | None = None,
        eps: _Float | None = None,
    ) -> _Any: ...
    @_typing.overload
    def rnn_relu(
        self,
        hx: _Tensor,
        params: _abc.Sequence[_Tensor],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def rnn_relu(
        self,
        hx: _NDArray,
        params: _abc.Sequence[_NDArray],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _builtins.tuple[_NDArray, _NDArray]: ...
    @_typing.overload
    def rnn_relu(
        self,
        hx: _Array,
        params: _abc.Sequence[_Array],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _Any: ...
    @_typing.overload
    def rnn_relu_cell(
        self,
        hx: _Tensor,
        w_ih: _Tensor,
        w_hh: _Tensor,
        b_ih: _Tensor | None = None,
        b_hh: _Tensor | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def rnn_relu_cell(
        self,
        hx: _NDArray,
        w_ih: _NDArray,
        w_hh: _NDArray,
        b_ih: _NDArray | None = None,
        b_hh: _NDArray | None = None,
    ) -> _NDArray: ...
    @_typing.overload
    def rnn_relu_cell(
        self,
        hx: _Array,
        w_ih: _Array,
        w_hh: _Array,
        b_ih: _Array | None = None,
        b_hh: _Array | None = None,
    ) -> _Any: ...
    @_typing.overload
    def rnn_tanh(
        self,
        hx: _Tensor,
        params: _abc.Sequence[_Tensor],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def rnn_tanh(
        self,
        hx: _NDArray,
        params: _abc.Sequence[_NDArray],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _builtins.tuple[_NDArray, _NDArray]: ...
    @_typing.overload
    def rnn_tanh(
        self,
        hx: _Array,
        params: _abc.Sequence[_Array],
        has_biases: _Bool,
        num_layers: _Int,
        dropout: _Float,
        train: _Bool,
        bidirectional: _Bool,
        batch_first: _Bool,
    ) -> _Any: ...
    @_typing.overload
    def rnn_tanh_cell(
        self,
        hx: _Tensor,
        w_ih: _Tensor,
        w_hh: _Tensor,
        b_ih: _Tensor | None = None,
        b_hh: _Tensor | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def rnn_tanh_cell(
        self,
        hx: _NDArray,
        w_ih: _NDArray,
        w_hh: _NDArray,
        b_ih: _NDArray | None = None,
        b_hh: _NDArray | None = None,
    ) -> _NDArray: ...
    @_typing.overload
    def rnn_tanh_cell(
        self,
        hx: _Array,
        w_ih: _Array,
        w_hh: _Array,
        b_ih: _Array | None = None,
        b_hh: _Array | None = None,
    ) -> _Any: ...
    @_typing.overload
    def roll(self, shifts: _SymSizes, dims: _Sizes = ...) -> _Tensor: ...
    @_typing.overload
    def roll(self, shifts: _SymSizes, axis: _Sizes = ...) -> _Tensor: ...
    @_typing.overload
    def rot90(self, k: _Int = 1, dims: _abc.Sequence[_Int] = ...) -> _Tensor: ...
    @_typing.overload
    def rot90(self, k: _Int = 1, axis: _abc.Sequence[_Int] = ...) -> _Tensor: ...
    def round(self) -> _Tensor: ...
    def round_(self) -> _Tensor: ...
    def rsqrt(self) -> _Tensor: ...
    def rsqrt_(self) -> _Tensor: ...
    @_typing.overload
    def rsub(self, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def rsub(self, other: _NDArray, *, alpha: _Scalar = 1) -> _NDArray: ...
    @_typing.overload
    def rsub(self, other: _Array, *, alpha: _Scalar = 1) -> _Any: ...
    @_typing.overload
    def rsub(self, other: _Scalar, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def scaled_dot_product_attention(
        self,
        key: _Tensor,
        value: _Tensor,
        attn_mask: _Tensor | None = None,
        dropout_p: _Float = 0.0,
        is_causal: _Bool = False,
        *,
        scale: _Float | None = None,
        enable_gqa: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def scaled_dot_product_attention(
        self,
        key: _NDArray,
        value: _NDArray,
        attn_mask: _NDArray | None = None,
        dropout_p: _Float = 0.0,
        is_causal: _Bool = False,
        *,
        scale: _Float | None = None,
        enable_gqa: _Bool = False,
    ) -> _NDArray: ...
    @_typing.overload
    def scaled_dot_product_attention(
        self,
        key: _Array,
        value: _Array,
        attn_mask: _Array | None = None,
        dropout_p: _Float = 0.0,
        is_causal: _Bool = False,
        *,
        scale: _Float | None = None,
        enable_gqa: _Bool = False,
    ) -> _Any: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _Tensor, src: _Tensor) -> _Tensor: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _Tensor, src: _Tensor, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter(self, axis: _Int, index: _Tensor, src: _Tensor) -> _Tensor: ...
    @_typing.overload
    def scatter(self, axis: _Int, index: _Tensor, src: _Tensor, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _Tensor, value: _Scalar, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter(self, axis: _Int, index: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def scatter(self, axis: _Int, index: _Tensor, value: _Scalar, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _NDArray, src: _NDArray) -> _NDArray: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _NDArray, src: _NDArray, *, reduce: _str) -> _NDArray: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _NDArray, value: _Scalar) -> _NDArray: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _NDArray, value: _Scalar, *, reduce: _str) -> _NDArray: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _Array, src: _Array) -> _Any: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _Array, src: _Array, *, reduce: _str) -> _Any: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _Array, value: _Scalar) -> _Any: ...
    @_typing.overload
    def scatter(self, dim: _Int, index: _Array, value: _Scalar, *, reduce: _str) -> _Any: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _Tensor, src: _Tensor) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _Tensor, src: _Tensor, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, axis: _Int, index: _Tensor, src: _Tensor) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, axis: _Int, index: _Tensor, src: _Tensor, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _Tensor, value: _Scalar, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, axis: _Int, index: _Tensor, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, axis: _Int, index: _Tensor, value: _Scalar, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _NDArray, src: _NDArray) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _NDArray, src: _NDArray, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _NDArray, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _NDArray, value: _Scalar, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _Array, src: _Array) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _Array, src: _Array, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _Array, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def scatter_(self, dim: _Int, index: _Array, value: _Scalar, *, reduce: _str) -> _Tensor: ...
    @_typing.overload
    def scatter_add(self, dim: _Int, index: _Tensor, src: _Tensor) -> _Tensor: ...
    @_typing.overload
    def scatter_add(self, axis: _Int, index: _Tensor, src: _Tensor) -> _Tensor: ...
    @_typing.overload
    def scatter_add(self, dim: _Int, index: _NDArray, src: _NDArray) -> _NDArray: ...
    @_typing.overload
    def scatter_add(self, dim: _Int, index: _Array, src: _Array) -> _Any: ...
    @_typing.overload
    def scatter_add_(self, dim: _Int, index: _Tensor, src: _Tensor) -> _Tensor: ...
    @_typing.overload
    def scatter_add_(self, axis: _Int, index: _Tensor, src: _Tensor) -> _Tensor: ...
    @_typing.overload
    def scatter_add_(self, dim: _Int, index: _NDArray, src: _NDArray) -> _Tensor: ...
    @_typing.overload
    def scatter_add_(self, dim: _Int, index: _Array, src: _Array) -> _Tensor: ...
    @_typing.overload
    def scatter_reduce(
        self, dim: _Int, index: _Tensor, src: _Tensor, reduce: _str, *, include_self: _Bool = True
    ) -> _Tensor: ...
    @_typing.overload
    def scatter_reduce(
        self, axis: _Int, index: _Tensor, src: _Tensor, reduce: _str, *, include_self: _Bool = True
    ) -> _Tensor: ...
    @_typing.overload
    def scatter_reduce(
        self, dim: _Int, index: _NDArray, src: _NDArray, reduce: _str, *, include_self: _Bool = True
    ) -> _NDArray: ...
    @_typing.overload
    def scatter_reduce(
        self, dim: _Int, index: _Array, src: _Array, reduce: _str, *, include_self: _Bool = True
    ) -> _Any: ...
    @_typing.overload
    def scatter_reduce_(
        self, dim: _Int, index: _Tensor, src: _Tensor, reduce: _str, *, include_self: _Bool = True
    ) -> _Tensor: ...
    @_typing.overload
    def scatter_reduce_(
        self, axis: _Int, index: _Tensor, src: _Tensor, reduce: _str, *, include_self: _Bool = True
    ) -> _Tensor: ...
    @_typing.overload
    def scatter_reduce_(
        self, dim: _Int, index: _NDArray, src: _NDArray, reduce: _str, *, include_self: _Bool = True
    ) -> _Tensor: ...
    @_typing.overload
    def scatter_reduce_(
        self, dim: _Int, index: _Array, src: _Array, reduce: _str, *, include_self: _Bool = True
    ) -> _Tensor: ...
    @_typing.overload
    def searchsorted(
        self_,
        self: _Tensor,
        *,
        out_int32: _Bool = False,
        right: _Bool = False,
        side: _str | None = None,
        sorter: _Tensor | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def searchsorted(
        self_,
        self: _NDArray,
        *,
        out_int32: _Bool = False,
        right: _Bool = False,
        side: _str | None = None,
        sorter: _NDArray | None = None,
    ) -> _NDArray: ...
    @_typing.overload
    def searchsorted(
        self_,
        self: _Array,
        *,
        out_int32: _Bool = False,
        right: _Bool = False,
        side: _str | None = None,
        sorter: _Array | None = None,
    ) -> _Any: ...
    @_typing.overload
    def searchsorted(
        self_,
        self: _Scalar,
        *,
        out_int32: _Bool = False,
        right: _Bool = False,
        side: _str | None = None,
        sorter: _Tensor | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def searchsorted(
        self_,
        self: _Scalar,
        *,
        out_int32: _Bool = False,
        right: _Bool = False,
        side: _str | None = None,
        sorter: _NDArray | None = None,
    ) -> _NDArray: ...
    @_typing.overload
    def searchsorted(
        self_,
        self: _Scalar,
        *,
        out_int32: _Bool = False,
        right: _Bool = False,
        side: _str | None = None,
        sorter: _Array | None = None,
    ) -> _Any: ...
    @_typing.overload
    def select(self, dim: _Int, index: _SymInt) -> _Tensor: ...
    @_typing.overload
    def select(self, axis: _Int, index: _SymInt) -> _Tensor: ...
    @_typing.overload
    def select_backward(
        self, input_sizes: _abc.Sequence[_Int], dim: _Int, index: _Int
    ) -> _Tensor: ...
    @_typing.overload
    def select_backward(
        self, input_sizes: _abc.Sequence[_Int], axis: _Int, index: _Int
    ) -> _Tensor: ...
    @_typing.overload
    def select_copy(self, dim: _Int, index: _SymInt) -> _Tensor: ...
    @_typing.overload
    def select_copy(self, axis: _Int, index: _SymInt) -> _Tensor: ...
    @_typing.overload
    def select_scatter(self, src: _Tensor, dim: _Int, index: _SymInt) -> _Tensor: ...
    @_typing.overload
    def select_scatter(self, src: _Tensor, axis: _Int, index: _SymInt) -> _Tensor: ...
    @_typing.overload
    def select_scatter(self, src: _NDArray, dim: _Int, index: _SymInt) -> _NDArray: ...
    @_typing.overload
    def select_scatter(self, src: _Array, dim: _Int, index: _SymInt) -> _Any: ...
    def selu(self) -> _Tensor: ...
    def selu_(self) -> _Tensor: ...
    def sgn(self) -> _Tensor: ...
    def sgn_(self) -> _Tensor: ...
    def sigmoid(self) -> _Tensor: ...
    def sigmoid_(self) -> _Tensor: ...
    def sign(self) -> _Tensor: ...
    def sign_(self) -> _Tensor: ...
    def signbit(self) -> _Tensor: ...
    def silu(self) -> _Tensor: ...
    def silu_(self) -> _Tensor: ...
    @_typing.overload
    def silu_backward(self_, self: _Tensor) -> _Tensor: ...
    @_typing.overload
    def silu_backward(self_, self: _NDArray) -> _NDArray: ...
    @_typing.overload
    def silu_backward(self_, self: _Array) -> _Any: ...
    def sin(self) -> _Tensor: ...
    def sin_(self) -> _Tensor: ...
    def sinc(self) -> _Tensor: ...
    def sinc_(self) -> _Tensor: ...
    def sinh(self) -> _Tensor: ...
    def sinh_(self) -> _Tensor: ...
    @_typing.overload
    def slice(
        self,
        dim: _Int = 0,
        start: _SymInt | None = None,
        end: _SymInt | None = None,
        step: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def slice(
        self,
        axis: _Int = 0,
        start: _SymInt | None = None,
        end: _SymInt | None = None,
        step: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def slice_backward(
        self,
        input_sizes: _abc.Sequence[_Int],
        dim: _Int,
        start: _Int | None,
        end: _Int | None,
        step: _Int,
    ) -> _Tensor: ...
    @_typing.overload
    def slice_backward(
        self,
        input_sizes: _abc.Sequence[_Int],
        axis: _Int,
        start: _Int | None,
        end: _Int | None,
        step: _Int,
    ) -> _Tensor: ...
    @_typing.overload
    def slice_copy(
        self,
        dim: _Int = 0,
        start: _SymInt | None = None,
        end: _SymInt | None = None,
        step: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def slice_copy(
        self,
        axis: _Int = 0,
        start: _SymInt | None = None,
        end: _SymInt | None = None,
        step: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def slice_scatter(
        self,
        src: _Tensor,
        dim: _Int = 0,
        start: _SymInt | None = None,
        end: _SymInt | None = None,
        step: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def slice_scatter(
        self,
        src: _Tensor,
        axis: _Int = 0,
        start: _SymInt | None = None,
        end: _SymInt | None = None,
        step: _SymInt = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def slice_scatter(
        self,
        src: _NDArray,
        dim: _Int = 0,
        start: _SymInt | None = None,
        end: _SymInt | None = None,
        step: _SymInt = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def slice_scatter(
        self,
        src: _Array,
        dim: _Int = 0,
        start: _SymInt | None = None,
        end: _SymInt | None = None,
        step: _SymInt = 1,
    ) -> _Any: ...
    def slogdet(self) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def smooth_l1_loss(
        self, target: _Tensor, reduction: _Int = 1, beta: _Float = 1.0
    ) -> _Tensor: ...
    @_typing.overload
    def smooth_l1_loss(
        self, target: _NDArray, reduction: _Int = 1, beta: _Float = 1.0
    ) -> _NDArray: ...
    @_typing.overload
    def smooth_l1_loss(self, target: _Array, reduction: _Int = 1, beta: _Float = 1.0) -> _Any: ...
    @_typing.overload
    def soft_margin_loss(self, target: _Tensor, reduction: _Int = 1) -> _Tensor: ...
    @_typing.overload
    def soft_margin_loss(self, target: _NDArray, reduction: _Int = 1) -> _NDArray: ...
    @_typing.overload
    def soft_margin_loss(self, target: _Array, reduction: _Int = 1) -> _Any: ...
    @_typing.overload
    def softmax(self, dim: _Int, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def softmax(self, axis: _Int, dtype: _dtype | None = None) -> _Tensor: ...
    def softplus(self, beta: _Scalar = 1, threshold: _Scalar = 20) -> _Tensor: ...
    def softshrink(self, lambd: _Scalar = 0.5) -> _Tensor: ...
    @_typing.overload
    def sort(
        self, dim: _Int = -1, descending: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def sort(
        self, *, stable: _Bool | None, dim: _Int = -1, descending: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def sort(
        self, axis: _Int = -1, descending: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def sort(
        self, *, stable: _Bool | None, axis: _Int = -1, descending: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    def special_digamma(self) -> _Tensor: ...
    def special_erf(self) -> _Tensor: ...
    def special_erfc(self) -> _Tensor: ...
    def special_exp2(self) -> _Tensor: ...
    def special_expit(self) -> _Tensor: ...
    def special_expm1(self) -> _Tensor: ...
    def special_gammaln(self) -> _Tensor: ...
    def special_log1p(self) -> _Tensor: ...
    @_typing.overload
    def special_log_softmax(self, dim: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def special_log_softmax(self, axis: _Int, *, dtype: _dtype | None = None) -> _Tensor: ...
    def special_logit(self, eps: _Float | None = None) -> _Tensor: ...
    @_typing.overload
    def special_logsumexp(self, dim: _Sizes, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def special_logsumexp(self, axis: _Sizes, keepdims: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def special_logsumexp(self, axis: _Sizes, keepdim: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def special_logsumexp(self, dim: _Sizes, keepdims: _Bool = False) -> _Tensor: ...
    def special_psi(self) -> _Tensor: ...
    def special_sinc(self) -> _Tensor: ...
    @_typing.overload
    def special_softmax(self, dim: _Int, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def special_softmax(self, axis: _Int, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def special_xlogy(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def special_xlogy(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def special_xlogy(self, other: _Array) -> _Any: ...
    @_typing.overload
    def special_xlogy(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def split(self, split_size: _SymInt, dim: _Int = 0) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def split(
        self, split_size: _abc.Sequence[_SymInt], dim: _Int = 0
    ) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def split(self, split_size: _SymInt, axis: _Int = 0) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def split(
        self, split_size: _abc.Sequence[_SymInt], axis: _Int = 0
    ) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def split_with_sizes(
        self, split_sizes: _abc.Sequence[_SymInt], dim: _Int = 0
    ) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def split_with_sizes(
        self, split_sizes: _abc.Sequence[_SymInt], axis: _Int = 0
    ) -> _builtins.list[_Tensor]: ...
    def sqrt(self) -> _Tensor: ...
    def sqrt_(self) -> _Tensor: ...
    def square(self) -> _Tensor: ...
    def square_(self) -> _Tensor: ...
    @_typing.overload
    def squeeze(self, dim: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def squeeze(self) -> _Tensor: ...
    @_typing.overload
    def squeeze(self, dim: _Int) -> _Tensor: ...
    @_typing.overload
    def squeeze(self, axis: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def squeeze(self, *dim: _Int) -> _Tensor: ...
    @_typing.overload
    def squeeze(self, axis: _Int) -> _Tensor: ...
    @_typing.overload
    def squeeze_(self) -> _Tensor: ...
    @_typing.overload
    def squeeze_(self, dim: _Int) -> _Tensor: ...
    @_typing.overload
    def squeeze_(self, dim: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def squeeze_(self, axis: _Int) -> _Tensor: ...
    @_typing.overload
    def squeeze_(self, axis: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def squeeze_(self, *dim: _Int) -> _Tensor: ...
    @_typing.overload
    def squeeze_copy(self) -> _Tensor: ...
    @_typing.overload
    def squeeze_copy(self, dim: _Int) -> _Tensor: ...
    @_typing.overload
    def squeeze_copy(self, dim: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def squeeze_copy(self, axis: _Int) -> _Tensor: ...
    @_typing.overload
    def squeeze_copy(self, axis: _abc.Sequence[_Int]) -> _Tensor: ...
    @_typing.overload
    def squeeze_copy(self, *dim: _Int) -> _Tensor: ...
    @_typing.overload
    def std(self, unbiased: _Bool = True) -> _Tensor: ...
    @_typing.overload
    def std(
        self, dim: _Sizes | None, unbiased: _Bool = True, keepdim: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def std(
        self,
        dim: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdim: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def std(
        self, axis: _Sizes | None, unbiased: _Bool = True, keepdims: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def std(
        self, axis: _Sizes | None, unbiased: _Bool = True, keepdim: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def std(
        self, dim: _Sizes | None, unbiased: _Bool = True, keepdims: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def std(
        self,
        axis: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdims: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def std(
        self,
        axis: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdim: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def std(
        self,
        dim: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdims: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def std_mean(self, unbiased: _Bool = True) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def std_mean(
        self, dim: _Sizes | None, unbiased: _Bool = True, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def std_mean(
        self,
        dim: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdim: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def std_mean(
        self, axis: _Sizes | None, unbiased: _Bool = True, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def std_mean(
        self, axis: _Sizes | None, unbiased: _Bool = True, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def std_mean(
        self, dim: _Sizes | None, unbiased: _Bool = True, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def std_mean(
        self,
        axis: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdims: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def std_mean(
        self,
        axis: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdim: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def std_mean(
        self,
        dim: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdims: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def sub(self, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def sub(self, other: _NDArray, *, alpha: _Scalar = 1) -> _NDArray: ...
    @_typing.overload
    def sub(self, other: _Array, *, alpha: _Scalar = 1) -> _Any: ...
    @_typing.overload
    def sub(self, other: _Scalar, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def sub_(self, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def sub_(self, other: _NDArray, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def sub_(self, other: _Array, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def sub_(self, other: _Scalar, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def subtract(self, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def subtract(self, other: _NDArray, *, alpha: _Scalar = 1) -> _NDArray: ...
    @_typing.overload
    def subtract(self, other: _Array, *, alpha: _Scalar = 1) -> _Any: ...
    @_typing.overload
    def subtract(self, other: _Scalar, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def subtract_(self, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def subtract_(self, other: _NDArray, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def subtract_(self, other: _Array, *, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def subtract_(self, other: _Scalar, alpha: _Scalar = 1) -> _Tensor: ...
    @_typing.overload
    def sum(self, *, dtype: _dtype | None = None) -> _Tensor: ...
    @_typing.overload
    def sum(
        self, dim: _Sizes | None, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def sum(
        self, axis: _Sizes | None, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def sum(
        self, axis: _Sizes | None, keepdim: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def sum(
        self, dim: _Sizes | None, keepdims: _Bool = False, *, dtype: _dtype | None = None
    ) -> _Tensor: ...
    def swapaxes(self, axis0: _Int, axis1: _Int) -> _Tensor: ...
    def swapaxes_(self, axis0: _Int, axis1: _Int) -> _Tensor: ...
    def swapdims(self, dim0: _Int, dim1: _Int) -> _Tensor: ...
    def swapdims_(self, dim0: _Int, dim1: _Int) -> _Tensor: ...
    def sym_is_contiguous(self, memory_format: _Any = 0) -> _bool | _opyard_symbolic.SymBool: ...
    def sym_numel(self) -> _int | _opyard_symbolic.SymInt: ...
    @_typing.overload
    def sym_size(self) -> _builtins.list[_int | _opyard_symbolic.SymInt]: ...
    @_typing.overload
    def sym_size(self, dim: _Int) -> _int | _opyard_symbolic.SymInt: ...
    @_typing.overload
    def sym_size(self, axis: _Int) -> _int | _opyard_symbolic.SymInt: ...
    def sym_storage_offset(self) -> _int | _opyard_symbolic.SymInt: ...
    @_typing.overload
    def sym_stride(self) -> _builtins.list[_int | _opyard_symbolic.SymInt]: ...
    @_typing.overload
    def sym_stride(self, dim: _Int) -> _int | _opyard_symbolic.SymInt: ...
    @_typing.overload
    def sym_stride(self, axis: _Int) -> _int | _opyard_symbolic.SymInt: ...
    def t(self) -> _Tensor: ...
    def t_(self) -> _Tensor: ...
    def t_copy(self) -> _Tensor: ...
    @_typing.overload
    def take(self, index: _Tensor) -> _Tensor: ...
    @_typing.overload
    def take(self, index: _NDArray) -> _NDArray: ...
    @_typing.overload
    def take(self, index: _Array) -> _Any: ...
    @_typing.overload
    def take_along_dim(self, indices: _Tensor, dim: _Int | None = None) -> _Tensor: ...
    @_typing.overload
    def take_along_dim(self, indices: _Tensor, axis: _Int | None = None) -> _Tensor: ...
    @_typing.overload
    def take_along_dim(self, indices: _NDArray, dim: _Int | None = None) -> _NDArray: ...
    @_typing.overload
    def take_along_dim(self, indices: _Array, dim: _Int | None = None) -> _Any: ...
    def tan(self) -> _Tensor: ...
    def tan_(self) -> _Tensor: ...
    def tanh(self) -> _Tensor: ...
    def tanh_(self) -> _Tensor: ...
    @_typing.overload
    def tensor_split(self, sections: _SymInt, dim: _Int = 0) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def tensor_split(
        self, indices: _abc.Sequence[_SymInt], dim: _Int = 0
    ) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def tensor_split(self, sections: _SymInt, axis: _Int = 0) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def tensor_split(
        self, indices: _abc.Sequence[_SymInt], axis: _Int = 0
    ) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def tensordot(
        self, other: _Tensor, dims_self: _abc.Sequence[_Int], dims_other: _abc.Sequence[_Int]
    ) -> _Tensor: ...
    @_typing.overload
    def tensordot(
        self, other: _NDArray, dims_self: _abc.Sequence[_Int], dims_other: _abc.Sequence[_Int]
    ) -> _NDArray: ...
    @_typing.overload
    def tensordot(
        self, other: _Array, dims_self: _abc.Sequence[_Int], dims_other: _abc.Sequence[_Int]
    ) -> _Any: ...
    def threshold(self, threshold: _Scalar, value: _Scalar) -> _Tensor: ...
    def threshold_(self, threshold: _Scalar, value: _Scalar) -> _Tensor: ...
    @_typing.overload
    def tile(self, dims: _abc.Sequence[_SymInt]) -> _Tensor: ...
    @_typing.overload
    def tile(self, axis: _abc.Sequence[_SymInt]) -> _Tensor: ...
    @_typing.overload
    def tile(self, *dims: _SymInt) -> _Tensor: ...
    @_typing.overload
    def to(
        self,
        dtype: _dtype,
        non_blocking: _Bool = False,
        copy: _Bool = False,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def to(
        self,
        device: _opyard.device | _str,
        dtype: _dtype,
        non_blocking: _Bool = False,
        copy: _Bool = False,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def to(
        self,
        device: _opyard.device | _str | None,
        dtype: _Int | None = None,
        non_blocking: _Bool = False,
        copy: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def to(
        self,
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        non_blocking: _Bool = False,
        copy: _Bool = False,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
    def to_device(self, device: _Any, *, stream: _Any = ...) -> _Tensor: ...
    @_typing.overload
    def topk(
        self, k: _SymInt, dim: _Int = -1, largest: _Bool = True, sorted: _Bool = True
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def topk(
        self, k: _SymInt, axis: _Int = -1, largest: _Bool = True, sorted: _Bool = True
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    def trace(self) -> _Tensor: ...
    def transpose(self, dim0: _Int, dim1: _Int) -> _Tensor: ...
    def transpose_(self, dim0: _Int, dim1: _Int) -> _Tensor: ...
    def transpose_copy(self, dim0: _Int, dim1: _Int) -> _Tensor: ...
    @_typing.overload
    def trapezoid(self, x: _Tensor, *, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def trapezoid(self, x: _Tensor, *, axis: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def trapezoid(self, x: _NDArray, *, dim: _Int = -1) -> _NDArray: ...
    @_typing.overload
    def trapezoid(self, x: _Array, *, dim: _Int = -1) -> _Any: ...
    @_typing.overload
    def trapezoid(self, *, dx: _Scalar = 1, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def trapezoid(self, *, dx: _Scalar = 1, axis: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def trapz(self, x: _Tensor, *, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def trapz(self, x: _Tensor, *, axis: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def trapz(self, x: _NDArray, *, dim: _Int = -1) -> _NDArray: ...
    @_typing.overload
    def trapz(self, x: _Array, *, dim: _Int = -1) -> _Any: ...
    @_typing.overload
    def trapz(self, *, dx: _Float = 1.0, dim: _Int = -1) -> _Tensor: ...
    @_typing.overload
    def trapz(self, *, dx: _Float = 1.0, axis: _Int = -1) -> _Tensor: ...
    def tril(self, diagonal: _SymInt = 0) -> _Tensor: ...
    def tril_(self, diagonal: _SymInt = 0) -> _Tensor: ...
    @_typing.overload
    def triplet_margin_loss(
        self,
        positive: _Tensor,
        negative: _Tensor,
        margin: _Float = 1.0,
        p: _Float = 2.0,
        eps: _Float = 1e-06,
        swap: _Bool = False,
        reduction: _Int = 1,
    ) -> _Tensor: ...
    @_typing.overload
    def triplet_margin_loss(
        self,
        positive: _NDArray,
        negative: _NDArray,
        margin: _Float = 1.0,
        p: _Float = 2.0,
        eps: _Float = 1e-06,
        swap: _Bool = False,
        reduction: _Int = 1,
    ) -> _NDArray: ...
    @_typing.overload
    def triplet_margin_loss(
        self,
        positive: _Array,
        negative: _Array,
        margin: _Float = 1.0,
        p: _Float = 2.0,
        eps: _Float = 1e-06,
        swap: _Bool = False,
        reduction: _Int = 1,
    ) -> _Any: ...
    def triu(self, diagonal: _SymInt = 0) -> _Tensor: ...
    def triu_(self, diagonal: _SymInt = 0) -> _Tensor: ...
    @_typing.overload
    def true_divide(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def true_divide(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def true_divide(self, other: _Array) -> _Any: ...
    @_typing.overload
    def true_divide(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def true_divide_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def true_divide_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def true_divide_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def true_divide_(self, other: _Scalar) -> _Tensor: ...
    def trunc(self) -> _Tensor: ...
    def trunc_(self) -> _Tensor: ...
    @_typing.overload
    def type_as(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def type_as(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def type_as(self, other: _Array) -> _Any: ...
    @_typing.overload
    def unbind(self, dim: _Int = 0) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def unbind(self, axis: _Int = 0) -> _builtins.list[_Tensor]: ...
    @_typing.overload
    def unflatten(self, dim: _Int, sizes: _abc.Sequence[_SymInt]) -> _Tensor: ...
    @_typing.overload
    def unflatten(self, axis: _Int, sizes: _abc.Sequence[_SymInt]) -> _Tensor: ...
    def unfold(self, dimension: _Int, size: _Int, step: _Int) -> _Tensor: ...
    @_typing.overload
    def unfold_backward(
        self, input_sizes: _abc.Sequence[_Int], dim: _Int, size: _Int, step: _Int
    ) -> _Tensor: ...
    @_typing.overload
    def unfold_backward(
        self, input_sizes: _abc.Sequence[_Int], axis: _Int, size: _Int, step: _Int
    ) -> _Tensor: ...
    def unfold_copy(self, dimension: _Int, size: _Int, step: _Int) -> _Tensor: ...
    def uniform_(
        self,
        from_: _Float = 0.0,
        /,
        to: _Float = 1.0,
        *,
        generator: _opyard.Generator | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def unique_consecutive(
        self, return_inverse: _Bool = False, return_counts: _Bool = False, dim: _Int | None = None
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def unique_consecutive(
        self, return_inverse: _Bool = False, return_counts: _Bool = False, axis: _Int | None = None
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def unique_dim(
        self,
        dim: _Int,
        sorted: _Bool = True,
        return_inverse: _Bool = False,
        return_counts: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def unique_dim(
        self,
        axis: _Int,
        sorted: _Bool = True,
        return_inverse: _Bool = False,
        return_counts: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor, _Tensor]: ...
    @_typing.overload
    def unsqueeze(self, dim: _Int) -> _Tensor: ...
    @_typing.overload
    def unsqueeze(self, axis: _Int) -> _Tensor: ...
    @_typing.overload
    def unsqueeze_(self, dim: _Int) -> _Tensor: ...
    @_typing.overload
    def unsqueeze_(self, axis: _Int) -> _Tensor: ...
    @_typing.overload
    def unsqueeze_copy(self, dim: _Int) -> _Tensor: ...
    @_typing.overload
    def unsqueeze_copy(self, axis: _Int) -> _Tensor: ...
    @_typing.overload
    def upsample_bicubic2d(
        self,
        output_size: _SymSizes,
        align_corners: _Bool,
        scales_h: _Float | None = None,
        scales_w: _Float | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_bicubic2d(
        self,
        output_size: _abc.Sequence[_SymInt] | None,
        align_corners: _Bool,
        scale_factors: _abc.Sequence[_Float] | None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_bilinear2d(
        self,
        output_size: _SymSizes,
        align_corners: _Bool,
        scales_h: _Float | None = None,
        scales_w: _Float | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_bilinear2d(
        self,
        output_size: _abc.Sequence[_SymInt] | None,
        align_corners: _Bool,
        scale_factors: _abc.Sequence[_Float] | None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_linear1d(
        self, output_size: _SymSizes, align_corners: _Bool, scales: _Float | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_linear1d(
        self,
        output_size: _abc.Sequence[_SymInt] | None,
        align_corners: _Bool,
        scale_factors: _abc.Sequence[_Float] | None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_nearest1d(
        self, output_size: _SymSizes, scales: _Float | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_nearest1d(
        self,
        output_size: _abc.Sequence[_SymInt] | None,
        scale_factors: _abc.Sequence[_Float] | None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_nearest2d(
        self, output_size: _SymSizes, scales_h: _Float | None = None, scales_w: _Float | None = None
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_nearest2d(
        self,
        output_size: _abc.Sequence[_SymInt] | None,
        scale_factors: _abc.Sequence[_Float] | None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_nearest3d(
        self,
        output_size: _SymSizes,
        scales_d: _Float | None = None,
        scales_h: _Float | None = None,
        scales_w: _Float | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_nearest3d(
        self,
        output_size: _abc.Sequence[_SymInt] | None,
        scale_factors: _abc.Sequence[_Float] | None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_trilinear3d(
        self,
        output_size: _SymSizes,
        align_corners: _Bool,
        scales_d: _Float | None = None,
        scales_h: _Float | None = None,
        scales_w: _Float | None = None,
    ) -> _Tensor: ...
    @_typing.overload
    def upsample_trilinear3d(
        self,
        output_size: _abc.Sequence[_SymInt] | None,
        align_corners: _Bool,
        scale_factors: _abc.Sequence[_Float] | None,
    ) -> _Tensor: ...
    def vander(self, N: _Int | None = None, increasing: _Bool = False) -> _Tensor: ...
    @_typing.overload
    def var(self, unbiased: _Bool = True) -> _Tensor: ...
    @_typing.overload
    def var(
        self, dim: _Sizes | None, unbiased: _Bool = True, keepdim: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def var(
        self,
        dim: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdim: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def var(
        self, axis: _Sizes | None, unbiased: _Bool = True, keepdims: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def var(
        self, axis: _Sizes | None, unbiased: _Bool = True, keepdim: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def var(
        self, dim: _Sizes | None, unbiased: _Bool = True, keepdims: _Bool = False
    ) -> _Tensor: ...
    @_typing.overload
    def var(
        self,
        axis: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdims: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def var(
        self,
        axis: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdim: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def var(
        self,
        dim: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdims: _Bool = False,
    ) -> _Tensor: ...
    @_typing.overload
    def var_mean(self, unbiased: _Bool = True) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def var_mean(
        self, dim: _Sizes | None, unbiased: _Bool = True, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def var_mean(
        self,
        dim: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdim: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def var_mean(
        self, axis: _Sizes | None, unbiased: _Bool = True, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def var_mean(
        self, axis: _Sizes | None, unbiased: _Bool = True, keepdim: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def var_mean(
        self, dim: _Sizes | None, unbiased: _Bool = True, keepdims: _Bool = False
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def var_mean(
        self,
        axis: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdims: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def var_mean(
        self,
        axis: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdim: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def var_mean(
        self,
        dim: _Sizes | None = None,
        *,
        correction: _Scalar | None = None,
        keepdims: _Bool = False,
    ) -> _builtins.tuple[_Tensor, _Tensor]: ...
    @_typing.overload
    def vdot(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def vdot(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def vdot(self, other: _Array) -> _Any: ...
    @_typing.overload
    def view(self, size: _abc.Sequence[_SymInt]) -> _Tensor: ...
    @_typing.overload
    def view(self, *size: _SymInt) -> _Tensor: ...
    @_typing.overload
    def view_as(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def view_as(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def view_as(self, other: _Array) -> _Any: ...
    def view_as_complex(self) -> _Tensor: ...
    def view_as_complex_copy(self) -> _Tensor: ...
    def view_as_real(self) -> _Tensor: ...
    def view_as_real_copy(self) -> _Tensor: ...
    @_typing.overload
    def view_copy(self, size: _abc.Sequence[_SymInt]) -> _Tensor: ...
    @_typing.overload
    def view_copy(self, *size: _SymInt) -> _Tensor: ...
    def where(self, condition: _Any, other: _Any) -> _Tensor: ...
    @_typing.overload
    def xlogy(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def xlogy(self, other: _NDArray) -> _NDArray: ...
    @_typing.overload
    def xlogy(self, other: _Array) -> _Any: ...
    @_typing.overload
    def xlogy(self, other: _Scalar) -> _Tensor: ...
    @_typing.overload
    def xlogy_(self, other: _Tensor) -> _Tensor: ...
    @_typing.overload
    def xlogy_(self, other: _NDArray) -> _Tensor: ...
    @_typing.overload
    def xlogy_(self, other: _Array) -> _Tensor: ...
    @_typing.overload
    def xlogy_(self, other: _Scalar) -> _Tensor: ...
    def zero_(self) -> _Tensor: ...
    def zeros_like(
        self,
        *,
        dtype: _dtype | None = None,
        layout: _opyard_layout.Layout | None = None,
        device: _opyard.device | _str | None = None,
        pin_memory: _Bool | None = None,
        memory_format: _Any | None = None,
    ) -> _Tensor: ...
