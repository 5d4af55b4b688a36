// code/code.cpp: a code as its users hold it.
#include "opyard/jit/code.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>

#include "code/code_data.h"
#include "opyard/jit/operation.h"

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

Code::Code(GraphPtr graph)
    : data_([&] {
        OPYARD_CHECK(graph != nullptr, BadArgument, "a code is made of a graph, not of null");
        auto data = std::make_unique<CodeData>();
        data->graph = std::move(graph);
        Subcodes subcodes;
        build(*data, subcodes);
        return data.release();
      }()) {}
Code::~Code() { delete data_; }

const Graph& Code::graph() const noexcept { return *data_->graph; }
const GraphPtr& Code::graph_ptr() const noexcept { return data_->graph; }
std::size_t Code::stage_count() const noexcept { return data_->stages.size(); }
std::size_t Code::register_count() const noexcept { return data_->registers.size(); }
std::size_t Code::instruction_count() const noexcept { return data_->instructions.size(); }

namespace {

const Stage& stage_at(const CodeData& data, std::size_t stage) {
  OPYARD_CHECK(stage < data.stages.size(), BadIndex,
               fmt::format("there is no stage {}; the code has {}", stage, data.stages.size()));
  return data.stages[stage];
}

}  // namespace

std::size_t Code::input_count(std::size_t stage) const {
  return stage_at(*data_, stage).inputs.size();
}
std::size_t Code::output_count(std::size_t stage) const {
  return stage_at(*data_, stage).outputs.size();
}

std::int64_t Code::register_of(const Value* value) const noexcept {
  const std::uint32_t* const found = data_->register_of.find(value);
  return found == nullptr ? -1 : std::int64_t(*found);
}

}  // namespace opyard::jit
