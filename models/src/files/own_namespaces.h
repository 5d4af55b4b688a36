// files/own_namespaces.h: namespaces whose operators come with this library, so that a file may call
// them: those of aten, and those of programs that were quantised.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace opyard::jit {

inline constexpr std::array<std::string_view, 2> kOwnNamespaces = {"aten", "quantized_decomposed"};

inline bool is_own_namespace(std::string_view name_space) {
  return std::ranges::find(kOwnNamespaces, name_space) != kOwnNamespaces.end();
}

}  // namespace opyard::jit
