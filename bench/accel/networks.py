"""Layers of networks: of published ones, with the names used by `dovetail zoo` and the shapes of the papers, and of any model's
integer form."""

import re
from dataclasses import replace

from bound import Layer


def resnet18(n=1):
    """He et al., Deep Residual Learning for Image Recognition, 2016, table 1."""
    layers = [Layer("conv1", "conv", n, 3, 224, 224, 64, 7, 2, 3, from_host=True,
                    pool=Layer("pool1", "max_pool", n, 64, 112, 112, 64, 3, 2, 1))]
    channels, size = 64, 56
    for stage, width in enumerate((64, 128, 256, 512), start=1):
        for block in (1, 2):
            name = f"stage{stage}.block{block}"
            stride = 2 if stage > 1 and block == 1 else 1
            out = size // stride
            layers.append(Layer(f"{name}.conv1", "conv", n, channels, size, size, width, 3, stride, 1))
            layers.append(Layer(f"{name}.conv2", "conv", n, width, out, out, width, 3, 1, 1))
            if stride == 2:
                layers.append(Layer(f"{name}.shortcut", "conv", n, channels, size, size, width, 1, 2))
            layers.append(Layer(f"{name}.add", "add", n, width, out, out, width))
            channels, size = width, out
    layers.append(Layer("pool5", "average", n, 512, 7, 7, 512, 7, groups=512))
    layers.append(Layer("logits", "conv", n, 512, 1, 1, 1000))
    return layers


def mobilenet_v2(n=1):
    """Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, 2018, table 2; 224x224, width 1."""
    layers = [Layer("conv1", "conv", n, 3, 224, 224, 32, 3, 2, 1, from_host=True)]
    channels, size, index = 32, 112, 0
    for expand, width, repeats, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                                 (6, 160, 3, 2), (6, 320, 1, 1)):
        for repeat in range(repeats):
            index += 1
            name = f"block{index}"
            stride = first_stride if repeat == 0 else 1
            wide = channels * expand
            if expand > 1:
                layers.append(Layer(f"{name}.expand", "conv", n, channels, size, size, wide))
            layers.append(Layer(f"{name}.depthwise", "conv", n, wide, size, size, wide, 3, stride, 1, wide))
            size //= stride
            layers.append(Layer(f"{name}.project", "conv", n, wide, size, size, width))
            if stride == 1 and channels == width:
                layers.append(Layer(f"{name}.add", "add", n, width, size, size, width))
            channels = width
    layers.append(Layer("conv_last", "conv", n, 320, 7, 7, 1280))
    layers.append(Layer("pool", "average", n, 1280, 7, 7, 1280, 7, groups=1280))
    layers.append(Layer("logits", "conv", n, 1280, 1, 1, 1000))
    return layers


def transformer_block(name, tokens, hidden, heads, inner, projections, output):
    """Vaswani et al., Attention Is All You Need, 2017: an encoder's or decoder's block; `projections`: names of the dense
    layers that compute queries, keys and values, and how many of the three each computes; `output`: the one after the heads."""
    size = hidden // heads
    # Tokens are a batch of dense layers, of which hardware with batch > 1 processes several at a time.
    dense = lambda at, c, o: Layer(name + at, "conv", tokens, c, 1, 1, o)
    add = lambda at: Layer(name + at, "add", tokens, hidden, 1, 1, hidden)
    layers = [dense(at, hidden, width * hidden) for at, width in projections]
    layers.append(Layer(name + "attention.scores", "matmul", 1, size, tokens, 1, tokens, groups=heads, zero_points=2))
    layers.append(Layer(name + "attention.merged", "matmul", 1, tokens, tokens, 1, size, groups=heads, zero_points=2, other_way=True))
    layers += [dense(output, hidden, hidden), add("add1"),
               dense("inner.matmul", hidden, inner), dense("outer.matmul", inner, hidden),
               add("add2")]
    return layers


def gpt_block():
    return transformer_block("", 64, 256, 4, 1024, [("attention.qkv.matmul", 3)], "attention.output.matmul")


def bert_base():
    """Devlin et al., BERT, 2019: 12 layers of 768, 12 heads; 128 tokens."""
    layers = []
    for index in range(1, 13):
        layers += transformer_block(f"layer{index}.", 128, 768, 12, 3072, [("query.matmul", 1), ("key.matmul", 1), ("value.matmul", 1)],
                                    "output.matmul")
    return layers


def integer_layers(printed):
    """The layers of an integer graph, as `dovetail compile --stop-after integer --dump integer` prints it. A convolution after a
    Pad reads the unpadded tensor, and one that is the only reader of a pooling's input takes the pooling along. Depthwise
    convolutions over whole images are averages."""
    shapes, nodes, readers, constants = {}, [], {}, set()
    for line in printed.splitlines():
        if line.startswith("graph "):
            for name, shape in re.findall(r"%(\S+): \w+\[([\d, ]*)\]", line):
                shapes[name] = [int(extent) for extent in shape.split(", ") if extent]
        found = re.match(r"  constant %(\S+): \w+\[([\d, ]*)\]", line)
        if found:
            constants.add(found[1])
            shapes[found[1]] = [int(extent) for extent in found[2].split(", ") if extent]
        found = re.match(r"  %(\S+): \w+\[([\d, ]*)\] = ([\w.]+)\((.*?)\)(?: \{(.*)\})?  // (\S+)", line)
        if not found:
            continue
        shapes[found[1]] = [int(extent) for extent in found[2].split(", ") if extent]
        inputs = [text.lstrip("%") for text in found[4].split(", ")]
        attributes = dict(re.findall(r"(\w+)=(\[[^\]]*\]|[^,]*)", found[5] or ""))
        nodes.append((found[1], found[3], inputs, attributes, found[6]))
        for name in inputs:
            readers.setdefault(name, []).append(found[1])
    made_by = {output: node for output, *node in nodes}

    def image(shape):
        """[N, C, H, W]: rows of a matrix are images of one pixel."""
        if len(shape) == 4:
            return shape
        return [*shape[:2], *([1] * (4 - len(shape))), *shape[2:]] if len(shape) <= 4 else [shape[0], shape[1], shape[2], -1]

    def numbers(text):
        return [int(number) for number in re.findall(r"-?\d+", text)]

    layers = []
    for output, op, inputs, attributes, name in nodes:
        source = inputs[0]
        if op in ("dovetail.qconv", "MaxPool") and source in made_by and made_by[source][0] == "Pad":
            source = made_by[source][1][0]
        from_host = source in made_by and made_by[source][0] in ("QuantizeLinear", "dovetail.recenter")
        if op == "dovetail.qconv":
            n, c, h, w = image(shapes[source])
            _, o, out_h, out_w = image(shapes[output])
            weight = image(shapes[inputs[1]])
            groups = int(attributes["group"])
            average = groups == c and weight[2:] == [h, w] and (out_h, out_w) == (1, 1) and h * w > 1
            layers.append(Layer(name, "average" if average else "conv", n, c, h, w, o, weight[2], groups=groups,
                                from_host=from_host, kernel_w=weight[3], out=(out_h, out_w)))
        elif op == "dovetail.qgemm":
            rows, c = shapes[source]
            layers.append(Layer(name, "conv", rows, c, 1, 1, shapes[output][1]))
        elif op == "dovetail.qadd":
            n, c, h, w = image(shapes[output])
            one = [text in constants and all(extent == 1 for extent in shapes[text]) for text in inputs]
            layers.append(Layer(name, "add", n, c, h, w, c, multipliers=(float(attributes["a_multiplier"]),
                                                                          float(attributes["b_multiplier"])),
                                sum_scale=float(attributes["scale"]), operands=1 if any(one) else 2))
        elif op == "MaxPool":
            n, c, h, w = image(shapes[source])
            _, _, out_h, out_w = image(shapes[output])
            pool = Layer(name, "max_pool", n, c, h, w, c, numbers(attributes["kernel_shape"])[0], out=(out_h, out_w))
            before = made_by[source][3] if source in made_by else None
            if layers and layers[-1].name == before and layers[-1].kind == "conv" and len(readers[source]) == 1:
                layers[-1] = replace(layers[-1], pool=pool)
            else:
                layers.append(pool)
    return layers
