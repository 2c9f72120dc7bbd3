"""Models of PyTorch, out of the exporter of TorchScript graphs and out of the one that follows torch.export."""

import io
import logging
import math
import pathlib
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from zoo.exported import record


class Cnn(nn.Module):
    """What image models are made of: BatchNorm, depthwise, a residual, squeeze and excite, GroupNorm, a pool to 1x1."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.depthwise = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Hardswish(), nn.Conv2d(8, 8, 1))
        self.squeeze, self.excite = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.norm = nn.GroupNorm(2, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        y = self.depthwise(x)
        scale = functional.adaptive_avg_pool2d(y, 1)
        scale = torch.sigmoid(self.excite(functional.silu(self.squeeze(scale))))
        x = functional.max_pool2d(x + y * scale, 2)
        x = functional.gelu(self.norm(x))
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Decoder(nn.Module):
    """A small U: transposed convolution, joined skip, bilinear and nearest enlargement, reflecting pad, PixelShuffle."""

    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, 2, 1)
        self.up = nn.ConvTranspose2d(4, 3, 4, 2, 1)
        self.last = nn.Conv2d(5, 4, 3)

    def forward(self, x):
        y = functional.leaky_relu(self.down(x), 0.1)
        y = torch.cat([self.up(y), x], 1)
        y = self.last(functional.pad(y, (1, 1, 1, 1), mode="reflect"))
        wide = functional.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)
        coarse = functional.interpolate(y, scale_factor=2.0, mode="nearest")
        return functional.pixel_shuffle(torch.tanh(wide + coarse), 2)


class Encoder(nn.Module):
    """A layer of an encoder: MultiheadAttention, which slices one weight, then a feed-forward part."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.first, self.second = nn.Linear(16, 24), nn.Linear(24, 16)

    def forward(self, x):
        x = self.norm1(x + self.attention(x, x, x, need_weights=True)[0])
        return self.norm2(x + self.second(functional.gelu(self.first(x))))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


class Attention(nn.Module):
    """One layer of a decoder: RMSNorm, rotary positions, grouped queries, causal scaled_dot_product_attention, SwiGLU."""

    def __init__(self, width=16, heads=4, groups=2, length=6):
        super().__init__()
        self.heads, self.groups, self.head = heads, groups, width // heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.head, bias=False) for _ in range(2))
        self.gate, self.up = nn.Linear(width, 24, bias=False), nn.Linear(width, 24, bias=False)
        self.down = nn.Linear(24, width, bias=False)
        angles = torch.outer(torch.arange(length), 10.0 ** -torch.arange(self.head // 2))
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1))

    def rotate(self, x):
        half = self.head // 2
        return x * self.cos + torch.cat([-x[..., half:], x[..., :half]], -1) * self.sin

    def forward(self, x):
        y = self.norm1(x)
        batch, length, _ = y.shape
        q = self.rotate(self.q(y).view(batch, length, self.heads, self.head).transpose(1, 2))
        k = self.rotate(self.k(y).view(batch, length, self.groups, self.head).transpose(1, 2))
        v = self.v(y).view(batch, length, self.groups, self.head).transpose(1, 2)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, -1))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.layers = kind(6, 5, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(10, 4)

    def forward(self, ids):
        x, _ = self.layers(self.embedding(ids))
        return functional.log_softmax(self.head(x), -1)


class Dynamic(nn.Module):
    """A batch that is not known; shapes are asked for and written back."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 12), nn.Linear(6, 3)

    def forward(self, x):
        y = functional.elu(self.first(x))
        y = y.view(x.shape[0], 2, 6)
        a, b = self.second(y).chunk(2, 1)
        return torch.cat([a, b.softmax(-1)], 1).reshape(x.size(0), -1) + torch.arange(6, dtype=torch.float32)


class Pieces(nn.Module):
    """Operators that exporters turn into several: einsum, where, cumsum, norms, clamps, slices with steps, tril masks."""

    def __init__(self):
        super().__init__()
        self.layer = nn.LayerNorm(6)
        self.mix = nn.Parameter(torch.randn(4, 6, 6) / math.sqrt(6))

    def forward(self, x):
        y = torch.einsum("bij,ijk->bik", x, self.mix)
        y = torch.where(y > 0, y, torch.exp(y.clamp(min=-2)) - 1)
        mask = torch.tril(torch.ones(4, 4)) == 0
        scores = torch.bmm(y, y.transpose(1, 2)).masked_fill(mask, float("-inf"))
        y = self.layer(scores.softmax(-1) @ y)
        z = functional.normalize(y.cumsum(1)[:, ::2], dim=-1)
        return z, y.std(-1), y.amax((1, 2)), torch.stack([y[:, 0], y[:, -1]], 1).flip(1)


class Flow(nn.Module):
    """Scripted, so that a loop stays a Loop and a condition an If: both ask for a size, which is bound when it is read."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x):
        state = torch.zeros_like(x[0])
        for step in range(x.size(0)):
            state = torch.tanh(self.cell(state) + x[step])
        if x.size(1) > 1:
            state = state.softmax(-1)
        else:
            state = state * 2
        return state


def seeded(make):
    torch.manual_seed(1)
    model = make().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 1.5)
    return model


DYNAMIC = {"dynamic": {"batch": 3}, "flow": {"steps": 3, "batch": 2}}  # symbolic dimensions, the first ones


def export(model, inputs, opset, dynamo, dynamic):
    names = [f"x{position}" for position in range(len(inputs))]
    with warnings.catch_warnings(), torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        if not dynamo:
            buffer = io.BytesIO()
            axes = {names[0]: dict(enumerate(dynamic))}
            torch.onnx.export(model, inputs, buffer, dynamo=False, opset_version=opset, input_names=names,
                              dynamic_axes=axes)
            return buffer.getvalue()
        path = pathlib.Path(folder) / "model.onnx"
        shapes = ({axis: torch.export.Dim(name, min=2, max=64) for axis, name in enumerate(dynamic)},)
        torch.onnx.export(model, inputs, path, dynamo=True, opset_version=opset, input_names=names,
                          dynamic_shapes=shapes, external_data=False, verbose=False)
        return path.read_bytes()


def main():
    _, folder = record.target()
    logging.disable(logging.WARNING)
    torch.backends.mha.set_fastpath_enabled(False)  # one node that no exporter knows
    random = np.random.default_rng(5)
    images, planes, rows = (1, 3, 12, 12), (1, 2, 8, 8), (1, 6, 16)
    ids = random.integers(0, 20, (2, 4))
    script, dynamo = [("torch_script", 17, False)], [("torch_dynamo", 20, True)]
    newest = [("torch_dynamo_opset23", 23, True)]
    for name, make, data, exporters in (
            ("cnn", Cnn, record.numbers(random, *images), script + dynamo),
            ("decoder", Decoder, record.numbers(random, *planes), script + dynamo),
            ("encoder_layer", Encoder, record.numbers(random, *rows), script + dynamo),
            ("attention", Attention, record.numbers(random, *rows), script + dynamo + newest),
            ("lstm", lambda: Recurrent(nn.LSTM), ids, script + dynamo),
            ("gru", lambda: Recurrent(nn.GRU), ids, script + dynamo),
            ("dynamic", Dynamic, record.numbers(random, 3, 8), script + dynamo),
            ("pieces", Pieces, record.numbers(random, 2, 4, 6), script + dynamo),
            ("flow", lambda: torch.jit.script(Flow()), record.numbers(random, 3, 2, 4), script)):
        for prefix, opset, newer in exporters:
            module = seeded(make)
            inputs = (torch.from_numpy(data),)
            dims = DYNAMIC.get(name, {})
            model = export(module, inputs, opset, newer, dims)
            with torch.no_grad():
                made = module(*inputs)
            original = [value.numpy() for value in (made if isinstance(made, tuple) else (made,))]
            record.save(folder, f"{prefix}_{name}", model, {"x0": data}, dims, original)


if __name__ == "__main__":
    main()
