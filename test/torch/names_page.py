"""The last section of docs/guides/from_pytorch.md: names of torch.nn, torch.optim, torch.autograd.

    python test/torch/names_page.py [--check]

Needs PyTorch, whose names it reads. A name that is here, too, is the same, unless DIFFERS says in
what it differs. With --check nothing is written; the exit code is 1 if the page is out of date.
"""

import inspect
import sys
from pathlib import Path

import torch

import opyard

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "from_pytorch.md"
HEADING = "## Every name of `torch.nn`, `torch.optim` and `torch.autograd`\n"

DIFFERS = {
    "torch.nn": {
        "losses": "`size_average` and `reduce` are not taken; x and target have one shape",
        "layers with weights": "`device` and `dtype` by name; other random numbers",
        "CrossEntropyLoss": "weight alone by position",
        "Embedding": "no `sparse`",
        "EmbeddingBag": "no `sparse`",
        "LSTM": "no packed sequences; so are RNN and GRU",
        "MultiheadAttention": "`repr()` has its sizes",
        "TransformerEncoder": "no nested tensors: what is padded is computed, too",
        "Upsample": "no nearest-exact, no `recompute_scale_factor`",
        "Module": "see [training](training.md); no hooks of all modules, no `type`, "
        "`register_backward_hook`, `share_memory`, `compile`; `_load_from_state_dict` and "
        "`_save_to_state_dict` are not called",
    },
    "torch.nn.functional": {
        "losses": "`reduction` by name; no `size_average`, `reduce`, `weight` of `mse_loss`, "
        "`l1_loss` and `huber_loss`; x and target have one shape",
        "all softmax": "`dim` is given, `dtype` by name",
        "gumbel_softmax": "other random numbers, no `eps`",
        "embedding": "no `sparse`",
        "interpolate": "no area, no nearest-exact, no `recompute_scale_factor`, no `antialias`",
        "normalize": "no `out`",
    },
    "torch.nn.init": {"all": "other random numbers"},
    "torch.nn.utils": {"clip_grad_norm_": "no `foreach`, nor have the other clips"},
    "torch.optim": {
        "optimizers": "no `foreach`, `fused`, `capturable`, `differentiable`; the rate is a number"
        "; no hooks of steps and states",
    },
    "torch.optim.lr_scheduler": {"schedules": "`step()` has no epoch but with warm restarts"},
    "torch.optim.swa_utils": {"AveragedModel": "no `device`", "update_bn": "no `device`"},
    "torch.autograd": {
        "Function": "no `vmap`; `ctx.saved_variables` is not there",
        "grad": "`only_inputs=False` is refused",
        "gradgradcheck": "as `gradcheck`; no `gen_non_contig_grad_outputs`, `check_fwd_over_rev`, "
        "`check_rev_over_rev`",
        "gradcheck": "float64 and complex128 alone; no `fast_mode`, `check_batched_grad`, `masked`",
        "detect_anomaly": "the error itself says where the call was made",
    },
    "torch.autograd.functional": {
        "jacobian": '`strategy="forward-mode"` goes without `vectorize` and with `create_graph`',
        "hessian": "likewise; its inner Jacobian is always in reverse mode",
    },
    "torch.autograd.forward_ad": {"dual_level": "one at a time on a thread"},
    "torch.autograd.graph": {
        "GradientEdge": "no `ownership_token`; the node keeps the graph",
        "Node": "`next_functions` leads along the calls made here, and names have no number",
        "save_on_cpu": "no `pin_memory`",
    },
}


# What torch.nn.functional imports for itself.
HELPERS = """
    ScalingType SwizzleType Tensor assert_int_or_pair boolean_dispatch handle_torch_function
    has_torch_function has_torch_function_unary has_torch_function_variadic
""".split()


def names_of(module):
    """The public classes and functions of a module that are defined below it."""
    root = "torch.autograd" if "autograd" in module.__name__ else "torch"
    own = getattr(module, "__all__", None) or dir(module)
    found = []
    for name in own:
        thing = getattr(module, name, None)
        is_one = inspect.isclass(thing) or inspect.isroutine(thing)
        where = str(getattr(thing, "__module__", ""))
        is_one = is_one and name not in HELPERS
        if is_one and not name.startswith("_") and where.startswith(root):
            found.append(name)
    return sorted(set(found))


def ours(name):
    found = opyard
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def layers_for(names):
    """The layer that computes what a function of this name does, for each that has one."""
    layers = {each.lower(): each for each in vars(opyard.nn)}
    found = {}
    for name in names:
        plain = name.rstrip("_").replace("_", "")
        layer = layers.get(plain) or layers.get(plain + "loss")
        if layer is not None:
            found[name] = layer
    return found


def listed(names):
    return ", ".join(f"`{name}`" for name in names) or "none"


def section():
    lines = [
        HEADING,
        f"Made by `test/torch/names_page.py` with PyTorch {torch.__version__.partition('+')[0]}. "
        "A name that is here as well is the same, unless it says in what it differs.\n",
    ]
    for name, differs in DIFFERS.items():
        module = torch
        for part in name.split(".")[1:]:
            module = getattr(module, part)
        found, here = names_of(module), ours(name)
        same = [each for each in found if hasattr(here, each)]
        absent = [each for each in found if not hasattr(here, each)]
        layers = layers_for(absent) if name == "torch.nn.functional" else {}
        absent = [each for each in absent if each not in layers]
        unknown = [each for each in differs if each[0].isupper() and each not in same]
        assert not unknown, unknown
        lines.append(f"**`{name}`**, {len(same) + len(layers)} of {len(found)}\n")
        lines.append(f"- same: {listed(each for each in same if each not in differs)}")
        if differs:
            said = (f"`{each}`" if each in same else each for each in differs)
            text = "; ".join(
                f"{each}: {differs[key]}" for each, key in zip(said, differs, strict=True)
            )
            lines.append(f"- differs in: {text}")
        if layers:
            pairs = (f"`{each}`: `nn.{layer}`" for each, layer in layers.items())
            lines.append(f"- differs in, a layer: {'; '.join(pairs)}")
        lines.append(f"- not here: {listed(absent)}\n")
    return "\n".join(lines).rstrip() + "\n"


def main():
    text = PAGE.read_text("utf-8")
    wanted = text.partition(HEADING)[0].rstrip() + "\n\n" + section()
    if "--check" in sys.argv[1:]:
        sys.exit(text != wanted)
    PAGE.write_text(wanted, "utf-8")


if __name__ == "__main__":
    main()
