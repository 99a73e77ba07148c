"""Capsules of DLPack, of both versions of the protocol.

NumPy imports and exports the memory; this module only changes the element type in the capsule where NumPy lacks it:
bfloat16 passes through NumPy as uint16.
"""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._prototypes import DLDataType, DLManagedTensor, DLManagedTensorVersioned

VERSION = (1, 3)  # of dlpack.h
BFLOAT16, UINT16 = (4, 16), (1, 16)  # code and bits
_READ_ONLY = 1
# Older ones take and give capsules without a version alone.
_NUMPY_HAS_VERSIONS = tuple(int(part) for part in np.__version__.split(".")[:2]) >= (2, 1)

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _Once:
    """Gives a capsule to NumPy."""

    def __init__(self, capsule: Any, device: Tuple[int, int]) -> None:
        self._capsule, self._device = capsule, device

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._device


def _contents(capsule: Any) -> Tuple[DLDataType, bool]:
    """The element type, which may be changed in place, and whether the memory is read-only."""
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = DLManagedTensorVersioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        return versioned.dl_tensor.dtype, bool(versioned.flags & _READ_ONLY)
    managed = DLManagedTensor.from_address(_pointer(capsule, b"dltensor"))
    return managed.dl_tensor.dtype, False


def imported(value: Any) -> Tuple[npt.NDArray[Any], bool, bool]:
    """An array on the memory of an object with `__dlpack__`, whether its elements are bfloat16, and whether it is
    read-only. Raises what the object or NumPy raises where that is not possible."""
    try:
        capsule = value.__dlpack__(**({"max_version": VERSION} if _NUMPY_HAS_VERSIONS else {}))
    except TypeError:  # of the protocol's version 0
        capsule = value.__dlpack__()
    dtype, read_only = _contents(capsule)
    is_bfloat16 = (dtype.code, dtype.bits, dtype.lanes) == (*BFLOAT16, 1)
    if is_bfloat16:
        dtype.code, dtype.bits = UINT16
    return np.from_dlpack(_Once(capsule, value.__dlpack_device__())), is_bfloat16, read_only


def bfloat16_capsule(bits: npt.NDArray[np.uint16], max_version: Optional[Tuple[int, int]]) -> Any:
    """A capsule of bfloat16 for a consumer, on the memory of the bits."""
    versioned = _NUMPY_HAS_VERSIONS and max_version is not None
    array: Any = bits
    capsule = array.__dlpack__(max_version=max_version) if versioned else array.__dlpack__()
    dtype, _ = _contents(capsule)
    dtype.code, dtype.bits = BFLOAT16
    return capsule
