// opyard/autograd/anomaly.h: anomaly detection: call sites of functions that give NaN.
//
// In anomaly mode each function notes where its call was made, and an engine raises for a gradient
// with a NaN in it, naming the function. Slow; for looking into a fault. For the whole process.
//
// Depends on: base/export.h.
#pragma once

#include <string>

#include "opyard/base/export.h"

namespace opyard::autograd {

// Whether backward() says which call made a gradient that fails, and looks for NaN in each.
struct Anomaly {
  bool on = false;
  bool check_nan = true;
};
// Of this thread.
OPYARD_API Anomaly anomaly() noexcept;
OPYARD_API void set_anomaly(Anomaly mode) noexcept;
// Says where a call is being made, as a backtrace of the language that the caller speaks; null: of
// C++.
OPYARD_API void set_anomaly_call_site(std::string (*call_site)()) noexcept;
std::string anomaly_call_site();

}  // namespace opyard::autograd
