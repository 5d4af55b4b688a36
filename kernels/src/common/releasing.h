// kernels/common/releasing.h: the size from which a kernel releases the GIL.
//
// A release and taking the GIL again cost 29 ns, twice that on a busy machine. The sizes are those
// from which that is at most 1.2 % of the cheapest loop (docs/dev/performance.md has the figures):
// 32,768 elements of float32 are negated in 2.6 us and added in 4.9; a product of 65,536
// multiplications takes 4.0 us. Smaller work may hold the GIL for as long as its elements are
// expensive: 32,767 exponentials take 0.14 ms, far less than the 5 ms after which CPython asks for
// it.
//
// Depends on: opyard/interpreter/gil.h.
#pragma once

#include <opyard/interpreter/gil.h>

#include <cstdint>
#include <utility>

namespace opyard::kernels {

constexpr std::int64_t kReleasingElements = 32768;
constexpr std::int64_t kReleasingProducts = 65536;

// From twice as many on, several threads share the work. A thread is woken in about 5 us, in which
// a quarter of so many elements are added.
constexpr std::int64_t kElementsOfAThread = 131072;
constexpr std::int64_t kProductsOfAThread = 1 << 20;

// Runs the body, which touches memory alone; with the GIL released if it is for so many elements.
template <typename Body>
void without_gil_for(std::int64_t elements, Body&& body) {
  if (elements < kReleasingElements) {
    std::forward<Body>(body)();
  } else {
    without_gil(std::forward<Body>(body));
  }
}

}  // namespace opyard::kernels
