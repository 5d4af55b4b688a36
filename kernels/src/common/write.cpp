// kernels/common/write.cpp: memory overlap of tensors that are written.
//
// Two views of one array can interleave without sharing an element (even and odd columns); they
// count as overlapping, and the price is a copy.
#include "common/write.h"

#include <algorithm>

#include "common/broadcast.h"
#include "common/copy.h"
#include "common/dtypes.h"
#include "common/symbolic.h"

namespace opyard::kernels {
namespace {

struct ByteRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

ByteRange range_of(const Tensor& tensor) {
  if (tensor.numel() == 0) return {};
  const auto item = std::int64_t(item_size(tensor.dtype()));
  std::int64_t low = 0, high = item;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    const std::int64_t reach = (tensor.sizes()[i] - 1) * tensor.strides()[i] * item;
    (reach < 0 ? low : high) += reach;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(tensor.impl()->data());
  return {first + std::uintptr_t(low), first + std::uintptr_t(high)};
}

bool same_geometry(const Tensor& a, const Tensor& b) {
  if (a.impl()->data() != b.impl()->data() || a.dtype() != b.dtype() ||
      !std::ranges::equal(a.sizes(), b.sizes())) {
    return false;
  }
  for (std::int64_t i = 0; i < a.dim(); ++i) {
    if (a.sizes()[i] != 1 && a.strides()[i] != b.strides()[i]) return false;
  }
  return true;
}

}  // namespace

void require_writable(const char* op, const char* argument, const Tensor& tensor) {
  require_cpu(op, argument, tensor);
  if (has_symbolic_sizes(tensor) || tensor.numel() == 0) return;  // there is nothing to write
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.sizes()[i] > 1 && tensor.strides()[i] == 0) {
      refuse(ErrorKind::BadValue,
             {op, ": ", argument, " is ", tensor, " with strides ", tensor.strides(),
              ", so that several of its elements are one place in memory and cannot be written; "
              "write to a copy, as aten::clone makes one"});
    }
  }
}

void require_result_sizes(const char* op, const char* argument, const Tensor& written,
                          IntSpan sizes) {
  if (!std::ranges::equal(written.sizes(), sizes)) {
    refuse_target(op, {"the result", sizes}, {argument, written},
                  find_difference(sizes, written.sizes()));
  }
}

void require_result_device(const char* op, const char* argument, const Tensor& written,
                           Device device) {
  if (is_meta(written) == (device.backend == Backend::Meta)) return;
  refuse(ErrorKind::BadArgument,
         {op, ": ", argument, " is ", written, " on ", to_string(written.device()),
          " and the result is on ", to_string(device), "; ", argument, " must be there, too"});
}

void require_storable(const char* op, const char* argument, const Tensor& written, DType result) {
  if (!can_store(result, written.dtype())) {
    refuse(ErrorKind::BadArgument,
           {op, ": ", argument, " is ", written, " and the result is ", result,
            ", which it cannot hold; use the operator that makes a new tensor, or convert ",
            argument, " with aten::to.dtype first"});
  }
}

bool overlap(const Tensor& a, const Tensor& b) {
  const ByteRange x = range_of(a), y = range_of(b);
  return x.begin < y.end && y.begin < x.end;
}

Tensor apart_from(const char* op, const Tensor& input, const Tensor& written) {
  if (!overlap(input, written) || same_geometry(input, written)) return input;
  return row_major_copy(op, input);
}

}  // namespace opyard::kernels
