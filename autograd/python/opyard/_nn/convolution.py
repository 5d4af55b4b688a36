"""Conv2d: convolution of pictures."""

from .. import _C
from .._core.ops import ops
from .init import bound_of, uniform
from .module import Module
from .sizes import Sizes, pair, positive


class Conv2d(Module):
    """Sums over windows of pictures x [n, in_channels, rows, columns], or of one without n.

    weight [out_channels, in_channels / groups, rows, columns] and bias [out_channels] begin uniform
    in ±1/√(elements of a window). Sizes are one int or two, of rows and columns.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        positive("Conv2d", in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"Conv2d: in_channels and out_channels must be multiples of groups, {groups}, not "
                f"{in_channels} and {out_channels}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = pair("Conv2d", "kernel_size", kernel_size)
        self.stride = pair("Conv2d", "stride", stride)
        self.padding = pair("Conv2d", "padding", padding, least=0)
        self.dilation = pair("Conv2d", "dilation", dilation)
        rows, columns = self.kernel_size
        bound = bound_of(in_channels // groups * rows * columns)
        self.weight = uniform((out_channels, in_channels // groups, rows, columns), bound)
        self.register_parameter("bias", uniform((out_channels,), bound) if bias else None)

    def forward(self, x: _C.Tensor) -> _C.Tensor:
        return ops.aten.conv2d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        own = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        own += f", stride={self.stride}"
        usual = {"padding": [0, 0], "dilation": [1, 1], "groups": 1}
        for name, value in usual.items():
            if getattr(self, name) != value:
                own += f", {name}={getattr(self, name)}"
        return own if self.bias is not None else own + ", bias=False"
