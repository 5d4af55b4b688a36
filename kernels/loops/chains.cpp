// loops/chains.cpp: the interpreter of chains.
//
// [Held] What is held are packets, vectors of the compiler's as wide as the build's processor has
// them. There are 8, or 16 if the processor has 32 registers for them, so that an instruction
// computes for longer than it takes to come to it; fewer for lines that are short, and for what is
// left.
//
// [Far] Long operands come from beyond the nearest caches. With 8 packets the processor looks
// further ahead, and what comes next is fetched (1 M floats, nine operations, AVX-512: 0.92 of the
// time; test/bench, fusion_1m).
#include "loops/chains.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace opyard::kernels {
namespace {

using jit::ChainInstruction;
using jit::ChainOperand;
using jit::ChainOperation;

#if defined(__AVX512F__)
constexpr std::int64_t kPacketBytes = 64;
constexpr int kMany = 16;
#elif defined(__AVX__)
constexpr std::int64_t kPacketBytes = 32;
constexpr int kMany = 8;
#else
constexpr std::int64_t kPacketBytes = 16;
constexpr int kMany = 8;
#endif
static_assert(kMany * kPacketBytes <= std::int64_t(jit::kChainBytes));

template <typename T>
struct ChainPacket;
template <>
struct ChainPacket<float> {
  using Packet = float __attribute__((vector_size(kPacketBytes)));
};
template <>
struct ChainPacket<double> {
  using Packet = double __attribute__((vector_size(kPacketBytes)));
};

// See [Far].
constexpr int kManyFar = 8;
constexpr std::int64_t kFarBytes = 256 << 10;
constexpr std::int64_t kAhead = 4096;
constexpr std::int64_t kLineBytes = 64;

// See [Held].
template <typename T, int packets, bool is_far = false>
class Chain {
 public:
  static constexpr std::int64_t kBytes = packets * kPacketBytes;

  // From `at` to `end`, in bytes: one or more times kBytes.
  static void run(const ChainInstruction* program, std::int64_t at, std::int64_t end) {
    Chain held;
    const ChainInstruction* next = program;
    for (;;) {
      const ChainInstruction& one = *next++;
      switch (one.code) {
#define OPYARD_CHAIN_CASES(name, expression)                                                   \
  case code(ChainOperation::name, ChainOperand::Moving):                                       \
    held.template compute<is_far>(one.at + at, [](Packet h, Packet x) { return expression; }); \
    break;                                                                                     \
  case code(ChainOperation::name, ChainOperand::Fixed):                                        \
    held.template compute<false>(one.at, [](Packet h, Packet x) { return expression; });       \
    break;                                                                                     \
  case code(ChainOperation::name, ChainOperand::Number):                                       \
    held.compute_number(one.at, [](Packet h, Packet x) { return expression; });                \
    break;
        OPYARD_CHAIN_CASES(Load, (static_cast<void>(h), x))
        OPYARD_CHAIN_CASES(Add, h + x)
        OPYARD_CHAIN_CASES(Subtract, h - x)
        OPYARD_CHAIN_CASES(SubtractFrom, x - h)
        OPYARD_CHAIN_CASES(Multiply, h * x)
        OPYARD_CHAIN_CASES(Divide, h / x)
        OPYARD_CHAIN_CASES(DivideInto, x / h)
#undef OPYARD_CHAIN_CASES
        case code(ChainOperation::Store, ChainOperand::Moving):
          held.store(one.at + at);
          break;
        case code(ChainOperation::Store, ChainOperand::Fixed):
          held.store(one.at);
          break;
        case jit::kChainEnd:
          at += kBytes;
          if (at == end) return;
          next = program;
          break;
        default:
          __builtin_unreachable();
      }
    }
  }

 private:
  using Packet = typename ChainPacket<T>::Packet;

  static constexpr std::uint64_t code(ChainOperation operation, ChainOperand operand) {
    return jit::chain_code(operation, operand);
  }
  template <bool fetches, typename Expression>
  [[gnu::always_inline]] void compute(const std::byte* from, Expression expression) {
    if constexpr (fetches) {
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kBytes; i += kLineBytes) __builtin_prefetch(from + i + kAhead);
    }
#pragma GCC unroll 16
    for (int i = 0; i < packets; ++i) {
      Packet x;
      std::memcpy(&x, from + i * kPacketBytes, sizeof(x));
      held_[i] = expression(held_[i], x);
    }
  }
  template <typename Expression>
  [[gnu::always_inline]] void compute_number(const std::byte* from, Expression expression) {
    T number;
    std::memcpy(&number, from, sizeof(number));
    const Packet x = number - Packet{};  // each element is the number, a zero with its sign, too
#pragma GCC unroll 16
    for (int i = 0; i < packets; ++i) held_[i] = expression(held_[i], x);
  }
  [[gnu::always_inline]] void store(std::byte* to) const {
#pragma GCC unroll 16
    for (int i = 0; i < packets; ++i) std::memcpy(to + i * kPacketBytes, &held_[i], sizeof(Packet));
  }

  Packet held_[packets]{};
};

// Fewer elements than a packet has: they are computed in memory of their own, where the first one
// fills the rest.
template <typename T>
class FewElements {
 public:
  FewElements(const ChainInstruction* program, std::int64_t begin, std::int64_t bytes)
      : program_(program), begin_(begin), bytes_(std::size_t(bytes)) {
    std::size_t i = 0;
    do {
      copied_[i] = program[i];
      if (is_moving(program[i])) copied_[i].at = copy_of(program[i].at + begin);
    } while (program[i++].code != jit::kChainEnd);
  }
  void run() {
    Chain<T, 1>::run(copied_.data(), 0, kPacketBytes);
    for (std::size_t i = 0; program_[i].code != jit::kChainEnd; ++i) {
      if (is_stored(program_[i])) std::memcpy(program_[i].at + begin_, copied_[i].at, bytes_);
    }
  }

 private:
  static constexpr auto kCopyBytes = std::size_t(kPacketBytes);

  static bool is_moving(const ChainInstruction& one) {
    return one.code != jit::kChainEnd &&
           one.code % std::uint64_t(ChainOperand::count_) == std::uint64_t(ChainOperand::Moving);
  }
  static bool is_stored(const ChainInstruction& one) {
    return one.code == jit::chain_code(ChainOperation::Store, ChainOperand::Moving);
  }
  std::byte* copy_of(std::byte* at) {
    const auto known = std::find(copied_from_.begin(), copied_from_.begin() + long(copies_), at);
    std::byte* const copy = memory_[known - copied_from_.begin()];
    if (known != copied_from_.begin() + long(copies_)) return copy;
    copied_from_[copies_++] = at;
    std::memcpy(copy, at, bytes_);
    for (std::size_t i = bytes_; i < kCopyBytes; i += sizeof(T)) {
      std::memcpy(copy + i, at, sizeof(T));
    }
    return copy;
  }

  const ChainInstruction* const program_;
  const std::int64_t begin_;  // in bytes
  const std::size_t bytes_;
  std::size_t copies_ = 0;
  std::array<ChainInstruction, jit::kMostChainInstructions> copied_;
  std::array<std::byte*, jit::kMostChainInstructions> copied_from_;
  alignas(kPacketBytes) std::byte memory_[jit::kMostChainInstructions][kCopyBytes];
};

// One step that ends with the last element, of the fewest packets that have what is left.
template <typename T, int packets>
void run_rest(const ChainInstruction* program, std::int64_t bytes, std::int64_t left) {
  if constexpr (packets > 1) {
    if (left <= Chain<T, packets / 2>::kBytes) {
      return run_rest<T, packets / 2>(program, bytes, left);
    }
  }
  using Steps = Chain<T, packets>;
  Steps::run(program, bytes - Steps::kBytes, bytes);
}

// No element twice: what is left goes through narrower steps, and then through memory of its own.
template <typename T, int packets, bool is_far = false>
void run_once(const ChainInstruction* program, std::int64_t at, std::int64_t bytes) {
  using Steps = Chain<T, packets, is_far>;
  const std::int64_t end = bytes - (bytes - at) % Steps::kBytes;
  if (end > at) Steps::run(program, at, end);
  if (end == bytes) return;
  if constexpr (packets > 1) {
    run_once<T, packets / 2>(program, end, bytes);
  } else {
    FewElements<T>(program, end, bytes - end).run();
  }
}

// By the widest steps that there are elements for. What is left is computed by one that ends where
// the elements do, so that some are computed twice.
template <typename T, int packets, bool is_far>
void run_steps(const ChainInstruction* program, std::int64_t bytes) {
  using Steps = Chain<T, packets, is_far>;
  if (bytes >= Steps::kBytes) {
    const std::int64_t left = bytes % Steps::kBytes;
    Steps::run(program, 0, bytes - left);
    if (left > 0) run_rest<T, packets>(program, bytes, left);
  } else if constexpr (packets > 1) {
    run_steps<T, packets / 2, false>(program, bytes);
  } else if (bytes > 0) {
    FewElements<T>(program, 0, bytes).run();
  }
}

template <typename T>
void run_chain(const ChainInstruction* program, std::int64_t count, bool in_place) {
  const std::int64_t bytes = count * std::int64_t(sizeof(T));
  const bool is_far = bytes > kFarBytes;
  if (in_place && is_far) return run_once<T, kManyFar, true>(program, 0, bytes);
  if (in_place) return run_once<T, kMany>(program, 0, bytes);
  if (is_far) return run_steps<T, kManyFar, true>(program, bytes);
  run_steps<T, kMany, false>(program, bytes);
}

constexpr ChainLoops kChains = {.float32 = &run_chain<float>, .float64 = &run_chain<double>};

}  // namespace
}  // namespace opyard::kernels

const opyard::kernels::ChainLoops* opyard_loop_chains_v1() { return &opyard::kernels::kChains; }
