"""Differences between ONNX Runtime and the reference that are legitimate, by name, for fuzz_graphs.py (docs/howto/fuzzing.md)."""
import collections
import math

try:
    import numpy as np
except ImportError:  # then nothing is compared
    np = None

Difference = collections.namedtuple("Difference", "at ours theirs")
Node = collections.namedtuple("Node", "op inputs outputs attributes")

RELATIVE = 1e-3  # tolerance of an element that rounding does not decide


def fields(message):
    """The fields of a protobuf message: number, value; an integer, or bytes."""
    def varint(at):
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    at = 0
    while at < len(message):
        key, at = varint(at)
        if key & 7 == 0:
            value, at = varint(at)
            yield key >> 3, value - (1 << 64) if value >> 63 else value
        else:
            size, at = varint(at) if key & 7 == 2 else (8 if key & 7 == 1 else 4, at)
            yield key >> 3, message[at:at + size]
            at += size


def read_attribute(message):
    """Name and value: an integer, a text or a list of integers; others as their bytes."""
    name, value, integers = "", None, []
    for number, content in fields(message):
        if number == 1:
            name = content.decode()
        elif number == 3:
            value = content
        elif number == 4:
            value = content.decode()
        elif number == 8 and isinstance(content, int):
            integers.append(content)
    return name, integers if integers else value


def read_nodes(path):
    """The nodes of a model file (compiler/import/onnx.proto has the numbers of the fields)."""
    nodes = []
    for number, graph in fields(path.read_bytes()):
        if number != 7:
            continue
        for part, message in fields(graph):
            if part == 1:
                parts = list(fields(message))
                texts = lambda number: [content.decode() for field, content in parts if field == number]  # noqa: E731
                attributes = dict(read_attribute(content) for field, content in parts if field == 5)
                nodes.append(Node(texts(4)[0], texts(1), texts(2), attributes))
    return nodes


ELEMENTS = {1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 10: "<f2", 11: "<f8", 12: "<u4", 13: "<u8"}  # TensorProto.DataType


def read_initializers(path):
    """The elements of a model file's constants, by name, where they are raw bytes of a type that NumPy has."""
    found = {}
    for number, graph in fields(path.read_bytes()):
        if number != 7:
            continue
        for part, message in fields(graph):
            tensor = dict(fields(message)) if part == 5 else {}
            if 9 in tensor and tensor.get(2) in ELEMENTS:
                found[tensor[8].decode()] = np.frombuffer(tensor[9], ELEMENTS[tensor[2]])
    return found


def ancestors(nodes, name):
    """The nodes that the value is computed from."""
    producers = {output: node for node in nodes for output in node.outputs}
    found, pending = [], [name]
    seen = set()
    while pending:
        value = pending.pop()
        node = producers.get(value)
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            found.append(node)
            pending +=  node.inputs
    return found


def differs(ours, theirs, sure, step):
    """The first element that differs beyond rounding and whose reference is reliable; None if there is none."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return Difference("", f"{ours.dtype}{ours.shape}", f"{theirs.dtype}{theirs.shape}")
    if ours.dtype.kind in "biu":
        apart = (ours != theirs) & sure
    else:
        a, b = ours.astype(np.float64), theirs.astype(np.float64)
        with np.errstate(all="ignore"):
            relative = RELATIVE if ours.dtype.itemsize > 2 else 0.1
            near = np.abs(a - b) <= relative * np.maximum(np.abs(a), np.abs(b)) + 1e-36 + 2 * step
        apart = ~(near | (a == b) | (np.isnan(a) & np.isnan(b))) & sure
    if not apart.any():
        return None
    at = tuple(int(axis[0]) for axis in np.nonzero(apart)) if apart.ndim else ()
    return Difference(list(at), ours[at], theirs[at])


FLAGS = ("keepdims", "noop_with_empty_axes", "select_last_index", "largest", "sorted", "align_corners", "ceil_mode",
         "count_include_pad")
REDUCTIONS = {"ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
              "ReduceSum", "ReduceSumSquare"}

class Case:
    """One result that differs: the nodes from which it is computed, the first element that differs, and the arrays."""

    def __init__(self, nodes, difference, ours, inputs):
        self.nodes, self.difference, self.ours, self.inputs = nodes, difference, ours, inputs

    def has(self, *operators, holds=lambda node: True):
        return any(node.op in operators and holds(node) for node in self.nodes)

    def both_finite(self):
        return all(isinstance(value, str) or math.isfinite(value) for value in (self.difference.ours, self.difference.theirs))

    def apart(self):
        """The distance of the two values; infinite if the difference is in types."""
        ours, theirs = self.difference.ours, self.difference.theirs
        return math.inf if isinstance(ours, str) else abs(float(ours) - float(theirs))

    def inverses_apart(self):
        """The distance of the reciprocals of the two values; infinite if one does not exist."""
        values = self.difference.ours, self.difference.theirs
        if any(isinstance(value, str) or value == 0 or not math.isfinite(value) for value in values):
            return math.inf
        return abs(1 / float(values[0]) - 1 / float(values[1]))

    def evil_inputs(self):
        """An input has a value that is not a finite number."""
        return any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in self.inputs.values())

    def largest_input(self):
        """The largest finite magnitude of all inputs."""
        finite = [np.abs(array[np.isfinite(array)].astype(np.float64)) for array in self.inputs.values() if array.dtype.kind == "f"]
        return max((float(values.max()) for values in finite if values.size), default=0.0)

    def squares_overflow(self):
        """The sum of squares of an integer input's elements may exceed their type."""
        return any(array.dtype.kind in "iu" and array.size and max(abs(int(array.min())), abs(int(array.max()))) ** 2 * array.size > np.iinfo(array.dtype).max
                   for array in self.inputs.values())

    def integers_overflow(self):
        """The sum of an integer input's elements may exceed their type."""
        def overflows(array):
            most = max(abs(int(array.min())), abs(int(array.max()))) if array.size else 0
            return most * array.size > np.iinfo(array.dtype).max
        return any(array.dtype.kind in "iu" and overflows(array) for array in self.inputs.values())

    def computed(self, operator, position):
        """An operand of such a node is not a constant and no input."""
        made = {output for node in self.nodes for output in node.outputs}
        return self.has(operator, holds=lambda node: len(node.inputs) > position and node.inputs[position] in made)

    def subnormal_inputs(self):
        return any(array.dtype == np.float32 and ((array != 0) & (np.abs(array) < np.finfo(np.float32).tiny)).any() for array in self.inputs.values())

    def nan_may_be_there(self):
        return self.evil_inputs() or not self.both_finite() or self.has(*MAKE_NAN)


SUMS = {"AveragePool", "BatchNormalization", "Conv", "Gemm", "GlobalAveragePool", "GroupNormalization", "InstanceNormalization", "LayerNormalization",
        "LRN", "MatMul", "Mean", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare",
        "Sum", "Softmax", "LogSoftmax"}

MAKE_NAN = {"Acos", "Acosh", "Asin", "Atanh", "Div", "Log", "Mod", "Pow", "ReduceLogSum", "ReduceLogSumExp", "Sqrt"}
INTEGERS = {2, 3, 4, 5, 6, 7, 12, 13}  # TensorProto.DataType

RECURRENT = {"GRU", "LSTM", "RNN"}
APPROXIMATED = {"Elu", "Celu", "Erf", "Gelu", "LogSoftmax", "Mish", "Selu", "Sigmoid", "Softmax", "Softplus", "Swish", "Tanh", *RECURRENT}

# The name of the difference, and a function that tests whether it explains a case.
RULES = [
    ("a flag (keepdims, largest, align_corners, ceil_mode) neither 0 nor 1: the standard has no other; here any but 0 is true, there only 1",
     lambda case: case.has(*REDUCTIONS, "AffineGrid", "AveragePool", "GridSample", "LpPool", "MaxPool", "TopK",
                           holds=lambda node: any(node.attributes.get(name, 1) not in (0, 1) for name in FLAGS))),
    ("Squeeze by an empty list of axes: removes none here, all of extent 1 there",
     lambda case: case.has("Squeeze", holds=lambda node: len(node.inputs) > 1)),
    ("Cast and CastLike with the flag saturate, of no account to these types: ONNX Runtime's results have nothing to do with the operand",
     lambda case: case.has("Cast", "CastLike", holds=lambda node: node.attributes.get("saturate", 1) != 1)),
    ("Clip without a bound of infinities, which stay here, as in ONNX's own reference; the largest finite number there, as the text of the standard says",
     lambda case: case.has("Clip", holds=lambda node: len([name for name in node.inputs if name]) < 3) and case.evil_inputs()),
    ("Clip by a bound that is NaN: NaN here, no bound there",
     lambda case: case.has("Clip") and (any(array.size == 1 and array.dtype.kind == "f" and np.isnan(array).all() for array in case.inputs.values())
                                        or ((case.computed("Clip", 1) or case.computed("Clip", 2)) and case.nan_may_be_there()))),
    ("functions that ONNX Runtime approximates to a part in a million of their range, not of their value",
     lambda case: case.has(*APPROXIMATED) and (case.apart() <= 1e-6 or (case.has("Reciprocal") and case.inverses_apart() <= 1e-6))),
    ("gates of infinities or NaN: NaN goes through here; ONNX Runtime's approximations of sigmoid and tanh end at a largest argument, NaN's too",
     lambda case: case.has(*RECURRENT) and case.nan_may_be_there()),
    ("functions of subnormal numbers, which ONNX Runtime takes for 0",
     lambda case: case.has(*APPROXIMATED) and case.subnormal_inputs()),
    ("ConvTranspose by a weight that is infinite or NaN: times the zeros between the elements here, left out there",
     lambda case: case.has("ConvTranspose") and case.nan_may_be_there()),
    ("samples between elements that are infinite or NaN, or at such places: weights of zero count here, or there",
     lambda case: case.has("DeformConv", "GridSample", "Resize", "RoiAlign") and case.nan_may_be_there()),
    ("InstanceNormalization: as x * a + b there, whose product and b cancel where the values are large and nearly equal",
     lambda case: case.has("InstanceNormalization") and case.apart() <= 1e-4 * case.largest_input()),
    ("the mean that LayerNormalization gives: there of numbers that cancel, here exactly 0",
     lambda case: case.has("LayerNormalization") and case.difference.ours == 0 and case.apart() <= 1e-6),
    ("a power beyond the integer type, which the standard leaves open: here the nearest value that it holds",
     lambda case: case.has("Pow") and isinstance(case.difference.ours, np.integer)),
    ("QuantizeLinear of NaN, which the standard leaves open; 0 divided by a computed scale of 0 is one",
     lambda case: case.has("QuantizeLinear", "DynamicQuantizeLinear") and (case.nan_may_be_there() or case.computed("QuantizeLinear", 1))),
    ("OneHot of an index that is NaN or beyond int64, to which it is cast (see Cast)",
     lambda case: case.has("OneHot") and (case.nan_may_be_there() or case.largest_input() >= 2.0**63)),
    ("TopK with sorted 0, whose order the standard leaves open: as sorted here",
     lambda case: case.has("TopK", holds=lambda node: node.attributes.get("sorted", 1) == 0)),
    ("TopK of NaN, which the standard leaves open: the worst here, the largest there",
     lambda case: case.has("TopK") and case.nan_may_be_there()),
    ("the average of integers whose sum is beyond their type: it wraps here, as in ONNX's own reference; not there",
     lambda case: case.has("ReduceMean") and isinstance(case.difference.ours, np.integer) and case.integers_overflow()),
    ("squares of integers whose sum is beyond their type: it wraps here, as in ONNX's own reference; the largest number there",
     lambda case: case.has("ReduceSumSquare", "ReduceL2") and isinstance(case.difference.ours, np.integer) and case.squares_overflow()),
    ("the cell of an LSTM with `clip`: clipped before its activation here, as the standard says of all activations; not there",
     lambda case: case.has("LSTM", holds=lambda node: "clip" in node.attributes)),
    ("GridSample at coordinates beyond int64: outside here; ONNX Runtime converts them to integers, as the processor does",
     lambda case: case.has("GridSample") and case.largest_input() >= 2.0**61),
    ("cubic GridSample with a border and corners aligned: a place outside is the border's here, as in the standard's text and reference; each neighbor there",
     lambda case: case.has("GridSample", holds=lambda node: node.attributes.get("mode") in ("cubic", "bicubic")
                           and node.attributes.get("padding_mode") == "border" and node.attributes.get("align_corners", 0))),
    ("a sum with infinities, or that overflows on the way: whether it is infinite or NaN depends on the order of its terms",
     lambda case: case.has(*SUMS) and (not case.both_finite() or (case.has("Relu") and case.largest_input() >= 1e38))),  # Relu of -infinity is 0
    ("LRN: ONNX Runtime slides its sum of squares along the channels, where NaN and infinities remain in the sum",
     lambda case: case.has("LRN") and case.nan_may_be_there()),
    ("the largest or smallest of values with NaN: NaN here, as of two operands; ONNX Runtime's pools and reductions leave NaN out",
     lambda case: case.has("MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin") and case.nan_may_be_there()),
    ("ArgMax, ArgMin and Hardmax of values with NaN, which the standard leaves open: here the first NaN, as in NumPy",
     lambda case: case.has("ArgMax", "ArgMin", "Hardmax") and case.nan_may_be_there()),
    ("MeanVarianceNormalization of equal values: (x - mean) / (deviation + 1e-9) here, as in the standard's function; 0 / 0 there",
     lambda case: case.has("MeanVarianceNormalization") and (case.has("IsNaN") or (not case.both_finite() and not math.isfinite(case.difference.theirs)))),
    ("AffineGrid with align_corners along an extent of 1: the coordinate -1 here, as in ONNX's own reference; 1 there",
     lambda case: case.has("AffineGrid", holds=lambda node: node.attributes.get("align_corners", 0))),
    ("the sign of NaN: NaN here, 0 there",
     lambda case: case.has("Sign") and case.nan_may_be_there()),
    ("a pool with SAME pads and dilations: ceil(input / stride) windows here, as the standard says",
     lambda case: case.has("AveragePool", "MaxPool", holds=lambda node: str(node.attributes.get("auto_pad", "")).startswith("SAME")
                           and any(dilation != 1 for dilation in node.attributes.get("dilations") or []))),
    ("a pool without pads (VALID) and ceil_mode: whole windows alone here, as the standard's formula has it",
     lambda case: case.has("AveragePool", "LpPool", "MaxPool", holds=lambda node: str(node.attributes.get("auto_pad", "")) == "VALID"
                           and node.attributes.get("ceil_mode", 0))),
    ("Cast of a real number that the integer type does not hold, which the standard leaves open: here the nearest that it does",
     lambda case: case.has("Cast", holds=lambda node: node.attributes.get("to") in INTEGERS) or case.has("CastLike")),
]


def explain(nodes, name, difference, ours, inputs):
    case = Case(ancestors(nodes, name), difference, ours, inputs)
    for title, holds in RULES:
        if holds(case):
            return title
    return None
