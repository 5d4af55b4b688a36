// plugin/environment.cpp: plugins named by the environment.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <string_view>

#include "opyard/base/error.h"
#include "opyard/base/warning.h"
#include "opyard/plugin/plugin.h"

namespace opyard {

std::vector<std::string> load_environment_libraries() {
  static std::atomic<bool> loaded{false};
  std::vector<std::string> failures;
  const char* const variable = secure_getenv("OPYARD_LIBRARIES");
  if (variable == nullptr || loaded.exchange(true)) return failures;
  std::string_view rest = variable;
  while (!rest.empty()) {
    const std::string path(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(path.size() + 1, rest.size()));
    if (path.empty()) continue;
    if (guarded([&] { load_library(path); }) == Status::Ok) continue;
    const std::optional<Error> error = take_error();
    failures.push_back(fmt::format("OPYARD_LIBRARIES names {}, which was not loaded: {}", path,
                                   error ? error->what() : "out of memory"));
    warn(failures.back());
  }
  return failures;
}

}  // namespace opyard
