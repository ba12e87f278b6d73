# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision and transformers with random weights, exported by torch.onnx."""

import warnings

import numpy as np

SEED = 1


def export(model, args, names, to, **options):
    """Weights into the file; inputs by name."""
    import torch

    model.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, args, to, input_names=names, dynamo=options.pop("dynamo", False),
                          opset_version=options.pop("opset", 17), **options)
    return {name: np.asarray(value) for name, value in zip(names, args)}


def vision(name, batch, size=224, **options):
    """The classifier `name` of torchvision."""
    def write(to):
        import torch
        import torchvision

        torch.manual_seed(SEED)
        model = getattr(torchvision.models, name)(weights=None)
        return export(model, (torch.rand(batch, 3, size, size),), ["x"], to, **options)
    return write


def detector(name, size):
    """Detectors choose as many boxes as there are, so batch is 1."""
    def write(to):
        import torch
        import torchvision

        torch.manual_seed(SEED)
        model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None)
        inputs = export(model, ([torch.rand(3, size, size)],), ["x"], to)
        return {"x": np.asarray(inputs["x"][0])}
    return write


def segmenter(name, size):
    """Dilated convolutions over few pixels, and a resize to the picture."""
    def write(to):
        import torch
        import torchvision

        torch.manual_seed(SEED)
        model = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None)
        border = First.of(model, lambda m, x: m(x)["out"])
        return export(border, (torch.rand(1, 3, size, size),), ["x"], to)
    return write


def transformers_vision(name, size=224, **options):
    """The classifier `name` of transformers with its default sizes, but for options."""
    def write(to):
        import torch
        import transformers

        torch.manual_seed(SEED)
        config = getattr(transformers, f"{name}Config")(**options)
        model = getattr(transformers, f"{name}ForImageClassification")(config)
        border = First.of(model, lambda m, x: m(pixel_values=x)[0])
        return export(border, (torch.rand(1, 3, size, size),), ["x"], to)
    return write


def graph_attention(nodes, edges):
    """Messages of edges are added to their nodes, which have no order."""
    def write(to):
        import torch
        from torch import nn

        torch.manual_seed(SEED)

        class Layer(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.linear, self.score = nn.Linear(n, n), nn.Linear(2 * n, 1)

            def forward(self, x, of, at):
                h = self.linear(x)
                pairs = torch.cat([h[of], h[at]], -1)
                weight = nn.functional.leaky_relu(self.score(pairs), 0.2).exp()
                total = torch.zeros(x.shape[0], 1).scatter_add(0, at[:, None], weight)
                index = at[:, None].expand(-1, x.shape[1])
                message = torch.zeros_like(h).scatter_add(0, index, h[of] * weight)
                return nn.functional.elu(message / (total + 1e-6))

        class Network(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(Layer(64) for _ in range(3))

            def forward(self, x, of, at):
                for layer in self.layers:
                    x = layer(x, of, at)
                return x

        args = torch.randn(nodes, 64), *(torch.randint(0, nodes, (edges,)) for _ in range(2))
        return export(Network(), args, ["x", "of", "at"], to)
    return write


class First:
    """A module with tensors only at its border, whatever it returns."""

    @staticmethod
    def of(model, call):
        import torch

        class Border(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, *args):
                return call(self.model, *args)
        return Border()


def ids(high, batch, length):
    import torch

    return torch.randint(0, high, (batch, length))


def bert(batch, length, opset=17, **options):
    """The size of MiniLM."""
    def write(to):
        import torch
        from transformers import BertConfig, BertModel

        torch.manual_seed(SEED)
        model = BertModel(BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                     intermediate_size=1536))
        border = First.of(model, lambda m, i, a: m(input_ids=i, attention_mask=a)[0])
        args = ids(30000, batch, length), torch.ones(batch, length, dtype=torch.int64)
        return export(border, args, ["input_ids", "attention_mask"], to, opset=opset, **options)
    return write


def modern_bert(batch, length):
    def write(to):
        import torch
        from transformers import ModernBertConfig, ModernBertModel

        torch.manual_seed(SEED)
        model = ModernBertModel(ModernBertConfig(
            hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=576,
            vocab_size=30000, attn_implementation="sdpa"))
        border = First.of(model, lambda m, i, a: m(input_ids=i, attention_mask=a)[0])
        args = ids(30000, batch, length), torch.ones(batch, length, dtype=torch.int64)
        return export(border, args, ["input_ids", "attention_mask"], to, dynamo=True, opset=18)
    return write


def decoder(kind, length, past, opset=18):
    """A causal language model with `past` tokens in its cache that reads `length` more."""
    def write(to):
        import torch
        from transformers import (DynamicCache, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                                  LlamaForCausalLM)

        torch.manual_seed(SEED)
        if kind == "gpt2":
            layers, heads, size = 6, 12, 64
            model = GPT2LMHeadModel(GPT2Config(n_layer=layers, vocab_size=16000))
        else:
            layers, heads, size = 6, 4, 64
            model = LlamaForCausalLM(LlamaConfig(
                hidden_size=768, intermediate_size=2048, num_hidden_layers=layers,
                num_attention_heads=12, num_key_value_heads=heads, vocab_size=16000))

        def call(m, tokens, *cache):
            kept = DynamicCache()
            for layer in range(layers if past else 0):
                kept.update(cache[2 * layer], cache[2 * layer + 1], layer)
            out = m(input_ids=tokens, past_key_values=kept, use_cache=True)
            present = out.past_key_values
            flat = [t for k in range(layers) for t in (present.layers[k].keys,
                                                       present.layers[k].values)]
            return (out.logits, *flat)

        cache = [torch.randn(1, heads, past, size) for _ in range(2 * layers if past else 0)]
        names = ["input_ids"] + [f"past_{k}" for k in range(len(cache))]
        return export(First.of(model, call), (ids(16000, 1, length), *cache), names, to,
                      dynamo=True, opset=opset)
    return write


def t5(batch, length):
    def write(to):
        import torch
        from transformers import T5Config, T5EncoderModel

        torch.manual_seed(SEED)
        model = T5EncoderModel(T5Config(vocab_size=16000, d_model=512, d_ff=1024, num_layers=6,
                                        num_heads=8, feed_forward_proj="gated-gelu"))
        border = First.of(model, lambda m, i: m(input_ids=i)[0])
        return export(border, (ids(16000, batch, length),), ["input_ids"], to, dynamo=True,
                      opset=18)
    return write


def whisper():
    """The encoder of Whisper tiny for thirty seconds."""
    def write(to):
        import torch
        from transformers import WhisperConfig, WhisperModel

        torch.manual_seed(SEED)
        model = WhisperModel(WhisperConfig(d_model=384, encoder_layers=4, decoder_layers=1,
                                           encoder_attention_heads=6, decoder_attention_heads=6,
                                           encoder_ffn_dim=1536, decoder_ffn_dim=1536)).encoder
        border = First.of(model, lambda m, x: m(x)[0])
        return export(border, (torch.randn(1, 80, 3000),), ["features"], to, dynamo=True, opset=18)
    return write


def recurrent(kind, batch, length):
    """Two layers in both directions, as speech and text models have them."""
    def write(to):
        import torch

        torch.manual_seed(SEED)
        model = getattr(torch.nn, kind)(80, 256, num_layers=2, bidirectional=True,
                                        batch_first=True)
        border = First.of(model, lambda m, x: m(x)[0])
        return export(border, (torch.randn(batch, length, 80),), ["x"], to)
    return write


def conv1d(length):
    """The decoder of a text-to-speech model: transposed and dilated convolutions over samples."""
    def write(to):
        import torch
        from torch import nn

        torch.manual_seed(SEED)

        class Block(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.convs = nn.ModuleList(nn.Conv1d(n, n, 3, padding=d, dilation=d)
                                           for d in (1, 3, 5))

            def forward(self, x):
                for conv in self.convs:
                    x = x + conv(nn.functional.leaky_relu(x, 0.1))
                return x

        layers = [nn.Conv1d(192, 256, 7, padding=3)]
        n = 256
        for rate in (8, 8, 2, 2):
            layers += [nn.LeakyReLU(0.1),
                       nn.ConvTranspose1d(n, n // 2, 2 * rate, rate, padding=rate // 2),
                       Block(n // 2)]
            n //= 2
        layers += [nn.LeakyReLU(), nn.Conv1d(n, 1, 7, padding=3), nn.Tanh()]
        return export(nn.Sequential(*layers), (torch.randn(1, 192, length),), ["x"], to)
    return write


MODELS = {
    "resnet50": vision("resnet50", 1), "resnet50_b8": vision("resnet50", 8),
    "mobilenet_v2": vision("mobilenet_v2", 1),
    "mobilenet_v3_large": vision("mobilenet_v3_large", 1),
    "mobilenet_v3_large_b8": vision("mobilenet_v3_large", 8),
    "efficientnet_b0": vision("efficientnet_b0", 1),
    "densenet121": vision("densenet121", 1),
    "shufflenet_v2": vision("shufflenet_v2_x1_0", 1),
    "squeezenet": vision("squeezenet1_1", 1),
    "convnext_tiny": vision("convnext_tiny", 1),
    "swin_t": vision("swin_t", 1),
    "vit_b_16": vision("vit_b_16", 1),
    "vit_b_16_dynamo": vision("vit_b_16", 1, dynamo=True, opset=18),
    "maxvit_t": vision("maxvit_t", 1),
    "regnet_y_400mf": vision("regnet_y_400mf", 1),
    "vgg11": vision("vgg11", 1),
    "deeplabv3_mobilenet": segmenter("deeplabv3_mobilenet_v3_large", 256),
    "bit": transformers_vision("Bit", depths=[2, 2, 2, 2], hidden_sizes=[128, 256, 512, 1024]),
    "levit": transformers_vision("Levit"), "pvt_v2": transformers_vision("PvtV2"),
    "segformer": transformers_vision("Segformer"),
    "graph_attention": graph_attention(1000, 5000),
    "fasterrcnn_mobilenet": detector("fasterrcnn_mobilenet_v3_large_320_fpn", 320),
    "ssdlite320": detector("ssdlite320_mobilenet_v3_large", 320),
    "bert": bert(1, 128), "bert_b8": bert(8, 128),
    "bert_opset23": bert(1, 128, opset=23, dynamo=True),
    "modernbert": modern_bert(1, 256),
    "gpt2_prompt": decoder("gpt2", 64, 0), "gpt2_token": decoder("gpt2", 1, 128),
    "llama_prompt": decoder("llama", 64, 0), "llama_token": decoder("llama", 1, 128),
    "llama_token_opset23": decoder("llama", 1, 128, opset=23),
    "t5_encoder": t5(1, 128),
    "whisper_tiny_encoder": whisper(),
    "lstm": recurrent("LSTM", 1, 200), "gru": recurrent("GRU", 1, 200),
    "lstm_b16": recurrent("LSTM", 16, 100),
    "conv1d_vocoder": conv1d(100),
}
