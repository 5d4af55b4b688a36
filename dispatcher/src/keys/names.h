// keys/names.h: table of key names, readable while it grows.
//
// A table is never changed once it is published; naming a key publishes another one. Former
// tables are never freed, since a reader may be in one: there are as many as keys that were named.
//
// Depends on: keys/dispatch_key.h.
#pragma once

#include <string>
#include <vector>

#include "opyard/keys/dispatch_key.h"

namespace opyard::detail {

struct KeyName {
  DispatchKey key;
  std::string name;         // what it prints as
  std::string given_first;  // in keys.def; parses as well
};

// In enum order: Undefined, layers by position, instances, aliases. Any thread, no lock.
const std::vector<KeyName>& key_names();

// Any thread that holds the lock of named_keys.cpp.
void publish_key_names(std::vector<KeyName> names);

}  // namespace opyard::detail
