"""Hooks that pack and unpack saved tensors: as with blocks, and on one tensor of a function."""

from collections.abc import Callable
from typing import Any

from .. import _C, _gradients
from .modes import _Mode


def _require_functions(what: str, **hooks: object) -> None:
    for name, hook in hooks.items():
        if not callable(hook):
            raise TypeError(
                f"{what}: {name} must be a function of what is packed, not an object of "
                f"{type(hook).__name__}"
            )


class saved_tensors_hooks(_Mode):
    """saved_tensors_hooks(pack_hook, unpack_hook): a with block, or a decorator, of this thread.

    Of each tensor that a call in the block saves for its backward, the graph keeps what
    `pack_hook(tensor)` gives, any object. The backward uses what `unpack_hook(object)` gives then:
    a tensor with the elements of the packed one, each time that the tensor is needed. Of nested
    blocks the innermost packs.

    `pack_hook` is called without gradients, after the call that saves. It gets the tensor itself if
    that is a leaf, and else one on the same memory without a history. It must not write to it: that
    raises RuntimeError. Whether it is written later is not found; a clone is safe from that.

    Raises TypeError for what is no function, RuntimeError under disable_saved_tensors_hooks().
    """

    def __init__(
        self,
        pack_hook: "Callable[[_C.Tensor], Any]",
        unpack_hook: "Callable[[Any], _C.Tensor]",
    ) -> None:
        super().__init__()
        _require_functions(type(self).__name__, pack_hook=pack_hook, unpack_hook=unpack_hook)
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _fresh(self) -> "saved_tensors_hooks":
        return saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def _begin(self) -> "_gradients.SavedHooks":
        # Functions in Python save by this name: from the first block on they look for hooks.
        _gradients.save = _gradients.save_packed
        hooks = _gradients.saved_hooks(self.pack_hook, self.unpack_hook)
        _gradients.push_saved_hooks(hooks)
        return hooks

    def _end(self, former: "_gradients.SavedHooks") -> None:
        _gradients.pop_saved_hooks(former)


class save_on_cpu(saved_tensors_hooks):
    """save_on_cpu(pin_memory=False, device_type="cuda"): keeps saved tensors in the CPU's memory.

    What a call in the with block saves is copied there, and back to the device of the tensor when
    the backward needs it. A tensor of the CPU is copied as well: it may be written afterwards.
    `device_type` says whose memory to pin. Raises NotImplementedError for `pin_memory`, since no
    device of this package has such memory.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if pin_memory:
            raise NotImplementedError(
                f"save_on_cpu: pin_memory=True asks for memory that a device {device_type!r} reads "
                "at once, and no device here has such memory; leave it out"
            )

        def pack(tensor: "_C.Tensor") -> tuple:
            return tensor.device, tensor.to("cpu", copy=True)

        def unpack(packed: tuple) -> "_C.Tensor":
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(_Mode):
    """disable_saved_tensors_hooks(error_message): no hooks of saved tensors in a with block.

    saved_tensors_hooks() raises RuntimeError with `error_message` in it. For code that would be
    wrong if what it saves came back as another tensor. May decorate a function, too. Raises
    RuntimeError if this thread is in a block with hooks already, TypeError for what is no str.
    """

    def __init__(self, error_message: str) -> None:
        super().__init__()
        if not isinstance(error_message, str):
            raise TypeError(
                "disable_saved_tensors_hooks: error_message must be a str, not an object of "
                + type(error_message).__name__
            )
        self.error_message = error_message

    def _fresh(self) -> "disable_saved_tensors_hooks":
        return disable_saved_tensors_hooks(self.error_message)

    def _begin(self) -> "str | None":
        return _gradients.disable_saved_hooks(self.error_message)

    def _end(self, former: "str | None") -> None:
        _gradients.disable_saved_hooks(former)


class SavedTensor:
    """A tensor that a function of a graph saved, as `node._raw_saved_self` gives it."""

    __slots__ = ("_pack",)

    def __init__(self, pack: "Callable | None") -> None:
        self._pack = pack

    def register_hooks(
        self,
        pack_hook: "Callable[[_C.Tensor], Any]",
        unpack_hook: "Callable[[Any], _C.Tensor]",
    ) -> None:
        """Packs this one tensor now, as saved_tensors_hooks() does for those of a with block.

        Raises TypeError for what is no function; RuntimeError if it is packed already, if it was
        freed, and for an argument that was not saved.
        """
        _require_functions("register_hooks", pack_hook=pack_hook, unpack_hook=unpack_hook)
        if self._pack is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden: the call "
                "has saved nothing by this name"
            )
        self._pack(pack_hook, unpack_hook)
