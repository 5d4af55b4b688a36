// registry/entry.cpp: from registrations to a table.
//
// [Resolution] resolve() is a pure function of what is registered now, and publish() writes
// all slots from it. Nothing is updated in place, so a table cannot depend on the order in
// which registrations came and went.
//
// [Mask] A layer leaves the mask where it falls through on every backend. Where it falls
// through on some backends only, its slots there hold a fallthrough record, which costs one
// hop. So mask and slots need not change together: a call that reads the one before and the
// other after a change still ends at a right kernel.
#include "registry/entry.h"

#include <fmt/format.h>

#include "opyard/keys/alias.h"
#include "registry/stubs.h"

namespace opyard {

const Record* Fallbacks::find(DispatchKey key) const {
  const auto found = registered.find(key);
  return found != registered.end() ? found->second.record.get() : built_in_fallback(key);
}

const Record* Entry::active(DispatchKey key) const {
  const auto found = kernels.find(key);
  return found == kernels.end() ? nullptr : found->second.back().record.get();
}

std::pair<const Record*, DispatchKey> Entry::first_signature() const {
  for (const auto& [key, stack] : kernels) {
    for (const RegisteredKernel& kernel : stack) {
      if (kernel.record->signature != nullptr) return {kernel.record.get(), key};
    }
  }
  return {nullptr, DispatchKey::Undefined};
}

Resolved Entry::look_up(DispatchKey key, const Fallbacks& fallbacks) const {
  const auto alias_kernel = [&](DispatchKey alias, bool serves_undefined) -> const Record* {
    const bool serves =
        alias_includes(alias, key) || (serves_undefined && key == DispatchKey::Undefined);
    return serves ? active(alias) : nullptr;
  };
  const auto any_kernel_at = [&](DispatchKeySet keys) {
    for (const auto& [at, stack] : kernels) {
      if (!is_alias(at) && keys.has(at)) return true;
    }
    return false;
  };
  const Record* const explicit_kernel = active(DispatchKey::CompositeExplicitAutograd);

  if (const Record* exact = active(key)) return {exact, "kernel"};
  for (const DispatchKey alias : {DispatchKey::CompositeExplicitAutogradNonFunctional,
                                  DispatchKey::CompositeExplicitAutograd}) {
    if (const Record* found = alias_kernel(alias, true)) return {found, "default backend kernel"};
  }
  const bool kernel_below = any_kernel_at(backend_keys_of_autograd(key));
  // The explicit composite serves no nested tensors, so it does not stand in the way here.
  const Record* const nested =
      alias_kernel(DispatchKey::CompositeImplicitAutogradNestedTensor, false);
  if (nested != nullptr && !kernel_below) return {nested, "nested kernel"};
  if (const Record* found = alias_kernel(DispatchKey::CompositeImplicitAutograd, true)) {
    if (key == DispatchKey::AutogradOther && kernel_below) {
      return {&ambiguous_stub(), "ambiguous autogradother"};
    }
    if (!kernel_below && explicit_kernel == nullptr) return {found, "math kernel"};
  }
  if (const Record* found = alias_kernel(DispatchKey::Autograd, false)) {
    return {found, "autograd kernel"};
  }
  if (const Record* found = alias_kernel(DispatchKey::BatchedDecomposition, false)) {
    return {found, "batched kernel"};
  }
  if (const Record* found = fallbacks.find(key)) return {found, "backend fallback"};
  return {&missing_stub(), "missing"};
}

Resolved Entry::resolve(DispatchKey key, const Fallbacks& fallbacks) const {
  const Resolved found = look_up(key, fallbacks);
  // There is nothing below Undefined that a call could go on to.
  if (key == DispatchKey::Undefined && found.record->role == RecordRole::Fallthrough) {
    return {&missing_stub(), "missing"};
  }
  return found;
}

void Entry::publish(const Fallbacks& fallbacks) const {
  if (op == nullptr) return;
  std::uint64_t stays = DispatchKeySet::kBackendBits;  // and layers with a slot that takes calls
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    const DispatchKey key = key_of_slot(slot);
    const Record* record =
        key == DispatchKey::ThreadEntry ? &thread_entry_stub() : resolve(key, fallbacks).record;
    if (record->role != RecordRole::Fallthrough) stays |= DispatchKeySet(layer_of(key)).raw();
    op->slots_[slot].store(record, std::memory_order_release);
  }
  op->mask_.store(stays, std::memory_order_release);
}

void Entry::bury(Operator& op) {
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    const bool entry = key_of_slot(slot) == DispatchKey::ThreadEntry;
    op.slots_[slot].store(entry ? &thread_entry_stub() : &gone_stub(), std::memory_order_release);
  }
  op.mask_.store(~std::uint64_t{0}, std::memory_order_release);
}

std::string Entry::find_drift(const Fallbacks& fallbacks) const {
  for (const auto& [key, stack] : kernels) {
    if (stack.empty() || key == DispatchKey::Undefined) {
      return fmt::format("{} has an empty or misplaced stack of kernels at {}", to_string(name),
                         to_string(key));
    }
  }
  if (op == nullptr) return "";
  if (op->name() != name) {
    return fmt::format("{} holds the operator {}", to_string(name), to_string(op->name()));
  }
  std::uint64_t stays = DispatchKeySet::kBackendBits | detail::kThreadEntryBit;
  for (unsigned slot = 0; slot < unsigned(kSlotCount); ++slot) {
    const DispatchKey key = key_of_slot(slot);
    const Record* stored = op->slots_[slot].load(std::memory_order_acquire);
    const Resolved computed = key == DispatchKey::ThreadEntry
                                  ? Resolved{&thread_entry_stub(), "thread entry"}
                                  : resolve(key, fallbacks);
    if (stored != computed.record) {
      return fmt::format("{} at {}: the table holds \"{}\", registrations make it \"{}\" [{}]",
                         to_string(name), to_string(key), stored->provenance,
                         computed.record->provenance, computed.rule);
    }
    if (stored->role != RecordRole::Fallthrough) stays |= DispatchKeySet(layer_of(key)).raw();
  }
  const std::uint64_t mask = op->mask_.load(std::memory_order_acquire);
  if (mask == stays) return "";
  return fmt::format("{}: the mask is {}, registrations make it {}", to_string(name),
                     to_string(DispatchKeySet(DispatchKeySet::RAW, mask)),
                     to_string(DispatchKeySet(DispatchKeySet::RAW, stays)));
}

Operator& Entry::operator_for(const Schema& schema) {
  const std::string declaration = to_string(schema);
  for (const auto& known : former) {
    if (known->declaration() == declaration) return *known;
  }
  former.push_back(std::make_unique<Operator>(schema, gone_stub()));
  return *former.back();
}

}  // namespace opyard
