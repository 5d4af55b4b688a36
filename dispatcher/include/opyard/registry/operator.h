// opyard/registry/operator.h: Operator: schema, dispatch table, calls.
//
// An operator belongs to its name and schema and is never freed, so a reference to one is
// good for ever. Once its definition is unregistered its slots have a built-in record that raises
// OperatorGone; the same definition made again brings the same object back to life.
//
//   op.typed<Tensor(const Tensor&, double)>().call(x, 2.0)     registry/typed.h
//   op.call_boxed(stack)
//
// A call takes ((keys of its arguments | include) - exclude) & mask, where the mask leaves
// out the layers that fall through for this operator; the highest key names the slot.
//
// [Interpreter tables] If several interpreters take part, and some of the kernels serve one of
// them alone, a slot in which they see different records leads to a built-in record with the role
// PerInterpreter. It goes on to the slot of a table that is the interpreter's own: record_here().
// With one interpreter there are no such tables.
//
// Threads: slots and mask are atomic and written under the registry's lock; the schema and
// what is derived from it are written once, before anyone can see the operator.
//
// Depends on: keys/runtime_table.h, keys/local.h, schema/schema.h, registry/record.h.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "opyard/detail/keys/runtime_table.h"
#include "opyard/detail/registry/record.h"
#include "opyard/keys/local.h"
#include "opyard/schema/schema.h"

namespace opyard {

// An operator with its C++ signature, whose calls box nothing: Operator::typed() gives one.
template <typename Signature>
class TypedOperator;

struct InterpreterTable;  // registry/interpreter_tables.h

namespace detail {

// Nothing that this thread can have read from a table is freed between these two, nor while a
// CallDepth lives. Plain stores; see registry/reclaim.cpp. Nothing is called between the two, but a
// signal handler that makes calls may run there: it has to leave the mark as it found it, so the
// former one is released by the thread that began.
[[nodiscard]] inline std::uint32_t begin_reading() noexcept {
  const std::uint32_t outer = local_block.reading;
  __atomic_store_n(&local_block.reading, 1, __ATOMIC_RELAXED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return outer;
}
inline void end_reading(std::uint32_t outer) noexcept {
  __atomic_store_n(&local_block.reading, outer, __ATOMIC_RELEASE);
}

class CallDepth {
 public:
  CallDepth() noexcept : outer_(local_block.call_depth) {
    __atomic_store_n(&local_block.call_depth, outer_ + 1, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  CallDepth(const CallDepth&) = delete;
  CallDepth& operator=(const CallDepth&) = delete;
  ~CallDepth() { __atomic_store_n(&local_block.call_depth, outer_, __ATOMIC_RELEASE); }

 private:
  // Stored, not read again: a kernel that counts references ends with a lock instruction, and a
  // load behind that would wait for it (bench row typed_counted).
  const std::uint64_t outer_;
};

// Makes this thread known to the registry. Idempotent; called once a thread.
OPYARD_API OPYARD_COLD void enter_thread();
inline bool is_thread_known() noexcept { return (local_block.include & kThreadEntryBit) == 0; }

}  // namespace detail

class OPYARD_API Operator {
 public:
  Operator(Schema schema, const Record& initial);
  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  const Schema& schema() const noexcept { return schema_; }
  const OperatorName& name() const noexcept { return schema_.name; }
  // The schema as text, made once.
  const std::string& declaration() const noexcept { return declaration_; }

  // Calls with the arguments on top of the stack, which the results replace. Every argument
  // is checked against the schema first. Raises BadArgument (operator, position, what came,
  // what is accepted), NoKernel, OperatorGone, and whatever the kernel throws.
  void call_boxed(Stack& stack) const;
  // Like call_boxed from the given set on; looks neither at the arguments nor at the thread.
  void redispatch_boxed(DispatchKeySet keys, Stack& stack) const;
  // Calls the kernel at one runtime key, whatever keys the arguments carry; the kernel gets the
  // call's set cut down to that key and those below it. Raises BadValue for what is no runtime key.
  void call_boxed_at(DispatchKey key, Stack& stack) const;
  // For callers whose arguments were made from this schema.
  void call_boxed_unchecked(Stack& stack) const;

  // For the same callers, with arguments and results in place: see registry/register_call.h. Raises
  // Unsupported if the schema leaves the number of arguments or results open.
  [[gnu::always_inline]] void call_from_registers(const RegisterCall& call) const {
    const DispatchKeySet arguments = register_keys(call);
    const std::uint32_t outer = detail::begin_reading();
    const DispatchKeySet keys = call_keys(arguments);
    const Record& found = record(keys);
    if (__builtin_expect(found.call_as == CallAs::Guarded, 0))
      return call_from_registers(found, keys, outer, call);
    const RegisterFunction function = found.from_registers;
    const TypedFunction typed = found.typed;
    void* const context = found.context;
    detail::end_reading(outer);
    function(typed, context, keys, call);
  }

  // What call_boxed() checks before it calls. Raises BadArgument.
  void check_arguments(std::span<const Value> arguments) const;

  // The handle for calls from C++ without boxing. Raises BadSignature if a kernel's C++
  // signature, or the schema, is another one.
  template <typename Signature>
  TypedOperator<Signature> typed() const;

  // The key set a call with these arguments is dispatched with.
  DispatchKeySet call_keys(std::span<const Value> arguments) const;
  // The same from the union of the arguments' keys.
  DispatchKeySet call_keys(DispatchKeySet arguments) const noexcept {
    const std::uint64_t mask =
        table_.mask.load(std::memory_order_relaxed) & detail::local_block.keep;
    return {DispatchKeySet::RAW, (arguments.raw() | detail::local_block.include) & mask};
  }
  // The keys that these arguments carry.
  DispatchKeySet argument_keys(std::span<const Value> arguments) const;

  const Record& record(DispatchKeySet keys) const noexcept {
    return *table_.slot(runtime_index(keys)).load(std::memory_order_acquire);
  }
  // The same if Dense is the only layer of the set, and if it is not.
  const Record& dense_record(DispatchKeySet keys) const noexcept {
    return *table_.slot(detail::dense_index(keys)).load(std::memory_order_acquire);
  }
  const Record& layered_record(DispatchKeySet keys) const noexcept {
    return *table_.slot(detail::layered_index(keys)).load(std::memory_order_acquire);
  }
  // What record() leads to for calls of an interpreter, or with null for a thread that is in none;
  // and for this thread. Another one than record() only if that has the role PerInterpreter.
  const Record& record_for(const Interpreter* interpreter, DispatchKeySet keys) const noexcept;
  const Record& record_here(DispatchKeySet keys) const noexcept;
  DispatchKeySet mask() const noexcept {
    return {DispatchKeySet::RAW,
            table_.mask.load(std::memory_order_relaxed) & ~detail::kThreadEntryBit};
  }

  // Follows built-in records that pass a call on (ThreadEntry, Fallthrough) to the record that
  // takes it, and leaves the set it takes it with in `keys`. Inside a CallDepth.
  const Record& follow(DispatchKeySet& keys) const;

  // Runs a record's boxed function. When it throws, the arguments are gone from the stack.
  void run_boxed(const Record& record, DispatchKeySet keys, Stack& stack) const;

  // Fixes the C++ signature, or finds it to be this one; false if it is another. What a
  // kernel fixed holds until forget_signature(), what a handle fixed holds for ever.
  bool fix_signature(const std::type_info& signature, bool for_handle) const noexcept;
  // Called when the definition is unregistered.
  void forget_signature() const noexcept;
  // Raises BadSignature if the schema or the fixed signature is another.
  void check_signature(const std::type_info& signature, InferredTypes (*infer)()) const;

 private:
  friend struct OperatorEntry;
  friend struct InterpreterTable;

  // The mask is beside the slots of the commonest backends, in one cache line.
  struct Table {
    std::atomic<std::uint64_t> mask;
    std::atomic<const Record*> slots[kSlotCount];

    // Written with bytes: as an index GCC adds what is before the slots at every call.
    const std::atomic<const Record*>& slot(std::size_t index) const noexcept {
      return *reinterpret_cast<const std::atomic<const Record*>*>(
          reinterpret_cast<const char*>(slots) + index * sizeof(slots[0]));
    }
  };
  alignas(64) Table table_;

  const Schema schema_;
  const std::string declaration_;
  // What a boxed call asks of each argument, found once.
  struct ArgumentPlan {
    std::uint64_t accepted_kinds;  // these need no further look, see schema/type.h
    bool carries_keys;
  };
  DispatchKeySet check_and_join_keys(std::span<const Value> arguments) const;
  // Ends what begin_reading() began, and runs what is called Guarded.
  void call_from_registers(const Record& found, DispatchKeySet keys, std::uint32_t outer,
                           const RegisterCall& call) const;
  void run_from_registers(const Record& record, DispatchKeySet keys,
                          const RegisterCall& call) const;
  [[gnu::always_inline]] DispatchKeySet register_keys(const RegisterCall& call) const {
    DispatchKeySet keys;
    for (std::uint64_t rest = key_positions_; rest != 0; rest &= rest - 1) {
      const Value& value = *call.arguments[std::countr_zero(rest)];
      keys = keys | (value.is_tensor() ? value.tensor_unchecked().keys() : keys_inside(value));
    }
    if (__builtin_expect(plan_.size() > 64, 0)) keys = keys | far_keys(call);
    return keys;
  }
  static DispatchKeySet keys_of(const Value& value);
  // Of a generator, or of tensors in a list; and of the arguments from the 65th on.
  static DispatchKeySet keys_inside(const Value& value);
  DispatchKeySet far_keys(const RegisterCall& call) const;
  void run_above(std::size_t below, const Record& record, DispatchKeySet keys, Stack& stack) const;

  const std::vector<ArgumentPlan> plan_;
  std::uint64_t key_positions_;  // bit i: the argument at position i carries keys; of the first 64
  const std::vector<std::uint64_t> result_kinds_;  // as accepted_kinds
  // The address of the type_info of this operator's C++ signature, and 1 if a handle was made
  // with it, which may be called for ever through every record that comes later; or 0.
  mutable std::atomic<std::uintptr_t> signature_{0};
  // A chain that only grows. See [Interpreter tables].
  std::atomic<InterpreterTable*> interpreter_tables_{nullptr};
};

}  // namespace opyard
