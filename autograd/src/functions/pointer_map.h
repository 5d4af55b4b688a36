// autograd/functions/pointer_map.h: numbers of pointers, for one run of the engine.
//
// Open addressing over a power of two: a run looks each function up once for each edge that leads
// to it, and a node-based map would take longer than all the rest.
//
// Depends on: nothing of ours.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace opyard::autograd {

template <typename Key, typename Number>
class PointerMap {
 public:
  PointerMap() : places_(64) {}

  const Number* find(const Key* key) const noexcept {
    for (std::size_t i = start(key);; i = (i + 1) & (places_.size() - 1)) {
      if (places_[i].first == key) return &places_[i].second;
      if (places_[i].first == nullptr) return nullptr;
    }
  }
  // The number of a key, and whether it is a new one.
  std::pair<Number, bool> insert(const Key* key, Number number) {
    if (2 * (count_ + 1) > places_.size()) resize(places_.size() * 2);
    std::size_t i = start(key);
    for (; places_[i].first != nullptr; i = (i + 1) & (places_.size() - 1)) {
      if (places_[i].first == key) return {places_[i].second, false};
    }
    places_[i] = {key, number};
    ++count_;
    return {number, true};
  }
  void reserve(std::size_t count) {
    if (2 * count > places_.size()) resize(std::bit_ceil(2 * count));
  }

 private:
  using Place = std::pair<const Key*, Number>;

  std::size_t start(const Key* key) const noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(key) >> 4;
    return std::size_t((bits * 0x9E37'79B9'7F4A'7C15u) >> 32) & (places_.size() - 1);
  }
  void put(const Key* key, Number number) {
    std::size_t i = start(key);
    while (places_[i].first != nullptr) i = (i + 1) & (places_.size() - 1);
    places_[i] = {key, number};
  }
  void resize(std::size_t places) {
    std::vector<Place> former(places);
    former.swap(places_);
    for (const auto& [key, number] : former) {
      if (key != nullptr) put(key, number);
    }
  }

  std::vector<Place> places_;
  std::size_t count_ = 0;
};

}  // namespace opyard::autograd
