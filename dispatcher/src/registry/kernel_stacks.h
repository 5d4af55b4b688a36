// registry/kernel_stacks.h: the kernels of one operator, or all fallbacks, as stacks by key.
//
// They are in one piece of memory, by key and the newest of a key last, since most operators have a
// few kernels at different keys. Guarded by the registry's lock.
//
//   CPU   CPU   CUDA   AutogradCPU
//         └ active
//
// Some records serve one interpreter alone (Record::interpreter), so a table is computed for a
// caller, who sees those of its own and those that serve all:
//
//   CallingInterpreter::of(interpreter)   calls of this interpreter; of null: of one that has no
//                                         record of its own
//   CallingInterpreter::outside()         a thread that is in no interpreter: sees those of all
//                                         that live
//   CallingInterpreter::after()           no interpreter is left: sees those of the ended ones,
//                                         which then say so
//
// Depends on: opyard/detail/registry/record.h, interpreter/interpreter.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "opyard/detail/registry/record.h"
#include "opyard/interpreter/interpreter.h"

namespace opyard {

using Owner = const void*;

class CallingInterpreter {
 public:
  static CallingInterpreter of(const Interpreter* interpreter) noexcept {
    return {Who::One, interpreter};
  }
  static CallingInterpreter outside() noexcept { return {Who::Outside, nullptr}; }
  static CallingInterpreter after() noexcept { return {Who::After, nullptr}; }

  bool sees(const Record& record) const noexcept {
    if (record.interpreter == nullptr || who_ == Who::After) return true;
    return who_ == Who::One ? record.interpreter == interpreter_ : record.interpreter->armed();
  }

 private:
  enum class Who { One, Outside, After };
  CallingInterpreter(Who who, const Interpreter* interpreter) noexcept
      : who_(who), interpreter_(interpreter) {}

  Who who_;
  const Interpreter* interpreter_;
};

struct RegisteredKernel {
  std::unique_ptr<Record> record;  // which has the key
  std::uint64_t id;
  Owner owner;

  DispatchKey key() const noexcept { return record->key; }
};

namespace detail {

// The part of a sorted vector that has this key.
template <typename All>
auto range(All& all, DispatchKey key) noexcept {
  const auto begin = std::partition_point(all.begin(), all.end(),
                                          [&](const auto& one) { return one.key() < key; });
  const auto end =
      std::find_if(begin, all.end(), [&](const auto& one) { return one.key() != key; });
  return std::pair(begin, end);
}

}  // namespace detail

class KernelStacks {
 public:
  using Stack = std::span<const RegisteredKernel>;

  bool empty() const noexcept { return all_.empty(); }
  // Oldest first; empty if there is none.
  Stack at(DispatchKey key) const noexcept {
    const auto [begin, end] = detail::range(all_, key);
    return {begin, end};
  }
  std::span<RegisteredKernel> at(DispatchKey key) noexcept {
    const auto [begin, end] = detail::range(all_, key);
    return {begin, end};
  }
  // The newest at a key that the caller sees, of those before this order; or null.
  const Record* newest(DispatchKey key, CallingInterpreter caller,
                       std::uint64_t end = ~std::uint64_t{0}) const noexcept {
    const Stack stack = at(key);
    for (auto kernel = stack.rbegin(); kernel != stack.rend(); ++kernel) {
      const Record& record = *kernel->record;
      if (record.order < end && caller.sees(record)) return &record;
    }
    return nullptr;
  }

  // Room for one more. Raises bad_alloc.
  void reserve_one() {
    if (all_.size() == all_.capacity()) all_.reserve(std::max<std::size_t>(1, 2 * all_.size()));
  }
  // On top of those at its key; there is room.
  RegisteredKernel& push(RegisteredKernel kernel) noexcept {
    const auto place = detail::range(all_, kernel.key()).second;
    return *all_.insert(place, std::move(kernel));
  }
  // The one of this registration at a key, which has one.
  RegisteredKernel take(DispatchKey key, std::uint64_t id) noexcept {
    const auto [begin, end] = detail::range(all_, key);
    const auto found =
        std::find_if(begin, end, [&](const auto& kernel) { return kernel.id == id; });
    RegisteredKernel taken = std::move(*found);
    all_.erase(found);
    return taken;
  }

  // All of them, and each key's stack in the order of keys.
  Stack all() const noexcept { return all_; }
  class Iterator {
   public:
    Iterator(const RegisteredKernel* at, const RegisteredKernel* end) noexcept
        : at_(at), end_(end) {}
    std::pair<DispatchKey, Stack> operator*() const noexcept { return {at_->key(), {at_, next()}}; }
    Iterator& operator++() noexcept {
      at_ = next();
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return at_ == other.at_; }

   private:
    const RegisteredKernel* next() const noexcept {
      return std::find_if(at_, end_, [&](const auto& one) { return one.key() != at_->key(); });
    }
    const RegisteredKernel* at_;
    const RegisteredKernel* end_;
  };
  Iterator begin() const noexcept { return {all_.data(), all_.data() + all_.size()}; }
  Iterator end() const noexcept { return {all_.data() + all_.size(), all_.data() + all_.size()}; }

 private:
  std::vector<RegisteredKernel> all_;
};

}  // namespace opyard
