// kernels/geometry/complex_views.cpp: complex tensors as tensors of their parts: view_as_real,
// view_as_complex, real, imag, and the conjugate.
//
// [Conjugates] No tensor of this library is conjugated only when it is read: conj() gives new
// elements for complex numbers, and self for real ones. So nothing is ever unresolved.
#include <opyard/library.h>
#include <opyard/registry/found_operator.h>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/complex_parts.h"
#include "common/define.h"
#include "common/ops.h"
#include "common/symbolic.h"

namespace opyard::kernels {
namespace {

Tensor view_as_real(const Tensor& self) {
  constexpr const char* kOp = "aten::view_as_real";
  require_defined(kOp, "self", self);
  if (!is_complex(self.dtype())) {
    refuse(ErrorKind::BadArgument, {kOp, ": self is ", self, "; accepted are complex numbers"});
  }
  return as_real(self);
}

[[noreturn]] OPYARD_COLD void refuse_parts(const Tensor& self) {
  refuse(ErrorKind::BadShape,
         {"aten::view_as_complex: self is ", self, " with strides ", self.strides(),
          " and starts at element ", self.storage_offset(),
          "; accepted are tensors whose last dimension has size 2 and stride 1, and whose other "
          "strides and start are even: contiguous() makes one"});
}

// Whether other strides are even is not known of symbolic ones.
const Tensor& require_pairs(const Tensor& self) {
  const SymIntSpan sizes = sym_sizes(self);
  if (sizes.empty() || sizes.back().is_symbolic() || sizes.back().expect_int() != 2) {
    refuse(ErrorKind::BadShape, {"aten::view_as_complex: self is ", self,
                                 "; accepted are tensors whose last dimension has size 2"});
  }
  return self;
}

// Whether each two elements of the last dimension are one complex number. The stride of a dimension
// of size 1 is never taken.
bool is_of_pairs(const Tensor& self) {
  const IntSpan sizes = self.sizes(), strides = self.strides();
  if (sizes.empty() || sizes.back() != 2 || strides.back() != 1 || self.storage_offset() % 2 != 0)
    return false;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    if (sizes[i] > 1 && strides[i] % 2 != 0) return false;
  }
  return true;
}

Tensor view_as_complex(const Tensor& self) {
  constexpr const char* kOp = "aten::view_as_complex";
  require_defined(kOp, "self", self);
  if (self.dtype() != DType::Float32 && self.dtype() != DType::Float64) {
    refuse(ErrorKind::BadArgument, {kOp, ": self is ", self, "; accepted are float32 and float64"});
  }
  if (has_symbolic_sizes(self)) return as_complex(require_pairs(self));
  if (!is_of_pairs(self)) refuse_parts(self);
  return as_complex(self);
}
// The same of parts that lie in any way.
Tensor complex_of_parts(const Tensor& parts) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::view_as_complex");
  static constinit FoundOperator<Tensor(const Tensor&, std::optional<MemoryFormat>)> clone(
      "aten::clone");
  const bool fits = has_symbolic_sizes(parts) ? parts.is_contiguous() : is_of_pairs(parts);
  return op.call(fits ? parts : clone.call(parts, MemoryFormat::Contiguous));
}

Tensor parts_of(const Tensor& self) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::view_as_real");
  return op.call(self);
}
Tensor real_kernel(const Tensor& self) {
  require_defined("aten::real", "self", self);
  return is_complex(self.dtype()) ? ops::select(parts_of(self), -1, 0) : self;
}
Tensor imag_kernel(const Tensor& self) {
  require_defined("aten::imag", "self", self);
  if (!is_complex(self.dtype())) {
    refuse(ErrorKind::BadArgument,
           {"aten::imag: self is ", self,
            "; accepted are complex numbers, and the imaginary part of real ones is 0"});
  }
  return ops::select(parts_of(self), -1, 1);
}

Tensor conj_kernel(const Tensor& self) {
  static constinit FoundOperator<Tensor(const Tensor&)> op("aten::conj_physical");
  require_defined("aten::conj", "self", self);
  return is_complex(self.dtype()) ? op.call(self) : self;
}
Scalar conj_number(const Scalar& self) {
  return self.is_complex() ? Scalar(std::conj(self.to_complex())) : self;
}
Tensor resolved(const Tensor& self) { return self; }
bool is_never(const Tensor& /*self*/) { return false; }

Tensor adjoint(const Tensor& self) {
  constexpr const char* kOp = "aten::adjoint";
  require_defined(kOp, "self", self);
  if (self.dim() < 2) {
    refuse(ErrorKind::BadShape, {kOp, ": self is ", self, "; at least two dimensions are needed"});
  }
  return conj_kernel(ops::transpose(self, -2, -1));
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  static constinit FoundOperator<Tensor(const Tensor&, const Tensor&)> dot("aten::dot");
  require_defined("aten::vdot", "self", self);
  return named("aten::vdot", "aten::dot", [&] { return dot.call(conj_kernel(self), other); });
}

bool is_complex_tensor(const Tensor& self) { return is_complex(self.dtype()); }
bool is_floating_point_tensor(const Tensor& self) { return is_floating_point(self.dtype()); }
bool is_signed_tensor(const Tensor& self) {
  return self.dtype() != DType::Bool && !is_unsigned(self.dtype());
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("view_as_real(Tensor(a) self) -> Tensor(a)");
  m.def("view_as_complex(Tensor(a) self) -> Tensor(a)");
  m.derivative("view_as_real", {{"self", "complex_of_parts(grad)"}});
  m.derivative("view_as_complex", {{"self", "view_as_real(grad)"}});
  m.def("real(Tensor(a) self) -> Tensor(a)", &real_kernel);
  m.def("imag(Tensor(a) self) -> Tensor(a)", &imag_kernel);
  m.def("conj(Tensor(a) self) -> Tensor(a)", &conj_kernel);
  m.def("conj.Scalar(Scalar self) -> Scalar", &conj_number);
  m.def("_conj(Tensor(a) self) -> Tensor(a)", &conj_kernel);
  m.def("vdot(Tensor self, Tensor other) -> Tensor", &vdot);
  m.def("adjoint(Tensor(a) self) -> Tensor(a)", &adjoint);
  m.def("resolve_conj(Tensor(a) self) -> Tensor(a)", &resolved);
  m.def("resolve_neg(Tensor(a) self) -> Tensor(a)", &resolved);
  m.def("is_conj(Tensor self) -> bool", &is_never);
  m.def("is_neg(Tensor self) -> bool", &is_never);
  m.def("is_complex(Tensor self) -> bool", &is_complex_tensor);
  m.def("is_floating_point(Tensor self) -> bool", &is_floating_point_tensor);
  m.def("is_signed(Tensor self) -> bool", &is_signed_tensor);
  m.derivative("conj", {{"self", "conj(grad)"}});
}

OPYARD_LIBRARY_FRAGMENT(opyard, m) {
  m.def("complex_of_parts(Tensor parts) -> Tensor", &complex_of_parts);
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("view_as_real", &view_as_real);
  m.impl("view_as_complex", &view_as_complex);
}

}  // namespace opyard::kernels
