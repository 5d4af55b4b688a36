// xla/call_site.cpp: reading the text of a call, and running it.
#include "xla/call_site.h"

#include <fmt/format.h>

#include <cstring>

#include "opyard/registry/registry.h"
#include "opyard/schema/parse.h"
#include "xla/arrays.h"

namespace opyard::xla {
namespace {

constexpr std::size_t kMostDepth = 8;  // of lists in lists

// The name that a declaration begins with.
std::string_view name_in(std::string_view declaration) {
  return declaration.substr(0, declaration.find('('));
}

const Buffer& buffer_of(const Buffers& buffers, std::size_t index) {
  return *static_cast<const Buffer*>(buffers.buffers[index]);
}

const Operator& require_published(const CallText& text, const Publication& publication) {
  const std::string name(name_in(text.declaration));
  if (!publication.is_on.load(std::memory_order_acquire)) {
    fail(ErrorKind::NotFound,
         fmt::format("{} is not published into JAX in this process: call opyard.jax.publish() for "
                     "it before the program that was compiled with it runs",
                     name));
  }
  const Operator& op = require_operator(name);
  if (op.declaration() != text.declaration) {
    fail(ErrorKind::NotFound, fmt::format("a program was compiled with {}, and what is defined is "
                                          "{}: compile it anew",
                                          text.declaration, op.declaration()));
  }
  return op;
}

}  // namespace

struct CallSite::Loans {
  explicit Loans(std::size_t count) : each(std::make_unique<Loan[]>(count)) {}
  std::unique_ptr<Loan[]> each;
};

// One run, and what is lent for it. If it fails the loans end with it, and are not kept.
class CallSite::Run {
 public:
  Run(const CallSite& site, const Buffers& arguments, const Buffers& results)
      : site_(site), arguments_(arguments), results_(results), loans_(site.take_loans()) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void call() {
    InlineStack<16> stack;
    for (const Slot& slot : site_.slots_) push(stack, slot);
    site_.op_->call_boxed(stack);
    write_results(stack);
  }
  // After the stack is gone. Raises bad_alloc.
  void end() {
    for (std::size_t i = 0; i < site_.arrays_; ++i) loans_->each[i].end();
    site_.keep(std::move(loans_));
  }

 private:
  void push(Stack& stack, const Slot& slot) {
    if (slot.part == Part::Constant) return stack.borrow(slot.value);
    stack.push(value_of(slot));
  }
  Value value_of(const Slot& slot) {
    switch (slot.part) {
      case Part::Constant:
        return slot.value;
      case Part::Array:
        return lend(buffer_of(arguments_, next_), true);
      case Part::Written:
        return lend(copied(buffer_of(arguments_, next_)), false);
      case Part::List:
        break;
    }
    std::vector<Value> items;
    items.reserve(slot.items.size());
    for (const Slot& item : slot.items) items.push_back(value_of(item));
    return Value::list(std::move(items));
  }
  Value lend(const Buffer& array, bool read_only) {
    return Value(loans_->each[next_++].begin(describe_array(array), read_only));
  }
  // The result that holds what is written to an argument, which XLA may have put in one place.
  const Buffer& copied(const Buffer& argument) {
    const Buffer& result = buffer_of(results_, written_++);
    if (result.data != argument.data) {
      const dlpack::DLTensor array = describe_array(argument);
      std::size_t bytes = array.dtype.bits / 8U;
      for (std::int64_t i = 0; i < argument.rank; ++i) bytes *= std::size_t(argument.dims[i]);
      if (bytes != 0) std::memcpy(result.data, argument.data, bytes);
    }
    return result;
  }

  void write_results(Stack& stack) {
    const std::span<const Value> values = stack.top(site_.is_new_.size());
    std::size_t next = site_.written_;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (site_.is_new_[i]) write(values[i], next);
    }
    site_.check_results(results_, next);
  }
  void write(const Value& value, std::size_t& next) {
    if (value.is_list()) {
      for (const Value& item : value.items_unchecked()) write(item, next);
      return;
    }
    if (!value.is_tensor() || !value.tensor_unchecked().defined()) {
      fail(ErrorKind::BadReturn,
           fmt::format("{}: a result is no tensor", to_string(site_.op_->name())));
    }
    if (next < std::size_t(results_.count)) {
      write_array(buffer_of(results_, next), value.tensor_unchecked());
    }
    ++next;
  }

  const CallSite& site_;
  const Buffers& arguments_;
  const Buffers& results_;
  std::unique_ptr<Loans> loans_;
  std::size_t next_ = 0;
  std::size_t written_ = 0;
};

CallSite::CallSite(const CallText& text) : publication_(&publication_of(text.declaration)) {
  op_ = &require_published(text, *publication_);
  std::string_view rest = text.arguments;
  slots_ = read(rest, '\0', 0);
  const Schema& schema = op_->schema();
  const Schema given = parse_schema(fmt::format("given({}) -> ()", text.given));
  if (slots_.size() != schema.arguments.size()) {
    fail(ErrorKind::BadValue,
         fmt::format("{}: a program hands {} arguments over", op_->declaration(), slots_.size()));
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].part != Part::Constant) continue;
    const auto found = given.find_argument(schema.arguments[i].name);
    if (!found || !given.arguments[*found].default_value) {
      fail(ErrorKind::BadValue, fmt::format("{}: a program has no value for '{}'",
                                            op_->declaration(), schema.arguments[i].name));
    }
    slots_[i].value = *given.arguments[*found].default_value;
  }
  for (const Argument& result : schema.results) is_new_.push_back(!result.is_write());
}

CallSite::~CallSite() { delete spare_.load(std::memory_order_acquire); }

std::vector<CallSite::Slot> CallSite::read(std::string_view& text, char end, std::size_t depth) {
  std::vector<Slot> slots;
  while (!text.empty() && text.front() != end) {
    Slot& slot = slots.emplace_back();
    slot.part = Part(text.front());
    text.remove_prefix(1);
    switch (slot.part) {
      case Part::Constant:
        break;
      case Part::Written:
        ++written_;
        [[fallthrough]];
      case Part::Array:
        ++arrays_;
        break;
      case Part::List:
        if (depth < kMostDepth) {
          slot.items = read(text, ']', depth + 1);
          if (!text.empty()) {
            text.remove_prefix(1);
            break;
          }
        }
        [[fallthrough]];
      default:
        fail(ErrorKind::BadValue,
             fmt::format("{}: a program has arguments that cannot be read", op_->declaration()));
    }
  }
  return slots;
}

void CallSite::check_results(const Buffers& results, std::size_t expected) const {
  if (std::size_t(results.count) == expected) return;
  fail(ErrorKind::BadReturn,
       fmt::format("{}: the kernel gives {} arrays, and what its kernel for Meta said was {}",
                   to_string(op_->name()), expected, results.count));
}

std::unique_ptr<CallSite::Loans> CallSite::take_loans() const {
  std::unique_ptr<Loans> spare(spare_.exchange(nullptr, std::memory_order_acq_rel));
  return spare ? std::move(spare) : std::make_unique<Loans>(arrays_);
}

void CallSite::keep(std::unique_ptr<Loans> loans) const noexcept {
  loans.reset(spare_.exchange(loans.release(), std::memory_order_acq_rel));
}

void CallSite::run(const Buffers& arguments, const Buffers& results) const {
  if (__builtin_expect(!publication_->is_on.load(std::memory_order_acquire), 0)) {
    fail(ErrorKind::OperatorGone,
         fmt::format("{} was published into JAX, and is no more: publish it again, or compile the "
                     "program without it",
                     to_string(op_->name())));
  }
  if (std::size_t(arguments.count) != arrays_ || std::size_t(results.count) < written_) {
    fail(ErrorKind::BadValue, fmt::format("{}: a program hands {} arrays over, and says {}",
                                          op_->declaration(), arguments.count, arrays_));
  }
  Run run(*this, arguments, results);
  run.call();
  run.end();
}

}  // namespace opyard::xla
