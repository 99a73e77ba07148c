"""Lower bounds of a layer's cycles on the accelerator, from its shape alone: no program is looked at.

docs/explanation/accelerator-bound.md has the definitions. Shapes are those of the model; n, c, h and w of activations.
"""

import struct
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Machine:
    """What of a configuration decides bounds: elements of a GEMM step, bytes of the memory port each way, extensions."""
    batch: int
    block_in: int
    block_out: int
    bus_bytes: int
    requant: bool
    saturate: bool
    overwrite: bool


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
    other_way: bool = False  # a matmul's second operand is in rows of its sums, as values do in attention; keys do not
    zero_points: int = 0  # of a matmul's operands, how many are not 0
    multipliers: tuple = ()  # of a sum's operands, as the model's integer form has them
    pool: "Layer" = None  # the max-pooling that alone reads a convolution's result

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
    gemm: int  # steps of GEMM, resets included
    alu: int  # cycles of the ALU
    constants: int  # cycles of the compute queue until the epilogue's constants are in ACC
    read: int  # bytes
    written: int

    def compute(self):
        return self.gemm + self.alu + self.constants

    def dram(self, machine, peak):
        """peak: bytes a cycle that reads and writes share (memory `bank`); None: they share nothing (`ideal`)."""
        through_port = max(self.read, self.written) / machine.bus_bytes
        return through_port if peak is None else max(through_port, (self.read + self.written) / peak)

    def cycles(self, machine, peak):
        return max(self.compute(), self.dram(machine, peak))

    def __add__(self, other):
        return Bound(self.gemm + other.gemm, self.alu + other.alu, self.constants + other.constants, self.read + other.read,
                     self.written + other.written)


def parts(whole, part):
    return -(-whole // part)


def reset_steps(machine):
    """GEMM steps before an accumulator's first product. Where products cannot overwrite, what an earlier result left there,
    which depends on data, has to be written over, and any instruction that writes an element takes a cycle."""
    return 0 if machine.overwrite else 1


def epilogue_cycles(layer, machine):
    """ALU cycles an element takes from its sum to what is stored: docs/explanation/accelerator-bound.md lists the passes."""
    if machine.requant:
        return 1 if machine.saturate else 3
    # The clamp is part of both: 9 passes, or 11 with two limbs, and a cycle more for each other vector than constants.
    return 11 if layer.scales == "powers of two" else 13


def operand_cycles(multiplier, machine):
    """ALU cycles to scale an operand of a sum, its zero point included. Without `requant` they depend on the multiplier's
    significant bits: whether its product with an operand fits 32 bits, and whether products are halfway."""
    if machine.requant:
        return 1
    if multiplier is None:  # not known: the least of all that are not integers
        return 4
    pattern = struct.unpack("I", struct.pack("f", abs(multiplier)))[0]
    significand, fraction_bits = pattern & 0x7FFFFF | 0x800000, 150 - (pattern >> 23)
    while fraction_bits > 0 and significand % 2 == 0:
        significand, fraction_bits = significand // 2, fraction_bits - 1
    if fraction_bits <= 0:
        return 2
    most = 255  # of |operand - zero point|
    ties = 2 ** (fraction_bits - 1) <= most
    fits = most * significand + 2 ** fraction_bits < 2 ** 31
    return (4 if fits else 10) + (8 if ties else 0)


def epilogue_words(layer, machine):
    """Constants of 32 bits for each channel that the passes read from ACC; shifts are immediates."""
    if machine.requant:
        return 2
    return 4 if layer.scales == "powers of two" else 6


def constant_cycles(layer, machine):
    """Cycles of the compute queue for the constants of each channel, once for the layer. LOAD ACC takes what the port
    takes, latency left out. No program does the other: a product of a constant row with weights that the load queue
    brings makes 16 bits of each channel, so reset, product, shift and product make a word."""
    load = parts(machine.batch * machine.block_out * 4, machine.bus_bytes)
    products = 3 + reset_steps(machine)
    return parts(layer.o, machine.block_out) * epilogue_words(layer, machine) * min(load, products)


def maximum_cycles(layer, machine):
    """ALU cycles of a max-pooling, whose elements are in ACC: a maximum for each tap but the first of each direction, of
    two operands."""
    columns = parts(layer.n, machine.batch) * layer.out_w * parts(layer.c, machine.block_out)
    return 2 * (layer.kernel - 1) * columns * (layer.h + layer.out_h)


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


def input_bytes(layer, machine, image):
    """Bytes of a convolution's input. What the host lays out has columns or windows folded into channels, or not."""
    plain = image(layer.c, layer.h, layer.w)
    if not layer.from_host:
        return plain
    return min(plain, image(layer.c * layer.kernel, layer.h, layer.out_w),
               image(layer.c * layer.kernel ** 2, layer.out_h, layer.out_w))


def bound(layer, machine):
    """The layer alone: everything it reads comes from DRAM once, everything it makes goes there once."""
    pixels = parts(layer.n, machine.batch) * layer.out_h * layer.out_w
    results = pixels * parts(layer.o, machine.block_out)
    block = max(machine.block_in, machine.block_out)
    channels = lambda c: parts(c, block) * block
    image = lambda c, h, w: parts(layer.n, machine.batch) * machine.batch * channels(c) * h * w
    written = image(layer.o, layer.out_h, layer.out_w)
    reset = reset_steps(machine)
    if layer.kind in ("conv", "average"):
        steps = conv_steps(layer, machine)
        # An average has one weight and one scale for all channels.
        average = layer.kind == "average"
        blocks = 1 if average else parts(layer.o, machine.block_out) * steps
        weights = blocks * machine.block_in * machine.block_out
        constants = 0 if average else channels(layer.o) * machine.batch * epilogue_words(layer, machine) * 4
        stored, maxima = results, 0
        if layer.pool:
            # Of accumulators: the epilogue rises with them, so it may come after the maximum.
            stored = parts(layer.n, machine.batch) * layer.pool.out_h * layer.pool.out_w * parts(layer.o, machine.block_out)
            maxima = maximum_cycles(layer.pool, machine)
            written = image(layer.o, layer.pool.out_h, layer.pool.out_w)
        return Bound(results * (steps + reset), stored * epilogue_cycles(layer, machine) + maxima,
                     0 if average else constant_cycles(layer, machine),
                     input_bytes(layer, machine, image) + weights + constants, written)
    if layer.kind == "matmul":
        # Blocks of the second operand are elements of WGT as they are stored, or are transposed, a step for each row. A zero
        # point before a sum of the second operand takes a row of products more, one before a sum of the first a column;
        # each then takes an addition.
        groups, rows, columns, depth = (layer.n * layer.groups, parts(layer.h, machine.batch),
                                        parts(layer.o, machine.block_out), parts(layer.c, machine.block_in))
        transposed = parts(layer.c, machine.block_out) * parts(layer.o, machine.batch) if layer.other_way else 0
        sums = (0, min(columns, rows) * depth, (columns + rows) * depth)[layer.zero_points]
        operand = lambda rows: groups * rows * channels(layer.c)
        return Bound(groups * (rows * columns * (depth + reset) + transposed * (1 + reset) + sums),
                     groups * rows * columns * (epilogue_cycles(layer, machine) + layer.zero_points), 0,
                     operand(layer.h) + operand(layer.o), groups * layer.h * channels(layer.o))
    if layer.kind == "max_pool":
        # Widened through GEMM by an identity block, an element a step.
        widened = parts(layer.n, machine.batch) * layer.h * layer.w * parts(layer.c, machine.block_out)
        return Bound(widened * (1 + reset), maximum_cycles(layer, machine), 0, image(layer.c, layer.h, layer.w), written)
    if layer.kind == "add":
        # Operands through GEMM, but for one that is a product's accumulators: where the store clamps, they would take the
        # clamps, two passes, instead. Both scaled; their sum, of two operands; its rounding, whose scale is 2^-s.
        scaled = sum(operand_cycles(multiplier, machine) for multiplier in layer.multipliers or (None, None))
        rounding = epilogue_cycles(replace(layer, scales="powers of two"), machine)
        return Bound(results * (1 + reset) * (2 if machine.saturate else 1), results * (scaled + 2 + rounding), 0,
                     image(layer.c, layer.h, layer.w), written)
    raise ValueError(layer.kind)
