// keys/named_keys.cpp: naming backends and layers at run time.
#include "opyard/detail/keys/named_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/identifier.h"
#include "keys/names.h"
#include "opyard/detail/base/mutex.h"

namespace opyard {
namespace {

using KeyNames = std::vector<detail::KeyName>;

constexpr const char* kPrefixes[] = {
#define OPYARD_X(index, position, name, prefix) #prefix,
    OPYARD_PER_BACKEND_LAYERS(OPYARD_X)
#undef OPYARD_X
};

Mutex& names_mutex() {
  static auto* const mutex = new Mutex(LockRank::KeyNames);
  return *mutex;
}
// Made when libopyard is loaded, so that no fork() meets it half made.
[[maybe_unused]] const Status made_key_names = guarded([] { names_mutex(); });

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return text;
}

void require_identifier(std::string_view name) {
  if (detail::is_identifier(name)) return;
  fail(ErrorKind::BadValue,
       fmt::format(
           "\"{}\" cannot name a dispatch key: a name takes letters, digits and underscores, "
           "and begins with no digit",
           name));
}

// Two keys of one name could not be told apart, nor could two devices, which are written in lower
// case.
void require_free(const KeyNames& names, std::string_view wanted, bool is_device) {
  for (const detail::KeyName& known : names) {
    const bool device =
        is_device && backend_of(known.key) && layer_of(known.key) == DispatchKey::Dense;
    const bool same = device ? lower_case(known.name) == lower_case(std::string(wanted)) ||
                                   lower_case(known.given_first) == lower_case(std::string(wanted))
                             : known.name == wanted || known.given_first == wanted;
    if (same) {
      fail(ErrorKind::BadValue,
           fmt::format("\"{}\" cannot name a dispatch key: {} is one already", wanted, known.name));
    }
  }
}

bool is_unnamed(const KeyNames& names, DispatchKey key) {
  return std::any_of(names.begin(), names.end(), [key](const detail::KeyName& known) {
    return known.key == key && known.name == known.given_first;
  });
}

void require_free_backend(const KeyNames& names, std::string_view name) {
  for (const char* const prefix : kPrefixes) {
    require_free(names, prefix + std::string(name), *prefix == '\0');
  }
}

void name_backend(KeyNames names, Backend backend, std::string_view name) {
  for (detail::KeyName& known : names) {
    if (backend_of(known.key) != backend) continue;
    known.name = kPrefixes[(int(known.key) - detail::kFirstInstance) / kBackendCount];
    known.name += name;
  }
  detail::publish_key_names(std::move(names));
}

std::pair<DispatchKey, DispatchKey> layers_of(LayerGap gap) {
  switch (gap) {
    case LayerGap::AboveBackendSelect:
      return {DispatchKey::AboveBackendSelect1, DispatchKey::AboveBackendSelect2};
    case LayerGap::AboveADInplaceOrView:
      return {DispatchKey::AboveADInplaceOrView1, DispatchKey::AboveADInplaceOrView2};
    case LayerGap::AboveAutograd:
      return {DispatchKey::AboveAutograd1, DispatchKey::AboveAutograd2};
    case LayerGap::OnTop:
      return {DispatchKey::OnTop1, DispatchKey::OnTop2};
  }
  fail(ErrorKind::BadValue, fmt::format("{} is no gap between layers", int(gap)));
}

}  // namespace

Backend register_backend(std::string_view name) {
  require_identifier(name);
  const std::lock_guard lock(names_mutex());
  const KeyNames& names = detail::key_names();
  require_free_backend(names, name);
  std::string taken;
  for (int i = int(Backend::UserBackend1); i <= int(Backend::UserBackend8); ++i) {
    const DispatchKey key = instance_of(DispatchKey::Dense, Backend(i));
    if (is_unnamed(names, key)) {
      name_backend(names, Backend(i), name);
      return Backend(i);
    }
    taken += (taken.empty() ? "" : ", ") + to_string(key);
  }
  fail(
      ErrorKind::BadRegistration,
      fmt::format("there is no backend left to call \"{}\"; all eight are taken: {}", name, taken));
}

void rename_backend(Backend backend, std::string_view name) {
  require_identifier(name);
  const std::lock_guard lock(names_mutex());
  const DispatchKey key = instance_of(DispatchKey::Dense, backend);
  if (backend < Backend::PrivateUse1 || backend > Backend::PrivateUse3) {
    fail(
        ErrorKind::BadRegistration,
        fmt::format("{} cannot be renamed to \"{}\"; only PrivateUse1, PrivateUse2 and PrivateUse3 "
                    "can",
                    to_string(key), name));
  }
  const KeyNames& names = detail::key_names();
  if (is_unnamed(names, key)) {
    require_free_backend(names, name);
    return name_backend(names, backend, name);
  }
  if (to_string(key) == name) return;
  fail(ErrorKind::BadRegistration,
       fmt::format("PrivateUse{} is called {} already and cannot be renamed to \"{}\"",
                   int(backend) - int(Backend::PrivateUse1) + 1, to_string(key), name));
}

DispatchKey register_layer(std::string_view name, LayerGap gap) {
  require_identifier(name);
  const auto [low, high] = layers_of(gap);
  const std::lock_guard lock(names_mutex());
  KeyNames names = detail::key_names();
  require_free(names, name, false);
  for (const DispatchKey key : {low, high}) {
    if (!is_unnamed(names, key)) continue;
    for (detail::KeyName& known : names) {
      if (known.key == key) known.name = name;
    }
    detail::publish_key_names(std::move(names));
    return key;
  }
  fail(ErrorKind::BadRegistration,
       fmt::format("there is no layer left to call \"{}\" in this gap; both are taken: {}, {}",
                   name, to_string(low), to_string(high)));
}

}  // namespace opyard
