// code/saved_state.h: the format of saved states, once for writer and reader.
//
//   "OPYSTATE"  version  code  stage  position  registers          all numbers little-endian
//
//   version    u32
//   code       u64     of the code's instructions and its graph's text: see fingerprint()
//   stage      u32
//   position   u32     an instruction, or kBetweenStages
//   registers  u32     how many hold something, then for each its number and its value
//
// A value begins with its kind, a byte. Numbers follow as they are, texts with their length. Lists,
// tuples, dicts, tensors and storages are written where they come first; later ones are kSeen and
// their number in order of appearance. So two registers that share a list or memory share it
// afterwards.
//
// Depends on: code/code_data.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "code/code_data.h"

namespace opyard::jit::saved {

inline constexpr std::string_view kMagic = "OPYSTATE";
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kBetweenStages = ~std::uint32_t{0};
inline constexpr std::uint8_t kSeen = 255;
inline constexpr std::uint8_t kUndefinedTensor = 254;
inline constexpr std::size_t kMostNesting = 256;

// Two codes of one fingerprint have the same instructions and registers. It protects against
// mistakes: what is read is checked all the same.
std::uint64_t fingerprint(const Code& code);

}  // namespace opyard::jit::saved
