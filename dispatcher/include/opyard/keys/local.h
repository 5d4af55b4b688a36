// opyard/keys/local.h: thread-local include and exclude key sets.
//
// A call's key set is ((keys of the arguments) | include) - exclude; include comes first,
// so exclude wins. Guards change the two sets for a scope and undo exactly what they
// changed, so nested guards on one key restore correctly.
//
// The block below is thread-local with the initial-exec model: one move instruction on the
// call path. It is 32 bytes and has to stay tiny, since an engine that Python loads gets its
// block from a small reserve.
//
// [Thread entry] A thread's include set is born with ThreadEntry, the highest layer. Its slot
// leads to a built-in record that makes the thread known to the registry, takes the key out of the
// set and calls again. So the call path needs no branch to find out whether it is a thread's
// first call. The key never shows: accessors hide it, and setters keep it as it was.
//
// Depends on: keys/dispatch_key_set.h.
#pragma once

#include <cstdint>

#include "opyard/keys/dispatch_key_set.h"

namespace opyard {

// What a thread adds to the keys of each call, and what it takes out.
struct LocalKeys {
  DispatchKeySet include;
  DispatchKeySet exclude;
  bool operator==(const LocalKeys&) const = default;
};

// Those of a thread that has set none.
inline constexpr LocalKeys kDefaultLocalKeys{
    {DispatchKey::BackendSelect, DispatchKey::ADInplaceOrView},
    {DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA}};

namespace detail {

// `keep` is what a call has to mask with, ready to use: the complement of the exclude set, and all
// backends, since excluding takes layers away and never backends. Those that the exclude set has
// all the same are remembered in `excluded_backends`. `gradient_mode` is that of
// keys/gradient_mode.h. `call_depth` counts the dispatched calls this
// thread is inside of that need their records, and `reading` is 1 between a call's load of a slot
// and its kernel; the registry reads both.
struct LocalBlock {
  std::uint64_t include;
  std::uint64_t keep;
  std::uint64_t call_depth;
  std::uint16_t excluded_backends;
  std::uint8_t gradient_mode;
  std::uint8_t unused;
  std::uint32_t reading;
};
static_assert(sizeof(LocalBlock) == 32);
static_assert(DispatchKeySet::kBackendBits <= 0xffff);

extern OPYARD_API __thread LocalBlock local_block __attribute__((tls_model("initial-exec")));

inline constexpr std::uint64_t kThreadEntryBit = std::uint64_t{1} << 63;

inline std::uint64_t excluded_keys() noexcept {
  return ~local_block.keep | local_block.excluded_backends;
}
inline void exclude_keys(std::uint64_t keys) noexcept {
  local_block.keep &= ~keys | DispatchKeySet::kBackendBits;
  local_block.excluded_backends |= std::uint16_t(keys & DispatchKeySet::kBackendBits);
}
inline void stop_excluding(std::uint64_t keys) noexcept {
  local_block.keep |= keys;
  local_block.excluded_backends &= std::uint16_t(~(keys & DispatchKeySet::kBackendBits));
}

}  // namespace detail

// This thread's sets, without ThreadEntry.
inline LocalKeys local_keys() noexcept {
  return {{DispatchKeySet::RAW, detail::local_block.include & ~detail::kThreadEntryBit},
          {DispatchKeySet::RAW, detail::excluded_keys()}};
}

// Replaces both sets.
inline void set_local_keys(LocalKeys keys) noexcept {
  const std::uint64_t entry = detail::local_block.include & detail::kThreadEntryBit;
  detail::local_block.include = (keys.include.raw() & ~detail::kThreadEntryBit) | entry;
  detail::stop_excluding(~std::uint64_t{0});
  detail::exclude_keys(keys.exclude.raw() & ~detail::kThreadEntryBit);
}

// Adds keys to this thread's include set for a scope. Neither copied nor moved, and left on
// the thread it was made on.
class IncludeDispatchKeyGuard {
 public:
  explicit IncludeDispatchKeyGuard(DispatchKeySet keys) noexcept
      : added_(keys.raw() & ~detail::local_block.include & ~detail::kThreadEntryBit) {
    detail::local_block.include |= added_;
  }
  IncludeDispatchKeyGuard(const IncludeDispatchKeyGuard&) = delete;
  IncludeDispatchKeyGuard& operator=(const IncludeDispatchKeyGuard&) = delete;
  ~IncludeDispatchKeyGuard() { detail::local_block.include &= ~added_; }

 private:
  std::uint64_t added_;
};

// Adds keys to this thread's exclude set for a scope.
class ExcludeDispatchKeyGuard {
 public:
  explicit ExcludeDispatchKeyGuard(DispatchKeySet keys) noexcept
      : added_(keys.raw() & ~detail::excluded_keys() & ~detail::kThreadEntryBit) {
    detail::exclude_keys(added_);
  }
  ExcludeDispatchKeyGuard(const ExcludeDispatchKeyGuard&) = delete;
  ExcludeDispatchKeyGuard& operator=(const ExcludeDispatchKeyGuard&) = delete;
  ~ExcludeDispatchKeyGuard() { detail::stop_excluding(added_); }

 private:
  std::uint64_t added_;
};

// Replaces both sets for a scope, and puts the former ones back.
class ForceDispatchKeyGuard {
 public:
  ForceDispatchKeyGuard(DispatchKeySet include, DispatchKeySet exclude) noexcept
      : former_(local_keys()) {
    set_local_keys({include, exclude});
  }
  ForceDispatchKeyGuard(const ForceDispatchKeyGuard&) = delete;
  ForceDispatchKeyGuard& operator=(const ForceDispatchKeyGuard&) = delete;
  ~ForceDispatchKeyGuard() { set_local_keys(former_); }

 private:
  LocalKeys former_;
};

}  // namespace opyard
