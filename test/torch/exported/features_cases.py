"""Small programs, each with one feature of export: sizes, control flow, buffers, trees, dtypes."""

import collections

import torch
from exported.case import Case
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

SOURCE = "features"
VERSION = torch.__version__


def given(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape).to(dtype)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def two_layers(width: int = 8) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))


# ---- sizes that vary


def batch_size() -> Case:
    sizes = ({0: Dim("batch", min=2, max=64)},)
    return Case(two_layers(), (given(3, 8),), {}, sizes, (((given(17, 8),), {}),))


def length_and_batch() -> Case:
    block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True).eval()
    sizes = ({0: Dim("batch", max=16), 1: Dim("length", min=2, max=128)},)
    return Case(block, (given(2, 7, 16),), {}, sizes, (((given(5, 30, 16),), {}),))


def picture_size() -> Case:
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
    net = nn.Sequential(net, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).eval()
    side = Dim("side", min=4, max=64)
    sizes = ({2: 2 * side, 3: 2 * side},)
    return Case(net, (given(1, 3, 32, 32),), {}, sizes, (((given(1, 3, 20, 20),), {}),))


def derived_size() -> Case:
    size = Dim("size", min=3, max=32)
    return Case(
        Function(lambda x, y: x + y[1:]),
        (given(5), given(6)),
        {},
        (({0: size}, {0: size + 1}),),
        (((given(9), given(10)), {}),),
    )


def automatic_sizes() -> Case:
    sizes = ((({0: Dim.AUTO}, {0: Dim.AUTO})),)
    function = Function(lambda x, y: torch.cat([x @ y.T, x.sum(1, keepdim=True)], 1))
    return Case(
        function, (given(3, 4), given(5, 4)), {}, sizes, (((given(7, 4), given(2, 4)), {}),)
    )


def size_arithmetic() -> Case:
    def halves(x):
        n, width = x.shape
        pairs = x.reshape(n // 2, 2, width)
        return pairs.mean(1), torch.arange(n) % 3, x.new_full((n, n // 2), 1.0 / n)

    sizes = (({0: 2 * Dim("half", min=2, max=50)},),)
    return Case(Function(halves), (given(6, 4),), {}, sizes, (((given(10, 4),), {}),))


def size_of_data() -> Case:
    def positive(x):
        found = x[x > 0]
        return found.sum(), found.numel() * 2, torch.nonzero(x)

    return Case(Function(positive), (given(4, 5),), more_calls=(((given(4, 5),), {}),))


def item_of_data() -> Case:
    def head(x, n):
        count = n.item()
        torch._check(count >= 1)
        torch._check(count <= 6)
        return x.new_ones(count).cumsum(0) * x[0]

    again = ((given(6), torch.tensor(2)), {})
    return Case(Function(head), (given(6), torch.tensor(4)), more_calls=(again,))


# ---- control flow


class Cond(nn.Module):
    """Branches that have weights."""

    def __init__(self):
        super().__init__()
        self.plain, self.deep = nn.Linear(4, 4), two_layers(4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.deep, self.plain, (x,))


def cond() -> Case:
    x = given(3, 4)
    return Case(Cond(), (x,), more_calls=(((-x,), {}),))


def cond_in_cond() -> Case:
    def outer(x):
        def middle(x):
            return torch.cond(x.max() > 2, lambda y: y * 2, lambda y: y - 1, (x,))

        return torch.cond(x.sum() > 0, middle, lambda y: y.cos(), (x,))

    x = torch.tensor([0.5, 1.0, -0.25])
    return Case(Function(outer), (x,), more_calls=(((x * 4,), {}), ((-x,), {})))


def cond_of_size() -> Case:
    def of_size(x):
        return torch.cond(x.shape[0] > 4, lambda y: y + 1, lambda y: y.sin(), (x,))

    sizes = (({0: Dim("n", min=2, max=20)},),)
    return Case(Function(of_size), (given(3, 2),), {}, sizes, (((given(8, 2),), {}),))


def while_loop() -> Case:
    from torch._higher_order_ops.while_loop import while_loop as loop

    def newton(x):
        def is_far(n, y):
            return (n < 20) & ((y * y - x).abs().max() > 1e-4)

        return loop(is_far, lambda n, y: (n + 1, (y + x / y) / 2), (torch.tensor(0), x))

    x = torch.tensor([2.0, 9.0, 100.0])
    return Case(Function(newton), (x,), more_calls=(((x / 50,), {}),))


class WhileLoop(nn.Module):
    """A loop whose body has weights."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, count, x):
        from torch._higher_order_ops.while_loop import while_loop as loop

        return loop(lambda n, y: n > 0, lambda n, y: (n - 1, self.layer(y).tanh()), (count, x))


def while_loop_of_weights() -> Case:
    x = given(2, 4)
    return Case(WhileLoop(), (torch.tensor(3), x), more_calls=(((torch.tensor(0), x), {}),))


def map_rows() -> Case:
    from torch._higher_order_ops.map import map as map_of

    def rows(x, y):
        return map_of(lambda row, y: torch.outer(row, y).softmax(1), x, y)

    sizes = (({0: Dim("rows", min=2, max=20)}, None),)
    calls = (((given(6, 3), given(4)), {}),)
    return Case(Function(rows), (given(3, 3), given(4)), {}, sizes, calls)


class Scan(nn.Module):
    """A recurrent network as a scan."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(12, 8)

    def forward(self, state, steps):
        from torch._higher_order_ops.scan import scan as scan_of

        def step(state, x):
            state = self.cell(torch.cat([state, x], 1)).tanh()
            return state, state * 2

        return scan_of(step, state, steps, dim=0)


def scan() -> Case:
    return Case(Scan(), (given(2, 8), given(5, 2, 4)))


def scan_backward_in_time() -> Case:
    from torch._higher_order_ops.scan import scan as scan_of

    def discounted(rewards):
        def step(total, reward):
            total = reward + 0.9 * total
            return total, total.clone()

        return scan_of(step, torch.zeros(3), rewards, reverse=True)

    return Case(Function(discounted), (given(6, 3),))


def associative_scan() -> Case:
    from torch._higher_order_ops.associative_scan import associative_scan as scan_of

    function = Function(lambda x: scan_of(lambda a, b: a * b, x, 0, combine_mode="generic"))
    return Case(function, (given(5, 3),))


# ---- state


class Counter(nn.Module):
    """A buffer that each call writes, and one that is no part of the state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("scale", torch.ones(4) * 2, persistent=False)

    def forward(self, x):
        self.calls.add_(1)
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return (x - self.mean) * self.scale, self.calls + 0


def written_buffers() -> Case:
    x = given(3, 4)
    return Case(Counter(), (x,), more_calls=(((x + 1,), {}), ((x,), {})))


def batch_norm_in_training() -> Case:
    net = nn.Sequential(nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.ReLU())
    x = given(2, 3, 9)
    return Case(net, (x,), more_calls=(((x * 2,), {}), ((x,), {})))


class Cache(nn.Module):
    """Keys that are stored at a position, as in decoding."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(8, 4))
        self.project = nn.Linear(4, 4)

    def forward(self, x, position):
        self.keys.index_copy_(0, position, self.project(x))
        scores = (x @ self.keys.T).masked_fill(torch.arange(8) > position, -torch.inf)
        return scores.softmax(-1) @ self.keys


def cache_of_keys() -> Case:
    calls = tuple(((given(1, 4), torch.tensor([n])), {}) for n in range(3))
    return Case(Cache(), *calls[0], more_calls=calls[1:])


class Tied(nn.Module):
    """One matrix for embedding and scores."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 6)
        self.body = two_layers(6)
        self.scores = nn.Linear(6, 11, bias=False)
        self.scores.weight = self.embed.weight

    def forward(self, tokens):
        return self.scores(self.body(self.embed(tokens)))


def tied_weights() -> Case:
    return Case(Tied(), (torch.tensor([[1, 5, 3], [0, 10, 2]]),))


def views_of_one_weight() -> Case:
    class Halves(nn.Module):
        def __init__(self):
            super().__init__()
            whole = torch.randn(6, 4)
            self.register_buffer("top", whole[:3])
            self.register_buffer("rows", whole[::2])
            self.register_buffer("turned", whole.T)

        def forward(self, x):
            return x @ self.top.T, x @ self.rows.T, x @ self.turned

    return Case(Halves(), (given(2, 4),))


def constants() -> Case:
    class Constants(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.linspace(0, 1, 5)

        def forward(self, x):
            return x * self.table + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), torch.tensor(3)

    return Case(Constants(), (given(2, 5),))


def written_input() -> Case:
    def write(x, y):
        x.mul_(2)
        x[0] = y
        return x + y

    return Case(Function(write), (given(3, 4), given(4)))


# ---- nested inputs and outputs

Pair = collections.namedtuple("Pair", ["first", "second"])
pytree._register_namedtuple(Pair, serialized_type_name="exported.Pair")


def nested_inputs() -> Case:
    def nested(x, parts, *, options):
        left, (middle, right) = parts
        total = x + left * middle - right["value"] * options["scale"][0]
        return {"total": total, "parts": [left, (middle,)], "none": None}

    args = (given(3), (given(3), [given(3), {"value": given(3)}]))
    return Case(Function(nested), args, {"options": {"scale": [given(3), given(1)]}})


def named_tuple() -> Case:
    function = Function(lambda pair: Pair(pair.first + pair.second, pair.first.sum()))
    return Case(function, (Pair(given(3), given(3)),))


def optional_inputs() -> Case:
    class Optional(nn.Module):
        def forward(self, x, bias=None, *, scale=None):
            x = x if bias is None else x + bias
            return x if scale is None else x * scale

    return Case(Optional(), (given(3),), {"scale": given(3)})


def numbers_as_inputs() -> Case:
    class Numbers(nn.Module):
        def forward(self, x, power, negate=False):
            return -(x**power) if negate else x**power

    return Case(Numbers(), (given(3).abs(), 3, True))


# ---- dtypes


def bfloat16() -> Case:
    block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True).eval()
    x = given(2, 5, 16, dtype=torch.bfloat16)
    return Case(block.bfloat16(), (x,), tolerance=3e-2)


def bfloat16_convolutions() -> Case:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)).eval()
    x = given(1, 3, 12, 12, dtype=torch.bfloat16)
    return Case(net.bfloat16(), (x,), tolerance=3e-2)


def float16() -> Case:
    return Case(two_layers().half(), (given(3, 8, dtype=torch.float16),), tolerance=4e-3)


def float64() -> Case:
    return Case(two_layers().double(), (given(3, 8, dtype=torch.float64),), tolerance=1e-12)


def complex_numbers() -> Case:
    def spectrum(x):
        found = torch.fft.rfft(x)
        return torch.fft.irfft(found * found.conj(), n=x.shape[-1]), torch.view_as_real(found)

    return Case(Function(spectrum), (given(2, 16),))


def autocast() -> Case:
    class Cast(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = two_layers()

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.body(x)

    return Case(Cast(), (given(3, 8),), tolerance=3e-2)


def autocast_off() -> Case:
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = two_layers()

        def forward(self, x):
            with torch.autocast("cpu", enabled=False):
                return self.body(x) * 2

    return Case(Plain(), (given(3, 8),))


def no_grad() -> Case:
    def partly(x):
        with torch.no_grad():
            scale = x.norm()
        return x / scale

    return Case(Function(partly), (given(3, 8),))


# ---- recurrent networks


def lstm() -> Case:
    return Case(nn.LSTM(4, 8, 2, batch_first=True, bidirectional=True), (given(2, 5, 4),))


def gru() -> Case:
    return Case(nn.GRU(4, 8), (given(5, 2, 4), given(1, 2, 8)))


def transformer() -> Case:
    net = nn.Transformer(16, 2, 2, 2, 32, dropout=0.0, batch_first=True).eval()
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    kwargs = {"tgt_mask": mask, "tgt_is_causal": True}
    return Case(net, (given(2, 6, 16), given(2, 4, 16)), kwargs)


def names() -> list[str]:
    plain = {"given", "two_layers", "names", "make"}
    own = [
        name
        for name, value in globals().items()
        if callable(value) and getattr(value, "__module__", "") == __name__ and name not in plain
    ]
    return [name for name in own if name[0].islower()]


def make(name: str) -> Case:
    return globals()[name]()


SHORT = tuple(names())
