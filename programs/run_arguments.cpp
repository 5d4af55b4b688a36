// programs/run_arguments.cpp: parser of opyard-run's command line.
#include "run_arguments.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/detail/text/near_names.h"

namespace opyard {
namespace {

constexpr std::size_t kTextColumn = 24, kWidth = 92;

// `  --name VALUE`, and what it does from column 24 on, in lines that end at a space.
void append_option(std::string& help, const std::string& names, std::string_view text) {
  std::string line = "  --" + names;
  line.resize(std::max(kTextColumn, line.size() + 1), ' ');
  const std::size_t room = kWidth - kTextColumn;
  while (text.size() > room) {
    const std::size_t end = text.rfind(' ', room);
    help.append(line).append(text.substr(0, end)).push_back('\n');
    text.remove_prefix(end + 1);
    line.assign(kTextColumn, ' ');
  }
  help.append(line).append(text).push_back('\n');
}

const jit::RunOption& require_option(const std::string& name) {
  const jit::RunOption* const found =
      name.starts_with("--") ? jit::find_run_option(name.substr(2)) : nullptr;
  if (found != nullptr) return *found;
  std::vector<std::string_view> known = {"help"};
  for (const jit::RunOption& option : jit::run_options()) known.emplace_back(option.name);
  const std::size_t begin = std::min(name.find_first_not_of('-'), name.size());
  const std::string_view meant = detail::near_name(std::string_view(name).substr(begin), known);
  fail(ErrorKind::BadArgument,
       "there is no option " + name +
           (meant.empty() ? "" : "; '--" + std::string(meant) + "' may be meant") + "; see --help");
}

}  // namespace

std::string run_help() {
  std::string help =
      "usage: opyard-run MODEL [options]\n"
      "\n"
      "Runs a model that torch.export.save() or opyard.jit.save() wrote, without Python.\n"
      "\n";
  for (const jit::RunOption& option : jit::run_options()) {
    const std::string value = option.value;
    append_option(help, value.empty() ? option.name : option.name + (' ' + value), option.help);
  }
  append_option(help, "help", "print this");
  help += "\nexamples:\n";
  for (const jit::RunExample& example : jit::run_examples()) {
    help.append("  opyard-run ").append(example.arguments);
    help.append("\n      ").append(example.help).push_back('\n');
  }
  return help;
}

ParsedArguments parse_run_arguments(std::span<const char* const> arguments) {
  ParsedArguments parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i];
    if (name == "--help" || name == "-h") {
      parsed.help = true;
      return parsed;
    }
    if (!name.starts_with("-")) {
      if (!parsed.request.model.empty())
        fail(ErrorKind::BadArgument, "one model is run, and " + name + " is a second one");
      parsed.request.model = name;
      continue;
    }
    const std::size_t equals = std::min(name.find('='), name.size());
    const jit::RunOption& option = require_option(name.substr(0, equals));
    const bool has_value = *option.value != '\0';
    if (equals < name.size()) {  // --input=x.npy
      if (!has_value) fail(ErrorKind::BadArgument, name.substr(0, equals) + " takes no value");
      jit::take_run_option(option, name.substr(equals + 1), parsed);
      continue;
    }
    if (has_value && ++i == arguments.size()) fail(ErrorKind::BadArgument, name + " takes a value");
    jit::take_run_option(option, has_value ? arguments[i] : "", parsed);
  }
  if (parsed.request.model.empty()) fail(ErrorKind::BadArgument, "name a model; see --help");
  return parsed;
}

}  // namespace opyard
