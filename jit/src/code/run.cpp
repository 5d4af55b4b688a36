// code/run.cpp: the interpreter loop, the checks before it begins, and a whole run of a
// graph of one stage. They are in one file, so that the compiler makes one function of the last.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "code/code_data.h"
#include "ir/node_rules.h"
#include "opyard/jit/print.h"
#include "opyard/observe/instruction_listener.h"

namespace opyard::jit {
namespace {

// So many registers are on the C stack.
constexpr std::size_t kInlineRegisters = 128;

// Registers of one run: None at first. A run that has ended has emptied them, by its last uses; so
// only a run that threw walks over them again (a fifth of the time of an instruction on ints:
// test/bench, graph_int).
class RegisterFile {
 public:
  explicit RegisterFile(std::size_t count) : count_(count) {
    registers_ =
        count <= kInlineRegisters
            ? reinterpret_cast<Register*>(memory_)
            : static_cast<Register*>(allocate(count * sizeof(Register), alignof(Register)));
    // None is 16 zero bytes; see value/value.h.
    std::memset(static_cast<void*>(registers_), 0, count * sizeof(Register));
  }
  RegisterFile(const RegisterFile&) = delete;
  RegisterFile& operator=(const RegisterFile&) = delete;
  ~RegisterFile() {
    if (__builtin_expect(!emptied_, 0)) std::destroy_n(registers_, count_);
    if (count_ > kInlineRegisters) {
      deallocate(registers_, count_ * sizeof(Register), alignof(Register));
    }
  }
  Register* data() noexcept { return registers_; }
  void set_emptied() noexcept { emptied_ = true; }

 private:
  alignas(Register) std::byte memory_[kInlineRegisters * sizeof(Register)];
  Register* registers_;
  const std::size_t count_;
  bool emptied_ = false;
};

[[noreturn]] OPYARD_COLD void refuse_stages(const CodeData& data) {
  OPYARD_CHECK(!data.graph->is_restricted(), BadGraph,
               "a restricted graph is run by an InterpreterState with a budget");
  fail(ErrorKind::BadGraph, fmt::format("a graph of {} stages is run by an InterpreterState, stage "
                                        "by stage",
                                        data.stages.size()));
}

[[noreturn]] OPYARD_COLD void refuse_count(const CodeData& code, std::size_t stage,
                                           std::size_t given) {
  std::string names;
  for (const StageInput& input : code.stages[stage].inputs) {
    names += names.empty() ? "%" : ", %";
    names += input.value->printed_name();
  }
  const std::size_t count = code.stages[stage].inputs.size();
  fail(ErrorKind::BadArgument,
       fmt::format("stage {} takes {} input{}{}, but {} {} given", stage, count,
                   count == 1 ? "" : "s", count == 0 ? "" : fmt::format(" ({})", names), given,
                   given == 1 ? "was" : "were"));
}

[[noreturn]] OPYARD_COLD void refuse_input(std::size_t stage, std::size_t position,
                                           const StageInput& input, const opyard::Value& given) {
  fail(ErrorKind::BadArgument,
       fmt::format("input %{} at position {} of stage {} is {} ({}), but the graph takes {}",
                   input.value->printed_name(), position, stage, name_of(given.kind()),
                   opyard::to_string(given), type_text(*input.value->type())));
}

bool has_dtype(const opyard::Value& given, const TensorShape& shape) {
  if (!given.is_tensor() || !given.tensor_unchecked().defined()) return true;
  return given.tensor_unchecked().dtype() == *shape.dtype;
}

// The shapes of what the node takes, as far as it still is in its registers.
std::string shapes_of(const Frame& frame, const Node& node) {
  std::string text;
  for (const Value* const input : node.inputs()) {
    const std::uint32_t* const found = frame.code->register_of.find(input);
    if (found == nullptr) continue;
    const Register& value = frame.bases[0][*found];
    if (!value.is_tensor()) continue;
    text += fmt::format("{}%{} is {}", text.empty() ? "" : ", ", input->printed_name(),
                        describe(value.tensor_unchecked()));
  }
  return text;
}

[[noreturn]] OPYARD_COLD void throw_with_place(const Error& error, const Frame& frame) {
  std::string line = "in " + location_of(*frame.code, frame.at);
  const Node* const node = frame.code->origins[frame.code->index_of(frame.at)].node;
  if (node != nullptr) {
    const std::string shapes = shapes_of(frame, *node);
    if (!shapes.empty()) line += ", where " + shapes;
  }
  throw error.with_context(line);
}

}  // namespace

void run(Frame& frame) {
  try {
    const Instruction* at = frame.at;
    if (__builtin_expect(instruction_listener.load(std::memory_order_relaxed) != nullptr, 0)) {
      do {
        frame.at = at;
        at = run_one_told(at, frame);
      } while (at != nullptr);
      return;
    }
    do {
      frame.at = at;
      at = at->function(at, frame);
    } while (at != nullptr);
  } catch (const Error& error) {
    throw_with_place(error, frame);
  }
}

const Instruction* run_one(Frame& frame) {
  try {
    return run_one_told(frame.at, frame);
  } catch (const Error& error) {
    throw_with_place(error, frame);
  }
}

void check_inputs(const CodeData& code, std::size_t stage, std::span<const opyard::Value> inputs) {
  const std::vector<StageInput>& wanted = code.stages[stage].inputs;
  if (__builtin_expect(inputs.size() != wanted.size(), 0)) refuse_count(code, stage, inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool plain = (wanted[i].accepted_kinds >> int(inputs[i].kind()) & 1) != 0;
    if (__builtin_expect(
            (!plain && !accepts(*wanted[i].value->type(), inputs[i])) ||
                (wanted[i].shape != nullptr && !has_dtype(inputs[i], *wanted[i].shape)),
            0)) {
      refuse_input(stage, i, wanted[i], inputs[i]);
    }
  }
}

void check_unchanged(const CodeData& code) {
  OPYARD_CHECK(code.graph->version() == code.version, BadGraph,
               "the graph was changed after this code was made of it; make a new code");
}

std::string location_of(const CodeData& code, const Instruction* instruction) {
  const Origin& origin = code.origins[code.index_of(instruction)];
  if (origin.node == nullptr) return fmt::format("stage {}", origin.stage);
  std::string text = to_string(*origin.node) + fmt::format(" (stage {}", origin.stage);
  if (origin.node->source_range().known()) text += ", " + origin.node->source_range().text();
  return text + ')';
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
  if (__builtin_expect(data.leaves_nothing, 1)) registers.set_emptied();
}

std::vector<opyard::Value> Code::run(std::span<const opyard::Value> inputs) const {
  std::vector<opyard::Value> outputs(data_->stages.front().outputs.size());
  run(inputs, outputs);
  return outputs;
}

}  // namespace opyard::jit
