// tensor/exported_tensor.cpp: tensor for one call: filling it in, and detecting other owners.
//
// [Alone] If tensor and storage have one owner each, and no WeakPtr that could become one, the
// tensor's is the caller of take_back() and the storage's is the tensor: no one is left who could
// look at either.
//
// [Stores] The next argument's door may count with a lock instruction, which waits for the stores
// before it. An argument is mostly like the one of the call before, so what is there already is not
// stored again (4 ns an array; bench row foreign_torch).
#include "opyard/detail/tensor/exported_tensor.h"

#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "opyard/keys/gradient_mode.h"
#include "tensor/keys_on.h"

namespace opyard {
namespace {

// Elements by DLPack's code and the logarithm of their bytes.
constexpr std::size_t kCodes = 8;
constexpr std::size_t kSizes = 5;
constexpr std::uint8_t kNoDType = 0xFF;
constexpr auto kCodesOfTypes = [] {
  std::array<std::array<std::uint8_t, kSizes>, kCodes> dtypes{};
  for (auto& row : dtypes) row.fill(kNoDType);
#define OPYARD_DTYPE(code, name, python, type, dlpack, bits, ...) \
  dtypes[dlpack][std::size_t(std::countr_zero(unsigned(bits) / 8))] = code;
#include "opyard/tensor/dtypes.def"
#undef OPYARD_DTYPE
  return dtypes;
}();

std::uint8_t find_code(dlpack::DLDataType type) noexcept {
  const unsigned bytes = type.bits / 8U;
  if (type.lanes != 1 || type.code >= kCodes || type.bits % 8U != 0 || !std::has_single_bit(bytes))
    return kNoDType;
  const auto size = std::size_t(std::countr_zero(bytes));
  return size < kSizes ? kCodesOfTypes[type.code][size] : kNoDType;
}

std::size_t alignment_of(DType dtype) noexcept {
  return is_complex(dtype) ? item_size(dtype) / 2 : item_size(dtype);
}

// See [Stores].
template <typename T>
[[gnu::always_inline]] inline void set(T& place, const T& value) noexcept {
  if (place != value) place = value;
}

}  // namespace

// See [Unresolved].
class ExportedStorage final : public Storage {
 public:
  explicit ExportedStorage(Exporter& exporter) noexcept
      : Storage(nullptr, 0, Device{}, nullptr, nullptr, false), exporter_(exporter) {}
  void ask() const { exporter_.resolve(); }

 private:
  Exporter& exporter_;
};

// Only storages of an ExportedTensor are ever unresolved.
void Storage::ask_exporter() const { static_cast<const ExportedStorage*>(this)->ask(); }

ExportedTensor::ExportedTensor(Exporter& exporter) : tensor_(nullptr) { renew(exporter); }

void ExportedTensor::renew(Exporter& exporter) {
  const std::int64_t none = 0;
  tensor_ = new TensorImpl(make_counted<ExportedStorage>(exporter), DType::UInt8, {&none, 1},
                           {&none, 1}, 0, keys_on(Device{}));
}

ExportedTensor::~ExportedTensor() { release(); }

[[gnu::always_inline]] inline bool ExportedTensor::fill(void* data, IntSpan sizes,
                                                        const std::int64_t* strides, DType dtype,
                                                        MemoryAccess access, Unit unit) noexcept {
  const std::size_t item = item_size(dtype);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (sizes.size() > kMostDims || data == nullptr || (address & (alignment_of(dtype) - 1)) != 0) {
    return false;
  }
  TensorImpl& tensor = *tensor_;
  if (tensor.sizes_.size() != sizes.size()) {
    tensor.sizes_.resize(sizes.size());
    tensor.strides_.resize(sizes.size());
  }
  std::int64_t* const own_sizes = tensor.sizes_.data();
  std::int64_t* const own_strides = tensor.strides_.data();
  const int shift = unit == Unit::Bytes ? std::countr_zero(item) : 0;
  const std::int64_t between = (std::int64_t{1} << shift) - 1;
  std::int64_t numel = 1;
  std::int64_t highest = 0;  // the offset of the last element
  bool is_row_major = true;
  // Every product and sum is checked, as in geometry.cpp.
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::int64_t size = sizes[i];
    std::int64_t stride = numel;
    // A buffer may give any stride to a dimension of size 1, which needs none.
    if (strides != nullptr && (size != 1 || unit == Unit::Elements)) {
      if (strides[i] < 0 || (strides[i] & between) != 0) return false;
      stride = strides[i] >> shift;
      if (size != 1 && stride != numel) is_row_major = false;
    }
    std::int64_t reach = 0;
    if (size <= 0 || __builtin_mul_overflow(size - 1, stride, &reach) ||
        __builtin_add_overflow(highest, reach, &highest) ||
        __builtin_mul_overflow(numel, size, &numel)) {
      return false;
    }
    set(own_sizes[i], size);
    set(own_strides[i], stride);
  }
  std::int64_t bytes = 0;
  std::uintptr_t end = 0;
  if (__builtin_add_overflow(highest, std::int64_t{1}, &bytes) ||
      __builtin_mul_overflow(bytes, std::int64_t(item), &bytes) ||
      __builtin_add_overflow(address, std::uintptr_t(bytes), &end)) {
    return false;
  }
  set(tensor.numel_, numel);
  set(tensor.contiguous_, is_row_major);
  set(tensor.dtype_, dtype);
  set(tensor.keys_, keys_on(Device{}));
  Storage& memory = storage();
  set(memory.data_, data);
  set(memory.bytes_, std::size_t(bytes));
  if (memory.access_.load(std::memory_order_relaxed) != access) {
    memory.access_.store(access, std::memory_order_relaxed);
  }
  if (memory.version() != 0) memory.version_.store(0, std::memory_order_relaxed);
  return true;
}

// See [Changing].
void ExportedTensor::change(TensorImpl& tensor, CountedPtr<Storage> storage, DimVector sizes,
                            DimVector strides) {
  const std::int64_t numel = count_elements(sizes);
  const DimVector packed = contiguous_strides(sizes);
  bool contiguous = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    contiguous = contiguous && (sizes[i] == 1 || strides[i] == packed[i]);
  }
  if (storage && storage != tensor.storage_) {
    storage->version_.store(tensor.storage_->version(), std::memory_order_relaxed);
    std::swap(tensor.storage_, storage);
  }
  tensor.storage_->bump_version();
  tensor.sizes_ = std::move(sizes);
  tensor.strides_ = std::move(strides);
  tensor.numel_ = numel;
  tensor.contiguous_ = contiguous || numel == 0;
}

void ExportedTensor::take_geometry(TensorImpl& tensor, const TensorImpl& view) {
  DimVector sizes(view.sizes_), strides(view.strides_);
  tensor.sizes_ = std::move(sizes);
  tensor.strides_ = std::move(strides);
  tensor.storage_offset_ = view.storage_offset_;
  tensor.numel_ = view.numel_;
  tensor.contiguous_ = view.contiguous_;
  tensor.policies_ = std::uint8_t((tensor.policies_ & ~TensorImpl::kSymbolic) |
                                  (view.policies_ & TensorImpl::kSymbolic));
  tensor.cached_geometry_ = view.cached_geometry_;
  tensor.storage_->bump_version();
}

void ExportedTensor::share_versions(TensorImpl& view, const TensorImpl& of,
                                    bool is_detached) noexcept {
  if (&view == &of || view.storage_ == of.storage_) return;
  if (!is_without_memory(view) || !is_without_memory(of)) return;
  const Storage& own = *view.storage_;
  if (!own.is_unshared() || own.gradient_state_ || own.second_ || own.is_second_) return;
  if (own.device() != of.storage_->device()) return;
  view.storage_ = of.storage_;
  if (is_detached) return view.detach();
  if (is_inference()) view.marks_ |= TensorImpl::kMadeWithoutGradients;
  view.marks_ |= of.marks_;
  view.detached_group_ = of.detached_group_;
}

bool ExportedTensor::stand_for(void* data, IntSpan sizes, const std::int64_t* strides, DType dtype,
                               MemoryAccess access, Unit unit) noexcept {
  return fill(data, sizes, strides, dtype, access, unit);
}

bool ExportedTensor::stand_for(const dlpack::DLTensor& array, MemoryAccess access) noexcept {
  const std::uint8_t code = find_code(array.dtype);
  std::uintptr_t address = 0;
  if (code == kNoDType || array.device.device_type != dlpack::kCPU || array.data == nullptr ||
      array.ndim < 0 || (array.shape == nullptr && array.ndim != 0) ||
      __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(array.data), array.byte_offset,
                             &address)) {
    return false;
  }
  return fill(reinterpret_cast<void*>(address), {array.shape, std::size_t(array.ndim)},
              array.strides, DType(code), access, Unit::Elements);
}

bool ExportedTensor::is_unresolved() const noexcept {
  return storage().access_.load(std::memory_order_relaxed) == MemoryAccess::Unresolved;
}

void ExportedTensor::set_access(bool read_only) noexcept {
  storage().access_.store(read_only ? MemoryAccess::ReadOnly : MemoryAccess::Writable,
                          std::memory_order_release);
}

void ExportedTensor::own(void* context, Storage::Deleter deleter) noexcept {
  storage().context_ = context;
  storage().deleter_ = deleter;
}

// Someone has given the tensor an object, parts of its own, symbolic sizes or marks, and has
// forgotten it. The gradient state of the tensor or its storage stays for good, and they with it.
bool ExportedTensor::clean() noexcept {
  if (tensor_->cached_geometry_ || tensor_->gradient_state_ || storage().gradient_state_) {
    return false;
  }
  std::construct_at(&tensor_->object_link_);
  tensor_->policies_ = 0;
  tensor_->marks_ = 0;
  tensor_->detached_group_ = 0;
  return true;
}

void ExportedTensor::move_to_copy(Storage& storage) {
  // A second storage has the memory, and the first one only looks at it.
  Storage* const second = storage.second_.get();
  if (storage.is_unshared() && second == nullptr) return;
  Storage& owner = second != nullptr ? *second : storage;
  const void* const lent = std::exchange(storage.data_, nullptr);
  owner.data_ = nullptr;
  if (lent == nullptr) return;
  CountedPtr<Storage> copy = Storage::allocate(storage.bytes_, Device{});
  std::memcpy(copy->data(), lent, storage.bytes_);
  storage.data_ = owner.data_ = copy->data();
  owner.context_ = copy.release();
  owner.deleter_ = [](void* context) {
    CountedPtr<Storage>::steal(static_cast<Storage*>(context)).reset();
  };
  for (Storage* const one : {&storage, &owner}) {
    one->access_.store(MemoryAccess::Writable, std::memory_order_release);
  }
}

void ExportedTensor::release() noexcept {
  CountedPtr<TensorImpl>::steal(std::exchange(tensor_, nullptr)).reset();
}

}  // namespace opyard
