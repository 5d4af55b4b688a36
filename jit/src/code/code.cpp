// code/code.cpp: a code as its users hold it, and a run from its first to its last instruction.
#include "opyard/jit/code.h"

#include <fmt/format.h>

#include <memory>

#include "code/code_data.h"

namespace opyard::jit {
namespace {

// So many registers are on the C stack.
constexpr std::size_t kInlineRegisters = 64;

// Registers of one run: None at first, and emptied at the end, in whatever way that comes.
class RegisterFile {
 public:
  explicit RegisterFile(std::size_t count) : count_(count) {
    registers_ =
        count <= kInlineRegisters
            ? reinterpret_cast<Register*>(memory_)
            : static_cast<Register*>(allocate(count * sizeof(Register), alignof(Register)));
    std::uninitialized_default_construct_n(registers_, count);
  }
  RegisterFile(const RegisterFile&) = delete;
  RegisterFile& operator=(const RegisterFile&) = delete;
  ~RegisterFile() {
    std::destroy_n(registers_, count_);
    if (count_ > kInlineRegisters) {
      deallocate(registers_, count_ * sizeof(Register), alignof(Register));
    }
  }
  Register* data() noexcept { return registers_; }

 private:
  alignas(Register) std::byte memory_[kInlineRegisters * sizeof(Register)];
  Register* registers_;
  const std::size_t count_;
};

[[noreturn]] OPYARD_COLD void refuse_stages(const CodeData& data) {
  OPYARD_CHECK(!data.graph->is_restricted(), BadGraph,
               "a restricted graph is run by an InterpreterState with a budget");
  fail(ErrorKind::BadGraph, fmt::format("a graph of {} stages is run by an InterpreterState, stage "
                                        "by stage",
                                        data.stages.size()));
}

}  // namespace

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
  const auto found = data_->register_of.find(value);
  return found == data_->register_of.end() ? -1 : std::int64_t(found->second);
}

void Code::run(std::span<const opyard::Value> inputs, std::span<opyard::Value> outputs) const {
  const CodeData& data = *data_;
  check_unchanged(data);
  if (__builtin_expect(!data.runs_at_once, 0)) refuse_stages(data);
  const Stage& stage = data.stages.front();
  check_inputs(data, 0, inputs);
  OPYARD_CHECK(outputs.size() == stage.outputs.size(), BadArgument,
               fmt::format("there is room for {} outputs, but the graph gives {}", outputs.size(),
                           stage.outputs.size()));
  RegisterFile registers(data.registers.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint32_t target = stage.inputs[i].target;
    if (target == kNoRegister) continue;
    Register* const at = registers.data() + target;
    // Nothing is in it yet. A borrowed value is built in place: moving it would make an owner.
    if (inputs[i].is_tensor()) {
      new (static_cast<void*>(at)) Register(Register::borrow(inputs[i].tensor_unchecked()));
    } else {
      *at = inputs[i];
    }
  }
  Frame frame{{registers.data(), const_cast<Register*>(data.constants.data())},
              &data,
              data.instructions.data() + stage.begin};
  jit::run(frame);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::uint32_t operand = stage.outputs[i];
    if ((operand & kLastUse) != 0) {
      outputs[i] = std::move(frame.write(operand));
    } else {
      outputs[i] = frame.read(operand);
    }
  }
}

std::vector<opyard::Value> Code::run(std::span<const opyard::Value> inputs) const {
  std::vector<opyard::Value> outputs(data_->stages.front().outputs.size());
  run(inputs, outputs);
  return outputs;
}

}  // namespace opyard::jit
