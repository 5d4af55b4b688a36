// registry/dispatch_log.cpp: the dispatch log, a watcher that prints.
#include "opyard/registry/dispatch_log.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "opyard/base/warning.h"
#include "opyard/detail/registry/watch.h"
#include "opyard/registry/operator.h"

namespace opyard {
namespace {

class Log final : public Watcher {
 public:
  void on_enter(const KernelRun& kernel, std::span<const Value>) noexcept override {
    try {
      const std::string line =
          std::string(kernel.nesting, ' ') + (kernel.redispatch ? "[redispatch" : "[call") +
          (kernel.boxed ? "Boxed" : "") + "] op=[" + to_string(kernel.op.name()) + "], key=[" +
          to_string(key_of_slot(runtime_index(kernel.keys))) + "]\n";
      std::fputs(line.c_str(), stderr);
    } catch (const std::bad_alloc&) {
      std::fputs("[a call that no memory is left to show]\n", stderr);
    }
  }
  void on_exit(const KernelRun&) noexcept override {}
};
constinit Log log_watcher;

// The environment variable, read once, when libopyard is loaded.
void read_environment() {
  const char* const value = std::getenv("OPYARD_DISPATCH_LOG");
  if (value == nullptr || std::strcmp(value, "0") == 0) return;
  if (std::strcmp(value, "1") == 0) return set_dispatch_log(true);
  warn(std::string("ignoring invalid value for OPYARD_DISPATCH_LOG: ") + value +
       "; valid values are 0 or 1.");
}
[[maybe_unused]] const Status environment_read = guarded([] { read_environment(); });

}  // namespace

void set_dispatch_log(bool on) {
  if (on) return start_watching(log_watcher);
  stop_watching(log_watcher);
}
bool dispatch_log() { return is_watching(log_watcher); }

}  // namespace opyard
