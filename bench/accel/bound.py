"""Lower bounds of a layer's cycles on the accelerator, from its shape alone: no program is looked at.

docs/accelerator-bound.md has the definitions. Shapes are those of the model; n, c, h and w of activations.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """What of a configuration decides bounds: elements of a GEMM step, bytes of the memory port each way, extensions."""
    batch: int
    block_in: int
    block_out: int
    bus_bytes: int
    requant: bool
    saturate: bool


@dataclass(frozen=True)
class Layer:
    """kind: conv, average (a depthwise conv with one weight), add, max_pool, or matmul: of two activations, for each of
    `groups` h rows of c channels by o columns."""
    name: str
    kind: str
    n: int
    c: int  # channels of the input
    h: int
    w: int
    o: int  # channels of the result
    kernel: int = 1
    stride: int = 1
    pad: int = 0
    groups: int = 1
    scales: str = "any"  # any, or powers of two
    from_host: bool = False  # its input is laid out by the host, which may fold windows into channels
    other_way: bool = False  # a matmul's second operand lies in rows of its sums, as values do in attention; keys do not
    zero_points: int = 0  # of a matmul's operands, how many are not 0

    @property
    def out_h(self):
        return (self.h + 2 * self.pad - self.kernel) // self.stride + 1

    @property
    def out_w(self):
        return (self.w + 2 * self.pad - self.kernel) // self.stride + 1

    @property
    def macs(self):
        """The model's own multiplications."""
        if self.kind == "matmul":
            return self.n * self.groups * self.h * self.c * self.o
        if self.kind not in ("conv", "average"):
            return 0
        return self.n * self.out_h * self.out_w * self.o * (self.c // self.groups) * self.kernel ** 2


@dataclass(frozen=True)
class Bound:
    gemm: int  # steps of GEMM
    alu: int  # cycles of the ALU
    read: int  # bytes
    written: int

    def compute(self):
        return self.gemm + self.alu

    def dram(self, bytes_per_cycle, both_ways):
        """both_ways: reads and writes have a port each (memory `ideal`); else they share the peak (`bank`)."""
        traffic = max(self.read, self.written) if both_ways else self.read + self.written
        return traffic / bytes_per_cycle

    def cycles(self, bytes_per_cycle, both_ways):
        return max(self.compute(), self.dram(bytes_per_cycle, both_ways))

    def __add__(self, other):
        return Bound(self.gemm + other.gemm, self.alu + other.alu, self.read + other.read, self.written + other.written)


def parts(whole, part):
    return -(-whole // part)


def epilogue_cycles(layer, machine):
    """ALU cycles an element takes from its sum to what is stored: docs/accelerator-bound.md lists the passes."""
    if machine.requant:
        return 1 if machine.saturate else 3
    # The clamp is part of both: 9 passes, or 11 with two limbs, and a cycle more for each other vector than constants.
    return 11 if layer.scales == "powers of two" else 13


def conv_steps(layer, machine):
    """GEMM steps for a block of results: products after padding to blocks, in the cheapest form there is."""
    ins = lambda channels: parts(channels, machine.block_in)
    k = layer.kernel
    if layer.groups > 1:
        # Groups side by side in a block: one block of channels in for each block of channels out.
        per_group = layer.c // layer.groups
        return k * k * max(1, parts(per_group, machine.block_in))
    forms = [ins(layer.c) * k * k]
    if layer.from_host:
        forms += [ins(layer.c * k) * k, ins(layer.c * k * k)]  # columns, or the window, folded into channels
    return min(forms)


def bound(layer, machine):
    """The layer alone: everything it reads comes from DRAM once, everything it makes goes there once."""
    pixels = parts(layer.n, machine.batch) * layer.out_h * layer.out_w
    results = pixels * parts(layer.o, machine.block_out)
    block = max(machine.block_in, machine.block_out)
    channels = lambda c: parts(c, block) * block
    image = lambda c, h, w: parts(layer.n, machine.batch) * machine.batch * channels(c) * h * w
    written = image(layer.o, layer.out_h, layer.out_w)
    if layer.kind in ("conv", "average"):
        steps = conv_steps(layer, machine)
        blocks = 1 if layer.kind == "average" else parts(layer.o, machine.block_out) * steps
        weights = blocks * machine.block_in * machine.block_out
        words = 2 if machine.requant else 8
        constants = channels(layer.o) * machine.batch * words * 4
        return Bound(results * steps, round(results * epilogue_cycles(layer, machine)),
                     image(layer.c, layer.h, layer.w) + weights + constants, written)
    if layer.kind == "matmul":
        # Blocks of the second operand are elements of WGT as they lie, or are transposed, a step for each row. A zero
        # point before a sum of the second operand takes a row of products more, one before a sum of the first a column;
        # each then takes an addition.
        groups, rows, columns, depth = (layer.n * layer.groups, parts(layer.h, machine.batch),
                                        parts(layer.o, machine.block_out), parts(layer.c, machine.block_in))
        transposed = parts(layer.c, machine.block_out) * parts(layer.o, machine.batch) if layer.other_way else 0
        sums = (0, min(columns, rows) * depth, (columns + rows) * depth)[layer.zero_points]
        operand = lambda rows: groups * rows * channels(layer.c)
        return Bound(groups * (rows * columns * depth + transposed + sums),
                     groups * rows * columns * (epilogue_cycles(layer, machine) + layer.zero_points),
                     operand(layer.h) + operand(layer.o), groups * layer.h * channels(layer.o))
    if layer.kind == "max_pool":
        # Widened through GEMM by an identity block, an element a step; then a maximum for each tap but the first of
        # each direction, of two operands.
        widened = parts(layer.n, machine.batch) * layer.h * layer.w * parts(layer.c, machine.block_out)
        rows = parts(layer.n, machine.batch) * layer.h * layer.out_w * parts(layer.c, machine.block_out)
        return Bound(widened, 2 * (layer.kernel - 1) * (rows + results), image(layer.c, layer.h, layer.w), written)
    if layer.kind == "add":
        # Operands through GEMM, but for one that is a product's accumulators: where the store clamps, they would take the
        # clamps, two passes, instead. Both scaled; their sum, of two operands; its rounding.
        scaled = 1 if machine.requant else 18
        return Bound(results * (2 if machine.saturate else 1), results * (2 * scaled + 2 + epilogue_cycles(layer, machine)),
                     image(layer.c, layer.h, layer.w), written)
    raise ValueError(layer.kind)
