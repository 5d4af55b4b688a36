// ir/operation.cpp: C++ functions as operations.
#include "opyard/jit/operation.h"

#include <atomic>
#include <memory>
#include <utility>

namespace opyard::jit {

Operation::~Operation() = default;

void Operation::run_at(const Node&, std::span<const opyard::Value> inputs,
                       std::vector<opyard::Value>& outputs) const {
  run(inputs, outputs);
}

namespace {

// A list that only grows, so that it is read without a lock.
struct OfKind {
  Symbol kind;
  CountedPtr<const Operation> operation;
  const OfKind* next;
};
constinit std::atomic<const OfKind*> operations_of_kinds{nullptr};

const Operation* find_of_kind(Symbol kind) {
  for (const OfKind* one = operations_of_kinds.load(std::memory_order_acquire); one != nullptr;
       one = one->next) {
    if (one->kind == kind) return one->operation.get();
  }
  return nullptr;
}

class CppOperation final : public Operation {
 public:
  CppOperation(std::string name, CppFunction function)
      : name_(std::move(name)), function_(std::move(function)) {}
  void run(std::span<const opyard::Value> inputs,
           std::vector<opyard::Value>& outputs) const override {
    function_(inputs, outputs);
  }
  std::string name() const override { return name_; }

 private:
  const std::string name_;
  const CppFunction function_;
};

}  // namespace

CountedPtr<Operation> cpp_operation(std::string name, CppFunction function) {
  return make_counted<CppOperation>(std::move(name), std::move(function));
}

const Operation* operation_of(const Node& node) {
  if (const auto* const own = dynamic_cast<const Operation*>(node.payload().get())) return own;
  return find_of_kind(node.kind());
}

void set_operation(Symbol kind, CountedPtr<const Operation> operation) {
  if (find_of_kind(kind) != nullptr) return;
  auto fresh = std::make_unique<OfKind>(OfKind{kind, std::move(operation), nullptr});
  fresh->next = operations_of_kinds.load(std::memory_order_relaxed);
  while (!operations_of_kinds.compare_exchange_weak(fresh->next, fresh.get(),
                                                    std::memory_order_release)) {
  }
  static_cast<void>(fresh.release());
}

}  // namespace opyard::jit
