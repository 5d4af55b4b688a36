// kernels/geometry/view_in_place.cpp: views that a tensor becomes itself: t_, transpose_, squeeze_,
// unsqueeze_, as_strided_.
//
// The operator of the same name without _ gives a view, and the tensor takes its sizes, strides and
// offset. Elements stay where they are, and other tensors on the memory as they are. So one kernel
// serves every backend, and symbolic sizes. What is refused is said in opyard/tensor/resize.h.
#include <opyard/tensor/resize.h>

#include <string>

#include "common/broadcast.h"
#include "common/check.h"
#include "common/define.h"

namespace opyard::kernels {
namespace {

const Operator& giver_of_views(const Operator& op) {
  std::string name = op.name().name;
  name.pop_back();
  if (name == "aten::transpose") name += ".int";
  const std::string& overload = op.name().overload;
  return require_operator(overload.empty() ? name : name + '.' + overload);
}

void become_view(const Operator& op, DispatchKeySet, Stack& stack) {
  const std::string name = to_string(op.name());
  Tensor self = stack.top(op.schema().arguments.size())[0].to_tensor();
  require_defined(name.c_str(), "self", self);
  call_named(op, giver_of_views(op), stack);
  const Tensor view = stack.pop().to_tensor();
  try {
    opyard::take_geometry(self, view);
  } catch (const Error& error) {
    throw Error(error.kind(), text_of({name, ": ", error.what()}), error.carried());
  }
  stack.push(Value(std::move(self)));
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         {"t_(Tensor(a!) self) -> Tensor(a!)",
          "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
          "squeeze_(Tensor(a!) self) -> Tensor(a!)",
          "squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)",
          "squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
          "unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)",
          "as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, "
          "SymInt? storage_offset=None) -> Tensor(a!)"},
         Tagged::InPlaceView);
  // Another name than that of the operator that gives views.
  m.derivative("transpose_", {{"self", "transpose(grad, dim0, dim1)"}});
}

OPYARD_LIBRARY_IMPL(aten, CompositeExplicitAutograd, m) {
  for (const char* name : {"t_", "transpose_", "squeeze_", "squeeze_.dim", "squeeze_.dims",
                           "unsqueeze_", "as_strided_"}) {
    m.impl(name, &become_view);
  }
}

}  // namespace opyard::kernels
