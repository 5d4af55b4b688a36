"""Attention in its forms: with masks, windows and caches; linear; rotary embeddings."""

from .control import inner_results
from .convert import Converting, converts
from .convert_shapes import require_rank, same
from .nodes import Node, Unconverted
from .tensors import ELEMENTS
from .writer import Known

_HEADS = "x.reshape([size(x, 0), size(x, 1), heads, -1]).transpose(1, 2)"
_REPEATED = "x.unsqueeze(2).expand([-1, -1, times, -1, -1]).flatten(1, 2)"


def _heads(c: Converting, node: Node, x: Known, attribute: str) -> Known:
    """Heads as a dimension of their own: (batch, heads, length, size)."""
    if require_rank(x, node) == 4:
        return x
    return same(c.emit(_HEADS, x=x, heads=node[attribute]), x, 4)


def _grouped(c: Converting, q: Known, x: Known) -> Known:
    """Keys or values, repeated for the heads of queries that share them."""
    body = f"let times = size(q, 1) // size(x, 1); {_REPEATED}"
    return same(c.emit(body, x=x, q=q), x, 4)


def _allowed(
    c: Converting, node: Node, scores: Known, past: Known | None, valid: Known | None
) -> Known | None:
    """Which keys a query may see by order, window and length; None for all."""
    causal = node.get("is_causal", 0) == 1
    left, right = node.get("left_window_size", -1), node.get("right_window_size", -1)
    if not causal and left < 0 and right < 0 and valid is None:
        return None
    if past is not None:
        first = c.emit("aten.tensor(size(p, 2), dtype=4).reshape([1, 1, 1, 1])", p=past)
    elif valid is not None:
        first = c.emit("(n.to(4) - size(s, 2)).reshape([-1, 1, 1, 1])", n=valid, s=scores)
    else:
        first = c.emit("zeros([1, 1, 1, 1], dtype=4)")
    given = {"s": scores, "first": first, "left": left, "right": right}
    tests = []
    if causal:
        tests.append("(key <= query)")
    if left >= 0:
        tests.append("(key >= query - left)")
    if right >= 0:
        tests.append("(key <= query + right)")
    if valid is not None:
        tests.append("(key < n.to(4).reshape([-1, 1, 1, 1]))")
        given["n"] = valid
    body = f"""
      let query = arange(size(s, 2)).reshape([1, 1, -1, 1]) + first;
      let key = arange(size(s, 3)).reshape([1, 1, 1, -1]);
      {tests[0]}{"".join(f".logical_and({each})" for each in tests[1:])}
    """
    return c.emit(body, **given)


def _is_plain(node: Node) -> bool:
    """Whether it is what one operator of aten computes: no masks, caches, windows and the like."""
    wants_scores = len(node.outputs) > 3 and node.outputs[3]
    changed = ("softcap", "softmax_precision", "qk_matmul_output_mode")
    bounds = (node.get("left_window_size", -1), node.get("right_window_size", -1))
    others = any(node.input(i) is not None for i in range(3, 7))
    return not (wants_scores or others or bounds != (-1, -1) or any(map(node.get, changed)))


def _joined(c: Converting, y: Known, q: Known, flat: bool) -> Known:
    """The result, with heads in one dimension again if they came so."""
    if flat:
        y = c.emit("y.transpose(1, 2).flatten(2, 3)", y=y)
    return same(y, q, 3 if flat else 4)


@converts("Attention")
def attention(c: Converting, node: Node) -> list[Known]:
    q, k, v = node.needed(3)
    mask, past_k, past_v, valid = (node.input(i) for i in range(3, 7))
    flat = require_rank(q, node) == 3
    q, k, v = (
        _heads(c, node, each, name)
        for each, name in zip(
            (q, k, v), ("q_num_heads", "kv_num_heads", "kv_num_heads"), strict=True
        )
    )
    if past_k is not None and past_v is not None:
        k = same(c.emit("cat([a, b], 2)", a=past_k, b=k), k, 4)
        v = same(c.emit("cat([a, b], 2)", a=past_v, b=v), v, 4)
    scale = node.get("scale", 0.0)
    factor = "scale ** 0.5" if scale else "(1.0 / size(q, 3)) ** 0.25"
    keys, values = _grouped(c, q, k), _grouped(c, q, v)
    if _is_plain(node):
        y = c.emit(
            "scaled_dot_product_attention(q, k, v, None, 0.0, causal, scale=scale)"
            if scale
            else "scaled_dot_product_attention(q, k, v, None, 0.0, causal)",
            q=q,
            k=keys,
            v=values,
            causal=node.get("is_causal", 0) == 1,
            scale=scale,
        )
        return [_joined(c, y, q, flat), k, v]
    raw = c.emit(
        f"let f = {factor}; matmul(q * f, (k * f).transpose(2, 3))", q=q, k=keys, scale=scale
    )
    same(raw, q, 4)
    cap = node.get("softcap", 0.0)
    capped = same(c.emit("tanh(s / cap) * cap", s=raw, cap=cap), q, 4) if cap else raw
    biased = capped
    if mask is not None:
        if mask.elem == 9:
            body = "where(m, zeros_like(m, dtype=s_dtype), full_like(m, -inf, dtype=s_dtype))"
            mask = same(c.emit(body, m=mask, s=raw), raw, mask.rank)
        body = "s + constant_pad_nd(m, [0, size(s, 3) - size(m, -1)], -inf)"
        biased = same(c.emit(body, s=biased, m=mask), q, 4)
    seen = _allowed(c, node, raw, past_k, valid)
    if seen is not None:
        biased = same(c.emit("where(seen, s, full_like(s, -inf))", s=biased, seen=seen), q, 4)
    precision = node.get("softmax_precision", 0)
    kind = ELEMENTS[precision].number if precision in ELEMENTS else ELEMENTS[q.elem or 1].number
    body = "softmax(s.to(kind), -1).to(q_dtype)"
    if mask is not None or seen is not None:  # a query that sees no key gives zeros
        body = """
          let p = softmax(s.to(kind), -1).to(q_dtype);
          where(amax(s, [-1], True) == -inf, zeros_like(p), p)
        """
    weights = same(c.emit(body, s=biased, kind=kind, q=q), q, 4)
    y = c.emit("matmul(p, v)", p=weights, v=values)
    shown = (raw, capped, biased, weights)
    return [_joined(c, y, q, flat), k, v, shown[node.get("qk_matmul_output_mode", 0)]]


@converts("ai.onnx.preview.FlexAttention")
def flex_attention(c: Converting, node: Node) -> Known:
    q, k, v = node.needed(3)
    elem = node.get("softmax_precision", 0) or (11 if q.elem == 11 else 1)
    kind = ELEMENTS[elem].number
    scale = node.get("scale", 0.0)
    factor = "scale" if scale else "1.0 / size(q, 3) ** 0.5"
    body = f"(matmul(q, k.transpose(2, 3)) * ({factor})).to(kind)"
    scores = c.emit(body, q=q, k=_grouped(c, q, k), scale=scale, kind=kind)
    scores.elem, scores.rank = elem, 4
    if node.has("score_mod"):
        (scores,) = inner_results(c, node["score_mod"], [scores])
    weights = c.emit("softmax(s, -1)", s=scores)
    weights.elem, weights.rank = elem, 4
    if node.has("prob_mod"):
        (weights,) = inner_results(c, node["prob_mod"], [weights])
    y = c.emit("matmul(p.to(q_dtype), v)", p=weights, v=_grouped(c, q, v), q=q)
    return same(y, q, 4)


@converts("LinearAttention")
def linear_attention(c: Converting, node: Node) -> list[Known]:
    q, k, v = node.needed(3)
    state, decay, beta = (node.input(i) for i in range(3, 6))
    heads, shared = node["q_num_heads"], node["kv_num_heads"]
    rule = node.get("update_rule", "gated_delta")
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        raise Unconverted(f"its update_rule {rule!r} is not known")
    like = q
    if q.elem in (10, 16):  # the state is a long sum
        q, k, v = (c.emit("x.to(6)", x=each) for each in (q, k, v))
        state, decay, beta = (
            c.emit("x.to(6)", x=each) if each is not None else None for each in (state, decay, beta)
        )
        q.elem = 1
    split = "x.reshape([size(x, 0), size(x, 1), h, -1])"
    # Queries by the head of keys that they share.
    q4 = c.emit("x.reshape([size(x, 0), size(x, 1), h, g, -1])", x=q, h=shared, g=heads // shared)
    k4, v4 = (c.emit(split, x=each, h=shared) for each in (k, v))
    if state is None:
        body = "zeros([size(k, 0), size(k, 2), size(k, 3), size(v, 3)], dtype=q_dtype)"
        state = c.emit(body, k=k4, v=v4, q=q)
    given: dict[str, object] = {}
    if "gated" in rule:
        given["g"] = c.emit(
            "x.reshape([size(x, 0), size(x, 1), h, -1]).exp().unsqueeze(-1)", x=decay, h=shared
        )
    if "delta" in rule:
        given["b"] = c.emit("x.unsqueeze(-1)", x=beta)
    made = Known(c.writer.node("Tensor[]", "prim::ListConstruct"), type="Tensor[]")
    scale = node.get("scale", 0.0)
    factor = "scale" if scale else "1.0 / size(q, -1) ** 0.5"
    new = "(value - (old * key.unsqueeze(-1)).sum([-2])) * b.select(1, t)"
    new = new if "delta" in rule else "value"
    body = f"""
      let old = {"s * g.select(1, t)" if "gated" in rule else "s"};
      let key = k.select(1, t);
      let value = v.select(1, t);
      let new = {new};
      let next = old + key.unsqueeze(-1) * new.unsqueeze(-2);
      next, (matmul(q.select(1, t), next) * ({factor})).flatten(1, 3)
    """

    def step(t: Known, s: Known) -> list[Known]:
        next_, out = c.emit_all(body, s=s, k=k4, v=v4, q=q4, t=t, scale=scale, **given)
        c.writer.node("Tensor[]", "aten::append", made.name, out.name)
        return [next_]

    (last,) = c.repeat(c.emit("size(q, 1)", q=q4), [state], step)
    kind = ELEMENTS[like.elem or 1].number
    y = c.emit("stack(xs, 1).to(kind)", xs=made, kind=kind)
    return [same(y, like, 3), same(c.emit("s.to(kind)", s=last, kind=kind), like, 4)]


@converts("CausalConvWithState")
def causal_conv_with_state(c: Converting, node: Node) -> list[Known]:
    x, w, b, past = node.need(0), node.need(1), node.input(2), node.input(3)
    activation = node.get("activation", "none")
    if activation not in ("none", "silu", "swish"):
        raise Unconverted(f"its activation {activation!r} is not known")
    body = "cat([p, x], 2)" if past is not None else "constant_pad_nd(x, [size(w, 2) - 1, 0], 0)"
    whole = same(c.emit(body, x=x, w=w, **({"p": past} if past is not None else {})), x, 3)
    bias = "b" if b is not None else "None"
    body = f"conv1d(x, w, {bias}, [1], [0], [1], size(w, 0))"
    y = c.emit(body, x=whole, w=w, **({"b": b} if b is not None else {}))
    if activation != "none":
        y = c.emit("silu(y)", y=y)
    last = c.emit("x.slice(2, size(x, 2) - size(w, 2) + 1, None, 1)", x=whole, w=w)
    return [same(y, x, 3), same(last, x, 3)]


@converts("RotaryEmbedding")
def rotary_embedding(c: Converting, node: Node) -> Known:
    x, cos, sin, places = node.need(0), node.need(1), node.need(2), node.input(3)
    flat = require_rank(x, node) == 3
    body = "x.reshape([size(x, 0), size(x, 1), h, -1])" if flat else "x.transpose(1, 2)"
    rows = c.emit(body, x=x, h=node.get("num_heads", 0))
    if places is not None:
        body = "t.index_select(0, at.reshape([-1])).reshape(size(at) + [-1])"
        cos, sin = (c.emit(body, t=each, at=places) for each in (cos, sin))
    interleaved = node.get("interleaved", 0) == 1
    pair = "[real, other]"
    joined = f"stack({pair}, -1).flatten(3, 4)" if interleaved else f"cat({pair}, 3)"
    body = f"""
      let a = cos.unsqueeze(2); let b = sin.unsqueeze(2);
      let n = size(cos, -1);
      let turned = x.slice(3, 0, 2 * n);
      let left = {"turned.slice(3, 0, None, 2)" if interleaved else "turned.slice(3, 0, n)"};
      let right = {"turned.slice(3, 1, None, 2)" if interleaved else "turned.slice(3, n, 2 * n)"};
      let real = a * left - b * right; let other = b * left + a * right;
      let joined = {joined};
      let all = cat([joined, x.slice(3, 2 * n, None, 1)], 3);
      {"all.flatten(2, 3)" if flat else "all.transpose(1, 2)"}
    """
    return same(c.emit(body, x=rows, cos=cos, sin=sin), x, x.rank)
