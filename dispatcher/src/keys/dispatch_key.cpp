// keys/dispatch_key.cpp: key names, both ways.
#include "opyard/keys/dispatch_key.h"

#include <fmt/format.h>

#include <algorithm>

namespace opyard {
namespace {

struct Named {
  DispatchKey key;
  const char* name;
};

// In enum order: Undefined, layers by position, instances, aliases.
std::vector<Named> make_names() {
  std::vector<Named> names = {{DispatchKey::Undefined, "Undefined"}};
  const auto add_layer = [&](DispatchKey key, const char* name) { names.push_back({key, name}); };
#define OPYARD_X(index, position, name, prefix) add_layer(DispatchKey::name, #name);
  OPYARD_PER_BACKEND_LAYERS(OPYARD_X)
#undef OPYARD_X
#define OPYARD_X(position, name) add_layer(DispatchKey::name, #name);
  OPYARD_SINGLE_LAYERS(OPYARD_X)
#undef OPYARD_X
#define OPYARD_X(index, prefix, position, name) \
  names.push_back({DispatchKey(64 + 16 * index + position), #prefix #name});
  OPYARD_BACKENDS(OPYARD_X, 0, )
  OPYARD_BACKENDS(OPYARD_X, 1, Quantized)
  OPYARD_BACKENDS(OPYARD_X, 2, Sparse)
  OPYARD_BACKENDS(OPYARD_X, 3, NestedTensor)
  OPYARD_BACKENDS(OPYARD_X, 4, Autograd)
#undef OPYARD_X
#define OPYARD_X(index, name) names.push_back({DispatchKey::name, #name});
  OPYARD_ALIAS_KEYS(OPYARD_X)
#undef OPYARD_X
  std::sort(names.begin(), names.end(),
            [](const Named& a, const Named& b) { return a.key < b.key; });
  return names;
}

const std::vector<Named>& names() {
  static const auto* const all = new std::vector<Named>(make_names());
  return *all;
}

}  // namespace

bool is_known(DispatchKey key) noexcept {
  return std::any_of(names().begin(), names().end(),
                     [key](const Named& entry) { return entry.key == key; });
}

std::string to_string(DispatchKey key) {
  for (const Named& entry : names()) {
    if (entry.key == key) return entry.name;
  }
  return fmt::format("DispatchKey({})", int(key));
}

std::string to_string(Backend backend) {
  return to_string(instance_of(DispatchKey::Dense, backend));
}

DispatchKey parse_dispatch_key(std::string_view name) {
  for (const Named& entry : names()) {
    if (entry.name == name) return entry.key;
  }
  fail(ErrorKind::NotFound, fmt::format("could not parse dispatch key: {}", name));
}

std::vector<DispatchKey> all_dispatch_keys() {
  std::vector<DispatchKey> keys;
  for (const Named& entry : names()) keys.push_back(entry.key);
  return keys;
}

}  // namespace opyard
