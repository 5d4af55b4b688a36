// xla/call_site.h: CallSite: a call of an operator in a program of XLA, ready to run.
//
// The program has the call as attributes, which are texts; a program may come out of a file.
//
//   declaration   "demo::scale(Tensor x, float by=2.0, *, Tensor? bias=None) -> Tensor"
//   arguments     a letter for each argument, lists in brackets: "t--", "[tt-]"
//                   t  the next array that the program hands in
//                   w  the same, and the operator writes it: a result of the call holds its elements
//                   -  no array; the value is in `given`
//   given         what is no array, as a list of arguments: "float by=3.0, Tensor? bias=None"
//
// The results of the call are first what it writes, in the order of the arguments, then what the
// operator gives and that is no argument, lists spread out.
//
// They are read once, when XLA loads the program. A run allocates nothing for what it hands over:
// arrays are lent (tensor/loan.h), and the loans are kept from run to run; if several threads run
// the same call at once, all but one make loans of their own.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "opyard/registry/operator.h"
#include "opyard/tensor/loan.h"
#include "opyard/value/stack.h"
#include "xla/abi.h"
#include "xla/publications.h"

namespace opyard::xla {

// The attributes of a call.
struct CallText {
  std::string_view declaration;
  std::string_view arguments;
  std::string_view given;
};

class CallSite {
 public:
  // Raises NotFound for an operator that is not published, BadValue for texts that do not fit it.
  explicit CallSite(const CallText& text);
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;
  ~CallSite();

  // Any thread. Raises what the operator raises, OperatorGone if it is published no more.
  void run(const Buffers& arguments, const Buffers& results) const;

 private:
  enum class Part : char { Array = 't', Written = 'w', Constant = '-', List = '[' };
  struct Slot {
    Part part = Part::Constant;
    Value value = {};              // of a Constant
    std::vector<Slot> items = {};  // of a List
  };
  class Run;
  struct Loans;

  std::vector<Slot> read(std::string_view& text, char end, std::size_t depth);
  void check_results(const Buffers& results, std::size_t expected) const;
  std::unique_ptr<Loans> take_loans() const;
  void keep(std::unique_ptr<Loans> loans) const noexcept;

  const Publication* publication_;
  const Operator* op_;
  std::vector<Slot> slots_;   // one an argument
  std::size_t arrays_ = 0;    // that the program hands in
  std::size_t written_ = 0;   // of them
  std::vector<bool> is_new_;  // for each result of the schema, whether it is no argument
  mutable std::atomic<Loans*> spare_{nullptr};
};

}  // namespace opyard::xla
