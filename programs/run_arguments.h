// programs/run_arguments.h: command-line arguments of opyard-run.
//
// Depends on: models/run_options.h.
#pragma once

#include <span>
#include <string>

#include "opyard/models/run_options.h"

namespace opyard {

struct ParsedArguments : jit::RunArguments {
  bool help = false;
};

// The text of --help.
std::string run_help();

// Raises BadArgument, naming what is wrong.
ParsedArguments parse_run_arguments(std::span<const char* const> arguments);

}  // namespace opyard
