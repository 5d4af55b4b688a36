// tracer/programs.cpp: detection of started programs, by an audit hook.
//
// [In C] A hook in Python would be called inside of PyEval_SetProfile, too, and let another thread
// end while the list of threads is walked.
//
// Each is noted in the journal as well, should this process not reach its end.
#include "tracer/programs.h"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <string_view>

#include "opyard/detail/profiler/files.h"

namespace opyard::python {
namespace {

std::atomic<std::uint64_t> started{0};
std::atomic<pid_t> became{0};  // the last process that asked for it

void note_program(const char* text) noexcept {
  try {
    if (profiler::writes_files()) profiler::write_note(text, 1);
  } catch (const std::exception&) {  // one fewer is said
  }
}

int on_audit(const char* event, PyObject*, void*) {
  std::string_view name(event);
  if (name.substr(0, 3) != "os.") return 0;
  name.remove_prefix(3);
  if (name == "system" || name == "posix_spawn") count_program();
  // Asked for once for each folder in which the program may be.
  if (name == "exec" && became.exchange(::getpid()) != ::getpid()) {
    note_program("processes that became another program by exec, which was not followed");
  }
  return 0;
}

}  // namespace

bool watch_programs() {
  static bool watches = false;
  if (watches) return true;
  watches = PySys_AddAuditHook(on_audit, nullptr) == 0;  // see [In C]
  return watches;
}

void count_program() noexcept {
  ++started;
  note_program("other programs that were started, and not followed");
}

std::uint64_t programs_started() noexcept { return started; }

}  // namespace opyard::python
