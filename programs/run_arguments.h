// programs/run_arguments.h: command-line arguments of opyard-run.
//
// Depends on: models/run_files.h.
#pragma once

#include <span>
#include <string>

#include "opyard/models/run_files.h"

namespace opyard {

struct RunArguments {
  jit::RunRequest request;
  std::string profile;  // a file, or empty
  std::string kernels;  // the plugin with the operators, or empty: the one that belongs to this
  bool help = false;
};

// The text of --help.
extern const char* const kRunHelp;

// Raises BadArgument, naming what is wrong.
RunArguments parse_run_arguments(std::span<const char* const> arguments);

}  // namespace opyard
