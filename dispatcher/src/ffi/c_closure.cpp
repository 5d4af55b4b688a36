// ffi/c_closure.cpp: operators as C functions.
//
// [Ways in] A closure of libffi is a few instructions in executable memory that lead to a function
// below with pointers to the arguments and to the place of the return value. Where all arguments
// come in registers, an entry point that is compiled in does the same for less; see
// ffi/entry_points.h.
//
// [Steps] 1. The arguments
// become values on a stack. 2. The operator is called. 3. Its results go into out-pointers or the
// return value: all of them or, where anything fails, none. 4. What was lent is looked at: nobody
// may hold it any more. 5. A failure becomes a status, or a NaN, 0 or false; the error is kept for
// the thread. Nothing is thrown past the C frames that called, but for the unwinding of a thread
// that is being ended.
//
// The way in belongs to its CFunction; calls only read it, so they need no lock.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "base/readable.h"
#include "ffi/c_signature.h"
#include "ffi/c_words.h"
#include "ffi/entry_points.h"
#include "tensor/dlpack_view.h"

namespace opyard {

namespace ffi {

// What a closure leads to.
struct Callee {
  const Operator& op;
  const CSignature& signature;
};

}  // namespace ffi

// Written while it is made, then only read.
struct CFunction::State {
  const Operator& op;
  const std::unique_ptr<const ffi::CSignature> signature;
  const ffi::Callee callee;
  const std::string prototype;
  ffi_closure* closure = nullptr;  // null where an entry point is the way in
  void* address = nullptr;
  State* next_kept = nullptr;

  State(const Operator& o, CForm form)
      : op(o),
        signature(ffi::make_c_signature(o, form)),
        callee{o, *signature},
        prototype(ffi::prototype_of(o, *signature)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (closure != nullptr) {
      ffi_closure_free(closure);
    } else {
      ffi::give_back_entry_point(address);
    }
  }
};

namespace ffi {
namespace {

template <typename T>
T read(const void* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Writes a return value as libffi wants it: integers as wide as a register.
[[gnu::always_inline]] inline void write_returned(CReturn returned, const Value& value,
                                                  void* place) noexcept {
  switch (returned) {
    case CReturn::Int:
      *static_cast<std::int64_t*>(place) = value.int_unchecked();
      break;
    case CReturn::Float:
      *static_cast<double*>(place) = value.double_unchecked();
      break;
    case CReturn::Bool:
      *static_cast<ffi_arg*>(place) = value.bool_unchecked() ? 1 : 0;
      break;
    case CReturn::Complex: {
      const std::complex<double> number = value.to_complex();
      std::memcpy(place, &number, sizeof(number));
      break;
    }
    case CReturn::Sign: {
      const std::int64_t number = value.int_unchecked();
      *static_cast<ffi_sarg*>(place) = number < 0 ? -1 : number > 0 ? 1 : 0;
      break;
    }
    case CReturn::Status:
    case CReturn::Nothing:
      break;
  }
}

// Step 5.
void write_failed(CReturn returned, Status status, void* place) noexcept {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  switch (returned) {
    case CReturn::Status:
      *static_cast<ffi_sarg*>(place) = ffi_sarg(status);
      break;
    case CReturn::Float:
      *static_cast<double*>(place) = kNaN;
      break;
    case CReturn::Complex:
      static_cast<double*>(place)[0] = kNaN;
      static_cast<double*>(place)[1] = kNaN;
      break;
    case CReturn::Nothing:
      break;
    default:
      *static_cast<std::int64_t*>(place) = 0;
  }
}

// Numbers in, a number out, by value or by pointer. `word_of` gives the address of the word of an
// argument. What is returned is known when this is compiled.
template <CReturn returned, typename WordOf>
[[gnu::always_inline]] inline void call_with_numbers(const Callee& callee, void* place,
                                                     const WordOf& word_of) {
  const std::vector<CPart>& parts = callee.signature.arguments;
  const Status status = guarded([&] {
    InlineStack<6> stack;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const void* const word = word_of(i, parts[i]);
      stack.push(
          read_number(parts[i].element, parts[i].by_pointer ? read<const void*>(word) : word));
    }
    // A call without arguments that carry keys.
    const DispatchKeySet keys = callee.op.call_keys(DispatchKeySet());
    {
      const detail::CallDepth depth;
      callee.op.run_boxed(callee.op.record(keys), keys, stack);
    }
    write_returned(returned, stack[0], place);
  });
  if (__builtin_expect(status != Status::Ok, 0)) {
    write_failed(returned, status, place);
  }
}

// Steps 1 and 4: what a caller lends, as values.
class ArgumentReader {
 public:
  explicit ArgumentReader(const Callee& callee) : callee_(callee) {}

  void push_all(void** words, Stack& stack) {
    const std::vector<CPart>& parts = callee_.signature.arguments;
    for (; position_ < parts.size(); ++position_) {
      try {
        stack.push(value_of(parts[position_], words + parts[position_].parameter));
      } catch (const Error& error) {
        refuse_argument(callee_.op, position_, error.kind(), error.what());
      }
    }
  }

  // When nothing of the call is left but its results. Another thread may hold what it was given, too.
  void check_given_back() const {
    for (const auto& [storage, position] : lent_) {
      if (storage->owner_count() == 1) continue;
      refuse_argument(callee_.op, position, ErrorKind::BadReturn,
                      "its memory was lent for this call, and is still held: by a tensor that the "
                      "kernel kept, or by "
                      "a result that is a view of it; keep or return a clone()");
    }
  }

 private:
  Value value_of(const CPart& part, void** words) {
    if (part.list) return list_of(part, read<const void*>(words[0]), read<std::int64_t>(words[1]));
    if (part.is_plain_number()) return read_number(part.element, words[0]);
    const void* const pointer = read<const void*>(words[0]);
    if (part.by_pointer && pointer != nullptr) return read_number(part.element, pointer);
    return value_at(part, pointer, part.optional);
  }

  Value value_at(const CPart& part, const void* pointer, bool optional) {
    if (pointer == nullptr && part.element != CElement::Capsule) {
      if (optional) return Value();
      fail(ErrorKind::BadArgument,
           "a null pointer came, and the schema has no None here; write T? for what may be null");
    }
    switch (part.element) {
      case CElement::Text:
        return Value(std::string_view(static_cast<const char*>(pointer)));
      case CElement::Device:
        return Value(parse_device(static_cast<const char*>(pointer)));
      case CElement::Tensor: {
        Tensor tensor = lend_dlpack(*static_cast<const dlpack::DLTensor*>(pointer), !part.written);
        lent_.push_back({tensor.impl()->storage(), position_});
        return Value(std::move(tensor));
      }
      default:  // a capsule
        if (optional && pointer == nullptr) return Value();
        return Value(CapsuleObject::adopt(const_cast<void*>(pointer), "", nullptr, nullptr));
    }
  }

  Value list_of(const CPart& part, const void* data, std::int64_t size) {
    if (data == nullptr && part.optional) return Value();
    if (size < 0 || (data == nullptr && size != 0)) {
      fail(ErrorKind::BadArgument, fmt::format("a list of length {} came{}", size,
                                               data == nullptr ? " as a null pointer" : ""));
    }
    std::vector<Value> items;
    items.reserve(std::size_t(size));
    for (std::int64_t i = 0; i < size; ++i) {
      if (is_number(part.element)) {
        items.push_back(read_number(part.element, static_cast<const std::byte*>(data) +
                                                      i * std::int64_t(size_of(part.element))));
      } else {
        items.push_back(
            value_at(part, static_cast<const void* const*>(data)[i], part.optional_elements));
      }
    }
    return Value::list(std::move(items));
  }

  struct Lent {
    CountedPtr<Storage> storage;
    std::size_t position;
  };

  const Callee& callee_;
  std::size_t position_ = 0;
  std::vector<Lent> lent_;
};

// Step 3: what goes into the out-pointers of one result.
class ResultWriter {
 public:
  ResultWriter(const Callee& callee, std::size_t position, void** words)
      : part_(callee.signature.results[position]) {
    if (part_.alias_of >= 0) return;
    place_ = read<void*>(words[part_.parameter]);
    if (part_.list) size_place_ = read<std::int64_t*>(words[part_.parameter + 1]);
    if (place_ == nullptr || (part_.list && size_place_ == nullptr)) {
      refuse_result(callee.op, position, ErrorKind::BadArgument,
                    "the pointer to where it goes is null");
    }
  }
  ResultWriter(ResultWriter&& other) noexcept
      : part_(other.part_),
        place_(other.place_),
        size_place_(other.size_place_),
        memory_(std::exchange(other.memory_, nullptr)),
        tensor_(std::exchange(other.tensor_, nullptr)) {}
  ResultWriter& operator=(ResultWriter&&) = delete;
  ~ResultWriter() {
    std::free(memory_);
    if (tensor_ != nullptr) tensor_->deleter(tensor_);
  }

  // All that can fail. Raises an Error without the place.
  void prepare(Value value) {
    value_ = std::move(value);
    if (part_.alias_of >= 0) {
      value_ = Value();  // the caller has it
    } else if (part_.list) {
      prepare_list();
    } else if (part_.element == CElement::Tensor) {
      if (value_.is_none()) return;
      if (part_.optional && !value_.to_tensor().defined()) return;
      tensor_ = to_dlpack_versioned(value_.to_tensor());
      value_ = Value();
    } else if (!is_number(part_.element) && !value_.is_none()) {
      if (part_.element == CElement::Device) {
        copy_text(to_string(value_.to_device()));
      } else {
        copy_text(value_.to_string_view());
      }
    }
  }

  void write() noexcept {
    if (part_.alias_of >= 0) return;
    if (part_.list) {
      *static_cast<void**>(place_) = std::exchange(memory_, nullptr);
      *size_place_ = size_;
    } else if (part_.element == CElement::Tensor) {
      *static_cast<dlpack::DLManagedTensorVersioned**>(place_) = std::exchange(tensor_, nullptr);
    } else if (is_number(part_.element)) {
      write_number(value_, place_);
    } else {
      *static_cast<void**>(place_) = std::exchange(memory_, nullptr);
    }
  }

 private:
  void write_number(const Value& value, void* to) const {
    if (part_.element == CElement::Complex) {
      const std::complex<double> number = value.to_complex();
      std::memcpy(to, &number, sizeof(number));
    } else if (part_.element == CElement::Bool) {
      *static_cast<std::uint8_t*>(to) = value.bool_unchecked() ? 1 : 0;
    } else {
      const std::int64_t bits = value.int_unchecked();  // of a real, too
      std::memcpy(to, &bits, sizeof(bits));
    }
  }
  void take_memory(std::size_t bytes) {
    memory_ = std::malloc(bytes);
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  void copy_text(std::string_view text) {
    const std::size_t zero = text.find('\0');
    if (zero != std::string_view::npos) {
      fail(ErrorKind::BadReturn,
           fmt::format("the text has a zero byte at position {}, where it would end in C", zero));
    }
    take_memory(text.size() + 1);
    std::memcpy(memory_, text.data(), text.size());
    static_cast<char*>(memory_)[text.size()] = '\0';
  }
  void prepare_list() {
    const std::vector<Value>& items = value_.to_list();
    size_ = std::int64_t(items.size());
    if (items.empty()) return;
    const std::size_t size = size_of(part_.element);
    take_memory(items.size() * size);
    for (std::size_t i = 0; i < items.size(); ++i) {
      write_number(items[i], static_cast<std::byte*>(memory_) + i * size);
    }
  }

  const CPart& part_;
  void* place_ = nullptr;
  std::int64_t* size_place_ = nullptr;
  std::int64_t size_ = 0;
  Value value_;
  void* memory_ = nullptr;
  dlpack::DLManagedTensorVersioned* tensor_ = nullptr;
};

void call(const Callee& callee, void* place, void** words) {
  const CSignature& signature = callee.signature;
  ArgumentReader reader(callee);
  std::vector<ResultWriter> writers;
  if (!signature.returns_result()) {
    writers.reserve(signature.results.size());
    for (std::size_t i = 0; i < signature.results.size(); ++i)
      writers.emplace_back(callee, i, words);
  }
  InlineStack<12> stack;
  reader.push_all(words, stack);
  callee.op.call_boxed(stack);
  for (std::size_t i = 0; i < writers.size(); ++i) {
    try {
      writers[i].prepare(std::move(stack[i]));
    } catch (const Error& error) {
      refuse_result(callee.op, i, error.kind(), error.what());
    }
  }
  if (signature.returns_result()) {
    const Value returned = stack.pop();
    reader.check_given_back();
    write_returned(signature.returned, returned, place);
    return;
  }
  stack.truncate(0);
  reader.check_given_back();
  for (ResultWriter& writer : writers) writer.write();
  if (signature.returned == CReturn::Status) *static_cast<ffi_sarg*>(place) = OPYARD_OK;
}

void call_guarded(const Callee& callee, void* place, void** words) {
  const Status status = guarded([&] { call(callee, place, words); });
  if (__builtin_expect(status != Status::Ok, 0)) {
    write_failed(callee.signature.returned, status, place);
  }
}

// Through closures, whose words are pointers to the arguments.
void run(ffi_cif*, void* place, void** words, void* context) {
  call_guarded(*static_cast<const Callee*>(context), place, words);
}
template <CReturn returned>
void run_numbers(ffi_cif*, void* place, void** words, void* context) {
  call_with_numbers<returned>(*static_cast<const Callee*>(context), place,
                              [words](std::size_t i, const CPart&) { return words[i]; });
}

// Through entry points.
void enter(const void* context, const Word* words, Out& result) {
  const Callee& callee = *static_cast<const Callee*>(context);
  const std::vector<std::uint16_t>& places = callee.signature.parameter_words;
  void* pointers[kFirstOther];
  for (std::size_t i = 0; i < places.size(); ++i)
    pointers[i] = const_cast<Word*>(&words[places[i]]);
  call_guarded(callee, &result, pointers);
}
template <CReturn returned>
void enter_numbers(const void* context, const Word* words, Out& result) {
  call_with_numbers<returned>(
      *static_cast<const Callee*>(context), &result,
      [words](std::size_t, const CPart& part) { return &words[part.word]; });
}

// The functions that serve a signature, either way in.
struct Ways {
  void (*through_closure)(ffi_cif*, void*, void**, void*);
  EntryHandler through_entry_point;
};
template <CReturn returned>
constexpr Ways kNumbers = {&run_numbers<returned>, &enter_numbers<returned>};

Ways pick_ways(const CSignature& signature) {
  // By pointer only where a comparator says so, and then never null.
  for (const CPart& part : signature.arguments) {
    if (!is_number(part.element) || part.list || part.optional) return {&run, &enter};
  }
  switch (signature.returned) {
    case CReturn::Int:
      return kNumbers<CReturn::Int>;
    case CReturn::Float:
      return kNumbers<CReturn::Float>;
    case CReturn::Bool:
      return kNumbers<CReturn::Bool>;
    case CReturn::Complex:
      return kNumbers<CReturn::Complex>;
    case CReturn::Sign:
      return kNumbers<CReturn::Sign>;
    default:
      return {&run, &enter};
  }
}

}  // namespace
}  // namespace ffi

CFunction::CFunction(const Operator& op, CForm form) : state_(nullptr) {
  auto state = std::make_unique<State>(op, form);
  const ffi::CSignature& signature = *state->signature;
  const ffi::Ways ways = ffi::pick_ways(signature);
  state->address = ffi::take_entry_point(signature, ways.through_entry_point, &state->callee);
  if (state->address == nullptr) {
    state->closure =
        static_cast<ffi_closure*>(ffi_closure_alloc(sizeof(ffi_closure), &state->address));
    if (state->closure == nullptr) throw std::bad_alloc();
    const ffi_status status = ffi_prep_closure_loc(
        state->closure, const_cast<ffi_cif*>(&signature.cif), ways.through_closure,
        const_cast<ffi::Callee*>(&state->callee), state->address);
    if (status != FFI_OK) {
      fail(ErrorKind::Internal,
           fmt::format("libffi makes no closure for {}: status {}", state->prototype, int(status)));
    }
  }
  state_ = state.release();
}

CFunction::CFunction(CFunction&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), owned_(other.owned_) {}

CFunction& CFunction::operator=(CFunction&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(owned_, other.owned_);
  return *this;
}

CFunction::~CFunction() {
  if (owned_) delete state_;
}

void* CFunction::address() const noexcept { return state_->address; }
const Operator& CFunction::op() const noexcept { return state_->op; }
CForm CFunction::form() const noexcept { return state_->signature->form; }
const std::string& CFunction::prototype() const noexcept { return state_->prototype; }
const std::string& CFunction::letters() const noexcept { return state_->signature->letters; }

void CFunction::keep() noexcept {
  if (!std::exchange(owned_, false)) return;
  static std::atomic<State*> kept{nullptr};  // reachable, so that nobody takes them for lost
  state_->next_kept = kept.load(std::memory_order_relaxed);
  while (!kept.compare_exchange_weak(state_->next_kept, state_, std::memory_order_relaxed)) {
  }
}

void CFunction::check(const char* letters, const std::type_info& signature) const {
  if (state_->signature->letters == letters) return;
  fail(ErrorKind::BadSignature,
       fmt::format("{} as a C function is {}, and was asked for as {}",
                   to_string(state_->op.name()), state_->prototype, readable(signature)));
}

}  // namespace opyard
