"""Writes all objects of a training as one graph, and reads them back exactly.

Shared objects stay shared: an optimiser that is read back has the same parameter objects as the
networks that are read with it. Environments are written with their present state, even if their own
pickling would make a fresh one.
"""

from __future__ import annotations

import copyreg
import pickle
import weakref
from collections.abc import Mapping
from typing import Any, BinaryIO

import cloudpickle
import numpy as np
import torch
from gymnasium.utils import EzPickle

#: of larger arrays the zeros at the end are counted, not written: a replay buffer that is not full.
_LARGE_BYTES = 1 << 20


def pickle_objects(everything: Any, file: Any) -> None:
    """Write a graph of objects.

    Args:
        file: object with a method ``write``.

    Raises:
        Exception: an object in the graph cannot be written; its class decides the error's type.
    """
    _Pickler(file, protocol=5).dump(everything)


def unpickle_objects(file: BinaryIO) -> Any:
    """Read a graph of objects that ``pickle_objects`` wrote with the same versions.

    Raises:
        Exception: the graph cannot be read.
    """
    # the caller has refused checkpoints that somebody else may have written
    return pickle.load(file)  # noqa: S301


class Storage:
    """The memory of tensors: tensors that share it do so again after reading."""

    def __init__(self, memory: np.ndarray) -> None:
        # uint8 [bytes]
        self.memory = memory

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # a copy: the bytes as read may not be aligned like a tensor's memory
        self.tensor = torch.tensor(state["memory"], dtype=torch.uint8)


class Tensors:
    """Pickles the tensors of one graph.

    Attributes:
        has_shared_memory: whether some of them share memory.
    """

    def __init__(self) -> None:
        self._storages: dict[tuple[int, int], Storage] = {}
        self.has_shared_memory = False

    def reduce_tensor(self, tensor: torch.Tensor, requires_grad: bool) -> Any:
        """Return the pickle reduction of a plain tensor, in which shared memory stays shared."""
        memory = tensor.untyped_storage()
        place = (memory.data_ptr(), memory.nbytes())
        self.has_shared_memory = self.has_shared_memory or place in self._storages
        if place not in self._storages:
            # on the same memory; kept, so that nothing else is there while the graph is written
            memory_bytes = torch.empty(0, dtype=torch.uint8).set_(memory)
            self._storages[place] = Storage(memory_bytes.numpy())
        layout = (tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
        arguments = (type(tensor), self._storages[place], layout, requires_grad)
        # torch warns that a tensor that is no leaf has none
        gradient = tensor.grad if tensor.is_leaf else None
        if gradient is None and not tensor.__dict__:
            return rebuild_tensor, arguments
        state = (gradient, tensor.__dict__)
        return rebuild_tensor, arguments, state, None, None, restore_tensor_attributes


class _Pickler(cloudpickle.Pickler):
    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol=protocol)
        self._tensors = Tensors()

    def reducer_override(self, instance: Any) -> Any:
        if isinstance(instance, np.ndarray) and instance.nbytes > _LARGE_BYTES:
            cut = _reduce_array_without_zeros(instance)
            if cut is not None:
                return cut
        elif isinstance(instance, torch.Tensor) and is_plain_tensor(instance):
            return self._tensors.reduce_tensor(
                instance, instance.is_leaf and instance.requires_grad
            )
        elif isinstance(instance, weakref.ReferenceType):
            return _rebuild_weak_reference, (instance(),)
        elif isinstance(instance, EzPickle):
            # it would be made anew from its arguments
            arguments = (type(instance),)
            state = instance.__dict__
            return copyreg.__newobj__, arguments, state, None, None, _restore_attributes  # type: ignore[attr-defined]
        return super().reducer_override(instance)


def is_plain_tensor(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is of torch's own class, with its numbers in ordinary memory."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg())
    )


def _reduce_array_without_zeros(array: np.ndarray) -> Any:
    """Return the pickle reduction of an array without the zeros at its end; None: as usual."""
    if type(array) is not np.ndarray or array.dtype.hasobject or not array.flags.c_contiguous:
        return None
    memory = array.reshape(-1).view(np.uint8)
    end = len(memory)
    while end and not memory[max(end - _LARGE_BYTES, 0) : end].any():
        end = max(end - _LARGE_BYTES, 0)
    start = pickle.PickleBuffer(memory.data[:end])
    return _rebuild_array_with_zeros, (array.shape, array.dtype, start)


def _rebuild_array_with_zeros(shape: tuple[int, ...], dtype: np.dtype, start: Any) -> np.ndarray:
    if len(start) == dtype.itemsize * int(np.prod(shape)):
        return np.frombuffer(start, dtype).reshape(shape)
    array = np.zeros(shape, dtype)
    array.reshape(-1).view(np.uint8)[: len(start)] = np.frombuffer(start, np.uint8)
    return array


def rebuild_tensor(kind: type, storage: Storage, layout: Any, requires_grad: bool) -> torch.Tensor:
    """Rebuild a pickled tensor on its memory, which was read before."""
    dtype, offset, shape, stride = layout
    tensor = torch.empty(0, dtype=dtype).set_(
        storage.tensor.untyped_storage(), offset, shape, stride
    )
    if kind is torch.nn.Parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def restore_tensor_attributes(tensor: torch.Tensor, state: tuple[Any, Mapping[str, Any]]) -> None:
    """Give a tensor its gradient and its attributes."""
    tensor.grad = state[0]
    tensor.__dict__.update(state[1])


class _Gone:
    """A stand-in for the object of a weak reference that no longer exists."""


def _rebuild_weak_reference(instance: Any) -> Any:
    return weakref.ref(_Gone() if instance is None else instance)


def _restore_attributes(instance: Any, state: Mapping[str, Any]) -> None:
    instance.__dict__.update(state)
