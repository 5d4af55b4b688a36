// code/code.cpp: a code as its users hold it.
#include "opyard/jit/code.h"

#include <fmt/format.h>

#include <memory>

#include "code/code_data.h"

namespace opyard::jit {

Operation::~Operation() = default;

namespace {

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
  return dynamic_cast<const Operation*>(node.payload().get());
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
