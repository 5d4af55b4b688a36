"""Sums, products, extremes and their places, along axes.

Without axes all are reduced, or none with `noop_with_empty_axes`.
"""

_NAMES = "Tensor x, int[]? axes; int keepdims=1, int noop_with_empty_axes=0"


def _reduce(kind: str, before: str, call: str, after: str) -> str:
    """A block of the form: what is done to each element, the reduction, and what is done to it."""
    reduced = f"y.{call}" if "{" not in call else call[1:-1]
    return f"""{kind}({_NAMES}) {{
      let y = {before};
      let z = if noop_with_empty_axes == 1 {{ if axes_count == 0 {{ y }} else {{ {reduced} }} }}
              else {{ {reduced} }};
      {after}
    }}
    """


_SUM = "sum(axes, keepdims == 1).to(x_dtype)"

REDUCTIONS = (
    _reduce("ReduceSum", "x", _SUM, "z")
    + _reduce("ReduceSumSquare", "x * x", _SUM, "z")
    + _reduce("ReduceL1", "abs(x)", _SUM, "z")
    + _reduce(
        "ReduceL2", "x * x", _SUM, "if x_floats { sqrt(z) } else { sqrt(z.to(7)).to(x_dtype) }"
    )
    + _reduce("ReduceLogSum", "x", _SUM, "if x_floats { log(z) } else { log(z.to(7)).to(x_dtype) }")
    + _reduce("ReduceMax", "x", "amax(axes, keepdims == 1)", "z")
    + _reduce("ReduceMin", "x", "amin(axes, keepdims == 1)", "z")
    + """
ReduceMean(Tensor x, int[]? axes; int keepdims=1, int noop_with_empty_axes=0) {
  let y = if x_floats { x } else { x.to(7) };
  let z = if noop_with_empty_axes == 1 { if axes_count == 0 { y
    } else { y.mean(axes, keepdims == 1) } }
          else { y.mean(axes, keepdims == 1) };
  z.to(x_dtype)
}

ArgMax(Tensor x; int axis=0, int keepdims=1, int select_last_index=0) -> int64 {
  if select_last_index == 1 { rsub(argmax(x.flip([axis]), axis, keepdims == 1), size(x, axis) - 1) }
  else { argmax(x, axis, keepdims == 1) }
}
ArgMin(Tensor x; int axis=0, int keepdims=1, int select_last_index=0) -> int64 {
  if select_last_index == 1 { rsub(argmin(x.flip([axis]), axis, keepdims == 1), size(x, axis) - 1) }
  else { argmin(x, axis, keepdims == 1) }
}

CumSum(Tensor x, int axis; int exclusive=0, int reverse=0) {
  let y = if reverse == 1 { x.flip([axis]) } else { x };
  let all = cumsum(y, axis).to(x_dtype);
  let z = if exclusive == 1 {
    cat([zeros_like(y.slice(axis, 0, 1)), all.slice(axis, 0, size(x, axis) - 1)], axis)
  } else { all };
  if reverse == 1 { z.flip([axis]) } else { z }
}
CumProd(Tensor x, int axis; int exclusive=0, int reverse=0) {
  let y = if reverse == 1 { x.flip([axis]) } else { x };
  let all = cumprod(y, axis).to(x_dtype);
  let z = if exclusive == 1 {
    cat([ones_like(y.slice(axis, 0, 1)), all.slice(axis, 0, size(x, axis) - 1)], axis)
  } else { all };
  if reverse == 1 { z.flip([axis]) } else { z }
}

TopK(Tensor x, int k; int axis=-1, int largest=1, int sorted=1)
  -> x, int64 { topk(x, k, axis, largest == 1, sorted == 1) }
NonZero(Tensor x) -> int64 { nonzero(x).t() }
"""
)
