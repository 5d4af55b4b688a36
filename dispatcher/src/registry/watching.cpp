// registry/watching.cpp: adding and removing watchers.
#include <mutex>

#include "opyard/registry/registry.h"
#include "registry/interpreter_tables.h"
#include "registry/state.h"

namespace opyard {
namespace {

// The bit of a watcher that watches, else 0.
std::uint8_t watcher_bit(const Watcher& watcher) noexcept {
  const std::uint8_t now = watchers.on.load(std::memory_order_acquire);
  for (unsigned n = 0; n < WatcherList::kMost; ++n) {
    const auto bit = std::uint8_t(1u << n);
    if ((now & bit) != 0 && watchers.list[n].load(std::memory_order_relaxed) == &watcher) {
      return bit;
    }
  }
  return 0;
}

// An entry stays that of its watcher: a call that has begun tells it of its end.
std::uint8_t add_watcher(Watcher& watcher) {
  for (unsigned n = 0; n < WatcherList::kMost; ++n) {
    Watcher* const known = watchers.list[n].load(std::memory_order_relaxed);
    if (known != nullptr && known != &watcher) continue;
    watchers.list[n].store(&watcher, std::memory_order_relaxed);
    return std::uint8_t(1u << n);
  }
  fail(ErrorKind::Unsupported,
       "start_watching() was given a ninth watcher: a process has places for eight, and each "
       "watcher keeps its place for ever, since a call may still tell it of its end. Start one "
       "of those eight again, or let one watcher serve several listeners");
}

}  // namespace

void start_watching(Watcher& watcher) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.state_->mutex);
  if (watcher_bit(watcher) != 0) return;
  const std::uint8_t bit = add_watcher(watcher);
  if (watchers.on.load(std::memory_order_relaxed) == 0) registry.set_watch(true);
  watchers.on.fetch_or(bit, std::memory_order_release);
}

void stop_watching(Watcher& watcher) noexcept {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.state_->mutex);
  const std::uint8_t bit = watcher_bit(watcher);
  if (bit == 0) return;
  const auto rest =
      std::uint8_t(watchers.on.fetch_and(std::uint8_t(~bit), std::memory_order_release) & ~bit);
  if (rest == 0) registry.set_watch(false);
}

bool is_watching(const Watcher& watcher) noexcept { return watcher_bit(watcher) != 0; }

void Registry::set_watch(bool on) {
  if (on) {
    for (const auto& [name, entry] : state_->entries) {
      if (entry->op != nullptr) WatchTable::require(*entry->op);
    }
  }
  state_->common.watching = on;
  for (const auto& [name, entry] : state_->entries) entry->set_watch(on);
}

}  // namespace opyard
