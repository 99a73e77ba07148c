"""Small networks of the kinds that people deploy: name, module, arguments."""

import torch
from torch import nn


def convolution(channels_in, channels_out, kernel=3, activation=nn.ReLU, **options):
    padding = kernel // 2
    layers = [
        nn.Conv2d(channels_in, channels_out, kernel, padding=padding, bias=False, **options),
        nn.BatchNorm2d(channels_out),
    ]
    return nn.Sequential(*layers, activation()) if activation else nn.Sequential(*layers)


class Residual(nn.Module):
    def __init__(self, channels_in, channels_out, stride):
        super().__init__()
        self.body = nn.Sequential(
            convolution(channels_in, channels_out, stride=stride),
            convolution(channels_out, channels_out, activation=None),
        )
        self.skip = nn.Identity()
        if stride != 1 or channels_in != channels_out:
            self.skip = convolution(channels_in, channels_out, 1, None, stride=stride)

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


def residual():
    return nn.Sequential(
        convolution(3, 16, 7, stride=2),
        nn.MaxPool2d(3, 2, 1),
        Residual(16, 16, 1),
        Residual(16, 32, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


class Excited(nn.Module):
    """An inverted bottleneck with squeeze and excitation."""

    def __init__(self, channels):
        super().__init__()
        wide = 4 * channels
        self.expand = convolution(channels, wide, 1, nn.Hardswish)
        self.depthwise = convolution(wide, wide, 5, nn.Hardswish, groups=wide)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(wide, channels, 1),
            nn.ReLU(),
            nn.Conv2d(channels, wide, 1),
            nn.Hardsigmoid(),
        )
        self.project = convolution(wide, channels, 1, None)

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        return x + self.project(y * self.gate(y))


def excited():
    return nn.Sequential(convolution(3, 16, 3, nn.ReLU6, stride=2), Excited(16), Excited(16), nn.Conv2d(16, 8, 1))


class Dense(nn.Module):
    def __init__(self, channels, growth, layers):
        super().__init__()
        self.layers = nn.ModuleList(convolution(channels + i * growth, growth) for i in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return x


def dense():
    return nn.Sequential(
        convolution(3, 16),
        Dense(16, 8, 3),
        convolution(40, 24, 1),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(24 * 8 * 8, 10),
    )


class Shuffled(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.right = nn.Sequential(
            convolution(channels // 2, channels // 2, 1),
            convolution(channels // 2, channels // 2, 3, None, groups=channels // 2),
            convolution(channels // 2, channels // 2, 1),
        )

    def forward(self, x):
        left, right = x.chunk(2, 1)
        n, c, h, w = x.shape
        joined = torch.cat([left, self.right(right)], 1)
        return joined.reshape(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def shuffled():
    return nn.Sequential(
        convolution(3, 32), Shuffled(32), Shuffled(32), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(32, 10)
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = convolution(3, 16), convolution(16, 32)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.last = nn.Sequential(convolution(32, 16), nn.Conv2d(16, 2, 1))

    def forward(self, x):
        fine = self.first(x)
        coarse = self.second(nn.functional.max_pool2d(fine, 2))
        return self.last(torch.cat([fine, self.up(coarse)], 1))


class Pyramid(nn.Module):
    """Features of two sizes, added after interpolation; several results."""

    def __init__(self):
        super().__init__()
        self.first, self.second = convolution(3, 16, stride=2), convolution(16, 16, stride=2)
        self.head = nn.Conv2d(16, 6, 3, padding=1)

    def forward(self, x):
        fine = self.first(x)
        coarse = self.second(fine)
        up = nn.functional.interpolate(coarse, scale_factor=2.0, mode="bilinear", align_corners=False)
        return {"fine": self.head(fine + up), "coarse": self.head(coarse)}


class Attention(nn.Module):
    def __init__(self, width, heads, is_causal):
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, length, width = x.shape
        parts = self.project(x).reshape(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(*parts.unbind(0), is_causal=self.is_causal)
        return self.out(y.transpose(1, 2).reshape(n, length, width))


class Block(nn.Module):
    """A block of a transformer."""

    def __init__(self, width=32, heads=4, is_causal=False):
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(width), Attention(width, heads, is_causal)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class Language(nn.Module):
    """Tokens to scores of the next one."""

    def __init__(self, words=50, length=12, width=32):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(length, width))
        self.block, self.norm = Block(width, is_causal=True), nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.block(self.words(tokens) + self.places)
        return nn.functional.log_softmax(self.norm(x) @ self.words.weight.t(), -1)


class Next(nn.Module):
    """A block of ConvNeXt: normalization over channels, a scale for each channel."""

    def __init__(self, channels=16):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 4, stride=4)
        self.depthwise, self.norm = nn.Conv2d(channels, channels, 7, padding=3, groups=channels), nn.LayerNorm(channels)
        self.wide, self.narrow = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(nn.functional.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Conv1d(4, 16, 3, padding=1)
        self.lstm, self.gru = nn.LSTM(16, 16, batch_first=True, bidirectional=True), nn.GRU(32, 8, batch_first=True)

    def forward(self, x):
        y, _ = self.lstm(torch.tanh(self.filter(x)).transpose(1, 2))
        return self.gru(y)[1].squeeze(0)


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = convolution(3, 16)
        self.a = nn.Sequential(convolution(16, 8, 1), convolution(8, 16, 5))
        self.b = nn.Sequential(nn.AvgPool2d(3, 1, 1), convolution(16, 8, 1, nn.SiLU))
        self.c = nn.MaxPool2d(3, 1, 1)

    def forward(self, x):
        x = self.stem(x)
        return torch.cat([self.a(x), self.b(x), self.c(x)], 1).mean((2, 3))


def networks():
    """Name, module and arguments; deterministic."""
    torch.manual_seed(7)
    image = torch.randn(1, 3, 16, 16)
    return [
        ("residual", residual(), (torch.randn(1, 3, 32, 32),)),
        ("excited", excited(), (image,)),
        ("dense", dense(), (image,)),
        ("shuffled", shuffled(), (image,)),
        ("unet", UNet(), (image,)),
        ("pyramid", Pyramid(), (image,)),
        ("inception", Inception(), (image,)),
        ("next", Next(), (image,)),
        ("transformer block", Block(), (torch.randn(2, 8, 32),)),
        ("language", Language(), (torch.randint(50, (1, 12)),)),
        ("recurrent", Recurrent(), (torch.randn(2, 4, 10),)),
    ]
