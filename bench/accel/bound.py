"""Lower bounds of a layer's cycles on the accelerator, from its shape only, without a program.

docs/explanation/accelerator-bound.md has the definitions. Shapes are those of the model; n, c, h and w are those of activations.
"""

import struct
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Machine:
    """The parameters of a configuration that determine bounds: elements of a GEMM step, memory port bytes per direction, extensions."""
    batch: int
    block_in: int
    block_out: int
    bus_bytes: int
    requant: bool
    saturate: bool
    overwrite: bool
    window: bool = False
    epilogue: bool = False


@dataclass(frozen=True)
class Layer:
    """kind: conv, average (a depthwise conv with one weight), add, max_pool, or matmul of two activations: `groups` products
    of h rows by c channels by o columns."""
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
    other_way: bool = False  # a matmul's second operand has rows along its sums, like values in attention, unlike keys
    zero_points: int = 0  # number of a matmul's operands with a nonzero zero point
    multipliers: tuple = ()  # of a sum's operands, from the model's integer form
    sum_scale: float = 0  # the scale of a sum, likewise
    pool: "Layer" = None  # the max-pooling that is the only reader of a convolution's result
    kernel_w: int = 0  # 0: as `kernel`
    out: tuple = ()  # rows and columns of the result, where pads and strides are not equal on all sides
    operands: int = 2  # of a sum: 1 if the other one is a constant number

    @property
    def taps(self):
        return self.kernel * (self.kernel_w or self.kernel)

    @property
    def out_h(self):
        return self.out[0] if self.out else (self.h + 2 * self.pad - self.kernel) // self.stride + 1

    @property
    def out_w(self):
        return self.out[1] if self.out else (self.w + 2 * self.pad - self.kernel) // self.stride + 1

    @property
    def macs(self):
        """The multiplications of the model, without padding to blocks."""
        if self.kind == "matmul":
            return self.n * self.groups * self.h * self.c * self.o
        if self.kind not in ("conv", "average"):
            return 0
        return self.n * self.out_h * self.out_w * self.o * (self.c // self.groups) * self.taps


@dataclass(frozen=True)
class Bound:
    gemm: int  # GEMM steps, including resets
    alu: int  # cycles of the ALU
    constants: int  # cycles of the compute queue to load the epilogue's constants into ACC
    read: int  # bytes
    written: int

    def compute(self):
        return self.gemm + self.alu + self.constants

    def dram(self, machine, peak):
        """peak: bytes per cycle shared by reads and writes (memory `bank`); None: not shared (`ideal`)."""
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
    """GEMM steps before an accumulator's first product. If products cannot overwrite, the previous contents, which depend on
    data, must be cleared, and any instruction that writes an element takes a cycle."""
    return 0 if machine.overwrite else 1


def epilogue_cycles(layer, machine):
    """ALU cycles per element from its sum to the stored result: docs/explanation/accelerator-bound.md lists the passes."""
    if within_products(layer, machine):
        return 0
    if machine.requant:
        return 1 if machine.saturate else 3
    if layer.kind == "add" and has_factors(layer) and fits_word(layer):
        return 6
    # Both include the clamp: 9 passes, or 11 with two limbs, plus a cycle for each vector operand other than constants.
    return 11 if layer.scales == "powers of two" else 13


def within_products(layer, machine):
    """Whether the layer's products end with their epilogue, so that no pass follows them."""
    multiplies = layer.kind in ("conv", "average", "matmul") or (layer.kind == "add" and has_factors(layer))
    return machine.epilogue and multiplies and not layer.pool


def significand_of(number):
    """The significand of a binary32 without trailing zeros, and the number of its fraction's bits, below 0 for larger integers."""
    pattern = struct.unpack("I", struct.pack("f", abs(number)))[0]
    significand, fraction_bits = pattern & 0x7FFFFF | 0x800000, 150 - (pattern >> 23)
    while significand % 2 == 0:
        significand, fraction_bits = significand // 2, fraction_bits - 1
    return significand, fraction_bits


def fits_word(layer):
    """Whether the products of a sum and its scale may fit 32 bits with the best zero points: one limb, 6 passes."""
    span = min(255 * sum(abs(multiplier) for multiplier in layer.multipliers), 257 / abs(layer.sum_scale))
    return span / 2 * significand_of(layer.sum_scale)[0] < 2 ** 31


def has_factors(layer):
    """Whether int8 weights hold the multipliers of a sum, which then is one of products."""
    return bool(layer.multipliers) and all(m == int(m) and abs(m) <= 127 for m in layer.multipliers)


def operand_cycles(multiplier, machine):
    """ALU cycles to scale an operand of a sum, including its zero point. Without `requant` they depend on the multiplier's
    significant bits: whether its product with an operand fits 32 bits, and whether products can be ties."""
    if machine.requant:
        return 1
    if multiplier is None:  # unknown: the least for multipliers that are not integers
        return 4
    significand, fraction_bits = significand_of(multiplier)
    if fraction_bits <= 0:
        return 2
    most = 255  # of |operand - zero point|
    ties = 2 ** (fraction_bits - 1) <= most
    fits = most * significand + 2 ** fraction_bits < 2 ** 31
    return (4 if fits else 10) + (8 if ties else 0)


def epilogue_words(layer, machine):
    """32-bit constants per channel that the passes read from ACC; shifts are immediates."""
    if machine.requant:
        return 2
    return 4 if layer.scales == "powers of two" else 6


def constant_cycles(layer, machine):
    """Cycles of the compute queue for the constants of each channel, once per layer. LOAD ACC takes the cycles of the port,
    without latency. The alternative, which no program uses: a product of a constant row with weights loaded by the load
    queue yields 16 bits of each channel, so a word takes reset, product, shift and product."""
    if within_products(layer, machine):
        return 0  # loaded with the weights
    load = parts(machine.batch * machine.block_out * 4, machine.bus_bytes)
    products = 3 + reset_steps(machine)
    return parts(layer.o, machine.block_out) * epilogue_words(layer, machine) * min(load, products)


def maximum_cycles(layer, machine):
    """ALU cycles of a max-pooling with its elements in ACC: a maximum of two operands for each tap except the first of each
    direction."""
    columns = parts(layer.n, machine.batch) * layer.out_w * parts(layer.c, machine.block_out)
    return 2 * (layer.kernel - 1) * columns * (layer.h + layer.out_h)


def window_steps(layer, machine):
    """Steps of WINDOW for a block of channels of an image, None where it cannot compute the layer: each step pushes a pixel. In
    stripes of rows, the window holds the pixels between the first and the last tap of a result, whose columns are as far apart
    as the pixels that a stripe pushes for each."""
    rows, columns = layer.kernel, layer.kernel_w or layer.kernel
    depthwise = layer.groups == layer.c == layer.o and layer.groups > 1
    if not machine.window or not depthwise or not 1 < layer.taps <= machine.block_in:
        return None
    pushes = lambda stripe: (stripe - 1) * layer.stride + rows
    pixel_columns = (layer.out_w - 1) * layer.stride + columns
    if columns == 1:
        return pushes(layer.out_h) * layer.out_w
    fits = [stripe for stripe in range(1, layer.out_h + 1) if stripe == 1 or (columns - 1) * pushes(stripe) + rows <= machine.block_in]
    return min(parts(layer.out_h, stripe) * pushes(stripe) for stripe in fits) * pixel_columns


def conv_steps(layer, machine):
    """GEMM steps for a block of results: products after padding to blocks, in the cheapest form."""
    ins = lambda channels: parts(channels, machine.block_in)
    k, columns = layer.kernel, layer.kernel_w or layer.kernel
    if layer.groups > 1:
        # Groups packed into a block: one block of input channels for each block of output channels.
        per_group = layer.c // layer.groups
        return layer.taps * max(1, parts(per_group, machine.block_in))
    forms = [ins(layer.c) * layer.taps]
    if layer.from_host:
        forms += [ins(layer.c * columns) * k, ins(layer.c * layer.taps)]  # columns, or the window, folded into channels
    return min(forms)


def input_bytes(layer, machine, image):
    """Bytes of a convolution's input. If the host lays it out, columns or windows may be folded into channels."""
    plain = image(layer.c, layer.h, layer.w)
    if not layer.from_host:
        return plain
    return min(plain, image(layer.c * (layer.kernel_w or layer.kernel), layer.h, layer.out_w),
               image(layer.c * layer.taps, layer.out_h, layer.out_w))


def bound(layer, machine):
    """The layer alone: every input is read from DRAM once, every result is written once."""
    pixels = parts(layer.n, machine.batch) * layer.out_h * layer.out_w
    results = pixels * parts(layer.o, machine.block_out)
    block = max(machine.block_in, machine.block_out)
    channels = lambda c: parts(c, block) * block
    image = lambda c, h, w: parts(layer.n, machine.batch) * machine.batch * channels(c) * h * w
    written = image(layer.o, layer.out_h, layer.out_w)
    reset = reset_steps(machine)
    if layer.kind in ("conv", "average"):
        steps = conv_steps(layer, machine)
        products = results * (steps + reset)
        pushed = window_steps(layer, machine)
        if pushed is not None:
            products = min(products, parts(layer.n, machine.batch) * parts(layer.o, machine.block_out) * pushed)
            steps = 1  # one element of weights for all taps
        # An average has one weight and one scale for all channels.
        average = layer.kind == "average"
        blocks = 1 if average else parts(layer.o, machine.block_out) * steps
        weights = blocks * machine.block_in * machine.block_out
        constants = 0 if average else channels(layer.o) * machine.batch * epilogue_words(layer, machine) * 4
        stored, maxima = results, 0
        if layer.pool:
            # On accumulators: the epilogue is monotonic, so it may follow the maximum.
            stored = parts(layer.n, machine.batch) * layer.pool.out_h * layer.pool.out_w * parts(layer.o, machine.block_out)
            maxima = maximum_cycles(layer.pool, machine)
            written = image(layer.o, layer.pool.out_h, layer.pool.out_w)
        return Bound(products, stored * epilogue_cycles(layer, machine) + maxima,
                     0 if average else constant_cycles(layer, machine),
                     input_bytes(layer, machine, image) + weights + constants, written)
    if layer.kind == "matmul":
        # Blocks of the second operand are used directly as elements of WGT, or are transposed, one step per row. The
        # first operand's zero point, multiplied by sums of the second operand, takes an additional row of products, the
        # second operand's an additional column; each also takes an addition.
        groups, rows, columns, depth = (layer.n * layer.groups, parts(layer.h, machine.batch),
                                        parts(layer.o, machine.block_out), parts(layer.c, machine.block_in))
        transposed = parts(layer.c, machine.block_out) * parts(layer.o, machine.batch) if layer.other_way else 0
        sums = (0, min(columns, rows) * depth, (columns + rows) * depth)[layer.zero_points]
        operand = lambda rows: groups * rows * channels(layer.c)
        return Bound(groups * (rows * columns * (depth + reset) + transposed * (1 + reset) + sums),
                     groups * rows * columns * (epilogue_cycles(layer, machine) + layer.zero_points), 0,
                     operand(layer.h) + operand(layer.o), groups * layer.h * channels(layer.o))
    if layer.kind == "max_pool":
        # Widened through GEMM with an identity block, one step per element.
        widened = parts(layer.n, machine.batch) * layer.h * layer.w * parts(layer.c, machine.block_out)
        return Bound(widened * (1 + reset), maximum_cycles(layer, machine), 0, image(layer.c, layer.h, layer.w), written)
    if layer.kind == "add" and layer.operands == 1:
        return Bound(results * (1 + reset), results * epilogue_cycles(layer, machine), 0, image(layer.c, layer.h, layer.w),
                     written)
    if layer.kind == "add" and has_factors(layer):
        # A product for each operand; if the store does not clamp, accumulators of a product may be multiplied in place of one.
        in_place = 0 if 1 in layer.multipliers else 1
        return Bound(results * (2 + reset if machine.saturate else 1),
                     results * (epilogue_cycles(layer, machine) + (0 if machine.saturate else in_place)), 0,
                     image(layer.c, layer.h, layer.w), written)
    if layer.kind == "add":
        # Operands pass through GEMM, except one that is a product's accumulators (if the store clamps, it would need
        # the clamps, two passes, instead). Both are scaled; their sum has two operands; its rounding has the scale
        # 2^-s.
        scaled = sum(operand_cycles(multiplier, machine) for multiplier in layer.multipliers or (None, None))
        rounding = epilogue_cycles(replace(layer, scales="powers of two"), machine)
        return Bound(results * (1 + reset) * (2 if machine.saturate else 1), results * (scaled + 2 + rounding), 0,
                     image(layer.c, layer.h, layer.w), written)
    raise ValueError(layer.kind)
