// kernels/geometry/resize.cpp: resize_, which gives a tensor other sizes.
//
// What it refuses, and what becomes of the memory, is said in opyard/tensor/resize.h. There
// is one kernel for all backends, which refuses those that it does not know.
#include <opyard/tensor/resize.h>

#include "common/check.h"
#include "common/define.h"

namespace opyard::kernels {
namespace {

Tensor& resize(Tensor& self, IntSpan size, std::optional<MemoryFormat> format) {
  constexpr const char* kOp = "aten::resize_";
  require_defined(kOp, "self", self);
  require_sizes_of(kOp, "size", size, self.dtype());
  if (format == MemoryFormat::Preserve) {
    refuse(ErrorKind::Unsupported,
           {kOp,
            ": memory_format is preserve_format; accepted are contiguous_format, "
            "channels_last and channels_last_3d"});
  }
  try {
    opyard::resize(self, size, format);
  } catch (const Error& error) {
    throw Error(error.kind(), text_of({kOp, ": ", error.what()}), error.carried());
  }
  return self;
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> "
         "Tensor(a!)");
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) { m.impl("resize_", &resize); }

}  // namespace opyard::kernels
