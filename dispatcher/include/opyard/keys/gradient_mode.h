// opyard/keys/gradient_mode.h: gradient mode of a thread: on, off, or inference.
//
// Both are bits of the thread's block and no keys, so that changing them changes no dispatch: the
// tape asks for them. A thread begins with gradients on and inference off. A
// ThreadContext takes both along.
//
//   const GradientModeGuard off(GradientMode::NoGradients);       // for a scope
//
// Depends on: keys/local.h.
#pragma once

#include <cstdint>

#include "opyard/keys/local.h"

namespace opyard {

// Bits; Inference implies NoGradients.
enum class GradientMode : std::uint8_t { Gradients = 0, NoGradients = 1, Inference = 3 };

inline GradientMode gradient_mode() noexcept {
  return GradientMode(detail::local_block.gradient_mode);
}
inline void set_gradient_mode(GradientMode mode) noexcept {
  detail::local_block.gradient_mode = std::uint8_t(mode);
}
inline bool gradients_enabled() noexcept { return detail::local_block.gradient_mode == 0; }
inline bool is_inference() noexcept { return (detail::local_block.gradient_mode & 2) != 0; }

// Neither copied nor moved, and left on the thread it was made on.
class GradientModeGuard {
 public:
  explicit GradientModeGuard(GradientMode mode) noexcept : former_(gradient_mode()) {
    set_gradient_mode(mode);
  }
  GradientModeGuard(const GradientModeGuard&) = delete;
  GradientModeGuard& operator=(const GradientModeGuard&) = delete;
  ~GradientModeGuard() { set_gradient_mode(former_); }

 private:
  const GradientMode former_;
};

}  // namespace opyard
