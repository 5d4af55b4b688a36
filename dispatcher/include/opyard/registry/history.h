// opyard/registry/history.h: the log of registrations and removals.
//
//   for (const RegistryEvent& event : inspect::history()) …
//
// The registry remembers its last kHistoryLength changes, numbered from 1 without gaps. Names and
// provenances that are longer than kHistoryText bytes are cut at their beginning.
//
// Depends on: keys/dispatch_key.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "opyard/keys/dispatch_key.h"

namespace opyard {

// How many events are kept, and how many bytes of the text of each.
inline constexpr std::size_t kHistoryLength = 1024;
inline constexpr std::size_t kHistoryText = 112;

// What can be registered.
enum class RegistryThing : std::uint8_t { Definition, Kernel, Fallback, Namespace };

// One registration, or the end of one.
struct RegistryEvent {
  std::uint64_t number = 0;
  std::chrono::system_clock::time_point time;
  RegistryThing thing = RegistryThing::Definition;
  bool added = true;               // else it was unregistered, or replaced by its own library
  std::string name;                // "ns::op.overload", or the namespace; empty for a fallback
  DispatchKey key{};               // of a kernel and a fallback
  std::string provenance;          // "registered at demo.cpp:12"
  std::uint64_t registration = 0;  // the same number on the way in and on the way out
};

}  // namespace opyard
