// test/bench/cpp/lstm_cell.h: the nodes of an LSTM cell, and those of its state's gradients.
//
// Both Opyard and TorchScript read them: inputs %x, %h, %c, %wx and %wh, then %dhy and %dcy.
#pragma once

inline constexpr const char* kCellForward = R"(  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %n : int = prim::Constant[value=64]()
  %n2 : int = prim::Constant[value=128]()
  %n3 : int = prim::Constant[value=192]()
  %gx : Tensor = aten::mm(%x, %wx)
  %gh : Tensor = aten::mm(%h, %wh)
  %g : Tensor = aten::add(%gx, %gh, %1)
  %i0 : Tensor = aten::narrow(%g, %1, %0, %n)
  %f0 : Tensor = aten::narrow(%g, %1, %n, %n)
  %g0 : Tensor = aten::narrow(%g, %1, %n2, %n)
  %o0 : Tensor = aten::narrow(%g, %1, %n3, %n)
  %i : Tensor = aten::sigmoid(%i0)
  %f : Tensor = aten::sigmoid(%f0)
  %cell : Tensor = aten::tanh(%g0)
  %o : Tensor = aten::sigmoid(%o0)
  %fc : Tensor = aten::mul(%f, %c)
  %ig : Tensor = aten::mul(%i, %cell)
  %cy : Tensor = aten::add(%fc, %ig, %1)
  %t : Tensor = aten::tanh(%cy)
  %hy : Tensor = aten::mul(%o, %t)
)";

inline constexpr const char* kCellBackward = R"(  %dot : Tensor = aten::mul(%dhy, %t)
  %dt : Tensor = aten::mul(%dhy, %o)
  %tt : Tensor = aten::mul(%t, %t)
  %dtt : Tensor = aten::mul(%dt, %tt)
  %dc1 : Tensor = aten::sub(%dt, %dtt, %1)
  %dc : Tensor = aten::add(%dcy, %dc1, %1)
  %di : Tensor = aten::mul(%dc, %cell)
  %dg : Tensor = aten::mul(%dc, %i)
  %df : Tensor = aten::mul(%dc, %c)
  %dcx : Tensor = aten::mul(%dc, %f)
)";
