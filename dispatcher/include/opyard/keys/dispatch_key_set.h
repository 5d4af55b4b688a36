// opyard/keys/dispatch_key_set.h: a set of dispatch keys in one word.
//
//   bit  63 ───────── 16   15 ────────── 0
//        ┌──────────────┬────────────────┐
//        │   48 layers  │  16 backends   │     a higher bit goes first
//        └──────────────┴────────────────┘
//
// The set is a cross product: {CPU, CUDA} x {Dense, Autograd} means four keys, so adding
// AutogradCUDA to a set that holds CPU makes AutogradCPU a member too. Taking keys away
// takes layers only; backends stay, because other layers need them.
//
// Depends on: keys/dispatch_key.h.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>

#include "opyard/keys/dispatch_key.h"

namespace opyard {

class DispatchKeySet {
 public:
  enum FullTag { FULL };
  enum FullAfterTag { FULL_AFTER };
  enum RawTag { RAW };
  class Iterator;

  static constexpr std::uint64_t kBackendBits = 0xffff;

  constexpr DispatchKeySet() noexcept = default;
  // An instance sets a layer bit and a backend bit, a layer its own bit, Undefined nothing.
  // Raises BadValue for an alias key: expand it with runtime_keys_of() first.
  constexpr DispatchKeySet(DispatchKey key) : bits_(bits_of(key)) {}  // NOLINT
  constexpr DispatchKeySet(Backend backend) noexcept                  // NOLINT
      : bits_(std::uint64_t{1} << int(backend)) {}
  constexpr DispatchKeySet(std::initializer_list<DispatchKey> keys) {
    for (const DispatchKey key : keys) bits_ |= bits_of(key);
  }
  constexpr explicit DispatchKeySet(std::initializer_list<Backend> backends) noexcept {
    for (const Backend backend : backends) bits_ |= DispatchKeySet(backend).bits_;
  }
  // Every key in keys.def but ThreadEntry, which never leaves the call path.
  constexpr explicit DispatchKeySet(FullTag) noexcept : bits_(below(DispatchKey::ThreadEntry)) {}
  // Every layer strictly below the layer of `key`, and all backends.
  constexpr DispatchKeySet(FullAfterTag, DispatchKey key) : bits_(below(key)) {}
  constexpr DispatchKeySet(RawTag, std::uint64_t bits) noexcept : bits_(bits) {}

  constexpr std::uint64_t raw() const noexcept { return bits_; }
  constexpr bool empty() const noexcept { return bits_ == 0; }

  constexpr bool has(DispatchKey key) const {
    const std::uint64_t wanted = bits_of(key);
    return wanted != 0 && (bits_ & wanted) == wanted;
  }
  constexpr bool has_backend(Backend backend) const noexcept {
    return (bits_ & DispatchKeySet(backend).bits_) != 0;
  }
  constexpr bool has_all(DispatchKeySet other) const noexcept {
    return (bits_ & other.bits_) == other.bits_;
  }
  // Whether a layer of `other` is here too. Backends alone do not count.
  constexpr bool has_any(DispatchKeySet other) const noexcept {
    return (bits_ & other.bits_ & ~kBackendBits) != 0;
  }
  constexpr bool is_superset_of(DispatchKeySet other) const noexcept { return has_all(other); }

  constexpr DispatchKeySet operator|(DispatchKeySet o) const noexcept {
    return {RAW, bits_ | o.bits_};
  }
  constexpr DispatchKeySet operator&(DispatchKeySet o) const noexcept {
    return {RAW, bits_ & o.bits_};
  }
  constexpr DispatchKeySet operator^(DispatchKeySet o) const noexcept {
    return {RAW, bits_ ^ o.bits_};
  }
  // Takes layers away, never backends: {CPU, AutogradCPU} - {AutogradCPU} still has CPU.
  constexpr DispatchKeySet operator-(DispatchKeySet o) const noexcept {
    return {RAW, bits_ & (kBackendBits | ~o.bits_)};
  }
  constexpr bool operator==(const DispatchKeySet&) const noexcept = default;

  constexpr DispatchKeySet add(DispatchKey key) const { return *this | DispatchKeySet(key); }
  constexpr DispatchKeySet remove(DispatchKey key) const { return *this - DispatchKeySet(key); }
  constexpr DispatchKeySet remove_backend(Backend backend) const noexcept {
    return {RAW, bits_ & ~DispatchKeySet(backend).bits_};
  }

  // The layer of the highest bit, or Undefined if no layer bit is set.
  constexpr DispatchKey highest_layer() const noexcept {
    const std::uint64_t layers = bits_ >> 16;
    return layers == 0 ? DispatchKey::Undefined : DispatchKey(64 - std::countl_zero(layers));
  }
  constexpr std::optional<Backend> highest_backend() const noexcept {
    const auto backends = std::uint32_t(bits_ & kBackendBits);
    if (backends == 0) return std::nullopt;
    return Backend(31 - std::countl_zero(backends));
  }
  // The key a call with this set takes first: highest layer on highest backend. Undefined
  // if there is no layer, or if a per-backend layer has no backend.
  constexpr DispatchKey highest() const noexcept {
    const DispatchKey layer = highest_layer();
    if (!is_per_backend_layer(layer)) return layer;
    const auto backend = highest_backend();
    return backend ? instance_of(layer, *backend) : DispatchKey::Undefined;
  }

  // The runtime keys of the set, lowest first.
  Iterator begin() const;
  Iterator end() const;

 private:
  static constexpr std::uint64_t bits_of(DispatchKey key) {
    if (key == DispatchKey::Undefined) return 0;
    if (is_alias(key)) fail(ErrorKind::BadValue, alias_message());
    std::uint64_t bits = std::uint64_t{1} << (15 + int(layer_of(key)));
    if (const auto backend = backend_of(key)) bits |= std::uint64_t{1} << int(*backend);
    return bits;
  }
  static constexpr std::uint64_t below(DispatchKey key) {
    if (key == DispatchKey::Undefined) return 0;
    if (is_alias(key)) fail(ErrorKind::BadValue, alias_message());
    return ((std::uint64_t{1} << (15 + int(layer_of(key)))) - 1) & named_bits();
  }
  // All backends and the layers that have a name; a free position is no key yet.
  static constexpr std::uint64_t named_bits() noexcept {
    std::uint64_t layers = 0;
#define OPYARD_X(index, position, name, prefix) layers |= std::uint64_t{1} << position;
    OPYARD_PER_BACKEND_LAYERS(OPYARD_X)
#undef OPYARD_X
#define OPYARD_X(position, name) layers |= std::uint64_t{1} << position;
    OPYARD_SINGLE_LAYERS(OPYARD_X)
#undef OPYARD_X
    return layers << 16 | kBackendBits;
  }
  static constexpr const char* alias_message() {
    return "an alias key stands for several keys and cannot be a member of a key set; "
           "use runtime_keys_of(alias)";
  }

  std::uint64_t bits_ = 0;
};

static_assert(sizeof(DispatchKeySet) == 8);

// Walks the runtime keys of a set in increasing priority. Stepping past the end raises BadIndex.
class OPYARD_API DispatchKeySet::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = DispatchKey;
  using difference_type = std::ptrdiff_t;
  using pointer = const DispatchKey*;
  using reference = DispatchKey;

  Iterator(std::uint64_t bits, int layer);
  DispatchKey operator*() const noexcept;
  Iterator& operator++();
  Iterator operator++(int) {
    Iterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Iterator& other) const noexcept {
    return bits_ == other.bits_ && layer_ == other.layer_ && backend_ == other.backend_;
  }

 private:
  void skip_to_key();

  std::uint64_t bits_;
  int layer_;        // position, kLayerCount at the end
  int backend_ = 0;  // position; 0 for single layers
};

inline DispatchKeySet::Iterator DispatchKeySet::begin() const { return {bits_, 0}; }
inline DispatchKeySet::Iterator DispatchKeySet::end() const { return {bits_, kLayerCount}; }

// "DispatchKeySet(CPU, AutogradCPU)", lowest first; "DispatchKeySet()" when empty.
OPYARD_API std::string to_string(DispatchKeySet set);

}  // namespace opyard
