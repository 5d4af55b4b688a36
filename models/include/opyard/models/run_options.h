// opyard/models/run_options.h: the options of the commands that run a model file, as a list.
//
// run_options.def has the rows. opyard-run parses by run_options() and prints its help from it;
// `python -m opyard run` makes its parser of the same list.
//
// Depends on: models/run_files.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "opyard/models/run_files.h"

namespace opyard::jit {

// What the options say.
struct RunArguments {
  RunRequest request;
  std::string profile;               // a file, or empty
  std::string kernels;               // the plugin with aten, or empty: the one that belongs to this
  std::vector<std::string> plugins;  // more, which the command loads before the model
};

struct RunOption {
  const char* name;   // without dashes
  const char* value;  // what its value is called, or "" if it takes none
  bool repeats;       // each value counts, not the last one
  bool program_only;  // opyard-run has it, Python has not
  const char* help;
};

struct RunExample {
  const char* arguments;  // behind the command
  const char* help;
};

// In the order of --help.
OPYARD_API std::span<const RunOption> run_options();
OPYARD_API std::span<const RunExample> run_examples();
// The one of this name, without dashes; null if there is none.
OPYARD_API const RunOption* find_run_option(const std::string& name);
// Stores a value of it, which is empty if it takes none. Raises BadArgument.
OPYARD_API void take_run_option(const RunOption& option, const std::string& value,
                                RunArguments& arguments);

}  // namespace opyard::jit
