// test/cpp/counting_new.h: counts what the calling thread takes from operator new and from
// opyard::allocate() and what it gives back, and lets the n-th request fail.
//
// It replaces operator new of the whole program, libopyard and libstdc++ included, so that one
// source file of a program may include it. std::malloc itself is not seen.
//
// Depends on: opyard/base/alloc.h.
#pragma once

#include <malloc.h>

#include <cstdlib>
#include <new>

#include "opyard/base/alloc.h"

namespace opyard::counting {

inline constinit thread_local long requests = 0;
// Taken and not given back on this thread; a block counts with what malloc() made of it.
inline constinit thread_local long live = 0;
inline constinit thread_local long live_bytes = 0;
inline constinit thread_local long remaining = -1;  // until one fails; -1 is never
inline constinit thread_local bool refused = false;
inline constinit thread_local bool only_one = false;

inline void* request(std::size_t bytes, std::size_t alignment) {
  ++requests;
  if (remaining == 0) {
    refused = true;
    if (only_one) remaining = -1;
    return nullptr;
  }
  if (remaining > 0) --remaining;
  if (bytes == 0) bytes = 1;
  void* const memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(bytes)
          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  ++live;
  live_bytes += long(malloc_usable_size(memory));
  return memory;
}
inline void give_back(void* memory, std::size_t, std::size_t) {
  if (memory == nullptr) return;
  --live;
  live_bytes -= long(malloc_usable_size(memory));
  std::free(memory);
}

inline constexpr Allocator kAllocator{request, give_back};

// Puts the counting allocator in for good, before main().
inline const Allocator* const former_allocator = set_allocator(&kAllocator);

// How many requests `body` makes.
template <typename Body>
long requests_of(Body&& body) {
  const long before = requests;
  body();
  return requests - before;
}

// Lets all requests fail from the n-th on (from 0) while it lives; with `once`, only that one.
class Failure {
 public:
  Failure(long n, bool once) {
    refused = false;
    remaining = n;
    only_one = once;
  }
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  ~Failure() { remaining = -1; }
};

}  // namespace opyard::counting

// Not inline: the compiler would see malloc() behind one and free() behind the other, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* memory = opyard::counting::request(bytes, 0);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = opyard::counting::request(bytes, std::size_t(alignment));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  opyard::counting::give_back(memory, 0, 0);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  opyard::counting::give_back(memory, 0, 0);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  opyard::counting::give_back(memory, 0, 0);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  opyard::counting::give_back(memory, 0, 0);
}
