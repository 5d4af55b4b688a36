// test/cpp/on_threads.h: the same work on several threads at once, and its number of rounds.
//
//   on_threads(4, [&](int thread) { for (int i = 0; i < rounds(1000); ++i) ...; });
#pragma once

#include <thread>
#include <vector>

namespace opyard {

// A tenth under a sanitizer, which is slow.
constexpr int rounds(int usual) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return usual / 10;
#else
  return usual;
#endif
}

// Returns when all have ended.
template <typename Body>
void on_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < count; ++thread) {
    threads.emplace_back([&body, thread] { body(thread); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace opyard
