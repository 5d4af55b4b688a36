// c_api/keys.cpp: the C API of dispatch keys and thread-local key sets.
#include "c_api/pointers.h"
#include "opyard/keys/alias_keys.h"
#include "opyard/keys/local.h"

using namespace opyard;         // NOLINT
using namespace opyard::c_api;  // NOLINT

namespace {

DispatchKeySet set_of(std::uint64_t keys) { return {DispatchKeySet::RAW, keys}; }

DispatchKey key_named(const char* name) {
  return parse_dispatch_key(require(name, "a key's name"));
}

}  // namespace

extern "C" {

int opyard_keys_of(const char* name, uint64_t* keys) {
  return border([&] {
    require(keys, "the place of the keys");
    const DispatchKey key = key_named(name);
    *keys = (is_alias(key) ? runtime_keys_of(key) : DispatchKeySet(key)).raw();
  });
}

int opyard_keys_below(const char* name, uint64_t* keys) {
  return border([&] {
    require(keys, "the place of the keys");
    *keys = DispatchKeySet(DispatchKeySet::FULL_AFTER, key_named(name)).raw();
  });
}

uint64_t opyard_keys_without(uint64_t keys, uint64_t taken) {
  return (set_of(keys) - set_of(taken)).raw();
}

int opyard_keys_text(uint64_t keys, char* buffer, size_t capacity, size_t* bytes) {
  return border([&] { write_text(to_string(set_of(keys)), buffer, capacity, bytes); });
}

opyard_local_keys opyard_include_keys(uint64_t keys) {
  const LocalKeys former = local_keys();
  set_local_keys({former.include | set_of(keys), former.exclude});
  return {former.include.raw(), former.exclude.raw()};
}

opyard_local_keys opyard_exclude_keys(uint64_t keys) {
  const LocalKeys former = local_keys();
  set_local_keys({former.include, former.exclude | set_of(keys)});
  return {former.include.raw(), former.exclude.raw()};
}

void opyard_restore_keys(opyard_local_keys former) {
  set_local_keys({set_of(former.include), set_of(former.exclude)});
}

}  // extern "C"
