// profiler/profile/waits.cpp: kinds of waits, by the name of the function that waits.
#include "opyard/profiler/waits.h"

#include <algorithm>
#include <iterator>

#include "opyard/profiler/names.h"

namespace opyard::profiler {
namespace {

struct Waiter {
  std::string_view name;  // whole, or ending in a dot for all of a type or a module
  std::string_view what;
};

constexpr Waiter kWaiters[] = {
    {"time.sleep", "sleep"},
    {"_thread.lock.acquire", "lock"},
    {"_thread.lock.acquire_lock", "lock"},
    {"_thread.lock.__enter__", "lock"},
    {"_thread.RLock.acquire", "lock"},
    {"_thread.RLock.__enter__", "lock"},
    {"_thread._ThreadHandle.join", "lock"},
    {"_multiprocessing.SemLock.acquire", "lock"},
    {"_multiprocessing.SemLock.__enter__", "lock"},
    {"_queue.SimpleQueue.get", "lock"},
    {"fcntl.flock", "lock"},
    {"fcntl.lockf", "lock"},
    {"select.", "I/O"},
    {"_socket.", "I/O"},
    {"_ssl._SSLSocket.", "I/O"},
    {"_io.FileIO.", "I/O"},
    {"_io.BufferedReader.", "I/O"},
    {"_io.BufferedWriter.", "I/O"},
    {"_io.BufferedRandom.", "I/O"},
    {"_io.TextIOWrapper.", "I/O"},
    {"_io.open", "I/O"},
    {"io.open", "I/O"},
    {"builtins.input", "I/O"},
    {"builtins.print", "I/O"},
    {"posix.open", "I/O"},
    {"posix.read", "I/O"},
    {"posix.readv", "I/O"},
    {"posix.pread", "I/O"},
    {"posix.write", "I/O"},
    {"posix.writev", "I/O"},
    {"posix.pwrite", "I/O"},
    {"posix.sendfile", "I/O"},
    {"posix.fsync", "I/O"},
    {"posix.fdatasync", "I/O"},
    {"posix.wait", "process"},
    {"posix.wait3", "process"},
    {"posix.wait4", "process"},
    {"posix.waitid", "process"},
    {"posix.waitpid", "process"},
    {"posix.system", "process"},
    {"_signal.pause", "signal"},
    {"_signal.sigwait", "signal"},
    {"_signal.sigwaitinfo", "signal"},
    {"_signal.sigtimedwait", "signal"},
};

}  // namespace

std::string_view waited_for(const AverageRow& row) {
  const SpanKind kind = row.kind;
  if (kind == SpanKind::GilWait) return "GIL";
  if (kind == SpanKind::Python || kind == SpanKind::Module || kind == SpanKind::Optimizer) {
    const bool holds_others = row.hidden_python_calls + row.hidden_other_calls != 0;
    return holds_others ? "" : "GIL or processor";
  }
  if (kind != SpanKind::C && kind != SpanKind::Callable) return "";
  const std::string_view text = name_of(row.key).text;
  const auto* const found =
      std::find_if(std::begin(kWaiters), std::end(kWaiters), [&](const Waiter& waiter) {
        return waiter.name.ends_with('.') ? text.starts_with(waiter.name) : text == waiter.name;
      });
  return found == std::end(kWaiters) ? std::string_view("") : found->what;
}

}  // namespace opyard::profiler
