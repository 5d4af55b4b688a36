// opyard/pool/parallel_for.h: parallel for: a loop whose ranges run on several threads.
//
//   opyard::parallel_for(0, count, 32768, [&](std::int64_t begin, std::int64_t end) {
//     for (std::int64_t i = begin; i < end; ++i) out[i] = std::exp(in[i]);
//   });
//
// The body is called with ranges that cover [begin, end) once, each of at least `grain` iterations
// but for the last. The calling thread takes part, and all calls of the body have returned when the
// loop does. Each thread has the caller's keys, modes and gradient mode meanwhile. A loop inside of
// a body runs on its thread alone. The lock of an interpreter, if the caller holds it, is released
// while it waits for others.
//
// What a body throws comes out of the loop, the first if there are several; ranges that were not
// begun by then are left out. See pool/pool.h for the threads.
//
// Depends on: pool/pool.h.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "opyard/base/export.h"

namespace opyard {

// Does the part of the work from begin to end.
using RangeFunction = void (*)(void* context, std::int64_t begin, std::int64_t end);

// Raises BadValue for a grain below 1.
OPYARD_API void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                             RangeFunction function, void* context);

template <typename Body>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, Body&& body) {
  parallel_for(
      begin, end, grain,
      [](void* context, std::int64_t first, std::int64_t last) {
        (*static_cast<std::remove_reference_t<Body>*>(context))(first, last);
      },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace opyard
