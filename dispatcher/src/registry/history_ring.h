// registry/history_ring.h: ring buffer of registry changes.
//
// Everything here is called with the registry's lock held. The ring is made before the first
// change; from then on writing an event down needs no memory and cannot fail, so it can come
// behind the point where a change has happened, and in what takes a registration back. Hence texts
// have a place of fixed size, and longer ones lose their beginning.
//
// Depends on: opyard/registry/history.h.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/registry/history.h"

namespace opyard {

class HistoryRing {
 public:
  // Raises bad_alloc.
  void prepare() {
    if (ring_ == nullptr) ring_ = std::make_unique_for_overwrite<Entry[]>(kHistoryLength);
  }

  // `name` in parts, which are joined.
  template <typename... Part>
  void add(RegistryThing thing, bool added, DispatchKey key, std::uint64_t registration,
           std::string_view provenance, const Part&... name) noexcept {
    Entry& entry = ring_[last_++ % kHistoryLength];
    entry.time = std::chrono::system_clock::now();
    entry.registration = registration;
    entry.key = key;
    entry.thing = thing;
    entry.added = added;
    entry.provenance.set(provenance);
    entry.name.set(name...);
  }

  // Oldest first. Raises bad_alloc.
  std::vector<RegistryEvent> events() const {
    std::vector<RegistryEvent> events;
    const std::uint64_t held = std::min<std::uint64_t>(last_, kHistoryLength);
    events.reserve(held);
    for (std::uint64_t number = last_ - held; number < last_; ++number) {
      const Entry& entry = ring_[number % kHistoryLength];
      events.push_back({number + 1, entry.time, entry.thing, entry.added, entry.name.text(),
                        entry.key, entry.provenance.text(), entry.registration});
    }
    return events;
  }

 private:
  // A text that is not longer than kHistoryText; of a longer one the end, behind an ellipsis.
  class Text {
   public:
    template <typename... Part>
    void set(const Part&... parts) noexcept {
      size_ = 0;
      cut_ = false;
      (append(parts), ...);
    }
    std::string text() const { return (cut_ ? "…" : "") + std::string(bytes_, size_); }

   private:
    void append(std::string_view part) noexcept {
      const std::size_t excess =
          std::max(size_ + part.size(), kHistoryText) - kHistoryText;  // goes from the front
      if (excess > 0) {
        const std::size_t from_here = std::min<std::size_t>(excess, size_);
        std::memmove(bytes_, bytes_ + from_here, size_ - from_here);
        size_ = std::uint8_t(size_ - from_here);
        part.remove_prefix(excess - from_here);
        cut_ = true;
      }
      std::memcpy(bytes_ + size_, part.data(), part.size());
      size_ = std::uint8_t(size_ + part.size());
    }

    static_assert(kHistoryText < 256);
    std::uint8_t size_;
    bool cut_;
    char bytes_[kHistoryText];
  };

  struct Entry {
    std::chrono::system_clock::time_point time;
    std::uint64_t registration;
    DispatchKey key;
    RegistryThing thing;
    bool added;
    Text name;
    Text provenance;
  };

  std::unique_ptr<Entry[]> ring_;
  std::uint64_t last_ = 0;  // number of the newest
};

}  // namespace opyard
