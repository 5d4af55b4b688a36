// tensor/loan.cpp: lending memory for a call, and copies for what is kept of it.
#include "opyard/tensor/loan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "opyard/tensor/strided_loop.h"
#include "tensor/dlpack_view.h"

namespace opyard {
namespace {

// The access of lent memory is always known, so no one asks.
class NothingToAsk final : public Exporter {
 public:
  void resolve() override {}
};
constinit NothingToAsk nothing_to_ask;

}  // namespace

Loan::Loan() : tensor_(nothing_to_ask) {}

Loan::~Loan() {
  try {
    end();
  } catch (const std::bad_alloc&) {
    // Said above: no one is left to tell.
  }
}

Tensor Loan::begin(const dlpack::DLTensor& array, bool read_only) {
  OPYARD_CHECK(!is_begun_, BadValue, "a loan has begun already; end it first");
  if (!tensor_) tensor_.renew(nothing_to_ask);
  const MemoryAccess access = read_only ? MemoryAccess::ReadOnly : MemoryAccess::Writable;
  if (tensor_.stand_for(array, access)) {
    is_begun_ = true;
    return Tensor(CountedPtr<TensorImpl>::share(&tensor_.tensor()));
  }
  other_ = borrow_dlpack(array, read_only);
  is_begun_ = true;
  return other_;
}

void Loan::end() {
  if (!is_begun_) return;
  is_begun_ = false;
  if (__builtin_expect(other_.defined(), 0)) return end_other();
  if (__builtin_expect(tensor_.take_back(), 1)) return;
  const CountedPtr<Storage> kept = tensor_.tensor().storage();
  tensor_.release();
  ExportedTensor::move_to_copy(*kept);
}

void Loan::end_other() {
  const CountedPtr<Storage> kept = other_.impl()->storage();
  other_ = Tensor();
  ExportedTensor::move_to_copy(*kept);
}

void copy_into(const dlpack::DLTensor& array, const Tensor& from) {
  OPYARD_CHECK(from.defined(), BadValue,
               "an undefined tensor was given where a result was expected");
  dlpack::DLTensor view;
  view_as_dlpack(from, view);
  const bool is_same_type =
      view.dtype.code == array.dtype.code && view.dtype.bits == array.dtype.bits;
  const bool is_same_shape = view.ndim == array.ndim &&
                             (view.ndim == 0 || array.shape != nullptr) &&
                             std::equal(view.shape, view.shape + view.ndim, array.shape);
  const bool is_plain = is_same_type && is_same_shape && array.strides == nullptr &&
                        from.is_contiguous() && array.device.device_type == dlpack::kCPU;
  if (is_plain && array.dtype.lanes == 1 && array.data != nullptr) {
    const std::size_t bytes = std::size_t(from.numel()) * item_size(from.dtype());
    if (bytes != 0)
      std::memcpy(static_cast<std::byte*>(array.data) + array.byte_offset, from.raw(), bytes);
    return;
  }
  Loan loan;
  {
    const Tensor to = loan.begin(array, false);
    if (!is_same_shape || !is_same_type) {
      fail(is_same_shape ? ErrorKind::BadArgument : ErrorKind::BadShape,
           fmt::format("a result is {}, and the memory for it {}", describe(from), describe(to)));
    }
    copy(to, from);
  }
  loan.end();
}

}  // namespace opyard
