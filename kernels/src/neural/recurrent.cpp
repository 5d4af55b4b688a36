// kernels/neural/recurrent.cpp: recurrent cells, and networks of them over sequences, as
// compositions.
//
// [Gates] All gates of a cell are one product of the input and one of the state, next to each other
// in the weights' rows: input, forget, cell and output of a long short-term memory; reset, update
// and new of a gated recurrent unit.
//
// [Layers] The gates of the input are one product for all steps; only the state's are computed step
// by step. Parameters of a layer are w_ih, w_hh, b_ih and b_hh, without the biases if it has none,
// and with w_hr if the output is a projection; those of a second direction follow its first one's.
#include <algorithm>

#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"
#include "common/options.h"

namespace opyard::kernels {
namespace {

using namespace ops;

// What one direction of one layer has.
struct CellWeights {
  Tensor w_ih, w_hh;
  MaybeTensor b_ih, b_hh, w_hr;
};

void require_matrix(const char* op, const char* name, const Tensor& x, std::int64_t rows,
                    std::int64_t columns) {
  if (x.dim() != 2 || x.sizes()[0] != rows || x.sizes()[1] != columns) {
    refuse(ErrorKind::BadShape, {op, ": ", name, " is ", x, "; its sizes must be ", rows, " and ",
                                 columns, " for the other arguments"});
  }
}
// What matmul takes is checked there.
void require_dtype_of(const char* op, const char* name, const Tensor& x, const Tensor& weight) {
  if (x.dtype() != weight.dtype()) {
    refuse(ErrorKind::BadArgument, {op, ": ", name, " is ", x, " and the weights are ",
                                    weight.dtype(), "; all need one dtype"});
  }
}
void require_bias(const char* op, const char* name, const MaybeTensor& bias, std::int64_t rows,
                  const Tensor& weight) {
  if (bias) require_dtype_of(op, name, *bias, weight);
  if (bias && (bias->dim() != 1 || bias->numel() != rows)) {
    refuse(ErrorKind::BadShape, {op, ": ", name, " is ", *bias, "; its size must be ", rows,
                                 ", that of the weights' rows"});
  }
}

// `hidden` is the size of a gate, `output` that of the state that w_hh takes.
void require_cell_weights(const char* op, const CellWeights& weights, std::int64_t gates,
                          std::int64_t columns, std::int64_t hidden, std::int64_t output) {
  require_matrix(op, "w_ih", weights.w_ih, gates * hidden, columns);
  require_matrix(op, "w_hh", weights.w_hh, gates * hidden, output);
  require_bias(op, "b_ih", weights.b_ih, gates * hidden, weights.w_ih);
  require_bias(op, "b_hh", weights.b_hh, gates * hidden, weights.w_hh);
  if (weights.w_hr) require_matrix(op, "w_hr", *weights.w_hr, output, hidden);
}

Tensor affine_product(const Tensor& x, const Tensor& weight, const MaybeTensor& bias) {
  const Tensor result = matmul(x, ops::transpose(weight, 0, 1));
  return bias ? result + *bias : result;
}
// One of the gates that are next to each other in the last dimension.
Tensor gate(const Tensor& gates, std::int64_t number, std::int64_t hidden) {
  return ops::narrow(gates, gates.dim() - 1, number * hidden, hidden);
}

// A step of a cell: the gates of the input, which are computed already, and the state before. The
// first tensor of a state is the output.
using State = std::vector<Tensor>;

struct LongShortTerm {
  static constexpr std::int64_t kGates = 4;
  static State step(const Tensor& of_input, const State& state, const CellWeights& weights) {
    const std::int64_t hidden = state[1].sizes()[1];
    const Tensor gates = of_input + affine_product(state[0], weights.w_hh, weights.b_hh);
    const Tensor cell = sigmoid(gate(gates, 1, hidden)) * state[1] +
                        sigmoid(gate(gates, 0, hidden)) * tanh(gate(gates, 2, hidden));
    const Tensor output = sigmoid(gate(gates, 3, hidden)) * tanh(cell);
    return {weights.w_hr ? affine_product(output, *weights.w_hr, std::nullopt) : output, cell};
  }
};
struct GatedUnit {
  static constexpr std::int64_t kGates = 3;
  static State step(const Tensor& of_input, const State& state, const CellWeights& weights) {
    const std::int64_t hidden = state[0].sizes()[1];
    const Tensor of_state = affine_product(state[0], weights.w_hh, weights.b_hh);
    const Tensor reset = sigmoid(gate(of_input, 0, hidden) + gate(of_state, 0, hidden));
    const Tensor update = sigmoid(gate(of_input, 1, hidden) + gate(of_state, 1, hidden));
    const Tensor fresh = tanh(gate(of_input, 2, hidden) + reset * gate(of_state, 2, hidden));
    return {(state[0] - fresh) * update + fresh};
  }
};
template <Tensor (*activation)(const Tensor&)>
struct Plain {
  static constexpr std::int64_t kGates = 1;
  static State step(const Tensor& of_input, const State& state, const CellWeights& weights) {
    return {activation(of_input + affine_product(state[0], weights.w_hh, weights.b_hh))};
  }
};

// ---- one step

template <typename Cell>
State run_cell(const char* op, const Tensor& input, const State& state,
               const CellWeights& weights) {
  require_defined(op, "input", input);
  require_defined(op, "w_ih", weights.w_ih);
  require_defined(op, "w_hh", weights.w_hh);
  const char* const last = state.size() == 1 ? "hx" : "the cell";
  if (input.dim() != 2 || state.back().dim() != 2) {
    refuse(ErrorKind::BadShape, {op, ": input is ", input, " and ", last, " is ", state.back(),
                                 "; each must have two dimensions"});
  }
  const std::int64_t rows = input.sizes()[0], hidden = state.back().sizes()[1];
  require_matrix(op, last, state.back(), rows, hidden);
  require_matrix(op, "the output", state[0], rows, hidden);
  for (const Tensor& each : state) require_dtype_of(op, "hx", each, weights.w_hh);
  require_cell_weights(op, weights, Cell::kGates, input.sizes()[1], hidden, hidden);
  return Cell::step(affine_product(input, weights.w_ih, weights.b_ih), state, weights);
}

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const std::vector<Tensor>& hx,
                                     const Tensor& w_ih, const Tensor& w_hh,
                                     const MaybeTensor& b_ih, const MaybeTensor& b_hh) {
  constexpr const char* kOp = "aten::lstm_cell";
  if (hx.size() != 2 || !hx[0].defined() || !hx[1].defined()) {
    refuse(ErrorKind::BadArgument, {kOp, ": hx holds ", std::int64_t(hx.size()),
                                    " tensors; it must hold two, the output and the cell"});
  }
  const State state = run_cell<LongShortTerm>(kOp, input, hx, {w_ih, w_hh, b_ih, b_hh, {}});
  return {state[0], state[1]};
}
// Of the cells whose state is one tensor.
template <typename Cell, const char* op>
Tensor one_state_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                      const MaybeTensor& b_ih, const MaybeTensor& b_hh) {
  require_defined(op, "hx", hx);
  return run_cell<Cell>(op, input, {hx}, {w_ih, w_hh, b_ih, b_hh, {}})[0];
}

// ---- sequences

struct Sequence {
  const char* op;
  bool has_biases;
  std::int64_t layers;
  double dropout;
  bool train, bidirectional, batch_first;

  std::int64_t directions() const { return bidirectional ? 2 : 1; }
  // Of all layers; bounded, so that no number overflows.
  std::int64_t cells() const {
    constexpr std::int64_t kMost = std::int64_t{1} << 32;
    return std::clamp<std::int64_t>(layers, 0, kMost) * directions();
  }
};

// See [Layers]. Projections are those of a long short-term memory whose two states differ in size.
std::vector<CellWeights> weights_of(const Sequence& how, const std::vector<Tensor>& params,
                                    bool is_projected) {
  const std::size_t each = (how.has_biases ? 4U : 2U) + (is_projected ? 1U : 0U);
  if (how.layers < 1 || params.size() != each * std::size_t(how.cells())) {
    refuse(ErrorKind::BadArgument, {how.op, ": params holds ", std::int64_t(params.size()),
                                    " tensors; ", how.layers, " layers of ", how.directions(),
                                    " directions take ", std::int64_t(each), " for each of both"});
  }
  std::vector<CellWeights> all;
  for (std::size_t at = 0; at < params.size(); at += each) {
    for (std::size_t i = 0; i < each; ++i) require_defined(how.op, "params", params[at + i]);
    CellWeights one{params[at], params[at + 1], {}, {}, {}};
    if (how.has_biases) {
      one.b_ih = params[at + 2];
      one.b_hh = params[at + 3];
    }
    if (is_projected) one.w_hr = params[at + each - 1];
    all.push_back(std::move(one));
  }
  return all;
}

void require_states(const Sequence& how, const Tensor& input, const State& states) {
  require_defined(how.op, "input", input);
  if (input.dim() != 3) {
    refuse(ErrorKind::BadShape, {how.op, ": input is ", input,
                                 "; it must have three dimensions: steps, rows, features"});
  }
  const std::int64_t rows = input.sizes()[how.batch_first ? 0 : 1];
  for (const Tensor& state : states) {
    require_defined(how.op, "hx", state);
    if (state.dim() != 3 || state.sizes()[0] != how.cells() || state.sizes()[1] != rows) {
      refuse(ErrorKind::BadShape,
             {how.op, ": a tensor of hx is ", state, "; its first sizes must be ", how.layers,
              " times ", how.directions(), ", for layers and directions, and ", rows});
    }
  }
}

// One direction of one layer. Gives the outputs of all steps; `state` becomes the last one.
template <typename Cell>
Tensor run_direction(const Sequence& how, const Tensor& input, State& state,
                     const CellWeights& weights, bool is_reverse) {
  require_cell_weights(how.op, weights, Cell::kGates, input.sizes()[2], state.back().sizes()[1],
                       state[0].sizes()[1]);
  for (const Tensor& each : state) require_dtype_of(how.op, "hx", each, weights.w_hh);
  const Tensor gates = affine_product(input, weights.w_ih, weights.b_ih);
  const std::int64_t steps = input.sizes()[0];
  std::vector<Tensor> outputs;
  for (std::int64_t i = 0; i < steps; ++i) {
    state = Cell::step(ops::select(gates, 0, is_reverse ? steps - 1 - i : i), state, weights);
    outputs.push_back(state[0]);
  }
  if (is_reverse) std::reverse(outputs.begin(), outputs.end());
  return stack(outputs, 0);
}

// The outputs of the last layer, and the last states of all cells.
template <typename Cell>
std::vector<Tensor> run_sequence(const Sequence& how, const Tensor& given, const State& states,
                                 const std::vector<Tensor>& params) {
  using Dropout = Tensor(const Tensor&, double, bool);
  static constinit FoundOperator<Dropout> dropout("aten::dropout");
  require_states(how, given, states);
  const std::vector<CellWeights> weights =
      weights_of(how, params, states.size() == 2 && states[0].sizes()[2] != states[1].sizes()[2]);
  Tensor input = how.batch_first ? ops::transpose(given, 0, 1) : given;
  if (input.sizes()[0] == 0) {
    refuse(ErrorKind::BadShape, {how.op, ": input is ", given, "; at least one step is needed"});
  }
  std::vector<std::vector<Tensor>> last(states.size());
  for (std::int64_t layer = 0; layer < how.layers; ++layer) {
    std::vector<Tensor> outputs;
    for (std::int64_t direction = 0; direction < how.directions(); ++direction) {
      const std::int64_t cell = layer * how.directions() + direction;
      State state;
      for (const Tensor& one : states) state.push_back(ops::select(one, 0, cell));
      outputs.push_back(
          run_direction<Cell>(how, input, state, weights[std::size_t(cell)], direction == 1));
      for (std::size_t i = 0; i < states.size(); ++i) last[i].push_back(state[i]);
    }
    input = outputs.size() == 1 ? outputs[0] : cat(outputs, 2);
    if (how.dropout > 0 && how.train && layer + 1 < how.layers) {
      input = dropout.call(input, how.dropout, true);
    }
  }
  std::vector<Tensor> results = {how.batch_first ? ops::transpose(input, 0, 1) : input};
  for (const std::vector<Tensor>& one : last) results.push_back(stack(one, 0));
  return results;
}

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, const std::vector<Tensor>& hx,
                                        const std::vector<Tensor>& params, bool has_biases,
                                        std::int64_t num_layers, double dropout, bool train,
                                        bool bidirectional, bool batch_first) {
  constexpr const char* kOp = "aten::lstm.input";
  if (hx.size() != 2) {
    refuse(ErrorKind::BadArgument, {kOp, ": hx holds ", std::int64_t(hx.size()),
                                    " tensors; it must hold two, the output and the cell"});
  }
  const auto all = run_sequence<LongShortTerm>(
      {kOp, has_biases, num_layers, dropout, train, bidirectional, batch_first}, input, hx, params);
  return {all[0], all[1], all[2]};
}
template <typename Cell, const char* op>
std::tuple<Tensor, Tensor> one_state_sequence(const Tensor& input, const Tensor& hx,
                                              const std::vector<Tensor>& params, bool has_biases,
                                              std::int64_t num_layers, double dropout, bool train,
                                              bool bidirectional, bool batch_first) {
  const auto all =
      run_sequence<Cell>({op, has_biases, num_layers, dropout, train, bidirectional, batch_first},
                         input, {hx}, params);
  return {all[0], all[1]};
}

// ---- names

constexpr char kGatedCell[] = "aten::gru_cell", kGatedSequence[] = "aten::gru.input";
constexpr char kTanhCell[] = "aten::rnn_tanh_cell", kTanhSequence[] = "aten::rnn_tanh.input";
constexpr char kReluCell[] = "aten::rnn_relu_cell", kReluSequence[] = "aten::rnn_relu.input";

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  const auto define_cell = [&](const std::string& name, const char* state, const char* results) {
    define(m, name + "_cell(Tensor input, " + state + " hx, Tensor w_ih, Tensor w_hh, " +
                  "Tensor? b_ih=None, Tensor? b_hh=None) -> " + results);
  };
  define_cell("lstm", "Tensor[]", "(Tensor, Tensor)");
  for (const char* const name : {"gru", "rnn_tanh", "rnn_relu"}) {
    define_cell(name, "Tensor", "Tensor");
  }
  const auto define_sequence = [&](const std::string& name, const char* state,
                                   const char* results) {
    define(m, name + ".input(Tensor input, " + state + " hx, Tensor[] params, bool has_biases, " +
                  "int num_layers, float dropout, bool train, bool bidirectional, " +
                  "bool batch_first) -> " + results);
  };
  define_sequence("lstm", "Tensor[]", "(Tensor, Tensor, Tensor)");
  for (const char* const name : {"gru", "rnn_tanh", "rnn_relu"}) {
    define_sequence(name, "Tensor", "(Tensor, Tensor)");
  }
  m.impl("lstm_cell", &lstm_cell);
  m.impl("gru_cell", &one_state_cell<GatedUnit, kGatedCell>);
  m.impl("rnn_tanh_cell", &one_state_cell<Plain<&tanh>, kTanhCell>);
  m.impl("rnn_relu_cell", &one_state_cell<Plain<&relu>, kReluCell>);
  m.impl("lstm.input", &lstm);
  m.impl("gru.input", &one_state_sequence<GatedUnit, kGatedSequence>);
  m.impl("rnn_tanh.input", &one_state_sequence<Plain<&tanh>, kTanhSequence>);
  m.impl("rnn_relu.input", &one_state_sequence<Plain<&relu>, kReluSequence>);
}

}  // namespace opyard::kernels
