// kernels/geometry/resize.cpp: resize_ and resize_as_, which give a tensor other sizes.
//
// What it refuses, and what becomes of the memory, is said in opyard/tensor/resize.h. There
// is one kernel for all backends, which refuses those that it does not know.
#include <opyard/tensor/resize.h>

#include "common/check.h"
#include "common/define.h"

namespace opyard::kernels {
namespace {

Tensor& resize_to(const char* op, Tensor& self, IntSpan size, std::optional<MemoryFormat> format) {
  require_defined(op, "self", self);
  require_sizes_of(op, "size", size, self.dtype());
  if (format == MemoryFormat::Preserve) {
    refuse(ErrorKind::Unsupported,
           {op,
            ": memory_format is preserve_format; accepted are contiguous_format, "
            "channels_last and channels_last_3d"});
  }
  try {
    opyard::resize(self, size, format);
  } catch (const Error& error) {
    throw Error(error.kind(), text_of({op, ": ", error.what()}), error.carried());
  }
  return self;
}

Tensor& resize(Tensor& self, IntSpan size, std::optional<MemoryFormat> format) {
  return resize_to("aten::resize_", self, size, format);
}

Tensor& resize_as(Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> format) {
  constexpr const char* kOp = "aten::resize_as_";
  require_defined(kOp, "the_template", the_template);
  return resize_to(kOp, self, the_template.sizes(), format);
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(
      m,
      {"resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "
       "Tensor(a!)",
       "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> "
       "Tensor(a!)"},
      Tagged::InPlaceView);
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  m.impl("resize_", &resize);
  m.impl("resize_as_", &resize_as);
}

}  // namespace opyard::kernels
