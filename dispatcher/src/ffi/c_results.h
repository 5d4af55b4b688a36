// ffi/c_results.h: results from a C function's out-pointers.
//
// Depends on: ffi/c_kernel.h, ffi/c_words.h, ffi/call_memory.h.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include "ffi/c_kernel.h"
#include "ffi/c_words.h"
#include "ffi/call_memory.h"

namespace opyard::ffi {

// The places that out-pointers lead to. What the function handed over and no one took is given back
// at the end. Only for a function that does not return its result.
class OutPlaces {
 public:
  OutPlaces(const CKernel& kernel, CallMemory& memory);
  OutPlaces(const OutPlaces&) = delete;
  OutPlaces& operator=(const OutPlaces&) = delete;
  ~OutPlaces();

  void write_pointers(Word* words) const;
  // The function has ended well: from here on the places are looked at.
  void hand_over() noexcept { handed_over_ = true; }
  // The result at a position. Raises BadReturn for what cannot be one, and what from_dlpack() and
  // parse_device() raise, naming operator, result and function.
  Value take(std::size_t position, std::span<const Value> arguments);

 private:
  const std::vector<CPart>& parts() const { return kernel_.signature->results; }
  [[noreturn]] OPYARD_COLD void refuse(std::size_t position, std::string_view left) const;
  Value take_list(std::size_t position, const CPart& part, const Out& out) const;

  const CKernel& kernel_;
  Out* const places_;
  bool handed_over_ = false;
};

}  // namespace opyard::ffi
