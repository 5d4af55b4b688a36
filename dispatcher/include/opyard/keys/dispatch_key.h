// opyard/keys/dispatch_key.h: dispatch keys and their names.
//
// A dispatch key is one of
//   Undefined      no key at all; its slot serves calls whose key set is empty
//   a layer        Dense, BackendSelect, Python, AutogradOther, …: what is done
//   an instance    a per-backend layer on one backend: CPU, SparseCUDA, AutogradXLA
//   an alias       Autograd, CompositeExplicitAutograd, …: stands for several runtime
//                  keys at registration, and is never a member of a set
//
// Numbering (ABI): 1 + position for layers, 64 + 16 * index + backend for instances,
// 192 + index for aliases. So all conversions are arithmetic.
//
// Depends on: base/error.h, keys/keys.def.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/base/export.h"
#include "opyard/keys/keys.def"

namespace opyard {

// How many backends, layers and layers for each backend there may be.
inline constexpr int kBackendCount = 16;
inline constexpr int kLayerCount = 48;
inline constexpr int kPerBackendLayerCount = 5;

enum class Backend : std::uint8_t {
#define OPYARD_X(unused, position, name) name = position,
  OPYARD_BACKENDS(OPYARD_X, _)
#undef OPYARD_X
};

// clang-format off
enum class DispatchKey : std::uint16_t {
  Undefined = 0,
#define OPYARD_X(index, position, name, prefix) name = 1 + position,
  OPYARD_PER_BACKEND_LAYERS(OPYARD_X)
#undef OPYARD_X
#define OPYARD_X(position, name) name = 1 + position,
  OPYARD_SINGLE_LAYERS(OPYARD_X)
#undef OPYARD_X
#define OPYARD_X(index, prefix, position, name) prefix##name = 64 + 16 * index + position,
  // One line for each per-backend layer: index and prefix as in the list.
  OPYARD_BACKENDS(OPYARD_X, 0, ) OPYARD_BACKENDS(OPYARD_X, 1, Quantized)
  OPYARD_BACKENDS(OPYARD_X, 2, Sparse) OPYARD_BACKENDS(OPYARD_X, 3, NestedTensor)
  OPYARD_BACKENDS(OPYARD_X, 4, Autograd)
#undef OPYARD_X
#define OPYARD_X(index, name) name = 192 + index,
  OPYARD_ALIAS_KEYS(OPYARD_X)
#undef OPYARD_X
};
// clang-format on

namespace detail {

inline constexpr int kFirstInstance = 64;
inline constexpr int kFirstAlias = 192;

// Positions of the per-backend layers, by index.
inline constexpr int kPerBackendPositions[kPerBackendLayerCount] = {
#define OPYARD_X(index, position, name, prefix) position,
    OPYARD_PER_BACKEND_LAYERS(OPYARD_X)
#undef OPYARD_X
};

// [Consistent keys] Every number is from 0 to below the limit and none occurs twice.
constexpr bool distinct_below(int limit, std::initializer_list<int> numbers) {
  std::uint64_t seen = 0;
  for (const int number : numbers) {
    if (number < 0 || number >= limit || ((seen >> number) & 1) != 0) return false;
    seen |= std::uint64_t{1} << number;
  }
  return true;
}

#define OPYARD_X(unused, position, name) position,
static_assert(distinct_below(kBackendCount, {OPYARD_BACKENDS(OPYARD_X, _)}),
              "keys.def: two backends at one position, or more than 16");
#undef OPYARD_X
#define OPYARD_X(index, position, name, prefix) index,
static_assert(distinct_below(kPerBackendLayerCount, {OPYARD_PER_BACKEND_LAYERS(OPYARD_X)}),
              "keys.def: the per-backend layers are not counted from 0");
#undef OPYARD_X
#define OPYARD_X(index, position, name, prefix) position,
#define OPYARD_Y(position, name) position,
static_assert(distinct_below(kLayerCount,
                             {OPYARD_PER_BACKEND_LAYERS(OPYARD_X) OPYARD_SINGLE_LAYERS(OPYARD_Y)}),
              "keys.def: two layers at one position, or a position past 47");
#undef OPYARD_Y
#undef OPYARD_X
#define OPYARD_X(index, position, name, prefix)                                                    \
  static_assert(                                                                                   \
      kPerBackendPositions[index] == position && int(DispatchKey::prefix##CPU) == 64 + 16 * index, \
      "dispatch_key.h: the instances of " #name " do not follow keys.def");
OPYARD_PER_BACKEND_LAYERS(OPYARD_X)
#undef OPYARD_X

// -1 if the layer at `position` is not per backend.
constexpr int per_backend_index(int position) {
  for (int i = 0; i < kPerBackendLayerCount; ++i) {
    if (kPerBackendPositions[i] == position) return i;
  }
  return -1;
}

}  // namespace detail

// True for a key that is an alias of several.
constexpr bool is_alias(DispatchKey key) { return int(key) >= detail::kFirstAlias; }

// A per-backend layer on one backend, such as CPU or AutogradCUDA.
constexpr bool is_instance(DispatchKey key) {
  return int(key) >= detail::kFirstInstance && !is_alias(key);
}

constexpr bool is_layer(DispatchKey key) {
  return key != DispatchKey::Undefined && int(key) < detail::kFirstInstance;
}

constexpr bool is_per_backend_layer(DispatchKey key) {
  return is_layer(key) && detail::per_backend_index(int(key) - 1) >= 0;
}

// A key that owns exactly one table slot: an instance, a single layer, or Undefined.
constexpr bool is_runtime_key(DispatchKey key) {
  return !is_alias(key) && !is_per_backend_layer(key);
}

// AutogradCPU -> AutogradFunctionality; a layer is itself; aliases and Undefined give Undefined.
constexpr DispatchKey layer_of(DispatchKey key) {
  if (is_alias(key)) return DispatchKey::Undefined;
  if (!is_instance(key)) return key;
  return DispatchKey(1 + detail::kPerBackendPositions[(int(key) - detail::kFirstInstance) / 16]);
}

// The backend of an instance; nothing for every other key.
constexpr std::optional<Backend> backend_of(DispatchKey key) {
  if (!is_instance(key)) return std::nullopt;
  return Backend((int(key) - detail::kFirstInstance) % 16);
}

// The inverse of the two above: (AutogradFunctionality, CPU) -> AutogradCPU. A single layer
// is itself whatever the backend.
constexpr DispatchKey instance_of(DispatchKey layer, Backend backend) {
  const int index = is_layer(layer) ? detail::per_backend_index(int(layer) - 1) : -1;
  if (index < 0) return layer;
  return DispatchKey(detail::kFirstInstance + 16 * index + int(backend));
}

// Whether keys.def has a key of this number.
OPYARD_API bool is_known(DispatchKey key) noexcept;

// The key's name as people write it. Never fails; a value that is no key prints as
// "DispatchKey(<number>)".
OPYARD_API std::string to_string(DispatchKey key);
OPYARD_API std::string to_string(Backend backend);

// The inverse of to_string; a key that was named (keys/named_keys.h) has its former name as well.
// Raises NotFound for a name that no key has.
OPYARD_API DispatchKey parse_dispatch_key(std::string_view name);

// Every key that has a name, in enum order: Undefined, layers, instances, aliases.
OPYARD_API std::vector<DispatchKey> all_dispatch_keys();

}  // namespace opyard
