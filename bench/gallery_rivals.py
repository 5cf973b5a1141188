"""Ways of other projects to the results of bench/gallery.py, where they are installed: Liger-Kernel and Helion.

Also each backend of flex attention. Their first call may fail, for example without a package: the record says why.
"""

import typing
from functools import partial
from importlib.util import find_spec

import torch
from gallery_ways import compiled


def ways(part, inputs):
    """Ways without arguments, by name, to what a part computes of these inputs."""
    found = {}
    if find_spec("liger_kernel") and part in LIGER:
        found["liger"] = LIGER[part](*inputs)
    if find_spec("helion") and part in HELION:
        found["helion"] = lambda: HELION[part](*inputs)
    return found


def liger(name):
    import liger_kernel.ops as ops

    return getattr(ops, f"Liger{name}Function").apply


def liger_rotary(x, cos, sin):
    """It rotates queries and keys in place: the heads are queries of its own, beside a single key."""
    rotate = liger("Rope")
    queries, key = x.clone()[None].transpose(1, 2), torch.zeros_like(x[None, :, :1]).transpose(1, 2)
    angles = [torch.cat([each, each], -1)[None] for each in (cos, sin)]
    return lambda: rotate(queries, key, *angles)[0][0].transpose(0, 1)


def liger_step(logits, labels):
    """The mean loss and its gradient. It writes the gradient over logits of its own."""
    leaf = logits.clone().requires_grad_()

    def way():
        loss = liger("CrossEntropy")(leaf, labels, None)[0]
        return loss, *torch.autograd.grad(loss, leaf)

    return way


LIGER = {
    "softmax": lambda x: lambda: liger("Softmax")(x),
    "layer_norm": lambda x, w, b: lambda: liger("LayerNorm")(x, w, b, 1e-5),
    "rms_norm": lambda x, w: lambda: liger("RMSNorm")(x, w, 1e-6),
    "silu_mul": lambda gate, up: lambda: liger("SiLUMul")(gate, up),
    "rotary": liger_rotary,
    "cross_entropy": lambda logits, labels: lambda: (
        liger("CrossEntropy")(logits, labels, None, -100, 0.0, 0.0, "none")[0]
    ),
    "cross_entropy step": liger_step,
}


def helion(name, *inputs):
    import helion_kernels

    return getattr(helion_kernels, name)(*inputs)


HELION = {
    "softmax": partial(helion, "softmax"),
    "layer_norm": lambda x, w, b: helion("layer_norm", x, w, b, 1e-5),
    "rms_norm": lambda x, w: helion("rms_norm", x, w, 1e-6),
    "cross_entropy": partial(helion, "cross_entropy"),
    "gemm": partial(helion, "matmul"),
}


def flex_backends(q, k, v, **options):
    """Flex attention of one batch, by each of its backends."""
    from torch.nn.attention import flex_attention as flex

    # PyTorch compiles a function for a few cases only.
    torch.compiler.reset()

    backends = typing.get_args(getattr(flex, "_Backend", None)) or ("TRITON", "FLASH", "TRITON_DECODE")

    def way(backend):
        function = compiled(partial(flex.flex_attention, kernel_options={"BACKEND": backend}, **options))
        return lambda: function(q, k, v)[0]

    return {f"flex {backend}": way(backend) for backend in backends if backend != "AUTO"}


def causal_mask(rows):
    """The blocks of keys that rows see, for flex attention."""
    from torch.nn.attention.flex_attention import create_block_mask

    return create_block_mask(lambda _batch, _head, row, key: row >= key, None, None, rows, rows)
