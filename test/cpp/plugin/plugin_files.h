// test/cpp/plugin/plugin_files.h: the plugins below test/cpp/plugins, as files, and the operators that they define.
//
// Depends on: registering.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "../registering.h"

namespace opyard {

// The file of test/cpp/plugins/libtest_plugin_<plugin>.so in the build directory.
inline std::string file_of(const std::string& plugin) {
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe");
  return (program.parent_path() / "plugins" / ("libtest_plugin_" + plugin + ".so")).string();
}

// Calls an operator (int n) -> int.
inline std::int64_t call(std::string_view name, std::int64_t n) {
  return require_operator(name).typed<std::int64_t(std::int64_t)>().call(n);
}
inline bool is_defined(std::string_view name) {
  return registry().find(parse_operator_name(name)) != nullptr;
}

}  // namespace opyard
