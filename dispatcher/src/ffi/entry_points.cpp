// ffi/entry_points.cpp: precompiled entry points in place of libffi closures.
//
// A handler and its context are written before anyone knows the function's address, and again when
// no one may call it any more: so calls read them without a lock. Functions are taken in turn, so
// that one which was given back stays without a meaning for as long as possible.
#include "ffi/entry_points.h"

#include <array>
#include <atomic>
#include <limits>

namespace opyard::ffi {
namespace {

constexpr std::size_t kEntryPoints = 48;  // of each kind; a bit each in a word

// What a function leaves that has no meaning any more: for a status, for a real, for the rest.
void run_gone(const void*, const Word*, Out& result) {
  detail::remember_error(ErrorKind::OperatorGone,
                         "a C function was called after the object that it belonged to had ended");
  result.widened = 0;
}
void run_gone_status(const void* context, const Word* words, Out& result) {
  run_gone(context, words, result);
  result.widened = OPYARD_ERROR_OperatorGone;
}
void run_gone_real(const void* context, const Word* words, Out& result) {
  run_gone(context, words, result);
  result.real = std::numeric_limits<double>::quiet_NaN();
}

struct Meaning {
  std::atomic<EntryHandler> handler;
  std::atomic<const void*> context;
};

// Functions that pass on the first words of each row. What is in registers that its caller does
// not use is passed on and never read; fewer of them are 1 ns less (bench row closure).
template <typename R, std::size_t integers, std::size_t reals>
struct EntryPoints {
  using Integers = std::make_index_sequence<integers>;
  using Reals = std::make_index_sequence<reals>;
  static constexpr bool kReal = std::is_same_v<R, double>;

  static inline constinit std::atomic<std::uint64_t> used{0};
  static inline constinit std::atomic<unsigned> next{0};
  static inline Meaning meanings[kEntryPoints];

  static R enter(const Meaning& meaning, const Word* words) {
    Out result;
    meaning.handler.load(std::memory_order_relaxed)(meaning.context.load(std::memory_order_relaxed),
                                                    words, result);
    if constexpr (kReal) {
      return result.real;
    } else {
      return result.widened;
    }
  }

  template <std::size_t index, std::size_t... I, std::size_t... D>
  static constexpr auto entry(std::index_sequence<I...>, std::index_sequence<D...>) {
    using Function = R (*)(decltype(void(I), std::uint64_t())..., decltype(void(D), double())...);
    return Function([](decltype(void(I), std::uint64_t())... integer,
                       decltype(void(D), double())... real) -> R {
      Word words[kFirstReal + reals];
      ((words[I].integer = integer), ...);
      ((words[kFirstReal + D].real = real), ...);
      return enter(meanings[index], words);
    });
  }

  static constexpr auto kFunctions = []<std::size_t... index>(std::index_sequence<index...>) {
    return std::array{entry<index>(Integers(), Reals())...};
  }(std::make_index_sequence<kEntryPoints>());

  static void* take(EntryHandler handler, const void* context) noexcept {
    for (std::size_t tried = 0; tried < kEntryPoints; ++tried) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed) % kEntryPoints;
      const std::uint64_t bit = std::uint64_t{1} << index;
      if ((used.fetch_or(bit, std::memory_order_acquire) & bit) != 0) continue;
      meanings[index].handler.store(handler, std::memory_order_relaxed);
      meanings[index].context.store(context, std::memory_order_relaxed);
      return reinterpret_cast<void*>(kFunctions[index]);
    }
    return nullptr;
  }

  static void give_back(void* function, EntryHandler gone) noexcept {
    for (std::size_t index = 0; index < kEntryPoints; ++index) {
      if (reinterpret_cast<void*>(kFunctions[index]) != function) continue;
      meanings[index].handler.store(gone, std::memory_order_relaxed);
      used.fetch_and(~(std::uint64_t{1} << index), std::memory_order_release);
    }
  }
};

static_assert(kEntryPoints <= 64);
static_assert(sizeof(ffi_arg) == sizeof(std::uint64_t));

using FewForReal = EntryPoints<double, 2, 2>;
using FewForInteger = EntryPoints<std::uint64_t, 2, 2>;
using ManyForReal = EntryPoints<double, kIntegers, kReals>;
using ManyForInteger = EntryPoints<std::uint64_t, kIntegers, kReals>;

}  // namespace

void* take_entry_point(const CSignature& signature, EntryHandler handler,
                       const void* context) noexcept {
  if (!signature.direct || signature.others > 0 || signature.returned == CReturn::Complex) {
    return nullptr;
  }
  void* function = nullptr;
  const bool few = signature.integers <= 2 && signature.reals <= 2;
  if (signature.returned == CReturn::Float) {
    if (few) function = FewForReal::take(handler, context);
    return function != nullptr ? function : ManyForReal::take(handler, context);
  }
  if (few) function = FewForInteger::take(handler, context);
  return function != nullptr ? function : ManyForInteger::take(handler, context);
}

void give_back_entry_point(const CSignature& signature, void* function) noexcept {
  if (signature.returned == CReturn::Float) {
    FewForReal::give_back(function, &run_gone_real);
    ManyForReal::give_back(function, &run_gone_real);
    return;
  }
  const EntryHandler gone = signature.returned == CReturn::Status ? &run_gone_status : &run_gone;
  FewForInteger::give_back(function, gone);
  ManyForInteger::give_back(function, gone);
}

}  // namespace opyard::ffi
