// tensor/kernel_refusals.cpp: errors of accessors, loops and dispatch over dtypes.
#include <fmt/format.h>

#include "opyard/detail/tensor/meta_call.h"
#include "opyard/tensor/accessor.h"
#include "opyard/tensor/dispatch_dtypes.h"
#include "opyard/tensor/strided_loop.h"

namespace opyard {

namespace {

bool is_own_meta(const TensorImpl& impl) { return impl.own_device().backend == Backend::Meta; }

// Of elements that are there or on meta.
void require_plain_elements(const char* what, const Tensor& x) {
  if (!x.defined()) {
    fail(ErrorKind::BadArgument, fmt::format("{} of an undefined tensor; pass a tensor", what));
  }
  const TensorImpl& impl = *x.impl();
  if (!impl.own_device().is_cpu() && !is_own_meta(impl)) {
    fail(ErrorKind::Unsupported,
         fmt::format("{} of {} on {}: elements are read from memory of the cpu only", what,
                     describe(x), to_string(impl.own_device())));
  }
  // Symbolic sizes are those of a tensor on meta, of which nothing is read.
  const bool is_symbolic = impl.has_policy(TensorImpl::kSymbolic) && !is_own_meta(impl);
  if (is_symbolic || impl.has_policy(TensorImpl::kCustomSizes | TensorImpl::kCustomStrides)) {
    fail(ErrorKind::Unsupported,
         fmt::format(
             "{} of {}: its class defines its geometry, and elements are found by the memory's own",
             what, describe(x)));
  }
}

}  // namespace

void require_elements(const char* what, const Tensor& x) {
  require_plain_elements(what, x);
  const TensorImpl& impl = *x.impl();
  if (impl.own_numel() != 0 && impl.data() == nullptr) {
    if (is_own_meta(impl)) detail::refuse_meta_elements(what, x);
    fail(ErrorKind::BadValue,
         fmt::format("{} of {}: it has no memory, so its class has to handle the operator", what,
                     describe(x)));
  }
}

namespace detail {

const void* elements_to_read(const char* what, const Tensor& x, DType dtype) {
  require_elements(what, x);
  require_element_type(x, dtype);
  return x.impl()->data();
}

void* elements_to_write(const char* what, const Tensor& x, DType dtype) {
  require_plain_elements(what, x);
  require_element_type(x, dtype);
  if (is_own_meta(*x.impl())) {
    x.count_write();
    return nullptr;
  }
  require_elements(what, x);
  return x.mutable_raw();
}

void require_loop_input(const char* what, const Tensor& x, DType dtype) {
  require_plain_elements(what, x);
  require_element_type(x, dtype);
}

void require_element_type(const Tensor& x, DType dtype) {
  if (x.dtype() != dtype) {
    fail(ErrorKind::BadArgument,
         fmt::format("the elements of {} were asked for as {}; give x.to({}), or choose a kernel "
                     "by dispatch_dtypes()",
                     describe(x), name_of(dtype), name_of(dtype)));
  }
}

void refuse_element_index(std::int64_t index, std::int64_t size) {
  fail(ErrorKind::BadIndex,
       fmt::format("accessor: index {} of a dimension of size {}", index, size));
}

void require_dims(const Tensor& x, std::int64_t count) {
  if (x.dim() != count) {
    fail(ErrorKind::BadShape, fmt::format("an accessor for {} dimension{} of {}", count,
                                          count == 1 ? "" : "s", describe(x)));
  }
}

void refuse_dispatched_dtype(const char* op, DType came, std::span<const DType> accepted) {
  std::string list;
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    if (i > 0) list += i + 1 == accepted.size() ? " and " : ", ";
    list += name_of(accepted[i]);
  }
  fail(ErrorKind::Unsupported,
       fmt::format("{}: no kernel for {}; accepted {} {}. Convert the argument first.", op,
                   name_of(came), accepted.size() == 1 ? "is" : "are", list));
}

}  // namespace detail
}  // namespace opyard
