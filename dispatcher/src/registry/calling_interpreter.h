// registry/calling_interpreter.h: the interpreter that a table is computed for.
//
// Some records serve one interpreter alone (Record::interpreter). A caller sees those of its own
// and those that serve all:
//
//   CallingInterpreter::of(interpreter)   calls of this interpreter; of null: of one that has no record of its own
//   CallingInterpreter::outside()         a thread that is in no interpreter: sees those of all that live
//   CallingInterpreter::after()           no interpreter is left: sees those of the ended ones, which then say so
//
// Depends on: registry/record.h, interpreter/interpreter.h.
#pragma once

#include "opyard/detail/registry/record.h"
#include "opyard/interpreter/interpreter.h"

namespace opyard {

class CallingInterpreter {
 public:
  static CallingInterpreter of(const Interpreter* interpreter) noexcept {
    return {Who::One, interpreter};
  }
  static CallingInterpreter outside() noexcept { return {Who::Outside, nullptr}; }
  static CallingInterpreter after() noexcept { return {Who::After, nullptr}; }

  bool sees(const Record& record) const noexcept {
    if (record.interpreter == nullptr || who_ == Who::After) return true;
    return who_ == Who::One ? record.interpreter == interpreter_ : record.interpreter->armed();
  }

 private:
  enum class Who { One, Outside, After };
  CallingInterpreter(Who who, const Interpreter* interpreter) noexcept
      : who_(who), interpreter_(interpreter) {}

  Who who_;
  const Interpreter* interpreter_;
};

}  // namespace opyard
