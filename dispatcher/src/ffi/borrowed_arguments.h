// ffi/borrowed_arguments.h: arguments borrowed from a C caller, as values.
//
// Depends on: ffi/c_callee.h.
#pragma once

#include <vector>

#include "ffi/c_callee.h"

namespace opyard::ffi {

// The arguments of one call.
class BorrowedArguments {
 public:
  explicit BorrowedArguments(const Callee& callee) : callee_(callee) {}

  // `words` has an address for each parameter. Raises BadArgument, and what parse_device() and
  // from_dlpack() raise, naming operator and argument.
  void push_all(void** words, Stack& stack);

  // When nothing of the call is left but its results: raises BadReturn if one of the tensors is
  // still held. Another thread may hold what it was given, too.
  void check_given_back() const;

 private:
  Value value_of(const CPart& part, void** words);
  // Of what is no number.
  Value value_at(const CPart& part, const void* pointer, bool optional);
  Value list_of(const CPart& part, const void* data, std::int64_t size);

  struct Borrowed {
    CountedPtr<Storage> storage;
    std::size_t position;
  };

  const Callee& callee_;
  std::size_t position_ = 0;
  std::vector<Borrowed> borrowed_;
};

}  // namespace opyard::ffi
