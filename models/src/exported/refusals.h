// exported/refusals.h: unsupported parts of an exported program, gathered into one error.
//
// What needs the result of a node that was refused is not converted; its operator is looked up all
// the same, so that the list is whole.
//
// Depends on: files/json.h, jit/source_range.h.
#pragma once

#include <map>
#include <set>
#include <string>

#include "files/json.h"
#include "opyard/jit/source_range.h"

namespace opyard::jit {

class Refusals {
 public:
  explicit Refusals(std::string what) : what_(std::move(what)) {}

  // Of one target and reason the first place is noted, and how often it came.
  void add(const std::string& target, const SourceRange& place, const std::string& reason);
  // The names of what this node would give are refused, too.
  void refuse_outputs(const Json& node);
  bool has_refused_input(const Json& node) const;
  bool empty() const noexcept { return known_.empty(); }
  // Raises Unsupported with the list, unless it is empty.
  void raise_if_any() const;

 private:
  struct Refusal {
    std::string target;
    std::string reason;
    std::string place;
    std::size_t count = 0;
  };
  const std::string what_;
  std::map<std::string, Refusal> known_;
  std::set<std::string> names_;  // of values that are not there
};

}  // namespace opyard::jit
