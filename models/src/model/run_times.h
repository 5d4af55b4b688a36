// model/run_times.h: timing tables of a model's run.
//
// Depends on: models/model.h.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "opyard/models/model.h"

namespace opyard::jit {

// The time from one lap to the next, by what was done.
class Stopwatch {
 public:
  void lap(const char* what);
  std::string table() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point since_ = Clock::now();
  std::vector<std::pair<const char*, Clock::duration>> laps_;
};

// Runs the model ten times more: the fastest run as it is, and the instructions of another by
// operator. Buffers of the model are written as often.
std::string operator_times(Model& model, std::span<const opyard::Value> inputs);

}  // namespace opyard::jit
