// code/run.cpp: the loop that runs instructions, and what is checked before it begins.
#include <fmt/format.h>

#include "code/code_data.h"
#include "ir/node_rules.h"
#include "opyard/jit/print.h"
#include "opyard/observe/instruction_listener.h"

namespace opyard::jit {
namespace {

[[noreturn]] OPYARD_COLD void refuse_count(const CodeData& code, std::size_t stage,
                                           std::size_t given) {
  std::string names;
  for (const StageInput& input : code.stages[stage].inputs) {
    names += names.empty() ? "%" : ", %";
    names += input.value->printed_name();
  }
  fail(ErrorKind::BadArgument, fmt::format("stage {} takes {} inputs ({}), but {} were given",
                                           stage, code.stages[stage].inputs.size(), names, given));
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
    const auto found = frame.code->register_of.find(input);
    if (found == frame.code->register_of.end()) continue;
    const Register& value = frame.bases[0][found->second];
    if (!value.is_tensor()) continue;
    text += fmt::format("{}%{} is {}", text.empty() ? "" : ", ", input->printed_name(),
                        describe(value.tensor_unchecked()));
  }
  return text;
}

[[noreturn]] OPYARD_COLD void throw_with_place(const Error& error, const Frame& frame) {
  std::string line = "in " + place_of(*frame.code, frame.at);
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
    const bool plain = (wanted[i].plain_kinds >> int(inputs[i].kind()) & 1) != 0;
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

std::string place_of(const CodeData& code, const Instruction* instruction) {
  const Origin& origin = code.origins[code.index_of(instruction)];
  if (origin.node == nullptr) return fmt::format("stage {}", origin.stage);
  std::string text = to_string(*origin.node) + fmt::format(" (stage {}", origin.stage);
  if (origin.node->source_range().known()) text += ", " + origin.node->source_range().text();
  return text + ')';
}

}  // namespace opyard::jit
