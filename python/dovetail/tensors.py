"""Tensors: NumPy and DLPack, in both directions, without a copy.

An input may be a NumPy array or any object with `__dlpack__`, `__array_interface__` or a buffer, for example a tensor
of PyTorch. It is read in place where its type is the input's, and it is contiguous, row-major, in native byte order and
in the host's memory; anything else is an InputError that says what does not fit, unless the call has `copy=True`.

Outputs are NumPy arrays, which share their memory through `numpy.from_dlpack` and the like and outlive the session. A
type that NumPy lacks (bfloat16) comes as a `Tensor`.
"""

from __future__ import annotations

import ctypes
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np
import numpy.typing as npt

from . import _dlpack
from ._prototypes import DLDataType, DLDevice, DLTensor
from .errors import bad_argument

ArrayLike = Any
"""A NumPy array, or an object with `__dlpack__`, `__array_interface__` or a buffer."""

ALIGNMENT = 64  # of the address of a bound input that is read in place, in bytes

# The types of the kit: code and bits of DLPack.
_TYPES: Dict[str, Tuple[int, int]] = {
    **{f"int{bits}": (0, bits) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (1, bits) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (2, bits) for bits in (16, 32, 64)},
    "bfloat16": _dlpack.BFLOAT16,
    "bool": (6, 8),
}
_NAMES = {value: name for name, value in _TYPES.items()}
_UINT16: "np.dtype[Any]" = np.dtype(np.uint16)
# The types of NumPy; of bfloat16 that of its bits.
_NUMPY: "Dict[str, np.dtype[Any]]" = {name: _UINT16 if name == "bfloat16" else np.dtype(name) for name in _TYPES}
_HOST = (1, 3)  # kDLCPU, kDLCUDAHost


class TensorInfo(NamedTuple):
    """An input or output.

    name: its name in the model.
    dtype: for example "float32", or "bfloat16", which NumPy lacks.
    shape: the extents; () of a scalar.
    """

    name: str
    dtype: str
    shape: Tuple[int, ...]

    def __str__(self) -> str:
        """For example "image: float32[1, 1, 8, 8]"."""
        return f"{self.name}: {self.dtype}{list(self.shape)}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * _NUMPY[self.dtype].itemsize


def numpy_type(dtype: str) -> "np.dtype[Any]":
    """NumPy's type; of bfloat16 that of its bits."""
    return _NUMPY[dtype]


def dtype_name(dtype: DLDataType) -> str:
    """The kit's name of a type of DLPack."""
    return _NAMES[(dtype.code, dtype.bits)]


def shape_of(tensor: Any) -> Tuple[int, ...]:
    """The shape of a DLTensor or dvt_tensor_info."""
    return tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()


class Tensor:
    """A tensor in the host's memory, for the element type that NumPy lacks: bfloat16.

    It offers DLPack, so `torch.from_dlpack(tensor)` shares its memory. `numpy()` converts to float32.

    dtype: "bfloat16".
    """

    dtype: str = "bfloat16"

    def __init__(self, bits: "npt.NDArray[np.uint16]") -> None:
        """`bits`: the elements' bits. The tensor shares their memory."""
        if bits.dtype != _UINT16:
            raise bad_argument("Tensor: bits", f"their type is {bits.dtype}", "give uint16")
        self._bits = bits

    @classmethod
    def from_float32(cls, values: npt.ArrayLike) -> Tensor:
        """Rounds float32 to bfloat16: to nearest, ties to even. NaN stays NaN."""
        bits = np.asarray(values, np.float32).view(np.uint32)
        upper = bits >> 16
        rounded = (bits + (0x7FFF + (upper & 1))) >> 16
        return cls(np.where(np.isnan(values), upper | 0x40, rounded).astype(np.uint16))

    def __repr__(self) -> str:
        return f"<dovetail.Tensor {self.dtype}{list(self.shape)}>"

    @property
    def shape(self) -> Tuple[int, ...]:
        """The extents."""
        return self._bits.shape

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return self._bits.nbytes

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self._bits[index])

    def __setitem__(self, index: Any, values: Any) -> None:
        """Sets elements: of a Tensor, or of float32, which is rounded."""
        values = values if isinstance(values, Tensor) else Tensor.from_float32(values)
        self._bits[index] = values.bits()

    def bits(self) -> "npt.NDArray[np.uint16]":
        """The elements' bits. Shares the memory."""
        return self._bits

    def numpy(self) -> "npt.NDArray[np.float32]":
        """A copy as float32, which holds every bfloat16 exactly."""
        return (self._bits.astype(np.uint32) << 16).view(np.float32)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError(f"NumPy has no {self.dtype}: a copy is needed")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (1, 0)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any:
        """A capsule for a consumer; without a copy unless `copy` is True."""
        if stream is not None:
            raise BufferError("a tensor in the host's memory has no stream")
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError(f"the tensor is in the host's memory, not on device {tuple(dl_device)}")
        return _dlpack.bfloat16_capsule(self._bits.copy() if copy else self._bits, max_version)


class Borrowed(NamedTuple):
    """A view for the library, and the array that keeps its memory."""

    tensor: DLTensor
    array: npt.NDArray[Any]
    dtype: str
    writable: bool


def view_of(address: Optional[int], dtype: str, shape: Tuple[int, ...]) -> DLTensor:
    """A view of contiguous elements in the host's memory."""
    count = len(shape)
    extents = (ctypes.c_int64 * count)(*shape)
    return DLTensor(address, DLDevice(1, 0), count, DLDataType(*_TYPES[dtype], 1), extents)


def _wrong_layout(array: npt.NDArray[Any]) -> Optional[Tuple[str, str]]:
    """Why the library cannot read the array in place, and what makes one that it can; None if it can."""
    if not array.dtype.isnative:
        return "its elements are not in this machine's byte order", 'value.astype(value.dtype.newbyteorder("="))'
    if not array.flags.c_contiguous:
        why = f"its strides are {array.strides} bytes, not those of a contiguous row-major array"
        return why, "numpy.ascontiguousarray(value)"
    if not array.flags.aligned:
        return f"its address is not a multiple of an element's {array.dtype.itemsize} bytes", "value.copy()"
    return None


def _array_of(value: ArrayLike, where: str, copy: bool, or_copy: str) -> Tuple[npt.NDArray[Any], str, bool]:
    """An array on the value's memory, the kit's name of its type, and whether it may be written."""
    if isinstance(value, Tensor):
        return value.bits(), value.dtype, value.bits().flags.writeable
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        device = tuple(value.__dlpack_device__())
        if device[0] not in _HOST:
            raise bad_argument(
                where, f"it is on device {device} of DLPack, not in the host's memory", "copy it to the host"
            )
        try:
            array, is_bfloat16, read_only = _dlpack.imported(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise bad_argument(where, f"DLPack: {error}", "pass a tensor that can be exported") from error
        return array, "bfloat16" if is_bfloat16 else array.dtype.name, not read_only
    if not isinstance(value, np.ndarray) and not hasattr(value, "__array_interface__"):
        try:
            value = memoryview(value)
        except TypeError:
            if not copy:
                raise bad_argument(
                    where,
                    f"{type(value).__name__} has neither __dlpack__ nor __array_interface__ nor a buffer",
                    f"pass numpy.asarray(value){or_copy}",
                ) from None
    if np.ma.is_masked(value):
        raise bad_argument(where, "some of its elements are masked", "pass value.filled(...)")
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":  # a type that the package ml_dtypes adds to NumPy
        return array.view(_UINT16), "bfloat16", array.flags.writeable
    return array, array.dtype.name, array.flags.writeable


def _converted(array: npt.NDArray[Any], dtype: str, where: str) -> npt.NDArray[Any]:
    """A copy of another type. Raises InputError where a value is outside its range."""
    kind = _NUMPY[dtype]
    with np.errstate(over="ignore"):
        copied = array.astype(kind)
    if kind.kind in "iu":
        fits = bool((copied == array).all()) and (kind.kind == "i" or not (array < 0).any())
    else:
        fits = kind.kind != "f" or bool((np.isfinite(copied) | ~np.isfinite(array)).all())
    if not fits:
        raise bad_argument(where, f"its type is {array.dtype.name}, and a value is outside the range of {dtype}",
                           "give values of that range")
    return copied


def borrow(value: ArrayLike, where: str, *, dtype: Optional[str] = None, copy: Optional[bool] = False) -> Borrowed:
    """A view of a value. `dtype`: the type that it must have; None: its own. `copy`: whether a copy may be made; None:
    the function has no option for it.

    Raises InputError for a type, layout or device that does not fit, and with `copy` only where converting the type
    could change more than the precision, for example from float to int.
    """
    or_copy = "" if copy is None else ", or pass copy=True"
    array, own, writable = _array_of(value, where, bool(copy), or_copy)
    if own not in _TYPES:
        raise bad_argument(where, f"its type is {own}, and the kit has {', '.join(_TYPES)}", "convert it")
    if dtype is not None and own != dtype:
        why = f"its type is {own}, and {dtype} is needed"
        if not copy:
            raise bad_argument(where, why, f"convert it{or_copy}")
        if "bfloat16" in (own, dtype) or not np.can_cast(array.dtype, _NUMPY[dtype], "same_kind"):
            raise bad_argument(where, f"{why}: such a copy would change values", "convert it as you mean it")
        array, own = _converted(array, dtype, where), dtype
    wrong = _wrong_layout(array)
    if wrong is not None:
        if not copy:
            raise bad_argument(where, wrong[0], f"pass {wrong[1]}{or_copy}")
        array = np.array(array, _NUMPY[own], order="C")
    return Borrowed(view_of(array.ctypes.data, own, array.shape), array, own, writable)


_memories: Dict[int, Any] = {}  # the types of ctypes, by their bytes


def array_at(address: Optional[int], dtype: str, shape: Tuple[int, ...], keep: Any) -> Any:
    """An array of NumPy, or a Tensor, on memory that `keep` owns."""
    nbytes = _NUMPY[dtype].itemsize
    for extent in shape:
        nbytes *= extent
    if nbytes == 0:
        array: npt.NDArray[Any] = np.empty(shape, _NUMPY[dtype])
    else:
        kind = _memories.get(nbytes)
        if kind is None:
            kind = _memories.setdefault(nbytes, type("Memory", (ctypes.c_ubyte * nbytes,), {}))
        memory = kind.from_address(address)
        memory.keep = keep
        array = np.ndarray(shape, _NUMPY[dtype], memory)
    return Tensor(array) if dtype == "bfloat16" else array


def aligned(dtype: str, shape: Tuple[int, ...]) -> Any:
    """Zeros whose address is a multiple of 64: an array of NumPy, or a Tensor."""
    kind = _NUMPY[dtype]
    nbytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = np.zeros(nbytes + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    array = memory[start : start + nbytes].view(kind).reshape(shape)
    return Tensor(array) if dtype == "bfloat16" else array
