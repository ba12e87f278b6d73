# SPDX-License-Identifier: Apache-2.0
"""Kinds of networks that exports.py has none of, with random weights, by torch.onnx: those that
nothing was tuned for when they were added."""

import exports
from exports import SEED, First, export, ids


def seeded(make):
    """make() is a module and its inputs by name."""
    def write(to):
        import torch

        torch.manual_seed(SEED)
        module, inputs, options = make()
        return export(module, tuple(inputs.values()), list(inputs), to, **options)
    return write


DYNAMO = {"dynamo": True, "opset": 18}


def model_of(name, suffix, inputs, call, options=DYNAMO, **config):
    """The model of transformers of that name, whose first output is call(model, *inputs)."""
    def make():
        import transformers

        settings = getattr(transformers, f"{name}Config")(**config)
        model = getattr(transformers, f"{name}{suffix}")(settings)
        return First.of(model, call), inputs(), options
    return seeded(make)


def words(name, length=128, options=DYNAMO, **config):
    def inputs():
        import torch

        return {"input_ids": ids(8000, 1, length),
                "attention_mask": torch.ones(1, length, dtype=torch.int64)}
    return model_of(name, "Model", inputs, lambda m, i, a: m(input_ids=i, attention_mask=a)[0],
                    options, vocab_size=8000, **config)


def causal(name, length=64, **config):
    return model_of(name, "ForCausalLM", lambda: {"input_ids": ids(8000, 1, length)},
                    lambda m, i: m(input_ids=i, use_cache=False)[0], vocab_size=8000, **config)


def image(name, suffix="Model", size=224, **config):
    def inputs():
        import torch

        return {"x": torch.rand(1, 3, size, size)}
    return model_of(name, suffix, inputs, lambda m, x: m(pixel_values=x)[0], **config)


def sound(name, *dims, call=lambda m, x: m(x)[0], suffix="Model", options=DYNAMO, **config):
    def inputs():
        import torch

        return {"x": torch.randn(*dims)}
    return model_of(name, suffix, inputs, call, options, **config)


def translator():
    """Attention from one sequence to another one."""
    def inputs():
        return {"input_ids": ids(8000, 1, 64), "decoder_ids": ids(8000, 1, 32)}
    return model_of("Bart", "Model", inputs,
                    lambda m, i, d: m(input_ids=i, decoder_input_ids=d, use_cache=False)[0],
                    vocab_size=8000, d_model=384, encoder_layers=3, decoder_layers=3,
                    encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536,
                    decoder_ffn_dim=1536)


def video(name):
    """Convolutions over time, too."""
    def make():
        import torch
        import torchvision

        model = getattr(torchvision.models.video, name)(weights=None)
        return model, {"x": torch.rand(1, 3, 16, 112, 112)}, {}
    return seeded(make)


def unet():
    """Down and up again, with the way down beside the way up."""
    import torch
    from torch import nn

    def block(ins, outs):
        layers = []
        for n in (ins, outs):
            layers += [nn.Conv2d(n, outs, 3, padding=1), nn.BatchNorm2d(outs), nn.ReLU()]
        return nn.Sequential(*layers)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = [16, 32, 64, 128]
            self.down = nn.ModuleList(block(a, b) for a, b in zip([3] + sizes, sizes))
            self.middle = block(128, 256)
            up = [(2 * n, n) for n in reversed(sizes)]
            self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in up)
            self.up = nn.ModuleList(block(a, b) for a, b in up)
            self.last = nn.Conv2d(16, 2, 1)

        def forward(self, x):
            kept = []
            for down in self.down:
                x = down(x)
                kept.append(x)
                x = nn.functional.max_pool2d(x, 2)
            x = self.middle(x)
            for grow, up in zip(self.grow, self.up):
                x = up(torch.cat([kept.pop(), grow(x)], 1))
            return self.last(x)

    return Net(), {"x": torch.rand(1, 3, 192, 192)}, {}


def diffusion():
    """A step of a small latent diffusion: group norms, a time, attention between pixels."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Residual(nn.Module):
        def __init__(self, ins, outs):
            super().__init__()
            self.norms = nn.ModuleList(nn.GroupNorm(16, n) for n in (ins, outs))
            self.convs = nn.ModuleList(nn.Conv2d(n, outs, 3, padding=1) for n in (ins, outs))
            self.time = nn.Linear(128, outs)
            self.skip = nn.Conv2d(ins, outs, 1) if ins != outs else nn.Identity()

        def forward(self, x, time):
            h = self.convs[0](functional.silu(self.norms[0](x)))
            h = h + self.time(functional.silu(time))[:, :, None, None]
            return self.skip(x) + self.convs[1](functional.silu(self.norms[1](h)))

    class Attention(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.norm, self.out = nn.GroupNorm(16, n), nn.Linear(n, n)
            self.qkv = nn.Linear(n, 3 * n)

        def forward(self, x):
            b, c, h, w = x.shape
            y = self.qkv(self.norm(x).flatten(2).transpose(1, 2))
            q, k, v = (t.reshape(b, h * w, 4, c // 4).transpose(1, 2) for t in y.chunk(3, -1))
            y = functional.scaled_dot_product_attention(q, k, v)
            y = self.out(y.transpose(1, 2).reshape(b, h * w, c))
            return x + y.transpose(1, 2).reshape(b, c, h, w)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv2d(4, 64, 3, padding=1), nn.Conv2d(64, 4, 3, padding=1)
            self.a, self.b, self.c = Residual(64, 64), Residual(64, 128), Residual(128, 256)
            self.down = nn.ModuleList(nn.Conv2d(n, n, 3, 2, 1) for n in (64, 128))
            self.looks = nn.ModuleList(Attention(n) for n in (128, 256, 128))
            self.up = nn.ModuleList(nn.Conv2d(2 * n, n, 3, padding=1) for n in (128, 64))
            self.d, self.e = Residual(256, 128), Residual(128, 64)

        def forward(self, x, time):
            a = self.a(self.first(x), time)
            b = self.looks[0](self.b(self.down[0](a), time))
            c = self.looks[1](self.c(self.down[1](b), time))
            y = self.up[0](functional.interpolate(c, scale_factor=2))
            y = self.looks[2](self.d(torch.cat([y, b], 1), time))
            y = self.up[1](functional.interpolate(y, scale_factor=2))
            return self.last(functional.silu(self.e(torch.cat([y, a], 1), time)))

    return Net(), {"x": torch.randn(1, 4, 32, 32), "time": torch.randn(1, 128)}, DYNAMO


def style_transfer():
    """Reflected borders and instance norms."""
    import torch
    from torch import nn

    def layer(ins, outs, kernel, stride=1):
        return [nn.ReflectionPad2d(kernel // 2), nn.Conv2d(ins, outs, kernel, stride),
                nn.InstanceNorm2d(outs, affine=True), nn.ReLU()]

    class Residual(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.layers = nn.Sequential(*layer(n, n, 3), *layer(n, n, 3)[:-1])

        def forward(self, x):
            return x + self.layers(x)

    net = nn.Sequential(
        *layer(3, 16, 9), *layer(16, 32, 3, 2), *layer(32, 64, 3, 2),
        *(Residual(64) for _ in range(4)),
        nn.Upsample(scale_factor=2), *layer(64, 32, 3), nn.Upsample(scale_factor=2),
        *layer(32, 16, 3), *layer(16, 3, 9)[:2])
    return net, {"x": torch.rand(1, 3, 160, 160)}, {}


def speech_separator():
    """Depthwise dilated convolutions over samples, each behind a norm of the whole sequence."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, n, inner, dilation):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv1d(n, inner, 1), nn.PReLU(), nn.GroupNorm(1, inner),
                nn.Conv1d(inner, inner, 3, padding=dilation, dilation=dilation, groups=inner),
                nn.PReLU(), nn.GroupNorm(1, inner), nn.Conv1d(inner, n, 1))

        def forward(self, x):
            return x + self.layers(x)

    net = nn.Sequential(nn.Conv1d(1, 64, 16, 8), *(Block(64, 128, 2 ** (i % 6)) for i in range(12)),
                        nn.ConvTranspose1d(64, 1, 16, 8))
    return net, {"x": torch.randn(1, 1, 8000)}, {}


def ranking():
    """Embeddings of categories and all their products, as recommenders have them."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, 32),
                                        nn.ReLU())
            self.tables = nn.ModuleList(nn.Embedding(1000, 32) for _ in range(16))
            self.top = nn.Sequential(nn.Linear(32 + 17 * 16 // 2, 256), nn.ReLU(),
                                     nn.Linear(256, 1), nn.Sigmoid())
            row, column = torch.tril_indices(17, 17, -1)
            self.register_buffer("pairs", row * 17 + column)

        def forward(self, x, categories):
            dense = self.bottom(x)
            all_of = [dense] + [t(categories[:, i]) for i, t in enumerate(self.tables)]
            z = torch.stack(all_of, 1)
            products = torch.bmm(z, z.transpose(1, 2)).flatten(1)[:, self.pairs]
            return self.top(torch.cat([dense, products], 1))

    return Net(), {"x": torch.randn(64, 13), "categories": torch.randint(0, 1000, (64, 16))}, {}


def set_detector():
    """Boxes by a transformer over the pixels of a small ResNet."""
    import torch
    import torchvision
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            resnet = torchvision.models.resnet18(weights=None)
            self.pixels = nn.Sequential(*list(resnet.children())[:-2], nn.Conv2d(512, 128, 1))
            self.transformer = nn.Transformer(128, 4, 3, 3, 512, batch_first=True)
            self.queries = nn.Parameter(torch.randn(1, 50, 128))
            self.places = nn.Parameter(torch.randn(1, 64, 128))
            self.classes, self.boxes = nn.Linear(128, 92), nn.Linear(128, 4)

        def forward(self, x):
            h = self.pixels(x).flatten(2).transpose(1, 2) + self.places
            y = self.transformer(h, self.queries)
            return self.classes(y), self.boxes(y).sigmoid()

    return Net(), {"x": torch.rand(1, 3, 256, 256)}, DYNAMO


SMALL = {"hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 6,
         "intermediate_size": 1536}
SPEECH = SMALL | {"apply_spec_augment": False}

MODELS = {
    "googlenet": exports.vision("googlenet", 1), "r3d_18": video("r3d_18"),
    "efficientnet_v2_s": exports.vision("efficientnet_v2_s", 1),
    "retinanet": exports.detector("retinanet_resnet50_fpn", 320),
    "unet": seeded(unet), "diffusion": seeded(diffusion), "style_transfer": seeded(style_transfer),
    "set_detector": seeded(set_detector),
    "beit": image("Beit", **SMALL), "cvt": image("Cvt", depth=[1, 2, 4]),
    "dpt": image("DPT", "ForDepthEstimation", num_hidden_layers=4, hidden_size=192,
                 num_attention_heads=3, intermediate_size=768, image_size=224, is_hybrid=False,
                 backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[48, 96, 192, 384],
                 fusion_hidden_size=64),
    "focalnet": image("FocalNet", embed_dim=64), "mobilevit": image("MobileViT", size=256),
    "poolformer": image("PoolFormer", depths=[2, 2, 4, 2]),
    "swin2sr": image("Swin2SR", "ForImageSuperResolution", 64, depths=[2, 2], num_heads=[4, 4],
                     embed_dim=60),
    "albert": words("Albert", **SMALL), "fnet": words("FNet", hidden_size=384,
                                                      num_hidden_layers=4, intermediate_size=1536),
    "deberta": words("DebertaV2", options={}, relative_attention=True, position_buckets=256,
                     pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", share_att_key=True,
                     **SMALL),
    "mobilebert": words("MobileBert", num_hidden_layers=6),
    "translator": translator(),
    "bloom": causal("Bloom", hidden_size=512, n_layer=4, n_head=8),
    "gemma2": causal("Gemma2", hidden_size=512, num_hidden_layers=4, intermediate_size=2048,
                     num_attention_heads=8, num_key_value_heads=2, head_dim=64),
    "mamba": causal("Mamba", 32, hidden_size=256, num_hidden_layers=3),
    "wav2vec2": sound("Wav2Vec2", 1, 16000, **SPEECH),
    "encodec": sound("Encodec", 1, 1, 12000, call=lambda m, x: m.decoder(m.encoder(x)), options={}),
    "hifigan": sound("SpeechT5HifiGan", 1, 60, 80, call=lambda m, x: m(x), suffix="", options={},
                     upsample_initial_channel=256),
    "speech_separator": seeded(speech_separator),
    "ranking": seeded(ranking), "rnn": exports.recurrent("RNN", 1, 200),
}
