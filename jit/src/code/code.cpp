// code/code.cpp: Code: queries of a compiled graph.
#include "opyard/jit/code.h"

#include <fmt/format.h>

#include "code/code_data.h"

namespace opyard::jit {

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

const Node* Code::node_of(std::size_t instruction) const noexcept {
  return data_->origins[instruction].node;
}

}  // namespace opyard::jit
