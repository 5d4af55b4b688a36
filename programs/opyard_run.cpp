// programs/opyard_run.cpp: `opyard-run`, a model in a file on arrays in files, without Python.
//
// Its status is 0, 1 if an output is not what was expected, and 2 for an error, which it prints.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opyard/base/error.h"
#include "opyard/plugin/plugin.h"
#include "opyard/profiler/chrome.h"
#include "opyard/profiler/session.h"
#include "run_arguments.h"

namespace opyard {
namespace {

// The plugin beside this program: OPYARD_KERNELS lists places from its folder, by colons.
std::string kernels_beside() {
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string_view places = OPYARD_KERNELS;
  while (!places.empty()) {
    const std::size_t end = std::min(places.find(':'), places.size());
    const std::filesystem::path path = folder / places.substr(0, end);
    if (std::filesystem::exists(path)) return std::filesystem::canonical(path);
    places.remove_prefix(std::min(end + 1, places.size()));
  }
  fail(ErrorKind::NotFound, "opyard_kernels.so is not beside this program; name it by --kernels");
}

// What begins, on a terminal.
void tell(const std::string& step) {
  if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "%s\n", step.c_str());
}

bool write_chrome_file(std::FILE* file, profiler::Session& session) {
  bool is_written = true;
  profiler::ExportOptions options;
  options.process_name = "opyard-run";
  options.process_id = getpid();
  profiler::write_chrome(profiler::replay(session.end()), options, [&](std::string_view text) {
    is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && is_written;
  });
  return is_written;
}

// Beside its place until it is whole. What is no regular file, such as a pipe, is written itself.
void write_profile(const std::string& path, profiler::Session& session) {
  const bool is_special = std::filesystem::exists(path) && !std::filesystem::is_regular_file(path);
  const std::string beside = is_special ? path : path + "." + std::to_string(getpid()) + ".part";
  std::FILE* const file = std::fopen(beside.c_str(), "wb");
  if (file == nullptr) fail(ErrorKind::BadValue, path + " cannot be written");
  bool is_written = write_chrome_file(file, session);
  is_written = std::fclose(file) == 0 && is_written;
  if (is_special) {
    if (!is_written) fail(ErrorKind::BadValue, path + " cannot be written whole");
  } else if (!is_written || std::rename(beside.c_str(), path.c_str()) != 0) {
    std::remove(beside.c_str());
    fail(ErrorKind::BadValue, path + " cannot be written whole");
  }
}

int run(std::span<const char* const> given) {
  ParsedArguments arguments = parse_run_arguments(given);
  if (arguments.help) {
    std::fputs(run_help().c_str(), stdout);
    return 0;
  }
  load_library(arguments.kernels.empty() ? kernels_beside() : arguments.kernels);
  for (const std::string& plugin : arguments.plugins) load_library(plugin);
  arguments.request.progress = &tell;
  std::unique_ptr<profiler::Session> session;
  if (!arguments.profile.empty())
    session = std::make_unique<profiler::Session>(profiler::SessionOptions{});
  const jit::RunReport report = [&] {
    try {
      return jit::run_files(arguments.request);
    } catch (...) {
      if (session != nullptr) session->end();
      throw;
    }
  }();
  if (session != nullptr) write_profile(arguments.profile, *session);
  std::fputs((report.text + report.times).c_str(), stdout);
  return report.as_expected ? 0 : 1;
}

}  // namespace
}  // namespace opyard

int main(int count, char** arguments) {
  try {
    return opyard::run(std::vector<const char*>(arguments + 1, arguments + count));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "opyard-run: %s\n", error.what());
    return 2;
  }
}
