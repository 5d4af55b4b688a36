// ffi/c_kernel.cpp: calling a C function with the values of a boxed call.
//
// [Steps] 1. Each argument becomes one or two words, which may lead to structs in the call's own
// memory. 2. Out-pointers lead to places on the C stack. 3. The error of an earlier failure on this
// thread is set aside, so that one that is there afterwards is the function's. 4. The call,
// directly or through libffi; see [Registers] in ffi/c_signature.h. 5. Failures. 6. What the
// function left becomes the results, which replace the arguments.
//
// If arguments and result are numbers only, a function that was picked at registration does all
// of it, without memory of any kind: run_words().
//
// A C++ exception that the function throws passes through, as through any call.
#include "ffi/c_kernel.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/thread_error.h"
#include "ffi/c_arguments.h"
#include "ffi/c_results.h"
#include "ffi/c_words.h"
#include "ffi/call_memory.h"

namespace opyard::ffi {
namespace {

[[noreturn]] OPYARD_COLD void refuse_operator(const CKernel& kernel, const Operator& op) {
  fail(ErrorKind::BadSignature,
       fmt::format(
           "{}: the C function {} was registered for another schema and cannot serve this one; "
           "register it anew.\n  registered for: {}\n  called as:      {}",
           to_string(op.name()), kernel.shown, kernel.op.declaration(), op.declaration()));
}

// The function left an error.
[[noreturn]] OPYARD_COLD void raise_left(const CKernel& kernel) {
  const std::optional<Error> error = take_error();
  if (!error) throw std::bad_alloc();  // there was no memory to keep it
  throw error->with_context(
      fmt::format("in {}, served by the C function {}", to_string(kernel.op.name()), kernel.shown));
}

[[noreturn]] OPYARD_COLD void raise_status(const CKernel& kernel, int status) {
  const std::string who =
      fmt::format("{}: the C function {}", to_string(kernel.op.name()), kernel.shown);
  if (status > OPYARD_OK && status < OPYARD_STATUS_COUNT) {
    const auto kind = ErrorKind(status - 1);
    fail(kind,
         fmt::format("{} failed with status {} ({}) and left no text", who, status, name_of(kind)));
  }
  fail(ErrorKind::BadReturn,
       fmt::format(
           "{} returned {}, which is no status. A function of this schema returns an int: 0 for "
           "success, or 1 to {} as in opyard/ffi/c_error.h; one that returns nothing is "
           "registered with the form Void",
           who, status, OPYARD_STATUS_COUNT - 1));
}

// Numbers in, a number out, called directly. The rows have at least as many words as it takes.
template <typename R, std::size_t integers, std::size_t reals, std::size_t others>
void run_words(const Record& record, const Operator& op, DispatchKeySet, Stack& stack) {
  const CKernel& kernel = *static_cast<const CKernel*>(record.context);
  if (__builtin_expect(&op != &kernel.op, 0)) refuse_operator(kernel, op);
  const std::vector<CPart>& parts = kernel.signature->arguments;
  const std::span<const Value> values = stack.top(parts.size());
  std::array<Word, kDirectWords> words;
  for (std::size_t i = 0; i < integers; ++i) words[i].integer = 0;
  for (std::size_t i = 0; i < reals; ++i) words[kFirstReal + i].integer = 0;
  for (std::size_t i = 0; i < others; ++i) words[kFirstOther + i].integer = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    words[parts[i].word].integer = std::uint64_t(values[i].int_unchecked());  // or a real's bits
  }
  const detail::EarlierError earlier;
  const R result = call_directly<R, integers, reals, others>(kernel.function, words.data());
  if (__builtin_expect(detail::thread_has_failed, 0)) raise_left(kernel);
  stack.replace(parts.size(), Value(result));
}

Out call_through_libffi(const CKernel& kernel, Word* words, CallMemory& memory) {
  const CSignature& signature = *kernel.signature;
  const std::size_t count = signature.types.size();
  auto* const pointers = memory.take<void*>(count);
  for (std::size_t i = 0; i < count; ++i) pointers[i] = &words[signature.parameter_words[i]];
  Out returned{};
  ffi_call(const_cast<ffi_cif*>(&signature.cif),
           reinterpret_cast<void (*)()>(const_cast<void*>(kernel.function)), &returned, pointers);
  return returned;
}

// As run_words(), for more words than fit into the rows.
template <typename R>
void run_words_through_libffi(const Record& record, const Operator& op, DispatchKeySet,
                              Stack& stack) {
  const CKernel& kernel = *static_cast<const CKernel*>(record.context);
  if (__builtin_expect(&op != &kernel.op, 0)) refuse_operator(kernel, op);
  const std::span<const Value> values = stack.top(kernel.signature->arguments.size());
  CallMemory memory;
  Word* const words = memory.take<Word>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    words[i].integer = std::uint64_t(values[i].int_unchecked());  // or a real's bits
  }
  const detail::EarlierError earlier;
  const Out returned = call_through_libffi(kernel, words, memory);
  if (__builtin_expect(detail::thread_has_failed, 0)) raise_left(kernel);
  R result;
  std::memcpy(&result, &returned, sizeof(R));
  stack.replace(values.size(), Value(result));
}

template <typename R>
BoxedFunction pick_run_words(const CSignature& signature) {
  if (!signature.direct) return &run_words_through_libffi<R>;
  if (signature.others > 0) return &run_words<R, kIntegers, kReals, kOthers>;
  if (signature.integers <= 2) {
    return signature.reals <= 2 ? &run_words<R, 2, 2, 0> : &run_words<R, 2, kReals, 0>;
  }
  return signature.reals <= 2 ? &run_words<R, kIntegers, 2, 0>
                              : &run_words<R, kIntegers, kReals, 0>;
}

// What a C function is called as by what it returns.
template <CReturn returned>
struct Returned {
  using Type = int;
};
template <>
struct Returned<CReturn::Nothing> {
  using Type = void;
};
template <>
struct Returned<CReturn::Int> {
  using Type = std::int64_t;
};
template <>
struct Returned<CReturn::Float> {
  using Type = double;
};
template <>
struct Returned<CReturn::Bool> {
  using Type = bool;
};
template <>
struct Returned<CReturn::Complex> {
  struct Type {  // comes back in the registers that double _Complex does
    double real, imaginary;
    operator Value() const { return Value(std::complex<double>(real, imaginary)); }  // NOLINT
  };
};

// Step 4.
template <typename R>
[[gnu::always_inline]] inline R call_c_function(const CKernel& kernel, Word* words,
                                                CallMemory& memory) {
  if (__builtin_expect(kernel.signature->words == kFirstOther && kernel.signature->direct, 1)) {
    return call_directly<R, kIntegers, kReals, 0>(kernel.function, words);
  }
  if (kernel.signature->direct) {
    return call_directly<R, kIntegers, kReals, kOthers>(kernel.function, words);
  }
  if constexpr (std::is_void_v<R>) {
    call_through_libffi(kernel, words, memory);
  } else {
    const Out returned = call_through_libffi(kernel, words, memory);
    R result;
    std::memcpy(&result, &returned, sizeof(R));
    return result;
  }
}

// Step 1.
[[gnu::always_inline]] inline void write_arguments(const CKernel& kernel,
                                                   std::span<const Value> values, Word* words,
                                                   CallMemory& memory) {
  ArgumentWriter writer(words, memory);
  std::size_t position = 0;
  try {
    for (; position < values.size(); ++position) {
      writer.write(kernel.signature->arguments[position], values[position]);
    }
  } catch (const Error& error) {
    refuse_argument(kernel.op, position, error.kind(), error.what());
  }
}

// Anything in, a number out that is returned.
template <typename R>
[[gnu::always_inline]] inline void run_returning(const CKernel& kernel, Stack& stack, Word* words,
                                                 CallMemory& memory) {
  const std::span<const Value> values = stack.top(kernel.signature->arguments.size());
  write_arguments(kernel, values, words, memory);
  const detail::EarlierError earlier;
  const R result = call_c_function<R>(kernel, words, memory);
  if (__builtin_expect(detail::thread_has_failed, 0)) raise_left(kernel);
  stack.replace(values.size(), Value(result));
}

// Anything in, anything out through out-pointers.
template <typename R>
[[gnu::always_inline]] inline void run_leaving(const CKernel& kernel, Stack& stack, Word* words,
                                               CallMemory& memory) {
  const std::span<const Value> values = stack.top(kernel.signature->arguments.size());
  write_arguments(kernel, values, words, memory);
  OutPlaces outs(kernel, memory);
  outs.write_pointers(words);
  {
    const detail::EarlierError earlier;
    int status = OPYARD_OK;
    if constexpr (std::is_void_v<R>) {
      call_c_function<R>(kernel, words, memory);
    } else {
      status = call_c_function<R>(kernel, words, memory);
    }
    if (status == OPYARD_OK) outs.hand_over();
    if (__builtin_expect(detail::thread_has_failed, 0)) raise_left(kernel);
    if (__builtin_expect(status != OPYARD_OK, 0)) raise_status(kernel, status);
  }
  const std::size_t count = kernel.signature->results.size();
  InlineStack<4> results;
  for (std::size_t i = 0; i < count; ++i) results.push(outs.take(i, values));
  stack.drop(values.size());
  for (std::size_t i = 0; i < count; ++i) stack.push(std::move(results[i]));
}

template <CReturn returned>
void run_c_kernel(const Record& record, const Operator& op, DispatchKeySet, Stack& stack) {
  const CKernel& kernel = *static_cast<const CKernel*>(record.context);
  if (__builtin_expect(&op != &kernel.op, 0)) refuse_operator(kernel, op);
  CallMemory memory;
  std::array<Word, kFirstOther> few;
  for (Word& word : few) word.integer = 0;
  Word* words = few.data();
  if (__builtin_expect(kernel.signature->words > few.size(), 0)) {
    words = memory.take<Word>(kernel.signature->words);
    std::memset(words, 0, kernel.signature->words * sizeof(Word));
  }
  using R = typename Returned<returned>::Type;
  if constexpr (returned == CReturn::Status || returned == CReturn::Nothing) {
    run_leaving<R>(kernel, stack, words, memory);
  } else {
    run_returning<R>(kernel, stack, words, memory);
  }
}

BoxedFunction pick_run(const CSignature& signature) {
  const bool only_words = signature.only_words;
  switch (signature.returned) {
    case CReturn::Status:
      return &run_c_kernel<CReturn::Status>;
    case CReturn::Nothing:
      return &run_c_kernel<CReturn::Nothing>;
    case CReturn::Int:
      return only_words ? pick_run_words<std::int64_t>(signature) : &run_c_kernel<CReturn::Int>;
    case CReturn::Float:
      return only_words ? pick_run_words<double>(signature) : &run_c_kernel<CReturn::Float>;
    case CReturn::Bool:
      return only_words ? pick_run_words<bool>(signature) : &run_c_kernel<CReturn::Bool>;
    case CReturn::Complex:
      return &run_c_kernel<CReturn::Complex>;
    case CReturn::Sign:
      return &run_c_kernel<CReturn::Sign>;
  }
  return nullptr;
}

void run_c_kernel_released(const Record& record, const Operator& op, DispatchKeySet keys,
                           Stack& stack) {
  detail::resolve_memory_of(stack.top(op.schema().arguments.size()));
  const GilReleased released;
  static_cast<const CKernel*>(record.context)->run(record, op, keys, stack);
}

}  // namespace
}  // namespace opyard::ffi

namespace opyard {

Kernel c_kernel(const Operator& op, const void* function, std::string shown, CForm form, Gil gil) {
  if (function == nullptr) {
    fail(ErrorKind::BadArgument,
         fmt::format("{}: the C function {} has a null address", to_string(op.name()), shown));
  }
  std::unique_ptr<const ffi::CSignature> signature = ffi::make_c_signature(op, form);
  const BoxedFunction run = ffi::pick_run(*signature);
  auto kernel = std::unique_ptr<ffi::CKernel>(
      new ffi::CKernel{op, std::move(signature), function, std::move(shown), run});
  Kernel made = Kernel::with_context(
      gil == Gil::Released ? &ffi::run_c_kernel_released : run, kernel.get(),
      [](void* context) { delete static_cast<ffi::CKernel*>(context); }, gil);
  static_cast<void>(kernel.release());
  return made;
}

}  // namespace opyard
