// tensor/storage.cpp: storage: allocation and release of its bytes.
//
// Memory of our own carries `own_memory` as its deleter. It is never called: it marks bytes
// that go back to the lists of the thread, or through the allocator seam, which wants to know their
// number.
#include "opyard/tensor/storage.h"

#include <fmt/format.h>

#include <mutex>

#include "base/block_lists.h"
#include "opyard/detail/base/mutex.h"
#include "opyard/detail/tensor/exported_tensor.h"
#include "opyard/tensor/device_functions.h"
#include "opyard/tensor/memory_listener.h"

namespace opyard {
namespace {

constexpr std::size_t kStorageAlignment = 64;  // a cache line, and the widest vector register

void release_memory(void* memory, std::size_t bytes, std::uint8_t size_class) noexcept {
  if (size_class == 0) return opyard::deallocate(memory, bytes, kStorageAlignment);
  detail::give_back_block(memory, size_class);
}

void own_memory(void*) {}
void memory_of_second(void*) {}

// Says what was wanted, without taking memory.
class NoMemory final : public std::bad_alloc {
 public:
  explicit NoMemory(std::size_t bytes) noexcept {
    const auto end = fmt::format_to_n(
        text_, sizeof text_ - 1, "{} bytes for a tensor on the cpu could not be allocated", bytes);
    *end.out = '\0';
  }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[80];
};

void* take_memory(std::size_t bytes, std::uint8_t& size_class) {
  try {
    return detail::take_block(bytes, size_class);
  } catch (const std::bad_alloc&) {
    throw NoMemory(bytes);
  }
}

Mutex& second_storages() {
  static Mutex mutex(LockRank::SecondStorages);
  return mutex;
}

}  // namespace

constinit std::atomic<const MemoryListener*> memory_listener{nullptr};

CountedPtr<Storage> Storage::allocate(std::size_t bytes, Device device) {
  if (device.backend != Backend::CPU && device.backend != Backend::Meta) {
    if (CountedPtr<Storage> there = detail::allocate_on_device(bytes, device)) return there;
    fail(ErrorKind::Unsupported,
         fmt::format("there is no allocator for device {}; memory can be taken on cpu, and tensors "
                     "without memory can be made on meta",
                     to_string(device)));
  }
  void* memory = nullptr;
  std::uint8_t size_class = 0;
  try {
    if (device.is_cpu() && bytes != 0) memory = take_memory(bytes, size_class);
    auto storage = CountedPtr<Storage>::steal(new Storage(
        memory, bytes, device, nullptr, memory == nullptr ? nullptr : own_memory, false));
    storage->size_class_ = size_class;
    if (memory != nullptr) tell_taken(memory, bytes, device);
    return storage;
  } catch (...) {
    release_memory(memory, bytes, size_class);
    tell_refused(bytes, device);
    throw;
  }
}

CountedPtr<Storage> Storage::adopt(void* data, std::size_t bytes, Device device, void* context,
                                   Deleter deleter, bool read_only) {
  try {
    return CountedPtr<Storage>::steal(
        new Storage(data, bytes, device, context, deleter, read_only));
  } catch (...) {
    if (deleter != nullptr) deleter(context);
    throw;
  }
}

CountedPtr<Storage> Storage::second() {
  if (is_second_) return CountedPtr<Storage>::share(this);
  if (Storage* const known = second_.get()) return CountedPtr<Storage>::share(known);
  resolve();
  const MemoryAccess access = access_.load(std::memory_order_relaxed);
  const std::lock_guard lock(second_storages());
  if (Storage* const known = second_.get()) return CountedPtr<Storage>::share(known);
  auto fresh = CountedPtr<Storage>::steal(
      new Storage(data_, bytes_, device_, context_, deleter_, access == MemoryAccess::ReadOnly));
  fresh->size_class_ = size_class_;
  fresh->is_second_ = true;
  fresh->first_ = this;
  deleter_ = memory_of_second;
  return CountedPtr<Storage>::share(&second_.set(std::move(fresh)));
}

std::uint32_t Storage::version_of_first() const {
  const std::lock_guard lock(second_storages());
  return first_ == nullptr ? version() : first_->version();
}

bool ExportedTensor::has_own_memory(const Storage& storage, Storage::Deleter or_by) noexcept {
  if (storage.is_second_ || storage.second_) return false;
  return storage.deleter_ == own_memory || storage.deleter_ == or_by || storage.data_ == nullptr;
}

Storage::~Storage() {
  if (Storage* const second = second_.get()) {
    const std::lock_guard lock(second_storages());
    second->first_ = nullptr;
    second->version_.store(version(), std::memory_order_relaxed);
    return;  // the second one has the memory
  }
  if (deleter_ == own_memory) {
    tell_given_back(data_, bytes_, device_);
    release_memory(data_, bytes_, size_class_);
  } else if (deleter_ != nullptr) {
    deleter_(context_);
  }
}

}  // namespace opyard
