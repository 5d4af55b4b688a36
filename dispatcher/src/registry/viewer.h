// registry/viewer.h: whose calls a table is made for.
//
// Some records serve one interpreter alone (Record::interpreter). A viewer sees those of its own and
// those that serve all:
//
//   Viewer::of(interpreter)   calls of this interpreter; of null: of one that has no record of its own
//   Viewer::outside()         a thread that is in no interpreter: sees those of all that live
//   Viewer::after()           no interpreter is left: sees those of the ended ones, which then say so
//
// Depends on: registry/record.h, slot/interpreter.h.
#pragma once

#include "opyard/registry/record.h"
#include "opyard/slot/interpreter.h"

namespace opyard {

class Viewer {
 public:
  static Viewer of(const Interpreter* interpreter) noexcept { return {Who::One, interpreter}; }
  static Viewer outside() noexcept { return {Who::Outside, nullptr}; }
  static Viewer after() noexcept { return {Who::After, nullptr}; }

  bool sees(const Record& record) const noexcept {
    if (record.interpreter == nullptr || who_ == Who::After) return true;
    return who_ == Who::One ? record.interpreter == interpreter_ : record.interpreter->armed();
  }

 private:
  enum class Who { One, Outside, After };
  Viewer(Who who, const Interpreter* interpreter) noexcept : who_(who), interpreter_(interpreter) {}

  Who who_;
  const Interpreter* interpreter_;
};

}  // namespace opyard
