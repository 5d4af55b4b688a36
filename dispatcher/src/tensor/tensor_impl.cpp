// tensor/tensor_impl.cpp: construction, checks and destruction of tensors.
//
// [Extent] of places.cpp says which elements a geometry touches; all of them must be in
// the storage. A geometry without elements touches none and fits any storage, from any
// offset whose address can be computed.
#include "opyard/tensor/tensor_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "opyard/detail/base/free_list.h"
#include "opyard/detail/tensor/gradient_functions.h"
#include "opyard/keys/gradient_mode.h"
#include "opyard/tensor/places.h"
#include "tensor/geometry.h"

namespace opyard {

constinit std::atomic<const detail::GradientFunctions*> detail::gradient_functions{nullptr};

namespace {

constinit __thread detail::FreeList spare_tensors __attribute__((tls_model("initial-exec"))) = {};

[[noreturn]] OPYARD_COLD void refuse_extent(IntSpan sizes, IntSpan strides, std::int64_t offset,
                                            DType dtype, std::size_t bytes) {
  fail(ErrorKind::BadShape,
       fmt::format("sizes {} with strides {} from offset {} leave the storage, which has room for "
                   "{} of {} ({} bytes)",
                   describe_sizes(sizes), describe_sizes(strides), offset, bytes / item_size(dtype),
                   name_of(dtype), bytes));
}

// See [Extent].
bool fits(IntSpan sizes, IntSpan strides, std::int64_t offset, std::int64_t numel,
          std::size_t bytes, std::size_t item) {
  constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
  if (offset < 0) return false;
  if (numel == 0) return offset <= std::int64_t(kMost / item);
  const auto capacity = std::int64_t(std::min(bytes, kMost) / item);
  const std::optional<Extent> extent = find_extent(sizes, strides);
  return extent && offset < capacity && offset + extent->lowest >= 0 &&
         extent->highest < capacity - offset;
}

// Whether in row-major order without gaps: dimensions of size 1 may have any stride.
bool is_row_major(IntSpan sizes, IntSpan strides, std::int64_t numel) {
  if (numel == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

}  // namespace

TensorImpl::TensorImpl(CountedPtr<Storage> storage, DType dtype, IntSpan sizes, IntSpan strides,
                       std::int64_t storage_offset, DispatchKeySet keys)
    : keys_(keys),
      storage_(std::move(storage)),
      storage_offset_(storage_offset),
      numel_(count_elements(sizes)),
      sizes_(sizes),
      strides_(strides),
      dtype_(dtype) {
  static_assert(std::uint8_t(GradientMode::Inference) == (2 | 1) && kInference == 2 << 1);
  marks_ = std::uint8_t((detail::local_block.gradient_mode & 2) << 1);
  OPYARD_CHECK(storage_, BadValue,
               "a tensor was given no storage; one without data still needs a storage, which knows "
               "its device");
  require_same_length(sizes, strides);
  if (!fits(sizes, strides, storage_offset, numel_, storage_->bytes(), item_size(dtype))) {
    refuse_extent(sizes, strides, storage_offset, dtype, storage_->bytes());
  }
  contiguous_ = is_row_major(sizes, strides, numel_);
}

void TensorImpl::set_policies(std::uint8_t policies) {
  if ((policies & kCustomSizes) != 0) policies |= kCustomStrides;
  OPYARD_CHECK((policies & ~kSymbolic) == 0 || object_link_.tag() != nullptr, BadArgument,
               "a tensor of which an interpreter's class defines parts needs an object of that "
               "interpreter first");
  policies_ = policies;
  if ((policies & ~kSymbolic) != 0) set_keys(keys_ | DispatchKey::PythonTLSSnapshot);
}

IntSpan TensorImpl::ask_sizes() const {
  if ((policies_ & kCustomSizes) == 0) refuse_symbolic("sizes");
  return definer().sizes(*this);
}

IntSpan TensorImpl::ask_strides() const {
  if ((policies_ & kCustomStrides) == 0) refuse_symbolic("strides");
  return definer().strides(*this);
}

std::int64_t TensorImpl::ask_dim() const { return definer().dim(*this); }

std::int64_t TensorImpl::ask_numel() const {
  if ((policies_ & kCustomSizes) == 0) refuse_symbolic("numel");
  return definer().numel(*this);
}

std::int64_t TensorImpl::ask_storage_offset() const { refuse_symbolic("storage_offset"); }

Layout TensorImpl::ask_layout() const { return definer().layout(*this); }

Device TensorImpl::ask_device() const {
  Device device;
  definer().device(*this, device);
  return device;
}

bool TensorImpl::ask_contiguous() const {
  if ((policies_ & kCustomStrides) == 0) refuse_symbolic("is_contiguous");
  return definer().is_contiguous(*this, MemoryFormat::Contiguous);
}

void refuse_symbolic(const char* part) {
  fail(ErrorKind::BadValue,
       fmt::format("Cannot call {} on a tensor with symbolic shapes/strides", part));
}

TensorImpl::TensorImpl(const TensorImpl& viewed, DispatchKeySet keys)
    : keys_(keys),
      storage_(viewed.storage_),
      storage_offset_(viewed.storage_offset_),
      numel_(viewed.numel_),
      sizes_(viewed.sizes_),
      strides_(viewed.strides_),
      dtype_(viewed.dtype_),
      contiguous_(viewed.contiguous_),
      marks_(viewed.marks_),
      detached_group_(viewed.detached_group_) {}

TensorImpl::~TensorImpl() = default;

void TensorImpl::detach() noexcept {
  static constinit std::atomic<std::uint32_t> last{0};
  do {
    detached_group_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
  } while (__builtin_expect(detached_group_ == 0, 0));
  marks_ = std::uint8_t((marks_ | kDetached) & ~kMadeWithoutGradients);
}

void* TensorImpl::operator new(std::size_t bytes) { return spare_tensors.allocate(bytes); }

void TensorImpl::operator delete(void* memory, std::size_t bytes) noexcept {
  spare_tensors.deallocate(memory, bytes);
}

// A tensor that owns its linked object is left to it: someone may hold that object, by
// a weak reference. It buries the tensor when it dies. If the interpreter is gone the link's
// decref does nothing, and both stay.
void TensorImpl::end() const noexcept {
  if (__builtin_expect(!object_link_.owns_object(), 1)) {
    delete this;
    return;
  }
  Interpreter* const interpreter = object_link_.tag();
  void* const object = object_link_.object(interpreter);
  leave_without_owner();
  interpreter->decref(object, true);
}

CountedPtr<TensorImpl> TensorImpl::return_to_object_with_lock_held(bool& was_left) {
  was_left = !CountedAccess::retain_if_alive(this);
  if (was_left) {
    while (!is_left_without_owner())
      std::this_thread::yield();  // a thread is in the middle of end()
    give_owner();
  }
  object_link_.set_owns_object_with_lock_held(false);
  return CountedPtr<TensorImpl>::steal(this);
}

}  // namespace opyard
