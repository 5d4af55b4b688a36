// model/run_options.cpp: parsing of option values.
#include "opyard/models/run_options.h"

#include <charconv>
#include <cmath>
#include <type_traits>
#include <vector>

#include "opyard/base/error.h"

namespace opyard::jit {
namespace {

void take_value(const char*, bool& flag, const std::string&) { flag = true; }
void take_value(const char*, std::string& text, const std::string& value) { text = value; }
void take_value(const char*, std::vector<std::string>& list, const std::string& value) {
  list.push_back(value);
}
void take_value(const char* name, double& number, const std::string& value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !(number >= 0) ||
      !std::isfinite(number)) {
    fail(ErrorKind::BadArgument,
         std::string("--") + name + " takes a number that is not negative, not " + value);
  }
}

template <typename Member>
constexpr bool is_list = std::is_same_v<std::remove_cvref_t<Member>, std::vector<std::string>>;

enum class Commands { Both, Program };

constexpr RunOption kOptions[] = {
#define OPYARD_RUN_OPTION(name, member, value, commands, help) \
  {#name, value, is_list<decltype(RunArguments().member)>,     \
   Commands::commands == Commands::Program, help},
#define OPYARD_RUN_EXAMPLE(...)
#include "opyard/detail/models/run_options.def"
#undef OPYARD_RUN_OPTION
#undef OPYARD_RUN_EXAMPLE
};

constexpr RunExample kExamples[] = {
#define OPYARD_RUN_OPTION(...)
#define OPYARD_RUN_EXAMPLE(arguments, help) {arguments, help},
#include "opyard/detail/models/run_options.def"
#undef OPYARD_RUN_OPTION
#undef OPYARD_RUN_EXAMPLE
};

// Of each option, in the same order.
using Take = void (*)(RunArguments& arguments, const std::string& value);
constexpr Take kTakes[] = {
#define OPYARD_RUN_OPTION(name, member, ...)              \
  [](RunArguments& arguments, const std::string& value) { \
    take_value(#name, arguments.member, value);           \
  },
#define OPYARD_RUN_EXAMPLE(...)
#include "opyard/detail/models/run_options.def"
#undef OPYARD_RUN_OPTION
#undef OPYARD_RUN_EXAMPLE
};

}  // namespace

std::span<const RunOption> run_options() { return kOptions; }
std::span<const RunExample> run_examples() { return kExamples; }

const RunOption* find_run_option(const std::string& name) {
  for (const RunOption& each : kOptions) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

void take_run_option(const RunOption& option, const std::string& value, RunArguments& arguments) {
  kTakes[&option - kOptions](arguments, value);
}

}  // namespace opyard::jit
