// base/free_list.cpp: free lists of a thread: first block, and release at its end.
#include "opyard/detail/base/free_list.h"

#include <array>
#include <cstdlib>
#include <utility>

namespace opyard::detail {
namespace {

constexpr std::size_t kMostClasses = 4;

#if defined(__has_feature)
#define OPYARD_CLANG_HAS(feature) __has_feature(feature)  // clang says it so, GCC by the macro
#else
#define OPYARD_CLANG_HAS(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || OPYARD_CLANG_HAS(address_sanitizer)
constexpr bool kCacheFreed = false;  // a block that is cached hides that it is used after its end
#else
constexpr bool kCacheFreed = true;
#endif
#undef OPYARD_CLANG_HAS

}  // namespace

// Frees what a thread cached, when it ends.
struct FreeListsOfThread {
  std::array<FreeList*, kMostClasses> all{};
  std::size_t count = 0;

  bool add(FreeList& spares) noexcept {
    if (count == all.size()) return false;
    all[count++] = &spares;
    return true;
  }
  ~FreeListsOfThread() {
    while (count > 0) all[--count]->give_back();
  }
};

void FreeList::deallocate_otherwise(void* memory, std::size_t bytes) noexcept {
  if (kCacheFreed && !is_known_) {
    is_known_ = true;
    static thread_local FreeListsOfThread spares;
    if (spares.add(*this)) room_ = most_;
  }
  opyard::deallocate(memory, bytes);
}

// They came from malloc, whatever the allocator is by now.
void FreeList::give_back() noexcept {
  room_ = 0;
  while (first_ != nullptr) std::free(std::exchange(first_, first_->next));
}

}  // namespace opyard::detail
