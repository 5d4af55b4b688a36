// test_planted_faults.cpp: protects the sanitizer runs themselves: a planted fault must be found.
// Suspect tools/sanitizers.py.
//
// Built only where b_sanitize is set. A sanitizer that was switched off by a wrong option, or that
// only warns, passes every other test; here it fails. Each fault is planted in a child process,
// which must end with the report.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <thread>

namespace opyard::test_planted_faults {
namespace {

#if defined(__SANITIZE_THREAD__)

// Two threads, one plain variable, no order between them. The loop gives the tool time to see both.
void race() {
  static volatile int shared = 0;
  auto add = [] {
    for (int i = 0; i < 100000; ++i) shared = shared + 1;
  };
  std::thread other(add);
  add();
  other.join();
}

TEST(PlantedFaults, ARaceIsFoundAndEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(race(), "data race");
}

#endif

#if defined(__SANITIZE_ADDRESS__)

TEST(PlantedFaults, AnOverflowOfTheHeapIsFound) {
  // Volatile, so that the compiler does not know the size: the address sanitizer must find it.
  char* volatile memory = new char[4];
  EXPECT_DEATH(static_cast<volatile char*>(memory)[4] = 1, "heap-buffer-overflow");
  delete[] memory;
}

TEST(PlantedFaults, ALeakIsFoundAtTheEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // Hidden from the optimiser, which may else leave the allocation out.
  auto leak = [] {
    void* volatile lost = std::malloc(1234);
    std::exit(lost == nullptr ? 1 : (lost = nullptr, 0));
  };
  EXPECT_DEATH(leak(), "1234 byte");
}

// The undefined-behaviour sanitizer has no macro of its own; it is built together with the other.
TEST(PlantedFaults, AnOverflowOfAnIntegerEndsTheProgram) {
  volatile int largest = std::numeric_limits<int>::max();
  EXPECT_DEATH(largest = largest + 1, "signed integer overflow");
}

#endif

}  // namespace
}  // namespace opyard::test_planted_faults
