// ffi/handed_results.h: results of an operator in the out-pointers of a C caller.
//
// Depends on: ffi/c_callee.h.
#pragma once

#include <utility>

#include "ffi/c_callee.h"
#include "opyard/tensor/dlpack.h"

namespace opyard::ffi {

// One result. All that can fail happens before anything is written; what was made and is not
// written is given back.
class HandedResult {
 public:
  // `words` has an address for each parameter. Raises BadArgument for a null out-pointer.
  HandedResult(const Callee& callee, std::size_t position, void** words);
  HandedResult(HandedResult&& other) noexcept;
  HandedResult& operator=(HandedResult&&) = delete;
  ~HandedResult();

  // Makes what will be handed over. Raises an Error that does not say which result.
  void prepare(Value value);
  void write() noexcept;

 private:
  void prepare_list(const std::vector<Value>& items);
  void prepare_text(std::string_view text);
  void take_memory(std::size_t bytes);

  const CPart& part_;
  void* place_ = nullptr;
  std::int64_t* size_place_ = nullptr;
  std::int64_t size_ = 0;
  double number_[2] = {};   // its bytes
  void* memory_ = nullptr;  // from malloc()
  dlpack::DLManagedTensorVersioned* tensor_ = nullptr;
};

}  // namespace opyard::ffi
