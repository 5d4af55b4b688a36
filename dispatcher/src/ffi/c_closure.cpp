// ffi/c_closure.cpp: operators as C functions.
//
// [Ways in] A closure of libffi is a few instructions in executable memory that lead to a function
// below with pointers to the arguments and to the place of the return value. If all arguments
// come in registers, an entry point that is compiled in does the same for less; see
// ffi/entry_points.h.
//
// [Steps] 1. The arguments become values on a stack. 2. The operator is called. 3. Its results are
// made ready for the out-pointers or the return value. 4. What was borrowed is looked at: no one
// may hold it any more. 5. The results are written: all of them or, if anything failed, none. 6.
// A failure becomes a status, or a NaN, 0 or false; the error is stored for the thread. Nothing is
// thrown past the C frames that called, but for the unwinding of a thread that is being ended.
//
// The way in belongs to its CFunction; calls only read it, so they need no lock.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "base/demangled.h"
#include "ffi/borrowed_arguments.h"
#include "ffi/c_callee.h"
#include "ffi/entry_points.h"
#include "ffi/handed_results.h"

namespace opyard {

// Written while it is made, then only read.
struct CFunction::State {
  const Operator& op;
  const std::unique_ptr<const ffi::CSignature> signature;
  const ffi::Callee callee;
  const std::string prototype;
  ffi_closure* closure = nullptr;  // null if an entry point is the way in
  void* address = nullptr;
  State* next_immortal = nullptr;

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
      ffi::give_back_entry_point(*signature, address);
    }
  }
};

namespace ffi {
namespace {

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

// Step 6.
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
    InlineStack<16> stack;
    const CPart* const end = parts.data() + parts.size();
    for (const CPart* part = parts.data(); part != end; ++part) {
      const void* word = word_of(*part);
      if (part->by_pointer) word = read_at<const void*>(word);
      stack.push(read_number(part->element, word));
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

void call_callee(const Callee& callee, void* place, void** words) {
  const CSignature& signature = callee.signature;
  BorrowedArguments arguments(callee);
  std::vector<HandedResult> results;
  if (!signature.returns_result()) {
    results.reserve(signature.results.size());
    for (std::size_t i = 0; i < signature.results.size(); ++i) {
      results.emplace_back(callee, i, words);
    }
  }
  InlineStack<16> stack;
  arguments.push_all(words, stack);
  callee.op.call_boxed(stack);
  for (std::size_t i = 0; i < results.size(); ++i) {
    try {
      results[i].prepare(std::move(stack[i]));
    } catch (const Error& error) {
      refuse_result(callee.op, i, error.kind(), error.what());
    }
  }
  if (signature.returns_result()) {
    const Value returned = stack.pop();
    arguments.check_given_back();
    write_returned(signature.returned, returned, place);
    return;
  }
  stack.truncate(0);
  arguments.check_given_back();
  for (HandedResult& result : results) result.write();
  if (signature.returned == CReturn::Status) *static_cast<ffi_sarg*>(place) = OPYARD_OK;
}

void call_guarded(const Callee& callee, void* place, void** words) {
  const Status status = guarded([&] { call_callee(callee, place, words); });
  if (__builtin_expect(status != Status::Ok, 0)) {
    write_failed(callee.signature.returned, status, place);
  }
}

// Through closures, whose words are pointers to the arguments.
void run_closure(ffi_cif*, void* place, void** words, void* context) {
  call_guarded(*static_cast<const Callee*>(context), place, words);
}
template <CReturn returned>
void run_numbers(ffi_cif*, void* place, void** words, void* context) {
  call_with_numbers<returned>(*static_cast<const Callee*>(context), place,
                              [words](const CPart& part) { return words[part.parameter]; });
}

// Through entry points.
void enter(const void* context, const Word* words, Out& result) {
  const Callee& callee = *static_cast<const Callee*>(context);
  const std::vector<std::uint16_t>& places = callee.signature.parameter_words;
  void* pointers[kFirstOther];
  for (std::size_t i = 0; i < places.size(); ++i) {
    pointers[i] = const_cast<Word*>(&words[places[i]]);
  }
  call_guarded(callee, &result, pointers);
}
template <CReturn returned>
void enter_numbers(const void* context, const Word* words, Out& result) {
  call_with_numbers<returned>(*static_cast<const Callee*>(context), &result,
                              [words](const CPart& part) { return &words[part.word]; });
}

// The functions that serve a signature, either way in.
struct Ways {
  void (*through_closure)(ffi_cif*, void*, void**, void*);
  EntryHandler through_entry_point;
};
template <CReturn returned>
constexpr Ways kNumbers = {&run_numbers<returned>, &enter_numbers<returned>};

Ways pick_ways(const CSignature& signature) {
  // By pointer only if a comparator says so, and then never null.
  for (const CPart& part : signature.arguments) {
    if (!is_number(part.element) || part.list || part.optional) return {&run_closure, &enter};
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
      return {&run_closure, &enter};
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
  static std::atomic<State*> immortal{nullptr};  // reachable, so that no one takes them for lost
  state_->next_immortal = immortal.load(std::memory_order_relaxed);
  while (
      !immortal.compare_exchange_weak(state_->next_immortal, state_, std::memory_order_relaxed)) {
  }
}

void CFunction::check(const char* letters, const std::type_info& signature) const {
  if (state_->signature->letters == letters) return;
  fail(ErrorKind::BadSignature,
       fmt::format("{} as a C function is {}, and was asked for as {}",
                   to_string(state_->op.name()), state_->prototype, demangled(signature)));
}

}  // namespace opyard
