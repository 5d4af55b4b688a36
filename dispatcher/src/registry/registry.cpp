// registry/registry.cpp: the registry: its lock and its changes.
//
// [Change] Each change takes the lock, checks everything that can be refused, does what can
// fail for want of memory, and only then alters what calls see; so a change that throws has
// changed nothing. It ends by publishing the tables concerned. What was taken out is retired,
// and what may be freed is destroyed after the lock is released: contexts may run a user's
// code. Warnings, too, are given without the lock.
//
// Calls never take the lock.
#include "opyard/registry/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "opyard/base/warning.h"
#include "opyard/keys/alias_keys.h"
#include "opyard/registry/exclusive.h"
#include "registry/built_in_records.h"
#include "registry/definers.h"
#include "registry/interpreter_tables.h"
#include "registry/reclaim.h"
#include "registry/signature.h"
#include "registry/state.h"

namespace opyard {

constinit std::atomic<std::uint64_t> detail::registry_generation{1};

namespace {

// Where a kernel is registered, as people say it.
std::string in_words(DispatchKey key) {
  return key == DispatchKey::CompositeImplicitAutograd ? "(catch all)" : to_string(key);
}

[[noreturn]] OPYARD_COLD void refuse_signature(const OperatorEntry& entry, const Record& known,
                                               DispatchKey known_key, const Record& added,
                                               DispatchKey added_key) {
  fail(ErrorKind::BadRegistration,
       fmt::format("Mismatch in kernel C++ signatures\n  operator: {}\n"
                   "  kernel 1: {}\n    dispatch key: {}\n    {}\n"
                   "  kernel 2: {}\n    dispatch key: {}\n    {}",
                   entry.op != nullptr ? entry.op->declaration() : to_string(entry.name),
                   demangled(*known.signature), in_words(known_key), known.provenance.str(),
                   demangled(*added.signature), in_words(added_key), added.provenance.str()));
}

// Raises if a kernel's C++ types are not those of a schema.
void check_types(const Schema& schema, const std::string& schema_provenance, const Record& kernel) {
  if (kernel.infer == nullptr) return;
  const Schema inferred = schema_of(kernel.infer());
  if (const auto difference = find_difference(schema, inferred)) {
    const std::string wanted = cpp_signature(schema);
    fail(ErrorKind::BadRegistration,
         fmt::format("A kernel's C++ types do not match the operator's schema.\n"
                     "  operator: {}\n  schema: {}\n    {}\n  kernel: {}\n    {}\n  reason: {}{}{}",
                     to_string(schema.name), to_string(schema), schema_provenance,
                     to_string(inferred), kernel.provenance.str(), *difference,
                     wanted.empty() ? "" : "\n  a kernel of this schema: ", wanted));
  }
}

std::unique_ptr<Record> record_of(Kernel kernel, std::string provenance) {
  std::unique_ptr<Record> record = std::move(kernel).release();
  OPYARD_CHECK(record != nullptr, BadRegistration,
               "this kernel was moved from: a kernel can be registered once");
  record->provenance = std::move(provenance);
  return record;
}

// Raises if a kernel may not join the operator at this key. Changes nothing.
void check_kernel(const OperatorEntry& entry, DispatchKey key, const Record& kernel) {
  if (kernel.signature != nullptr) {
    const auto [known, known_key] = entry.first_signature();
    if (known != nullptr && *known->signature != *kernel.signature) {
      refuse_signature(entry, *known, known_key, kernel, key);
    }
  }
  if (entry.definition) check_types(entry.op->schema(), entry.definition->provenance, kernel);
}

// Fixes the operator's C++ signature to that of the kernel. The last thing that may fail: it
// cannot be undone.
void fix_signature(const OperatorEntry& entry, const Record& kernel) {
  if (entry.op == nullptr || kernel.signature == nullptr ||
      entry.op->fix_signature(*kernel.signature, false)) {
    return;
  }
  fail(ErrorKind::BadRegistration,
       fmt::format("{}: the C++ signature of this operator is {}, and that of the kernel {} is {}",
                   to_string(entry.name), OperatorEntry::describe_signature(*entry.op),
                   kernel.provenance.str(), demangled(*kernel.signature)));
}

// What gradients come of may be another now; see inspect::derivatives_changed().
void note_if_autograd(DispatchKey key) noexcept {
  if (key == DispatchKey::Autograd ||
      (!is_alias(key) && alias_includes(DispatchKey::Autograd, key))) {
    derivative_changes.fetch_add(1, std::memory_order_acq_rel);
  }
}

// Whether calls see both: none has ended, or serves another interpreter than the other does.
bool meet(const Record& one, const Record& other) noexcept {
  if (has_ended(one.interpreter) || has_ended(other.interpreter)) return false;
  return one.interpreter == nullptr || other.interpreter == nullptr ||
         one.interpreter == other.interpreter;
}

std::string describe_override(const OperatorEntry& entry, DispatchKey key, const Record& former,
                              const Record& fresh) {
  return fmt::format(
      "Overriding a previously registered kernel for the same operator and the same "
      "dispatch key\n  operator: {}\n  dispatch key: {}\n  previous kernel: {}\n"
      "  new kernel: {}",
      entry.op != nullptr ? entry.op->declaration() : to_string(entry.name), to_string(key),
      former.provenance.str(), fresh.provenance.str());
}

constinit thread_local Exclusive exclusive = Exclusive::No;  // see registry/exclusive.h

[[noreturn]] OPYARD_COLD void refuse_to_cover(const OperatorEntry& entry, DispatchKey key,
                                              const Record& former) {
  fail(ErrorKind::BadRegistration,
       fmt::format("{} has a kernel at {} of another library, {}, and an exclusive kernel covers "
                   "none; take that one back, or go on top of it by an override",
                   to_string(entry.name), to_string(key), former.provenance.str()));
}

}  // namespace

Registry::Registry() : state_(new State) {
  std::unique_ptr<State> unless_done(state_);
  make_built_in_records();
  prepare_reclaimer();
  static_cast<void>(unless_done.release());
}

Registry& Registry::instance() {
  static auto* const registry = new Registry;  // outlives every library and thread
  return *registry;
}

namespace {

// Made when libopyard is loaded: a fork() on one thread while another is just making it would
// leave the child with a registry that is never ready. If it cannot be made now, code that needs
// it first is told.
[[maybe_unused]] const Status made_registry = guarded([] { Registry::instance(); });

}  // namespace

ReloadMark Registry::reload_mark() const {
  const std::lock_guard lock(state_->mutex);
  return state_->last_id;
}

Registration Registry::define(Definition definition, Owner owner, ReloadMark reload) {
  RecordChain freed;
  CountedPtr<MissingKernelReporter> reporter;  // destroyed after the lock is released
  std::unique_lock lock(state_->mutex);
  state_->history.prepare();
  OperatorEntry& entry = state_->entry(definition.schema.name);
  while (has_ended_definition(entry) && !may_share(entry, definition)) {
    const std::uint64_t left = entry.definition_id;
    lock.unlock();
    undo(left);
    lock.lock();
  }
  const bool is_same = entry.definition && entry.op->declaration() == to_string(definition.schema);
  const bool replaces = entry.definition && owner != nullptr && !entry.ending &&
                        entry.definition_owner == owner && entry.definition_id <= reload &&
                        (is_same || entry.sharers.empty());
  if (entry.definition && !replaces) {
    const std::uint64_t former_id = may_share_on_reload(entry, definition, owner, reload);
    if (former_id == 0 && !may_share(entry, definition)) refuse_definition(entry, definition);
    entry.sharers.reserve(entry.sharers.size() + 1);
    const std::uint64_t id = state_->add_target({State::What::Definition, &entry});
    if (former_id != 0) {
      state_->log(false, entry, former_id, definition.provenance);
      state_->targets.erase(former_id);
      std::erase_if(entry.sharers, [&](const auto& sharer) { return sharer.id == former_id; });
    }
    entry.sharers.push_back({definition.interpreter, id, owner});
    state_->log(true, entry, id, definition.provenance);
    return Registration(id);
  }
  for (const RegisteredKernel& kernel : entry.kernels.all()) {
    check_types(definition.schema, definition.provenance, *kernel.record);
  }
  Operator& op = entry.operator_for(definition.schema);
  const bool to_arm = state_->common.armed && (entry.op != &op || entry.gradient_slot == nullptr);
  GradientSlot::Records tapes;
  if (to_arm) {
    if (entry.gradient_slot == nullptr) entry.gradient_slot = std::make_unique<GradientSlot>();
    tapes = entry.gradient_slot->make(op.schema());
  }
  KnownDefinition known(std::move(definition));
  state_->share(known.provenance);
  entry.prepare_tables(op, state_->common);
  const std::uint64_t id = state_->add_target({State::What::Definition, &entry});
  if (const auto [kernel, key] = entry.first_signature();
      kernel != nullptr && !op.fix_signature(*kernel->signature, false)) {
    state_->targets.erase(id);
    fail(ErrorKind::BadRegistration,
         fmt::format("{} was defined before with the C++ signature {}, and handles to it may still "
                     "be in use; its kernel {} now has {}",
                     op.declaration(), OperatorEntry::describe_signature(op),
                     kernel->provenance.str(), demangled(*kernel->signature)));
  }
  Operator* former = nullptr;  // the one of another schema
  if (replaces) {
    state_->log(false, entry, entry.definition_id, entry.definition->provenance);
    state_->targets.erase(entry.definition_id);
    if (entry.op != &op) {
      former = entry.op;
      OperatorEntry::mark_removed(*former);
      former->forget_signature();
      reporter = std::move(entry.reporter);
    }
  }
  const bool is_news = !replaces || former != nullptr;
  entry.definition.emplace(std::move(known));
  entry.definition_id = id;
  entry.definition_owner = owner;
  entry.op = &op;
  if (to_arm) entry.gradient_slot->take(std::move(tapes));
  entry.publish(state_->common);
  detail::registry_generation.fetch_add(1, std::memory_order_release);
  state_->log(true, entry, id, entry.definition->provenance);
  freed = collect_retired();
  Registration registration(id);
  const bool heard = is_news && !state_->listeners.none();
  lock.unlock();
  if (heard && former != nullptr) state_->listeners.tell_undefined(*former, id);
  if (heard) state_->listeners.tell_defined(op, id);
  return registration;
}

Registration Registry::listen(RegistrationListener listener) {
  std::unique_lock lock(state_->mutex);
  std::vector<const Operator*> defined;
  for (const auto& [name, entry] : state_->entries) {
    if (entry->definition && !entry->ending) defined.push_back(entry->op);
  }
  const std::uint64_t id = state_->add_target({State::What::Listener, nullptr});
  try {
    state_->listeners.add(id, std::move(listener), std::move(defined));
  } catch (...) {
    state_->targets.erase(id);
    throw;
  }
  Registration registration(id);
  lock.unlock();
  state_->listeners.replay(id);
  return registration;
}

void Registry::set_missing_kernel_reporter(const Operator& op,
                                           CountedPtr<MissingKernelReporter> reporter) {
  // The former one dies after the lock is released: it may run a user's code.
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->entries.find(op.name());
  if (found == state_->entries.end() || found->second->op != &op) {
    fail(ErrorKind::NotFound,
         fmt::format("{} is gone: its definition was unregistered", op.declaration()));
  }
  std::swap(found->second->reporter, reporter);
}

ExclusiveKernels::ExclusiveKernels(Exclusive how) noexcept
    : outer_(std::exchange(exclusive, std::max(exclusive, how))) {}
ExclusiveKernels::~ExclusiveKernels() { exclusive = outer_; }

Registration Registry::implement(OperatorName name, std::optional<DispatchKey> at, Kernel kernel,
                                 std::string provenance, Owner owner, bool override,
                                 ReloadMark reload) {
  const DispatchKey key = kernel_key(name, at);
  std::unique_ptr<Record> record = record_of(std::move(kernel), std::move(provenance));

  std::string warning;
  RecordChain freed;  // destroyed after the lock is released
  Registration registration;
  OperatorEntry* entry = nullptr;  // entries live for ever
  std::uint64_t covered = 0;  // the owner's kernel below another's, which goes when all went well
  {
    const std::lock_guard lock(state_->mutex);
    state_->history.prepare();
    entry = &state_->entry(name);
    check_kernel(*entry, key, *record);
    state_->share(record->provenance);
    const std::span<RegisteredKernel> stack = entry->kernels.at(key);
    const auto is_own = [&](const RegisteredKernel& kernel) {
      return owner != nullptr && kernel.owner == owner;
    };
    const auto own = std::find_if(stack.begin(), stack.end(), is_own);
    const bool in_place = own != stack.end() && (own + 1 == stack.end() || own->id <= reload);
    const auto below = std::find_if(stack.rbegin(), stack.rend(), [&](const auto& kernel) {
      return meet(*kernel.record, *record);
    });
    if (below != stack.rend() && !in_place && !is_own(*below) && !override) {
      if (exclusive != Exclusive::No) refuse_to_cover(*entry, key, *below->record);
      // Once for each depth of the stack: a third library is told, too, and one that comes and goes
      // is not told again.
      const auto told = std::size_t(std::count(entry->warned.begin(), entry->warned.end(), key));
      if (stack.size() > told) warning = describe_override(*entry, key, *below->record, *record);
    }
    if (exclusive == Exclusive::OnlyAsked) return registration;
    if (entry->op != nullptr && record->interpreter != nullptr && state_->common.several()) {
      InterpreterTable::require(*entry->op, *record->interpreter);
    }
    if (own != stack.end() && !in_place) covered = own->id;
    const std::uint64_t id = state_->add_target({State::What::Kernel, entry, key});
    try {
      if (!in_place) entry->kernels.reserve_one();  // the stack is elsewhere afterwards
      fix_signature(*entry, *record);
    } catch (...) {
      state_->targets.erase(id);
      throw;
    }
    registration = Registration(id);
    record->key = key;
    record->order = id;
    if (in_place) {
      record->order = own->record->order;
      state_->log(false, *entry, *own);
      state_->targets.erase(own->id);
      std::swap(own->record, record);
      own->id = id;
      state_->log(true, *entry, *own);
    } else {
      state_->log(true, *entry, entry->kernels.push({std::move(record), id, owner}));
    }
    note_if_autograd(key);
    entry->publish(state_->common);
    if (record != nullptr) retire(std::move(record));
    freed = collect_retired();
  }
  if (!warning.empty()) {
    warn_at_once(WarningKind::User, warning);  // a handler that throws takes the registration back
    const std::lock_guard lock(state_->mutex);
    entry->warned.push_back(key);
  }
  if (covered != 0) undo(covered);
  return registration;
}

Registration Registry::implement_fallback(DispatchKey key, Kernel kernel, std::string provenance,
                                          Owner owner, ReloadMark reload) {
  if (!is_known(key) || !is_runtime_key(key) || key == DispatchKey::Undefined ||
      key == DispatchKey::ThreadEntry) {
    fail(ErrorKind::BadRegistration,
         fmt::format("a fallback cannot be registered at {}: it needs one runtime key",
                     to_string(key)));
  }
  std::unique_ptr<Record> record = record_of(std::move(kernel), std::move(provenance));
  if (record->typed != nullptr) {
    fail(ErrorKind::BadRegistration,
         fmt::format("the fallback for {} serves every operator and must be a boxed kernel or "
                     "Kernel::fallthrough()",
                     to_string(key)));
  }
  RecordChain freed;
  const std::lock_guard lock(state_->mutex);
  state_->history.prepare();
  state_->share(record->provenance);
  RegisteredKernel* replaced = nullptr;
  for (RegisteredKernel& former : state_->common.fallbacks.at(key)) {
    if (owner != nullptr && former.owner == owner && former.id <= reload) {
      replaced = &former;
    } else if (meet(*former.record, *record)) {
      fail(ErrorKind::BadRegistration,
           fmt::format("Tried to register multiple backend fallbacks for the same dispatch key {}; "
                       "previous registration {}, new registration {}",
                       to_string(key), former.record->provenance.str(), record->provenance.str()));
    }
  }
  if (record->interpreter != nullptr && state_->common.several()) {
    for (const auto& [name, entry] : state_->entries) {
      if (entry->op != nullptr) InterpreterTable::require(*entry->op, *record->interpreter);
    }
  }
  if (replaced == nullptr) state_->common.fallbacks.reserve_one();
  const std::uint64_t id = state_->add_target({State::What::Fallback, nullptr, key});
  record->key = key;
  if (replaced != nullptr) {
    state_->log(false, *replaced);
    state_->targets.erase(replaced->id);
    std::swap(replaced->record, record);
    replaced->id = id;
  } else {
    replaced = &state_->common.fallbacks.push({std::move(record), id, owner});
  }
  note_if_autograd(key);
  state_->publish_all();
  state_->log(true, *replaced);
  if (record != nullptr) retire(std::move(record));
  freed = collect_retired();
  return Registration(id);
}

Registration Registry::claim_namespace(std::string name_space, std::string provenance,
                                       const Interpreter* interpreter) {
  const std::lock_guard lock(state_->mutex);
  state_->history.prepare();
  const auto place = state_->claims.try_emplace(std::move(name_space)).first;
  auto& [claimed, claims] = *place;
  std::uint64_t id = 0;
  try {
    for (const State::Claim& former : claims) {
      const bool both_may = former.interpreter != nullptr && interpreter != nullptr &&
                            former.interpreter != interpreter;
      if (both_may || has_ended(former.interpreter)) continue;
      fail(ErrorKind::BadRegistration,
           fmt::format(
               "Only one {} can define the namespace {}; put all definitions into one block, or "
               "use {} for the others. Previous registration was {}; latest registration was {}",
               interpreter != nullptr ? "library of kind \"DEF\"" : "OPYARD_LIBRARY block", claimed,
               interpreter != nullptr ? "Library(ns, \"FRAGMENT\")" : "OPYARD_LIBRARY_FRAGMENT",
               former.provenance, provenance));
    }
    claims.reserve(claims.size() + 1);
    id = state_->add_target(State::Target(&claimed));
  } catch (...) {
    if (claims.empty()) state_->claims.erase(place);
    throw;
  }
  claims.push_back({std::move(provenance), interpreter, id});
  state_->log(true, claimed, claims.back());
  return Registration(id);
}

void Registry::undo(std::uint64_t id) noexcept {
  // Destroyed after the lock is released.
  RecordChain freed;
  CountedPtr<MissingKernelReporter> reporter;
  std::shared_ptr<void> listener;
  CountedPtr<const Derivative> derivative;
  std::unique_lock lock(state_->mutex);
  auto found = state_->targets.find(id);
  if (found == state_->targets.end()) return;  // replaced since
  const bool is_definition = found->second.what == State::What::Definition;
  if (is_definition && leave_to_sharers(*found->second.entry, id)) {
    state_->log(false, *found->second.entry, id, found->second.entry->definition->provenance);
    state_->targets.erase(found);
    return;
  }
  if (is_definition && !state_->listeners.none()) {
    OperatorEntry& entry = *found->second.entry;
    entry.ending = true;
    const std::uint64_t last = state_->last_id;
    lock.unlock();
    state_->listeners.tell_undefined(*entry.op, last);
    lock.lock();
    found = state_->targets.find(id);
  }
  const auto node = state_->targets.extract(found);
  const State::Target& target = node.mapped();
  switch (target.what) {
    case State::What::Definition:
      state_->log(false, *target.entry, id, target.entry->definition->provenance);
      OperatorEntry::mark_removed(*target.entry->op);
      target.entry->op->forget_signature();
      target.entry->op = nullptr;
      target.entry->definition.reset();
      target.entry->ending = false;
      reporter = std::move(target.entry->reporter);
      detail::registry_generation.fetch_add(1, std::memory_order_release);
      break;
    case State::What::Kernel: {
      RegisteredKernel kernel = target.entry->kernels.take(target.key, id);
      state_->log(false, *target.entry, kernel);
      note_if_autograd(target.key);
      target.entry->publish(state_->common);
      retire(std::move(kernel.record));
      break;
    }
    case State::What::Fallback: {
      RegisteredKernel fallback = state_->common.fallbacks.take(target.key, id);
      state_->log(false, fallback);
      note_if_autograd(target.key);
      state_->publish_all();
      retire(std::move(fallback.record));
      break;
    }
    case State::What::Namespace: {
      const auto at = state_->claims.find(*target.name_space);
      const auto claim = std::find_if(at->second.begin(), at->second.end(),
                                      [&](const auto& one) { return one.id == id; });
      state_->log(false, at->first, *claim);
      at->second.erase(claim);
      if (at->second.empty()) state_->claims.erase(at);
      break;
    }
    case State::What::Derivative: {
      auto& given = target.entry->gradient_slot->given;
      const auto own =
          std::find_if(given.begin(), given.end(), [&](const auto& one) { return one.id == id; });
      derivative = std::move(own->derivative);
      std::unique_ptr<Record> record = std::move(own->record);
      given.erase(own);
      derivative_changes.fetch_add(1, std::memory_order_acq_rel);
      target.entry->publish(state_->common);
      if (record != nullptr) retire(std::move(record));
      break;
    }
    case State::What::Listener:
      listener = state_->listeners.remove(id);
      break;
  }
  freed = collect_retired();
}

void Registry::join(const Interpreter* interpreter) {
  const std::lock_guard lock(state_->mutex);
  Common& common = state_->common;
  common.interpreters.push_back(interpreter);
  try {
    for (const auto& [name, entry] : state_->entries) {
      if (entry->op != nullptr) entry->prepare_tables(*entry->op, common);
    }
  } catch (...) {
    common.interpreters.pop_back();
    throw;
  }
  several_interpreters.store(common.several());
  state_->publish_all();
}

void Registry::leave(const Interpreter* interpreter) noexcept {
  const std::lock_guard lock(state_->mutex);
  if (std::erase(state_->common.interpreters, interpreter) == 0) return;
  several_interpreters.store(state_->common.several());
  for (const auto& [name, entry] : state_->entries) {
    for (const auto& op : entry->former) InterpreterTable::release(*op, *interpreter);
  }
  state_->publish_all();
}

bool Registry::in_force(std::uint64_t id) const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->targets.contains(id);
}

bool Registration::in_force() const noexcept {
  return id_ != 0 && Registry::instance().in_force(id_);
}

void Registration::undo() noexcept {
  if (id_ != 0) Registry::instance().undo(std::exchange(id_, 0));
}

void Registry::reclaim() {
  RecordChain freed;
  const std::lock_guard lock(state_->mutex);
  freed = collect_retired();
}

}  // namespace opyard
