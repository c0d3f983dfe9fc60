"""A digest of each operation that trainings use: does this machine compute the same bits?

Inputs are fixed, not random. No framework is loaded. ``python -m rlregress.inside.canary`` prints
the digests, in at most two seconds after torch is loaded.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional

_FUNCTIONS = (
    "exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "rsqrt", "reciprocal", "sin", "cos",
    "tan", "tanh", "sigmoid", "erf", "erfinv", "asin", "acos", "atan", "sinh", "cosh", "asinh",
    "lgamma", "digamma", "softplus", "gelu", "silu", "elu", "selu", "mish", "logsigmoid",
)  # fmt: skip
_POSITIVE = ("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "lgamma", "digamma")


def digest_operations() -> dict[str, str]:
    """Return operation of NumPy or torch -> digest of its result on fixed inputs."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with np.errstate(all="ignore"):
            return {name: _digest_value(compute()) for name, compute in _list_operations().items()}
    finally:
        torch.set_num_threads(threads)


def _digest_value(value: Any) -> str:
    digest = hashlib.sha256()
    for item in value if isinstance(value, (list, tuple)) else [value]:
        array = item.detach().numpy() if isinstance(item, torch.Tensor) else np.asarray(item)
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _make_fixed_numbers(*shape: int) -> np.ndarray:
    """Return float64 numbers in [-1, 1): a low-discrepancy sequence, exact on every machine."""
    count = math.prod(shape)
    integers = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(2654435769)
    return ((integers % np.uint64(2**32)).astype(np.float64) / 2**31 - 1).reshape(shape)


def _make_fixed_tensor(*shape: int) -> torch.Tensor:
    return torch.from_numpy(_make_fixed_numbers(*shape)).float()


def _list_operations() -> dict[str, Callable[[], Any]]:
    """Return name -> operation, such as torch's for networks, losses, optimizers and draws."""
    operations: dict[str, Callable[[], Any]] = {}
    for name in _FUNCTIONS:
        function = getattr(torch, name, None) or getattr(functional, name)
        # an odd length: after those in vector instructions, some numbers are computed singly
        numbers = (
            _make_fixed_tensor(4099).abs() * 9 + 1e-3
            if name in _POSITIVE
            else _make_fixed_tensor(4099) * 0.999
        )
        for dtype in (torch.float32, torch.float64):
            operations[f"torch {name} {str(dtype)[6:]}"] = partial(function, numbers.to(dtype))
    positive, signed = _make_fixed_tensor(4099).abs() + 0.1, _make_fixed_tensor(4099)
    large, rows = _make_fixed_tensor(321, 77), _make_fixed_tensor(64, 18)
    square, vector = _make_fixed_tensor(100, 100), _make_fixed_tensor(100)
    images, filters = _make_fixed_tensor(4, 4, 36, 36), _make_fixed_tensor(16, 4, 8, 8)
    lefts, rights = _make_fixed_tensor(10, 64, 33), _make_fixed_tensor(10, 33, 17)
    # not portable: Cholesky in float32 (MKL), LSTM (oneDNN); see docs/evidence.md
    return {
        **operations,
        "torch division": partial(torch.div, signed, positive),
        "torch pow": partial(torch.pow, positive, signed),
        "torch pow 0.5": partial(torch.pow, positive, 0.5),
        "torch atan2": partial(torch.atan2, signed, positive),
        "torch sum": partial(torch.sum, large, 0),
        "torch mean": partial(torch.mean, large),
        "torch std": partial(torch.std, large),
        "torch norm": partial(torch.linalg.vector_norm, large),
        "torch softmax": partial(torch.softmax, rows, 1),
        "torch log_softmax": partial(torch.log_softmax, rows, 1),
        "torch logsumexp": partial(torch.logsumexp, rows, 1),
        "torch cumsum": partial(torch.cumsum, rows, 1),
        **{
            f"torch matmul {n}x{inner}x{columns}": partial(
                torch.mm, _make_fixed_tensor(n, inner), _make_fixed_tensor(inner, columns)
            )
            for n, inner, columns in ((1, 3, 64), (64, 64, 64), (256, 17, 256), (256, 256, 256))
        },
        "torch matvec": partial(torch.mv, square, vector),
        "torch bmm": partial(torch.bmm, lefts, rights),
        "torch qr": partial(torch.linalg.qr, _make_fixed_tensor(64, 64)),
        "torch training": _train_network,
        "torch convolution": partial(functional.conv2d, images, filters, stride=4),
        "torch draws": _draw_torch_numbers,
        **_list_numpy_operations(),
    }


def _train_network() -> list[torch.Tensor]:
    """Train a small network for some steps of Adam, with gradients clipped."""
    layers = [
        _make_layer(torch.nn.Linear, 8, 64),
        torch.nn.Tanh(),
        _make_layer(torch.nn.Linear, 64, 2),
    ]
    network = torch.nn.Sequential(*layers)
    optimizer = torch.optim.Adam(network.parameters(), 3e-4)
    batch = _make_fixed_tensor(64, 8)
    for _ in range(10):
        loss = functional.mse_loss(network(batch), batch[:, :2])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        optimizer.step()
    return list(network.parameters())


def _make_layer(kind: Callable[..., torch.nn.Module], *sizes: int) -> torch.nn.Module:
    """Return a layer with fixed parameters, without a random draw."""
    module = kind(*sizes, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(_make_fixed_tensor(*parameter.shape) / 4)
    return module


def _draw_torch_numbers() -> list[torch.Tensor]:
    """Return numbers from each kind of random draw in torch."""
    generator = torch.Generator().manual_seed(7)
    weights = _make_fixed_tensor(4, 6).abs() + 0.1
    return [
        torch.randn(1001, generator=generator),
        torch.rand(1001, generator=generator),
        torch.empty(1001).exponential_(generator=generator),
        torch.empty(1001).bernoulli_(0.3, generator=generator),
        torch.empty(1001).log_normal_(generator=generator),
        torch.empty(1001).geometric_(0.3, generator=generator),
        torch.multinomial(weights, 3, generator=generator),
        torch.randperm(1001, generator=generator),
        torch.poisson(weights, generator=generator),
        torch.binomial(weights * 10 // 1, weights / 2, generator=generator),
    ]


def _list_numpy_operations() -> dict[str, Callable[[], Any]]:
    operations: dict[str, Callable[[], Any]] = {}
    for dtype in (np.float32, np.float64):
        numbers = (_make_fixed_numbers(4099) * 0.999).astype(dtype)
        positive, square = np.abs(numbers) + 0.01, _make_fixed_numbers(96, 96).astype(dtype)
        for names, arguments in (
            ("exp sin cos tan tanh arctan arcsin exp2 cbrt", [numbers]),
            ("log sqrt log1p log2", [positive]),
            ("sum mean std cumsum", [numbers]),
            ("matmul", [square, square]),
            ("power", [np.abs(numbers), numbers]),
            ("arctan2", [numbers, numbers[::-1]]),
        ):
            for name in names.split():
                operations[f"numpy {name} {numbers.dtype}"] = partial(getattr(np, name), *arguments)
    matrix, other = _make_fixed_numbers(40, 30), _make_fixed_numbers(30, 20)
    regular = _make_fixed_numbers(40, 40) + 9 * np.eye(40)
    functions = (math.sin, math.cos, math.exp, math.atan, math.tanh, math.erf, math.gamma)
    values = [float(number) for number in _make_fixed_numbers(501)]
    return {
        **operations,
        "numpy einsum": partial(np.einsum, "ij,jk->ik", matrix, other),
        "numpy solve": partial(np.linalg.solve, regular, _make_fixed_numbers(40)),
        "numpy draws": _draw_numpy_numbers,
        "libm": lambda: [[function(x) for x in values] for function in functions],
    }


def _draw_numpy_numbers() -> list[np.ndarray]:
    generator, older = np.random.default_rng(7), np.random.RandomState(7)
    return [
        generator.normal(size=1001), generator.random(1001), generator.exponential(size=1001),
        generator.integers(0, 1000, 1001).astype(np.int64), generator.gamma(2.0, size=1001),
        older.normal(size=1001), older.rand(1001), older.standard_gamma(2.0, 1001),
    ]  # fmt: skip


if __name__ == "__main__":
    json.dump(digest_operations(), sys.stdout, indent=1)
