// thread/key_snapshot.cpp: restoring a call's key snapshot.
#include "opyard/detail/thread/key_snapshot.h"

namespace opyard {
namespace {

// Those that others than layers put in and take out stay as they are now.
DispatchKeySet mixed(DispatchKeySet noted, DispatchKeySet now) noexcept {
  constexpr DispatchKeySet kAdded{DispatchKey::Python, DispatchKey::PythonDispatcher,
                                  DispatchKey::Observe};
  return (noted - kAdded) | (now & kAdded);
}

}  // namespace

constinit __thread const LocalKeys* detail::key_snapshot
    __attribute__((tls_model("initial-exec"))) = nullptr;

UseKeySnapshot::UseKeySnapshot() noexcept {
  if (detail::key_snapshot == nullptr) return;
  former_ = local_keys();
  const LocalKeys& noted = *detail::key_snapshot;
  set_local_keys({mixed(noted.include, former_->include), mixed(noted.exclude, former_->exclude)});
}

UseKeySnapshot::~UseKeySnapshot() {
  if (former_) set_local_keys(*former_);
}

}  // namespace opyard
