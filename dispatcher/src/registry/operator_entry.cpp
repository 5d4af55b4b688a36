// registry/operator_entry.cpp: kernel resolution: dispatch table of an operator.
//
// [Resolution] resolve() is a pure function of what is registered now, and publish() writes
// all slots from it. Nothing is updated in place, so a table cannot depend on the order in
// which registrations came and went.
//
// [Mask] A layer leaves the mask if it falls through on every backend. If it falls
// through on some backends only, its slots there hold a fallthrough record, which costs one
// hop. So mask and slots need not change together: a call that reads the one before and the
// other after a change still ends at a right kernel.
#include "registry/operator_entry.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <iterator>

#include "opyard/keys/alias_keys.h"
#include "registry/built_in_records.h"
#include "registry/interpreter_tables.h"
#include "registry/signature.h"

namespace opyard {
namespace {

[[noreturn]] OPYARD_COLD void refuse_kernel_key(const OperatorName& name, DispatchKey key) {
  const char* const reason = !is_known(key) ? "is no dispatch key"
                             : key == DispatchKey::ThreadEntry
                                 ? "belongs to the dispatcher"
                                 : "is a layer of many keys; name the key of one backend, "
                                   "or an alias key";
  fail(ErrorKind::BadRegistration, fmt::format("{}: a kernel cannot be registered at {}, which {}",
                                               to_string(name), to_string(key), reason));
}

}  // namespace

DispatchKey kernel_key(const OperatorName& name, std::optional<DispatchKey> at) {
  DispatchKey key = at.value_or(DispatchKey::CompositeImplicitAutograd);
  if (key == DispatchKey::Undefined) key = DispatchKey::CompositeImplicitAutograd;
  if (!is_known(key) || is_per_backend_layer(key) || key == DispatchKey::ThreadEntry) {
    refuse_kernel_key(name, key);
  }
  return key;
}

std::atomic<std::uint64_t> table_changes{1};
std::atomic<bool> several_interpreters{false};

const Record* OperatorEntry::active(DispatchKey key, CallingInterpreter caller) const {
  return kernels.newest(key, caller);
}

bool OperatorEntry::has_kernel(CallingInterpreter caller) const {
  const KernelStacks::Stack all = kernels.all();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& kernel) { return caller.sees(*kernel.record); });
}

KnownDefinition::KnownDefinition(Definition&& definition)
    : alias_analysis(definition.alias_analysis),
      alias_analysis_is_default(definition.alias_analysis_is_default),
      tags(std::move(definition.tags)),
      provenance(std::move(definition.provenance)),
      interpreter(definition.interpreter) {
  if (definition.doc.empty() && definition.python_module.empty()) return;
  texts = Texts{std::move(definition.doc), std::move(definition.python_module),
                std::move(definition.python_context)};
}

std::pair<const Record*, DispatchKey> OperatorEntry::first_signature() const {
  for (const RegisteredKernel& kernel : kernels.all()) {
    if (kernel.record->signature != nullptr) return {kernel.record.get(), kernel.key()};
  }
  return {nullptr, DispatchKey::Undefined};
}

namespace {

constexpr DispatchKey kAliases[] = {
#define OPYARD_X(index, name) DispatchKey::name,
    OPYARD_ALIAS_KEYS(OPYARD_X)
#undef OPYARD_X
};
constexpr int index_of(DispatchKey alias) { return int(alias) - detail::kFirstAlias; }

using Slots = std::bitset<kSlotCount>;

// What resolving asks of each slot, found once.
struct SlotFacts {
  DispatchKey key = DispatchKey::Undefined;
  bool served_by[std::size(kAliases)] = {};
  Slots below;  // of an autograd key: the backend keys it belongs to
  const Record* built_in = nullptr;
  bool is_autograd = false;
};

std::array<SlotFacts, kSlotCount> find_slot_facts() {
  std::array<SlotFacts, kSlotCount> all;
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    SlotFacts& facts = all[slot];
    facts.key = key_of_slot(slot);
    for (const DispatchKey alias : kAliases) {
      facts.served_by[index_of(alias)] = alias_includes(alias, facts.key);
    }
    if (facts.key == DispatchKey::Undefined) {
      for (const DispatchKey alias :
           {DispatchKey::CompositeExplicitAutogradNonFunctional,
            DispatchKey::CompositeExplicitAutograd, DispatchKey::CompositeImplicitAutograd}) {
        facts.served_by[index_of(alias)] = true;
      }
    }
    for (const DispatchKey key : backend_keys_of_autograd(facts.key)) facts.below.set(slot_of(key));
    facts.built_in = built_in_fallback(facts.key);
    facts.is_autograd = alias_includes(DispatchKey::Autograd, facts.key);
  }
  return all;
}

const std::array<SlotFacts, kSlotCount>& slot_facts() {
  static const std::array<SlotFacts, kSlotCount> facts = find_slot_facts();
  return facts;
}

// The active kernels of an entry as a caller sees them, laid out for resolving all slots.
class Active {
 public:
  Active(const OperatorEntry& entry, CallingInterpreter caller)
      : Active(entry, caller, DispatchKey::Undefined, 0) {}
  // Without those at `without` from this order on.
  Active(const OperatorEntry& entry, CallingInterpreter caller, DispatchKey without,
         std::uint64_t order)
      : caller_(caller), gradient_slot_(entry.gradient_slot.get()) {
    for (const auto& [key, stack] : entry.kernels) {
      const std::uint64_t end = key == without ? order : ~std::uint64_t{0};
      const Record* const record = entry.kernels.newest(key, caller, end);
      if (record == nullptr) continue;
      if (is_alias(key)) {
        alias_[index_of(key)] = record;
      } else {
        exact_[slot_of(key)] = record;
        occupied_.set(slot_of(key));
      }
    }
    on_meta_ = exact_[slot_of(DispatchKey::CPU)];
    while (on_meta_ != nullptr && on_meta_->on_meta == OnMeta::Skips) {
      on_meta_ = entry.kernels.newest(DispatchKey::CPU, caller, on_meta_->order);
    }
  }

  Resolved resolve(unsigned slot, const Common& common) const {
    const Resolved found = look_up(slot, slot_facts()[slot], common);
    if (slot_facts()[slot].is_autograd && is_taped(found)) {
      // Also before the tape is armed: what modes and classes see does not change by that.
      const Record* const tape = gradient_slot_->record();
      if (!common.armed) return {built_in_fallback(DispatchKey::AutogradOther), found.rule};
      if (tape != nullptr) return {tape, found.rule};
    }
    // There is nothing below Undefined that a call could go on to.
    const bool ends = key_of_slot(slot) == DispatchKey::Undefined &&
                      found.record->role == RecordRole::Fallthrough;
    return ends ? Resolved{&missing_record(), "missing"} : found;
  }

 private:
  // See [Order] in opyard/detail/registry/gradient_slot.h.
  bool is_taped(const Resolved& found) const {
    if (gradient_slot_ == nullptr) return false;
    if (found.record == built_in_fallback(DispatchKey::AutogradOther)) return true;
    return gradient_slot_->has_derivative() &&
           found.record == at(DispatchKey::CompositeImplicitAutograd);
  }
  const Record* at(DispatchKey alias) const { return alias_[index_of(alias)]; }
  const Record* serving(const SlotFacts& facts, DispatchKey alias) const {
    return facts.served_by[index_of(alias)] ? at(alias) : nullptr;
  }

  Resolved look_up(unsigned slot, const SlotFacts& facts, const Common& common) const {
    using K = DispatchKey;
    if (exact_[slot] != nullptr) return {exact_[slot], "kernel"};
    for (const K alias :
         {K::CompositeExplicitAutogradNonFunctional, K::CompositeExplicitAutograd}) {
      if (const Record* found = serving(facts, alias)) return {found, "default backend kernel"};
    }
    const bool kernel_below = (facts.below & occupied_).any();
    // The explicit composite serves no nested tensors, so it hides no kernel here.
    const Record* const nested = serving(facts, K::CompositeImplicitAutogradNestedTensor);
    if (nested != nullptr && !kernel_below) return {nested, "nested kernel"};
    if (const Record* found = serving(facts, K::CompositeImplicitAutograd)) {
      if (facts.key == K::AutogradOther && kernel_below) {
        return {&ambiguous_record(), "ambiguous autogradother"};
      }
      if (!kernel_below && at(K::CompositeExplicitAutograd) == nullptr) {
        return {found, "math kernel"};
      }
    }
    if (const Record* found = serving(facts, K::Autograd)) return {found, "autograd kernel"};
    if (const Record* found = serving(facts, K::BatchedDecomposition)) {
      return {found, "batched kernel"};
    }
    if (!common.fallbacks.empty()) {
      if (const Record* found = common.fallbacks.newest(facts.key, caller_)) {
        return {found, "backend fallback"};
      }
    }
    if (facts.built_in != nullptr) return {facts.built_in, "backend fallback"};
    if (facts.key == K::Meta && on_meta_ != nullptr && on_meta_->on_meta == OnMeta::Serves) {
      return {&cpu_on_meta_record(), "from CPU", on_meta_};
    }
    return {&missing_record(), "missing"};
  }

  const CallingInterpreter caller_;
  const GradientSlot* const gradient_slot_;
  std::array<const Record*, kSlotCount> exact_{};
  const Record* alias_[std::size(kAliases)] = {};
  Slots occupied_;                   // where exact_ has one
  const Record* on_meta_ = nullptr;  // the kernel for the CPU that decides about Meta
};

using SlotTable = std::array<const Record*, kSlotCount>;

// ThreadEntry has no kernels.
SlotTable table_for(const OperatorEntry& entry, const Common& common, CallingInterpreter caller) {
  const Active active(entry, caller);
  SlotTable table;
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    const bool is_entry = key_of_slot(slot) == DispatchKey::ThreadEntry;
    table[slot] = is_entry ? &thread_entry_record() : active.resolve(slot, common).record;
  }
  return table;
}

// What slots lead to that all read, but for watchers: a built-in record if interpreters see
// different ones. Gives each interpreter's table, with what belongs into it, to `see`.
template <typename See>
SlotTable stored_table(const OperatorEntry& entry, const Common& common, const See& see) {
  InterpreterTable* const tables = common.several() ? InterpreterTable::first(*entry.op) : nullptr;
  SlotTable stored =
      table_for(entry, common, tables == nullptr ? common.usual() : CallingInterpreter::outside());
  SlotTable differs{};
  for (InterpreterTable* one = tables; one != nullptr; one = one->next) {
    if (!one->is_seen()) continue;
    const SlotTable table = table_for(entry, common, one->caller());
    for (std::size_t slot = 0; slot < table.size(); ++slot) {
      if (table[slot] != stored[slot]) differs[slot] = &per_interpreter_record();
    }
    see(*one, table);
  }
  for (std::size_t slot = 0; slot < stored.size(); ++slot) {
    if (differs[slot] != nullptr) stored[slot] = differs[slot];
  }
  return stored;
}

// Whether watchers are told of calls that take this record.
bool takes_calls(const Record& record) {
  return !passes_calls_by(record.role) && record.role != RecordRole::ThreadEntry;
}

}  // namespace

Resolved OperatorEntry::resolve(DispatchKey key, const Common& common,
                                CallingInterpreter caller) const {
  return Active(*this, caller).resolve(slot_of(key), common);
}

void OperatorEntry::prepare_tables(Operator& live, const Common& common) const {
  if (common.watching) WatchTable::require(live);
  if (!common.several()) return;
  const auto require = [&](const auto& registered) {
    for (const auto& one : registered) {
      const Interpreter* const interpreter = one.record->interpreter;
      if (interpreter != nullptr && interpreter->armed())
        InterpreterTable::require(live, *interpreter);
    }
  };
  require(kernels.all());
  require(common.fallbacks.all());
}

Resolved OperatorEntry::resolve_below(DispatchKey key, DispatchKey at, std::uint64_t order,
                                      const Common& common) const {
  return Active(*this, common.here(), at, order).resolve(slot_of(key), common);
}

void OperatorEntry::publish(const Common& common) const {
  if (op == nullptr) return;
  const SlotTable table =
      stored_table(*this, common, [](InterpreterTable& one, const SlotTable& seen) {
        for (std::size_t slot = 0; slot < seen.size(); ++slot) {
          one.slots[slot].store(seen[slot], std::memory_order_release);
        }
      });
  WatchTable* const behind = common.watching ? WatchTable::find(*op) : nullptr;
  std::uint64_t stays = DispatchKeySet::kBackendBits;  // and layers with a slot that takes calls
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    if (table[slot]->role != RecordRole::Fallthrough) {
      stays |= DispatchKeySet(layer_of(key_of_slot(slot))).raw();
    }
    const Record* seen = table[slot];
    if (behind != nullptr) {
      behind->slots[slot].store(seen, std::memory_order_release);
      if (takes_calls(*seen)) seen = &watch_record();
    }
    op->table_.slots[slot].store(seen, std::memory_order_release);
  }
  op->table_.mask.store(stays, std::memory_order_release);
  table_changes.fetch_add(1, std::memory_order_release);
}

void OperatorEntry::set_watch(bool on) const noexcept {
  if (op == nullptr) return;
  WatchTable& behind = *WatchTable::find(*op);
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    std::atomic<const Record*>& front = op->table_.slots[slot];
    if (on) {
      const Record* const record = front.load(std::memory_order_relaxed);
      behind.slots[slot].store(record, std::memory_order_release);
      if (takes_calls(*record)) front.store(&watch_record(), std::memory_order_release);
    } else {
      front.store(behind.slots[slot].load(std::memory_order_relaxed), std::memory_order_release);
    }
  }
  table_changes.fetch_add(1, std::memory_order_release);
}

bool OperatorEntry::has_handle(const Operator& op) noexcept {
  return (op.signature_.load(std::memory_order_acquire) & kHandleMade) != 0;
}

std::string OperatorEntry::describe_signature(const Operator& op) {
  const std::uintptr_t word = op.signature_.load(std::memory_order_acquire);
  const auto* const signature = reinterpret_cast<const std::type_info*>(word & ~kHandleMade);
  if (signature == nullptr) return "none any more";
  Dl_info found{};
  if ((word & kHandleMade) == 0 || dladdr(signature, &found) == 0 || found.dli_fname == nullptr) {
    return demangled(*signature);
  }
  return fmt::format("{} (of a typed handle, with the types of {})", demangled(*signature),
                     found.dli_fname);
}

void OperatorEntry::mark_removed(Operator& op) {
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    const bool entry = key_of_slot(slot) == DispatchKey::ThreadEntry;
    op.table_.slots[slot].store(entry ? &thread_entry_record() : &gone_record(),
                                std::memory_order_release);
  }
  op.table_.mask.store(~std::uint64_t{0}, std::memory_order_release);
  table_changes.fetch_add(1, std::memory_order_release);
}

std::string OperatorEntry::find_drift(const Common& common) const {
  const KernelStacks::Stack all = kernels.all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const DispatchKey key = all[i].key();
    if (key == DispatchKey::Undefined || (i > 0 && key < all[i - 1].key())) {
      return fmt::format("{} has a misplaced stack of kernels at {}", to_string(name),
                         to_string(key));
    }
  }
  if (op == nullptr) return "";
  if (op->name() != name) {
    return fmt::format("{} holds the operator {}", to_string(name), to_string(op->name()));
  }
  std::uint64_t positions = 0;
  const auto& arguments = op->schema().arguments;
  for (std::size_t i = 0; i < std::min<std::size_t>(arguments.size(), 64); ++i) {
    positions |= std::uint64_t{carries_keys(*arguments[i].type)} << i;
  }
  if (op->key_positions_ != positions) {
    return fmt::format("{} takes keys from other arguments than its schema says", to_string(name));
  }
  std::string drift_of_interpreter;
  const SlotTable computed =
      stored_table(*this, common, [&](const InterpreterTable& one, const SlotTable& seen) {
        for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
          if (one.slots[slot].load(std::memory_order_acquire) == seen[slot]) continue;
          drift_of_interpreter =
              fmt::format("{} at {}: an interpreter's table is not the computed one",
                          to_string(name), to_string(key_of_slot(slot)));
        }
      });
  if (!drift_of_interpreter.empty()) return drift_of_interpreter;
  const WatchTable* const behind = common.watching ? WatchTable::find(*op) : nullptr;
  if (common.watching && behind == nullptr) {
    return fmt::format("{} does not lead to the watchers, while others do", to_string(name));
  }
  std::uint64_t stays = DispatchKeySet::kBackendBits | detail::kThreadEntryBit;
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    const DispatchKey key = key_of_slot(slot);
    const Record* found = op->table_.slots[slot].load(std::memory_order_acquire);
    const Record* const wanted = computed[slot];
    const bool leads_to_watchers = found == &watch_record();
    if (leads_to_watchers != (behind != nullptr && takes_calls(*wanted))) {
      return fmt::format("{} at {} {} to the watchers", to_string(name), to_string(key),
                         leads_to_watchers ? "leads" : "does not lead");
    }
    if (leads_to_watchers) found = behind->slots[slot].load(std::memory_order_acquire);
    if (found != wanted) {
      return fmt::format("{} at {}: the table holds \"{}\", registrations make it \"{}\" [{}]",
                         to_string(name), to_string(key), found->provenance.str(),
                         wanted->provenance.str(), resolve(key, common, common.here()).rule);
    }
    if (found->role != RecordRole::Fallthrough) stays |= DispatchKeySet(layer_of(key)).raw();
  }
  const std::uint64_t mask = op->table_.mask.load(std::memory_order_acquire);
  if (mask == stays) return "";
  return fmt::format("{}: the mask is {}, registrations make it {}", to_string(name),
                     to_string(DispatchKeySet(DispatchKeySet::RAW, mask)),
                     to_string(DispatchKeySet(DispatchKeySet::RAW, stays)));
}

Operator& OperatorEntry::operator_for(const Schema& schema) {
  const std::string declaration = to_string(schema);
  for (const auto& known : former) {
    if (known->declaration() == declaration) return *known;
  }
  former.push_back(std::make_unique<Operator>(schema, gone_record()));
  return *former.back();
}

}  // namespace opyard
