// base/block_lists.cpp: per-thread free lists of tensor memory, by size.
//
// [Lists] A list is one atomic pointer to its first block; the others follow in the blocks' own
// first bytes. Its thread alone puts blocks in. To take one it takes the whole list by an exchange
// and puts the rest back; a thread that empties all lists takes the whole list, too. So no block is
// in two hands, and no one waits.
//
// [Bounds] Blocks up to 1 KiB are bounded by their number in a list, which only the thread writes;
// larger ones by bytes of the thread and of the process, which those who empty lists change.
//
// [Life] A thread's lists are made when it first gives a block back, and end with it: what it gives
// back later goes to the system. The child of a fork has no thread but one; it frees the others'.
#include "base/block_lists.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "opyard/base/alloc.h"
#include "opyard/base/cached_memory.h"
#include "opyard/detail/base/free_list.h"
#include "opyard/detail/base/mutex.h"

namespace opyard {
namespace {

#if defined(__has_feature)
#define OPYARD_CLANG_HAS(feature) __has_feature(feature)
#else
#define OPYARD_CLANG_HAS(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    OPYARD_CLANG_HAS(address_sanitizer) || OPYARD_CLANG_HAS(thread_sanitizer)
constexpr bool kCacheBlocks = false;  // a block that is cached hides that it is used after its end
#else
constexpr bool kCacheBlocks = true;
#endif
#undef OPYARD_CLANG_HAS

constexpr std::size_t kBlockAlignment = 64;
constexpr std::size_t kLargest = std::size_t{64} << 20;
constexpr std::size_t kMostOfThread = std::size_t{64} << 20;
constexpr std::size_t kMostOfProcess = std::size_t{256} << 20;
constexpr std::size_t kLargestSmall = 1024;
constexpr std::uint32_t kMostSmall = 32;  // blocks in a list

// See [Sizes] in block_lists.h. Classes begin at 1, for up to 64 bytes.
constexpr std::size_t class_of(std::size_t bytes) {
  if (bytes <= kBlockAlignment) return 1;
  const int doubling = std::bit_width(bytes - 1) - 7;  // 0 for 65 to 128
  const std::size_t quarter = ((bytes - 1) >> (doubling + 4)) & 3;
  return 2 + std::size_t(doubling) * 4 + quarter;
}
constexpr std::size_t bytes_of(std::size_t size_class) {
  if (size_class == 1) return kBlockAlignment;
  const std::size_t doubling = (size_class - 2) / 4, quarter = (size_class - 2) % 4;
  return (5 + quarter) << (doubling + 4);
}
constexpr std::size_t kClasses = class_of(kLargest) + 1;
static_assert(bytes_of(class_of(kLargest)) == kLargest && kClasses < 256);
static_assert(bytes_of(class_of(65)) == 80 && bytes_of(class_of(128)) == 128);
static_assert(bytes_of(class_of(129)) == 160 && bytes_of(class_of(1000)) == 1024);

struct Block {
  Block* next;
};

constinit std::atomic<std::size_t> bytes_of_process{0};
// Of threads that have given no block back yet, and so have no lists.
constinit std::atomic<std::size_t> misses_without_lists{0};

void* allocate_aligned(std::size_t bytes) { return opyard::allocate(bytes, kBlockAlignment); }

}  // namespace

// One for each thread that gave a block back.
struct BlockLists {
  std::array<std::atomic<Block*>, kClasses> lists{};
  std::array<std::atomic<std::uint32_t>, kClasses> counts{};  // of small blocks
  std::atomic<std::size_t> bytes{0};                          // of larger ones
  std::atomic<std::size_t> hits{0}, misses{0};
  BlockLists* next = nullptr;

  // Gives all blocks to the system.
  std::size_t empty() noexcept {
    std::size_t given = 0;
    for (std::size_t size = 1; size < kClasses; ++size) {
      Block* block = lists[size].exchange(nullptr, std::memory_order_acquire);
      std::size_t here = 0;
      for (; block != nullptr; ++here) {
        Block* const next_block = block->next;
        std::free(block);
        block = next_block;
      }
      if (bytes_of(size) > kLargestSmall && here > 0) {
        bytes.fetch_sub(here * bytes_of(size), std::memory_order_relaxed);
        bytes_of_process.fetch_sub(here * bytes_of(size), std::memory_order_relaxed);
      }
      given += here * bytes_of(size);
    }
    return given;
  }
};

namespace {

enum class Life : std::uint8_t { Unborn, Alive, Ended };
constinit thread_local BlockLists* lists_here = nullptr;
constinit thread_local Life life_here = Life::Unborn;

struct AllLists {
  Mutex mutex{LockRank::CachedMemory, &AllLists::in_child};  // guards both
  BlockLists* first = nullptr;
  std::size_t hits = 0, misses = 0;  // of threads that ended

  static AllLists& instance() {
    static auto* const all = new AllLists;
    return *all;
  }
  // See [Life]. All locks are held.
  static void in_child() {
    AllLists& all = instance();
    BlockLists** link = &all.first;
    while (BlockLists* const lists = *link) {
      if (lists == lists_here) {
        link = &lists->next;
        continue;
      }
      *link = lists->next;
      lists->empty();
      delete lists;
    }
  }
};

// Made when libopyard is loaded, so that no fork() meets it half made.
[[maybe_unused]] const Status made_block_lists = guarded([] { AllLists::instance(); });

struct EndOfThread {
  ~EndOfThread() {
    BlockLists* const lists = std::exchange(lists_here, nullptr);
    life_here = Life::Ended;
    if (lists == nullptr) return;
    AllLists& all = AllLists::instance();
    {
      const std::lock_guard lock(all.mutex);
      for (BlockLists** link = &all.first; *link != nullptr; link = &(*link)->next) {
        if (*link != lists) continue;
        *link = lists->next;
        break;
      }
      all.hits += lists->hits.load(std::memory_order_relaxed);
      all.misses += lists->misses.load(std::memory_order_relaxed);
    }
    lists->empty();
    delete lists;
  }
};

// Null on a thread that ends, or if there is no memory for them.
OPYARD_COLD BlockLists* make_lists() noexcept {
  if (life_here != Life::Unborn) return nullptr;
  auto* const lists = new (std::nothrow) BlockLists;
  if (lists == nullptr) return nullptr;
  static thread_local EndOfThread end;
  static_cast<void>(end);
  life_here = Life::Alive;
  AllLists& all = AllLists::instance();
  const std::lock_guard lock(all.mutex);
  lists->next = all.first;
  all.first = lists;
  return lists_here = lists;
}

void add_one(std::atomic<std::size_t>& count) noexcept {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Whether there is room for one more block, which is then counted.
bool count_in(BlockLists& lists, std::size_t size) noexcept {
  const std::size_t bytes = bytes_of(size);
  if (bytes <= kLargestSmall) {
    // Others may have taken them all.
    const bool is_empty = lists.lists[size].load(std::memory_order_relaxed) == nullptr;
    const std::uint32_t count = is_empty ? 0 : lists.counts[size].load(std::memory_order_relaxed);
    if (count >= kMostSmall) return false;
    lists.counts[size].store(count + 1, std::memory_order_relaxed);
    return true;
  }
  if (lists.bytes.load(std::memory_order_relaxed) + bytes > kMostOfThread) return false;
  if (bytes_of_process.fetch_add(bytes, std::memory_order_relaxed) + bytes > kMostOfProcess) {
    bytes_of_process.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  lists.bytes.fetch_add(bytes, std::memory_order_relaxed);
  return true;
}

void count_out(BlockLists& lists, std::size_t size, bool was_last) noexcept {
  const std::size_t bytes = bytes_of(size);
  if (bytes <= kLargestSmall) {
    const std::uint32_t count = lists.counts[size].load(std::memory_order_relaxed);
    lists.counts[size].store(was_last ? 0 : count - 1, std::memory_order_relaxed);
    return;
  }
  lists.bytes.fetch_sub(bytes, std::memory_order_relaxed);
  bytes_of_process.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace

namespace detail {

void* take_block(std::size_t bytes, std::uint8_t& size_class) {
  size_class = 0;
  if (!kCacheBlocks || bytes > kLargest || !memory_is_plain.load(std::memory_order_relaxed)) {
    return allocate_aligned(bytes);
  }
  const std::size_t size = class_of(bytes);
  if (BlockLists* const lists = lists_here) {
    // See [Lists].
    if (lists->lists[size].load(std::memory_order_relaxed) != nullptr) {
      if (Block* const block = lists->lists[size].exchange(nullptr, std::memory_order_acquire)) {
        Block* const rest = block->next;
        if (rest != nullptr) lists->lists[size].store(rest, std::memory_order_release);
        count_out(*lists, size, rest == nullptr);
        add_one(lists->hits);
        size_class = std::uint8_t(size);
        return block;
      }
    }
    add_one(lists->misses);
  } else {
    misses_without_lists.fetch_add(1, std::memory_order_relaxed);
  }
  void* const fresh = allocate_aligned(bytes_of(size));
  size_class = std::uint8_t(size);
  return fresh;
}

void give_back_block(void* memory, std::uint8_t size_class) noexcept {
  BlockLists* lists = lists_here;
  if (lists == nullptr) lists = make_lists();
  if (lists == nullptr || !memory_is_plain.load(std::memory_order_relaxed) ||
      !count_in(*lists, size_class)) {
    return opyard::deallocate(memory, bytes_of(size_class), kBlockAlignment);
  }
  Block* const first = lists->lists[size_class].exchange(nullptr, std::memory_order_acquire);
  lists->lists[size_class].store(new (memory) Block{first}, std::memory_order_release);
}

bool empty_block_lists() noexcept { return kCacheBlocks && empty_cached_memory() > 0; }

}  // namespace detail

CachedMemory cached_memory() noexcept {
  CachedMemory sum{};
  AllLists& all = AllLists::instance();
  const std::lock_guard lock(all.mutex);
  sum.hits = all.hits;
  sum.misses = all.misses + misses_without_lists.load(std::memory_order_relaxed);
  for (const BlockLists* lists = all.first; lists != nullptr; lists = lists->next) {
    sum.hits += lists->hits.load(std::memory_order_relaxed);
    sum.misses += lists->misses.load(std::memory_order_relaxed);
    sum.bytes += lists->bytes.load(std::memory_order_relaxed);
    for (std::size_t size = 1; size < kClasses; ++size) {
      if (lists->lists[size].load(std::memory_order_relaxed) == nullptr) continue;
      if (bytes_of(size) > kLargestSmall) break;
      const std::uint32_t count = lists->counts[size].load(std::memory_order_relaxed);
      sum.bytes += count * bytes_of(size);
    }
  }
  return sum;
}

std::size_t empty_cached_memory() noexcept {
  std::size_t given = 0;
  AllLists& all = AllLists::instance();
  const std::lock_guard lock(all.mutex);
  for (BlockLists* lists = all.first; lists != nullptr; lists = lists->next) {
    given += lists->empty();
  }
  return given;
}

}  // namespace opyard
