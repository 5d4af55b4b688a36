// keys/dispatch_key.cpp: key names: printing and parsing.
#include "opyard/keys/dispatch_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "keys/names.h"
#include "opyard/detail/text/near_names.h"

namespace opyard {
namespace {

using detail::KeyName;

std::vector<KeyName> make_names() {
  std::vector<KeyName> names;
  const auto add = [&](DispatchKey key, const char* name) { names.push_back({key, name, name}); };
  add(DispatchKey::Undefined, "Undefined");
#define OPYARD_X(index, position, name, prefix) add(DispatchKey::name, #name);
  OPYARD_PER_BACKEND_LAYERS(OPYARD_X)
#undef OPYARD_X
#define OPYARD_X(position, name) add(DispatchKey::name, #name);
  OPYARD_SINGLE_LAYERS(OPYARD_X)
#undef OPYARD_X
#define OPYARD_X(index, prefix, position, name) \
  add(DispatchKey(64 + 16 * index + position), #prefix #name);
  OPYARD_BACKENDS(OPYARD_X, 0, )
  OPYARD_BACKENDS(OPYARD_X, 1, Quantized)
  OPYARD_BACKENDS(OPYARD_X, 2, Sparse)
  OPYARD_BACKENDS(OPYARD_X, 3, NestedTensor)
  OPYARD_BACKENDS(OPYARD_X, 4, Autograd)
#undef OPYARD_X
#define OPYARD_X(index, name) add(DispatchKey::name, #name);
  OPYARD_ALIAS_KEYS(OPYARD_X)
#undef OPYARD_X
  std::sort(names.begin(), names.end(),
            [](const KeyName& a, const KeyName& b) { return a.key < b.key; });
  return names;
}

// Former tables are never freed: a reader may be in one.
struct NameTable {
  std::vector<KeyName> names;
  const NameTable* former;
};

std::atomic<const NameTable*>& published() {
  static std::atomic<const NameTable*> table{new NameTable{make_names(), nullptr}};
  return table;
}

}  // namespace

namespace detail {

const std::vector<KeyName>& key_names() {
  return published().load(std::memory_order_acquire)->names;
}

void publish_key_names(std::vector<KeyName> names) {
  const NameTable* const former = published().load(std::memory_order_relaxed);
  published().store(new NameTable{std::move(names), former}, std::memory_order_release);
}

}  // namespace detail

bool is_known(DispatchKey key) noexcept {
  const std::vector<KeyName>& names = detail::key_names();
  return std::any_of(names.begin(), names.end(),
                     [key](const KeyName& entry) { return entry.key == key; });
}

std::string to_string(DispatchKey key) {
  for (const KeyName& entry : detail::key_names()) {
    if (entry.key == key) return entry.name;
  }
  return fmt::format("DispatchKey({})", int(key));
}

std::string to_string(Backend backend) {
  return to_string(instance_of(DispatchKey::Dense, backend));
}

namespace {

[[noreturn]] void refuse_name(std::string_view name) {
  std::vector<std::string_view> known;
  for (const KeyName& entry : detail::key_names()) known.push_back(entry.name);
  const std::string_view meant = detail::near_name(name, known, detail::kFewShortNames);
  if (!meant.empty()) {
    fail(ErrorKind::NotFound,
         fmt::format("could not parse dispatch key: {}. Did you mean {}?", name, meant));
  }
  fail(ErrorKind::NotFound,
       fmt::format(
           "could not parse dispatch key: {}. A key is a name such as CPU, Meta, AutogradCPU "
           "or CompositeImplicitAutograd; a backend has keys once its plugin is loaded",
           name));
}

}  // namespace

DispatchKey parse_dispatch_key(std::string_view name) {
  for (const KeyName& entry : detail::key_names()) {
    if (entry.name == name || entry.given_first == name) return entry.key;
  }
  refuse_name(name);
}

std::vector<DispatchKey> all_dispatch_keys() {
  std::vector<DispatchKey> keys;
  for (const KeyName& entry : detail::key_names()) keys.push_back(entry.key);
  return keys;
}

}  // namespace opyard
