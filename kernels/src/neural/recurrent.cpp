// kernels/neural/recurrent.cpp: one step of a long short-term memory, as a composition.
//
// The four gates are one product each of the input and of the state, in the order input, forget,
// cell, output.
#include "common/define.h"
#include "common/numbers.h"
#include "common/ops.h"

namespace opyard::kernels {
namespace {

using namespace ops;
using MaybeTensor = std::optional<Tensor>;

struct Cell {
  static constexpr const char* kOp = "aten::lstm_cell";

  static void check_matrix(const char* name, const Tensor& x, std::int64_t rows,
                           std::int64_t columns) {
    if (x.dim() != 2 || x.sizes()[0] != rows || x.sizes()[1] != columns) {
      refuse(ErrorKind::BadShape, {kOp, ": ", name, " is ", x, "; its sizes must be ", rows,
                                   " and ", columns, " for the other arguments"});
    }
  }
  static Tensor gates(const char* name, const Tensor& x, const Tensor& weight,
                      const MaybeTensor& bias) {
    if (bias && (bias->dim() != 1 || bias->numel() != weight.sizes()[0])) {
      refuse(ErrorKind::BadShape, {kOp, ": ", name, " is ", *bias, "; its size must be ",
                                   weight.sizes()[0], ", that of the weights' rows"});
    }
    const Tensor product = matmul(x, transpose(weight, 0, 1));
    return bias ? product + *bias : product;
  }
};

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, const std::vector<Tensor>& hx,
                                     const Tensor& w_ih, const Tensor& w_hh,
                                     const MaybeTensor& b_ih, const MaybeTensor& b_hh) {
  constexpr const char* kOp = Cell::kOp;
  require_defined(kOp, "input", input);
  require_defined(kOp, "w_ih", w_ih);
  require_defined(kOp, "w_hh", w_hh);
  if (hx.size() != 2 || !hx[0].defined() || !hx[1].defined()) {
    refuse(ErrorKind::BadArgument, {kOp, ": hx holds ", std::int64_t(hx.size()),
                                    " tensors; it must hold two, the output and the cell"});
  }
  if (input.dim() != 2 || hx[1].dim() != 2) {
    refuse(ErrorKind::BadShape, {kOp, ": input is ", input, " and the cell is ", hx[1],
                                 "; each must have two dimensions"});
  }
  const std::int64_t hidden = hx[1].sizes()[1];
  Cell::check_matrix("the cell", hx[1], input.sizes()[0], hidden);
  Cell::check_matrix("the output", hx[0], input.sizes()[0], hidden);
  Cell::check_matrix("w_ih", w_ih, 4 * hidden, input.sizes()[1]);
  Cell::check_matrix("w_hh", w_hh, 4 * hidden, hidden);
  const Tensor gates =
      Cell::gates("b_ih", input, w_ih, b_ih) + Cell::gates("b_hh", hx[0], w_hh, b_hh);
  const auto gate = [&](std::int64_t number) { return narrow(gates, 1, number * hidden, hidden); };
  const Tensor cell = sigmoid(gate(1)) * hx[1] + sigmoid(gate(0)) * tanh(gate(2));
  return {sigmoid(gate(3)) * tanh(cell), cell};
}

}  // namespace

OPYARD_LIBRARY_FRAGMENT(aten, m) {
  define(m,
         "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
         "Tensor? b_hh=None) -> (Tensor, Tensor)");
  m.impl("lstm_cell", &lstm_cell);
}

}  // namespace opyard::kernels
