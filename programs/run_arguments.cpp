// programs/run_arguments.cpp: options may come in any order, several of one kind one by one.
#include "run_arguments.h"

#include <charconv>
#include <cmath>

#include "opyard/base/error.h"

namespace opyard {
namespace {

double tolerance_of(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0) ||
      !std::isfinite(number)) {
    fail(ErrorKind::BadArgument, "--tolerance takes a number that is not negative, not " + text);
  }
  return number;
}

}  // namespace

const char* const kRunHelp =
    "usage: opyard-run MODEL [options]\n"
    "\n"
    "Runs a model that torch.export.save() or opyard.jit.save() wrote, without Python.\n"
    "\n"
    "  --input FILE.npy      an input, in the model's order; give it once for each. Without\n"
    "                        any, those that it was exported with are taken\n"
    "  --output FILE.npy     where an output goes, in the model's order\n"
    "  --check FILE.npy      compare an output with this file, in the same order; the status is 1\n"
    "                        if one differs\n"
    "  --tolerance NUMBER    how far an element may be off, absolutely and relatively (1e-5)\n"
    "  --time                print where the time went\n"
    "  --profile FILE.json   write a timeline for https://ui.perfetto.dev\n"
    "  --allow NAME          an operator that is not of aten and that the model may call\n"
    "  --kernels FILE.so     the plugin with the operators\n"
    "  --help                print this\n";

RunArguments parse_run_arguments(std::span<const char* const> arguments) {
  RunArguments parsed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i];
    if (name == "--help" || name == "-h") {
      parsed.help = true;
      return parsed;
    }
    if (name == "--time") {
      parsed.request.times = true;
      continue;
    }
    if (!name.starts_with("-")) {
      if (!parsed.request.model.empty())
        fail(ErrorKind::BadArgument, "one model is run, and " + name + " is a second one");
      parsed.request.model = name;
      continue;
    }
    std::vector<std::string>* const list = name == "--input"    ? &parsed.request.inputs
                                           : name == "--output" ? &parsed.request.outputs
                                           : name == "--check"  ? &parsed.request.expected
                                           : name == "--allow"  ? &parsed.request.options.allowed
                                                                : nullptr;
    const bool is_known =
        list != nullptr || name == "--tolerance" || name == "--profile" || name == "--kernels";
    if (!is_known) fail(ErrorKind::BadArgument, "there is no option " + name + "; see --help");
    if (++i == arguments.size()) fail(ErrorKind::BadArgument, name + " takes a value");
    const std::string value = arguments[i];
    if (list != nullptr) list->push_back(value);
    if (name == "--tolerance") parsed.request.tolerance = tolerance_of(value);
    if (name == "--profile") parsed.profile = value;
    if (name == "--kernels") parsed.kernels = value;
  }
  if (parsed.request.model.empty()) fail(ErrorKind::BadArgument, "name a model; see --help");
  return parsed;
}

}  // namespace opyard
