// opyard/remote/block.h: Block: recorded calls, which are a graph.
//
//   values    0     1     2     3              inputs first or in between, as they came
//   inputs    %0    %1                         tensors of the worker, those of here, numbers
//   calls     aten::mul(%0, %1) -> %2
//             aten::sum(%2) -> %3
//   outputs   %3                               whose tensors still live when the block is closed
//
// Numbers (ints, floats, complex) are inputs, so that one graph serves all of them; texts, bools,
// dtypes and lists of numbers are constants. The key has the operators, how they are connected and
// the constants: blocks with equal keys have equal graphs, which is found out without making one.
//
// Threads: an open block belongs to its recorder, and is guarded by its lock; a closed one is
// constant.
//
// Depends on: jit/graph.h, registry/operator.h, tensor/tensor.h, value/value.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opyard/detail/base/small_vector.h"
#include "opyard/jit/graph.h"
#include "opyard/registry/operator.h"
#include "opyard/value/value.h"

namespace opyard::remote {

class Recorder;

// What a worker keeps for the storage of a remote tensor; see remote/recorder.h [Memory].
class OPYARD_API Memory final : public Counted {
 public:
  enum class State : std::uint8_t { Open, Closed, Sent };

  Memory(CountedPtr<Recorder> recorder, Tensor meta, std::uint64_t number);
  ~Memory() override;

  const CountedPtr<Recorder> recorder;
  const Tensor meta;  // with the geometry of the worker's value
  const std::uint64_t number;
  // Guarded by the recorder's lock: the block in which it has a value, which one, and whether the
  // call that gives it was sent.
  std::uint64_t block = 0;
  std::uint32_t value = 0;
  State state = State::Open;
  Memory* next_dead = nullptr;

 private:
  void end() const noexcept override;
};

// An argument of a call.
struct Arg {
  enum class Kind : std::uint8_t { Value, Constant, List, Undefined };
  Kind kind = Kind::Undefined;
  std::uint32_t index = 0;  // of the value or the constant, or the first item
  std::uint32_t count = 0;  // of items
};

struct Call {
  const Operator* op = nullptr;
  std::uint32_t first_argument = 0;
  std::uint32_t first_value = 0;
  // Of each result: -1 is one tensor, 0 and more a list of so many, -2 something else.
  SmallVector<std::int32_t, 3> results = {};
};

struct Block {
  struct Input {
    std::uint32_t value = 0;
    CountedPtr<Memory> memory;  // or
    opyard::Value here;
  };
  struct Output {
    std::uint32_t value;
    std::uint64_t number;  // 0: only its geometry is looked at, since views of it were taken
    Tensor meta;
    Memory* memory;  // as long as the block is not sent
  };
  struct Known {
    Memory* memory = nullptr;  // null once no tensor has it
    bool has_views = false;
    bool is_input = false;
    Tensor meta = {};
  };
  // What the worker does behind the graph, and answers with.
  struct Tail {
    enum class Kind : std::uint8_t { None, Give, Call };
    Kind kind = Kind::None;
    std::uint32_t output = 0;         // Give: which one
    const Operator* op = nullptr;     // Call
    std::vector<Arg> arguments = {};  //   values are outputs
    std::uint64_t first_number = 0;   //   of its results
  };
  struct View {
    std::uint32_t base, value;
    Tensor like;
  };

  std::uint64_t serial = 0;
  std::string key;
  std::vector<Call> calls;
  std::vector<Arg> arguments;
  std::vector<Known> values;
  std::vector<Input> inputs;
  std::vector<opyard::Value> constants;
  std::vector<View> views;
  std::vector<Output> outputs;
  Tail tail;

  // Raises BadGraph if it has a call that a graph's text cannot name.
  OPYARD_API jit::GraphPtr graph() const;
  // Dtypes, sizes, strides and offsets of the outputs, as describe_geometry() has them.
  OPYARD_API std::string expected() const;
};

// What a worker compares: strides of dimensions with no second element are left out.
OPYARD_API void describe_geometry(const Tensor& tensor, std::string& to);

}  // namespace opyard::remote
