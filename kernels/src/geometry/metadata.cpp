// kernels/geometry/metadata.cpp: metadata of tensors as operators: size, stride, layout, which the handlers
// of a tensor's class answer, if it has policies. For any other tensor they give what the tensor
// itself says.
//
// There is one kernel for all backends, which runs no code of a backend.
#include <opyard/library.h>
#include <opyard/tensor/memory_format.h>
#include <opyard/value/sym_tensor.h>

#include "common/check.h"
#include "common/define.h"

namespace {

using opyard::Device;
using opyard::Layout;
using opyard::MemoryFormat;
using opyard::SymBool;
using opyard::SymInt;
using opyard::SymIntSpan;
using opyard::Tensor;

std::vector<std::int64_t> ints(opyard::IntSpan words) { return {words.begin(), words.end()}; }
std::vector<SymInt> copied(SymIntSpan words) { return {words.begin(), words.end()}; }

std::int64_t require_nonempty_dim(const char* op, const Tensor& self, std::int64_t dim) {
  opyard::kernels::require_defined(op, "self", self);
  if (self.dim() == 0) {
    opyard::refuse(opyard::ErrorKind::BadIndex,
                   {op, ": self is ", self, ", which has no dimensions to ask for"});
  }
  return opyard::kernels::wrap_dim(op, dim, self.dim());
}
std::vector<std::int64_t> size(const Tensor& self) { return ints(self.sizes()); }
std::vector<std::int64_t> stride(const Tensor& self) { return ints(self.strides()); }
std::vector<SymInt> sym_size(const Tensor& self) { return copied(sym_sizes(self)); }
std::vector<SymInt> sym_stride(const Tensor& self) { return copied(sym_strides(self)); }
std::int64_t size_of(const Tensor& self, std::int64_t dim) {
  return self.sizes()[std::size_t(require_nonempty_dim("aten::size.int", self, dim))];
}
SymInt sym_size_of(const Tensor& self, std::int64_t dim) {
  const SymIntSpan sizes = sym_sizes(self);
  return sizes[std::size_t(require_nonempty_dim("aten::sym_size.int", self, dim))];
}
SymInt sym_stride_of(const Tensor& self, std::int64_t dim) {
  const SymIntSpan strides = sym_strides(self);
  return strides[std::size_t(require_nonempty_dim("aten::sym_stride.int", self, dim))];
}
SymBool sym_is_contiguous(const Tensor& self, MemoryFormat memory_format) {
  return opyard::is_contiguous_in(memory_format, self);
}
std::int64_t dim(const Tensor& self) { return self.dim(); }
std::int64_t numel(const Tensor& self) { return self.numel(); }
SymInt sym_numel(const Tensor& self) { return opyard::sym_numel(self); }
SymInt sym_storage_offset(const Tensor& self) { return opyard::sym_storage_offset(self); }
bool is_contiguous(const Tensor& self) { return self.is_contiguous(); }
bool is_contiguous_in(const Tensor& self, MemoryFormat memory_format) {
  return opyard::is_contiguous_in(memory_format, self);
}
bool is_strides_like(const Tensor& self, MemoryFormat memory_format) {
  return opyard::is_strides_like(memory_format, self);
}
bool is_dense(const Tensor& self) { return opyard::is_non_overlapping_and_dense(self); }
Device device(const Tensor& a) { return a.device(); }
Layout layout(const Tensor& a) { return a.layout(); }

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  m.def("size(Tensor self) -> int[]", &size);
  m.def("stride(Tensor self) -> int[]", &stride);
  m.def("sym_size(Tensor self) -> SymInt[]", &sym_size);
  m.def("sym_stride(Tensor self) -> SymInt[]", &sym_stride);
  m.def("size.int(Tensor self, int dim) -> int", &size_of);
  opyard::kernels::define(
      m,
      {"sym_size.int(Tensor self, int dim) -> SymInt",
       "sym_stride.int(Tensor self, int dim) -> SymInt",
       "sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> SymBool"});
  m.impl("sym_size.int", &sym_size_of);
  m.impl("sym_stride.int", &sym_stride_of);
  m.impl("sym_is_contiguous", &sym_is_contiguous);
  m.def("dim(Tensor self) -> int", &dim);
  m.def("numel(Tensor self) -> int", &numel);
  m.def("sym_numel(Tensor self) -> SymInt", &sym_numel);
  m.def("sym_storage_offset(Tensor self) -> SymInt", &sym_storage_offset);
  m.def("is_contiguous(Tensor self) -> bool", &is_contiguous);
  m.def("is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
        &is_contiguous_in);
  m.def("is_strides_like_format(Tensor self, MemoryFormat memory_format) -> bool",
        &is_strides_like);
  m.def("is_non_overlapping_and_dense(Tensor self) -> bool", &is_dense);
}

OPYARD_LIBRARY_FRAGMENT(prim, m) {
  m.def("device(Tensor a) -> Device", &device);
  m.def("layout(Tensor a) -> Layout", &layout);
}
