// test/fuzz/entries.h: entry points that the fuzzers feed with bytes.
//
// An entry takes any bytes; what it finds wrong it throws, as std::logic_error. A fuzzer
// (driver.cpp, with clang) takes that for a crash, the replay of the corpora (test_fuzz_corpus.cpp,
// with any compiler) for a failed test. It returns whether the bytes were of the kind it is about;
// others are not kept to be changed further. entries.def lists them.
//
// Depends on: nothing of ours.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace opyard::fuzz {

#define OPYARD_FUZZ_ENTRY(name, what) bool name(std::string_view bytes);
#include "entries.def"
#undef OPYARD_FUZZ_ENTRY

// A defect that is planted: the fuzzers must find it within the time they are given.
bool planted(std::string_view bytes);

inline void require(bool condition, const char* sentence) {
  if (!condition) throw std::logic_error(sentence);
}

}  // namespace opyard::fuzz
