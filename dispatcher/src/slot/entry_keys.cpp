// slot/entry_keys.cpp: going back to the sets that a call entered with.
#include "opyard/slot/entry_keys.h"

namespace opyard {
namespace {

// Those that others than layers put in and take out stay as they are now.
DispatchKeySet mixed(DispatchKeySet noted, DispatchKeySet now) noexcept {
  constexpr DispatchKeySet kAdded{DispatchKey::Python, DispatchKey::PythonDispatcher,
                                  DispatchKey::Observe};
  return (noted - kAdded) | (now & kAdded);
}

}  // namespace

constinit __thread const LocalKeys* detail::entry_keys __attribute__((tls_model("initial-exec"))) =
    nullptr;

UseEntryKeys::UseEntryKeys() noexcept {
  if (detail::entry_keys == nullptr) return;
  former_ = local_keys();
  const LocalKeys& noted = *detail::entry_keys;
  set_local_keys({mixed(noted.include, former_->include), mixed(noted.exclude, former_->exclude)});
}

UseEntryKeys::~UseEntryKeys() {
  if (former_) set_local_keys(*former_);
}

}  // namespace opyard
