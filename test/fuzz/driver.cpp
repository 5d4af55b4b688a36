// test/fuzz/driver.cpp: one entry as a libFuzzer program. OPYARD_FUZZ is the entry's name.
#include <cstddef>
#include <cstdint>

#include "entries.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return opyard::fuzz::OPYARD_FUZZ({reinterpret_cast<const char*>(data), size}) ? 0 : -1;
}
