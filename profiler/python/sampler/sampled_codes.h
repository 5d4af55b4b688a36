// sampler/sampled_codes.h: names and lines of code objects, read by copies.
//
// A code object is known by its address, and taken for another one as soon as its names, its line
// or its tables are others: then it was freed, and a new one is there. No reference is held.
//
// Threads: one at a time, without the GIL. Depends on: sampler/own_memory.h,
// opyard/profiler/names.h.
#pragma once

#include "opyard/detail/python/python.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "sampler/own_memory.h"
#include "sampler/python_layout.h"

namespace opyard::python {

inline constexpr const opyard_layout& kLayout = opyard_python_layout;

// The first bytes of an object, by offsets of sampler/python_layout.h.
template <std::size_t kSize>
struct CopyOf {
  alignas(std::uint64_t) unsigned char bytes[kSize];

  template <typename Value>
  Value at(std::size_t offset) const noexcept {
    Value value;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
  }
};
// Of a code object, without its instructions.
using CodeCopy = CopyOf<OPYARD_CODE_BYTES>;

struct SampledCode {
  // What a new code object at the same address has otherwise.
  struct Identity {
    Address name;
    Address file;
    Address lines;
    std::uint64_t size;
    int first_line;

    bool operator==(const Identity&) const = default;
  };
  struct Lines {
    std::uint32_t begin;  // in bytes of instructions
    std::int32_t line;    // 0: none
  };

  Identity identity{};
  std::uint32_t key = 0;
  bool is_hidden = false;  // of the profiler's own
  Address instructions = 0;
  std::size_t bytes = 0;  // of instructions
  std::vector<Lines> lines;

  std::int32_t line_at(std::size_t offset) const noexcept;
};

class SampledCodes {
 public:
  // `word_index` is where code objects keep the tracer's word. At most so many are remembered.
  explicit SampledCodes(Py_ssize_t word_index, std::size_t most = 20'000)
      : word_index_(word_index), most_(most) {}

  // What is there, by the copy that was just made; null if it is no code object, or cannot be
  // read. Valid until the next call. Throws std::bad_alloc.
  const SampledCode* find(Address address, const CodeCopy& copy);
  // Of all that are remembered, about.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  bool read(Address address, const CodeCopy& copy, SampledCode& code) const;
  bool is_hidden(const CodeCopy& copy) const noexcept;

  const Py_ssize_t word_index_;
  const std::size_t most_;
  std::unordered_map<Address, SampledCode> codes_;
  std::size_t bytes_ = 0;
};

}  // namespace opyard::python
