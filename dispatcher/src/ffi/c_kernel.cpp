// ffi/c_kernel.cpp: calling a C function with the values of a boxed call.
//
// [Steps] 1. Each argument becomes one or two words, which may lead to structs in the call's own
// memory. 2. Out-pointers lead to places on the C stack. 3. The error of an earlier failure on this
// thread is set aside, so that one that is there afterwards is the function's. 4. The call, in
// registers or through libffi; see [Registers] in ffi/c_signature.h. 5. Failures. 6. What the
// function left becomes the results, which replace the arguments.
//
// Where arguments and result are numbers only, a function that was picked at registration does all
// of it, without memory of any kind: run_words().
//
// A C++ exception that the function throws passes through, as through any call.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/thread_error.h"
#include "ffi/c_signature.h"
#include "ffi/call_memory.h"
#include "tensor/dlpack_view.h"

namespace opyard::ffi {
namespace {

static_assert(std::endian::native == std::endian::little, "a bool is the first byte of its word");

union Word {
  std::uint64_t integer;
  double real;
  const void* pointer;
};
constexpr std::size_t kRegisterWords = kIntegerRegisters + kRealRegisters;

struct CKernel {
  const Operator& op;
  const std::unique_ptr<const CSignature> signature;
  const void* const function;
  const std::string shown;
};

// Sets the error of an earlier failure on this thread aside for a scope.
class EarlierError {
 public:
  EarlierError() noexcept {
    if (__builtin_expect(detail::thread_has_failed, 0)) set_aside();
  }
  EarlierError(const EarlierError&) = delete;
  EarlierError& operator=(const EarlierError&) = delete;
  ~EarlierError() {
    if (__builtin_expect(aside_.has_value(), 0)) detail::remember_error(*aside_);
  }

 private:
  OPYARD_COLD void set_aside() noexcept { aside_ = take_error(); }
  std::optional<Error> aside_;
};

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

// [Registers] in ffi/c_signature.h: the function takes some of what stands in these.
template <typename R, std::size_t integers, std::size_t reals>
OPYARD_CALLS_OTHER_TYPE [[gnu::always_inline]] inline R call_in_registers(const void* function,
                                                                          const Word* words) {
  return [&]<std::size_t... I, std::size_t... D>(std::index_sequence<I...>,
                                                 std::index_sequence<D...>) {
    using Function =
        R (*)(decltype(Word::integer, void(I), std::uint64_t())..., decltype(void(D), double())...);
    return reinterpret_cast<Function>(const_cast<void*>(function))(
        words[I].integer..., words[kIntegerRegisters + D].real...);
  }(std::make_index_sequence<integers>(), std::make_index_sequence<reals>());
}

// Numbers in, a number out. `integers` and `reals` are at least as many as the function takes.
template <typename R, std::size_t integers, std::size_t reals>
void run_words(const Record& record, const Operator& op, DispatchKeySet, Stack& stack) {
  const CKernel& kernel = *static_cast<const CKernel*>(record.context);
  if (__builtin_expect(&op != &kernel.op, 0)) refuse_operator(kernel, op);
  const std::vector<CPart>& parts = kernel.signature->arguments;
  const std::span<const Value> values = stack.top(parts.size());
  std::array<Word, kRegisterWords> words;
  for (std::size_t i = 0; i < integers; ++i) words[i].integer = 0;
  for (std::size_t i = 0; i < reals; ++i) words[kIntegerRegisters + i].integer = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    words[parts[i].word].integer = std::uint64_t(values[i].int_unchecked());
  }
  const EarlierError earlier;
  const R result = call_in_registers<R, integers, reals>(kernel.function, words.data());
  if (__builtin_expect(detail::thread_has_failed, 0)) raise_left(kernel);
  stack.replace(parts.size(), Value(result));
}

template <typename R>
BoxedFunction pick_run_words(const CSignature& signature) {
  std::size_t reals = 0;
  for (const CPart& part : signature.arguments) reals += part.element == CElement::Float;
  const std::size_t integers = signature.arguments.size() - reals;
  if (integers <= 2) return reals <= 2 ? &run_words<R, 2, 2> : &run_words<R, 2, kRealRegisters>;
  return reals <= 2 ? &run_words<R, kIntegerRegisters, 2>
                    : &run_words<R, kIntegerRegisters, kRealRegisters>;
}

// What a function returns and leaves in its out-pointers.
union Out {
  std::int64_t integer;
  double real;
  double parts[2];
  bool boolean;
  ffi_arg widened;
  char* text;
  dlpack::DLManagedTensorVersioned* tensor;
  struct {
    void* data;
    std::int64_t size;
  } list;
};

// Step 1.
class ArgumentWriter {
 public:
  ArgumentWriter(Word* words, CallMemory& memory) : words_(words), memory_(memory) {}

  // Raises an Error without the place.
  void write(const CPart& part, const Value& value) {
    if (part.list) return write_list(part, value);
    Word& word = words_[part.word];
    switch (part.element) {
      case CElement::Int:
      case CElement::Float:
      case CElement::Bool:
      case CElement::Complex:
        return write_number(part, value, word);
      case CElement::Text:
      case CElement::Device:
      case CElement::Tensor:
      case CElement::Capsule:
        word.pointer = pointer_of(part, value, part.optional);
    }
  }

 private:
  void write_number(const CPart& part, const Value& value, Word& word) {
    if (part.optional && value.is_none()) {
      word.pointer = nullptr;
    } else if (part.by_pointer) {
      auto* const bytes = memory_.take<std::byte>(size_of(part.element));
      copy_number(part.element, value, bytes);
      word.pointer = bytes;
    } else {
      word.integer = 0;
      copy_number(part.element, value, &word);
    }
  }

  static void copy_number(CElement element, const Value& value, void* to) {
    if (element == CElement::Complex) {
      const std::complex<double> number = value.to_complex();
      std::memcpy(to, &number, sizeof(number));
    } else if (element == CElement::Float) {
      const double number = value.to_double();
      std::memcpy(to, &number, sizeof(number));
    } else if (element == CElement::Bool) {
      const bool number = value.to_bool();
      std::memcpy(to, &number, sizeof(number));
    } else {
      const std::int64_t number = value.to_int();
      std::memcpy(to, &number, sizeof(number));
    }
  }

  const void* pointer_of(const CPart& part, const Value& value, bool optional) {
    if (optional && value.is_none()) return nullptr;
    switch (part.element) {
      case CElement::Text:
        return text_of(value.to_string_view());
      case CElement::Device: {
        const std::string text = to_string(value.to_device());
        auto* const copy = memory_.take<char>(text.size() + 1);
        std::memcpy(copy, text.c_str(), text.size() + 1);
        return copy;
      }
      case CElement::Capsule:
        return value.to_capsule().pointer;
      default:
        return view_of(part, value, optional);
    }
  }

  // The text of a value stands in a std::string, and so has a zero byte behind it.
  static const char* text_of(std::string_view text) {
    const std::size_t zero = text.find('\0');
    if (zero != std::string_view::npos) {
      fail(ErrorKind::BadValue,
           fmt::format(
               "the text has a zero byte at position {}, where it would end in C; take the zero "
               "byte out",
               zero));
    }
    return text.data();
  }

  const dlpack::DLTensor* view_of(const CPart& part, const Value& value, bool optional) {
    if (value.is_none() || !value.to_tensor().defined()) {
      if (optional) return nullptr;
      fail(ErrorKind::BadArgument,
           "the tensor is undefined, and a C function is given one that is there; write Tensor? in "
           "the "
           "schema to give it a null pointer");
    }
    const Tensor& tensor = value.to_tensor();
    auto* const view = memory_.take<dlpack::DLTensor>(1);
    *view = view_as_dlpack(tensor);
    if (part.written) static_cast<void>(tensor.mutable_raw());  // may it be written to? It will be
    return view;
  }

  void write_list(const CPart& part, const Value& value) {
    if (part.optional && value.is_none()) {
      words_[part.word].pointer = nullptr;
      words_[part.size_word].integer = 0;
      return;
    }
    const std::vector<Value>& items = value.to_list();
    words_[part.size_word].integer = items.size();
    if (is_number(part.element)) {
      const std::size_t size = size_of(part.element);
      auto* const numbers = memory_.take<std::byte>(items.size() * size);
      for (std::size_t i = 0; i < items.size(); ++i) {
        copy_number(part.element, items[i], numbers + i * size);
      }
      words_[part.word].pointer = numbers;
      return;
    }
    auto* const pointers = memory_.take<const void*>(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      pointers[i] = pointer_of(part, items[i], part.optional_elements);
    }
    words_[part.word].pointer = pointers;
  }

  Word* const words_;
  CallMemory& memory_;
};

Value number_from(CElement element, const void* at) {
  const auto read = [&]<typename T>(T number) {
    std::memcpy(&number, at, sizeof(T));
    return number;
  };
  switch (element) {
    case CElement::Float:
      return Value(read(0.0));
    case CElement::Bool:
      return Value(read(std::uint8_t{0}) != 0);
    case CElement::Complex:
      return Value(read(std::complex<double>()));
    default:
      return Value(read(std::int64_t{0}));
  }
}

// Steps 2 and 6: the places that out-pointers lead to, and what becomes of their contents. What the
// function handed over and nobody took is given back.
class OutPlaces {
 public:
  OutPlaces(const CKernel& kernel, CallMemory& memory)
      : kernel_(kernel), places_(memory.take<Out>(parts().size() + 1)) {
    std::memset(places_, 0, (parts().size() + 1) * sizeof(Out));
  }
  OutPlaces(const OutPlaces&) = delete;
  OutPlaces& operator=(const OutPlaces&) = delete;
  ~OutPlaces() {
    if (!handed_over_) return;
    for (std::size_t i = 0; i < parts().size(); ++i) give_back(parts()[i], places_[i]);
  }

  void write_pointers(Word* words) const {
    if (kernel_.signature->returns_result()) return;
    for (std::size_t i = 0; i < parts().size(); ++i) {
      const CPart& part = parts()[i];
      if (part.alias_of >= 0) continue;
      words[part.word].pointer =
          part.list ? static_cast<void*>(&places_[i].list.data) : &places_[i];
      if (part.list) words[part.size_word].pointer = &places_[i].list.size;
    }
  }
  // Where a returned result goes; there is always one place.
  Out& returned() { return places_[0]; }

  // From here on the places are looked at.
  void hand_over() noexcept { handed_over_ = !kernel_.signature->returns_result(); }

  Value take(std::size_t position, std::span<const Value> arguments) {
    const CPart& part = parts()[position];
    Out& out = places_[position];
    if (part.alias_of >= 0) return arguments[std::size_t(part.alias_of)];
    if (part.list) return take_list(position, part, out);
    if (is_number(part.element)) return number_from(part.element, &out);
    if (out.text == nullptr) {  // or out.tensor
      if (part.optional) return Value();
      refuse(position, "a null pointer");
    }
    try {
      if (part.element == CElement::Tensor) {
        return Value(from_dlpack(std::exchange(out.tensor, nullptr)));
      }
      if (part.element == CElement::Device) return Value(parse_device(out.text));
      return Value(std::string_view(out.text));
    } catch (const Error& error) {
      refuse_result(kernel_.op, position, error.kind(),
                    fmt::format("the C function {} left what cannot be taken: {}", kernel_.shown,
                                error.what()));
    }
  }

 private:
  const std::vector<CPart>& parts() const { return kernel_.signature->results; }

  [[noreturn]] OPYARD_COLD void refuse(std::size_t position, std::string_view left) const {
    refuse_result(kernel_.op, position, ErrorKind::BadReturn,
                  fmt::format("the C function {} left {}, but the schema says {}", kernel_.shown,
                              left, to_string(*kernel_.op.schema().results[position].type)));
  }

  Value take_list(std::size_t position, const CPart& part, const Out& out) const {
    if (out.list.size < 0) refuse(position, fmt::format("a list of length {}", out.list.size));
    if (out.list.size > 0 && out.list.data == nullptr) {
      refuse(position, fmt::format("a null pointer as a list of length {}", out.list.size));
    }
    std::vector<Value> items;
    const auto* at = static_cast<const std::byte*>(out.list.data);
    for (std::int64_t i = 0; i < out.list.size; ++i, at += size_of(part.element)) {
      items.push_back(number_from(part.element, at));
    }
    return Value::list(std::move(items));
  }

  static void give_back(const CPart& part, Out& out) noexcept {
    if (part.alias_of >= 0) return;
    if (part.list) {
      std::free(out.list.data);
    } else if (part.element == CElement::Tensor) {
      if (out.tensor != nullptr && out.tensor->deleter != nullptr) out.tensor->deleter(out.tensor);
    } else if (!is_number(part.element)) {
      std::free(out.text);
    }
  }

  const CKernel& kernel_;
  Out* const places_;
  bool handed_over_ = false;
};

// Step 4. Gives the status, where the function returns one.
int call(const CKernel& kernel, Word* words, CallMemory& memory, Out& result) {
  const CSignature& signature = *kernel.signature;
  if (!signature.in_registers) {
    const std::size_t count = signature.types.size();
    auto* const pointers = memory.take<void*>(count);
    for (std::size_t i = 0; i < count; ++i) pointers[i] = &words[signature.parameter_words[i]];
    Out returned{};
    ffi_call(const_cast<ffi_cif*>(&signature.cif),
             reinterpret_cast<void (*)()>(const_cast<void*>(kernel.function)), &returned, pointers);
    if (signature.returned == CReturn::Status) return int(returned.widened);
    if (signature.returned == CReturn::Sign) returned.integer = int(returned.widened);
    if (signature.returned != CReturn::Nothing) result = returned;
    return OPYARD_OK;
  }
  const auto run = [&]<typename R>(R) {
    return call_in_registers<R, kIntegerRegisters, kRealRegisters>(kernel.function, words);
  };
  switch (signature.returned) {
    case CReturn::Status:
      return run(0);
    case CReturn::Nothing:
      call_in_registers<void, kIntegerRegisters, kRealRegisters>(kernel.function, words);
      break;
    case CReturn::Int:
      result.integer = run(std::int64_t{0});
      break;
    case CReturn::Float:
      result.real = run(0.0);
      break;
    case CReturn::Bool:
      result.boolean = run(false);
      break;
    case CReturn::Complex: {
      struct Complex {
        double parts[2];
      };
      const Complex returned = run(Complex{});
      std::memcpy(result.parts, returned.parts, sizeof(returned.parts));
      break;
    }
    case CReturn::Sign:
      result.integer = run(0);
      break;
  }
  return OPYARD_OK;
}

void run(const Record& record, const Operator& op, DispatchKeySet, Stack& stack) {
  const CKernel& kernel = *static_cast<const CKernel*>(record.context);
  if (__builtin_expect(&op != &kernel.op, 0)) refuse_operator(kernel, op);
  const CSignature& signature = *kernel.signature;
  const std::span<const Value> values = stack.top(signature.arguments.size());

  CallMemory memory;
  Word* const words = memory.take<Word>(signature.words);
  std::memset(words, 0, signature.words * sizeof(Word));
  ArgumentWriter writer(words, memory);
  std::size_t position = 0;
  try {
    for (; position < values.size(); ++position) {
      writer.write(signature.arguments[position], values[position]);
    }
  } catch (const Error& error) {
    refuse_argument(op, position, error.kind(), error.what());
  }
  OutPlaces outs(kernel, memory);
  outs.write_pointers(words);
  {
    const EarlierError earlier;
    const int status = call(kernel, words, memory, outs.returned());
    if (status == OPYARD_OK) outs.hand_over();
    if (__builtin_expect(detail::thread_has_failed, 0)) raise_left(kernel);
    if (__builtin_expect(status != OPYARD_OK, 0)) raise_status(kernel, status);
  }
  InlineStack<4> results;
  for (std::size_t i = 0; i < signature.results.size(); ++i) results.push(outs.take(i, values));
  stack.drop(values.size());
  for (std::size_t i = 0; i < signature.results.size(); ++i) stack.push(std::move(results[i]));
}

BoxedFunction pick_run(const CSignature& signature) {
  if (!signature.only_words || !signature.in_registers) return &run;
  switch (signature.returned) {
    case CReturn::Int:
      return pick_run_words<std::int64_t>(signature);
    case CReturn::Float:
      return pick_run_words<double>(signature);
    case CReturn::Bool:
      return pick_run_words<bool>(signature);
    default:
      return &run;
  }
}

}  // namespace
}  // namespace opyard::ffi

namespace opyard {

Kernel c_kernel(const Operator& op, const void* function, std::string shown, CForm form) {
  if (function == nullptr) {
    fail(ErrorKind::BadArgument,
         fmt::format("{}: the C function {} has a null address", to_string(op.name()), shown));
  }
  auto kernel = std::unique_ptr<ffi::CKernel>(
      new ffi::CKernel{op, ffi::make_c_signature(op, form), function, std::move(shown)});
  Kernel made =
      Kernel::with_context(ffi::pick_run(*kernel->signature), kernel.get(),
                           [](void* context) { delete static_cast<ffi::CKernel*>(context); });
  static_cast<void>(kernel.release());
  return made;
}

}  // namespace opyard
