#!/usr/bin/env python3
"""Losses and gradients of a tiny BERT with LayerNorm before its sublayers, by PyTorch in double precision.

Needs torch and safetensors. The batch is that of ../bert (run bert_gradients.py there first); the weights have the names
of DeepSpeed's pre-LN BERT. Layers are dropped as said: SCALES has what the sublayers of each layer are multiplied by, 0
where the layer is left out. Writes beside itself:

  weights.safetensors  in F32
  plain.safetensors    the losses, the gradients (packed as in ../bert), without layer dropping
  scaled.safetensors   the same of a step that keeps both layers
  dropped.safetensors  the same of one that leaves out the second
"""

import importlib.util
import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
BERT = HERE.parent / "bert"
HEADS = 2
LAYERS = 2
# 1 / (1 - i / 2 * (1 - theta)) with theta = 1/2, rounded as Strata's are.
SCALES = {"plain": [1.0, 1.0],
          "scaled": [1.0, torch.tensor(1 / 0.75).float().double().item()],
          "dropped": [1.0, 0.0]}

spec = importlib.util.spec_from_file_location("bert_gradients", BERT / "bert_gradients.py")
bert_gradients = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bert_gradients)


def pre_norm_names(weights):
    renamed = {}
    for name, value in weights.items():
        name = name.replace("attention.output.LayerNorm", "PreAttentionLayerNorm")
        if "encoder.layer" in name:
            name = name.replace("output.LayerNorm", "PostAttentionLayerNorm")
        renamed[name] = value
    generator = torch.Generator().manual_seed(77)
    renamed["bert.encoder.FinalLayerNorm.weight"] = 1 + 0.2 * torch.randn(64, generator=generator)
    renamed["bert.encoder.FinalLayerNorm.bias"] = 0.2 * torch.randn(64, generator=generator)
    return renamed


def norm(w, name, x):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], 1e-12)


def linear(w, name, x):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def attention(w, name, x):
    length, hidden = x.shape
    q, k, v = (linear(w, f"{name}.attention.self.{part}", x).view(length, HEADS, -1).transpose(0, 1)
               for part in ("query", "key", "value"))
    scores = q @ k.transpose(1, 2) / (hidden // HEADS) ** 0.5
    context = (scores.softmax(-1) @ v).transpose(0, 1).reshape(length, hidden)
    return linear(w, name + ".attention.output.dense", context)


def encode(w, tokens, segments, scales):
    """One sequence: what the heads read."""
    e = "bert.embeddings."
    h = (w[e + "word_embeddings.weight"][tokens] + w[e + "token_type_embeddings.weight"][segments]
         + w[e + "position_embeddings.weight"][: len(tokens)])
    h = norm(w, e + "LayerNorm", h)
    for layer, scale in enumerate(scales):
        if scale == 0:
            continue
        name = f"bert.encoder.layer.{layer}"
        u = h + scale * attention(w, name, norm(w, name + ".PreAttentionLayerNorm", h))
        inner = F.gelu(linear(w, name + ".intermediate.dense", norm(w, name + ".PostAttentionLayerNorm", u)))
        h = u + scale * linear(w, name + ".output.dense", inner)
    return norm(w, "bert.encoder.FinalLayerNorm", h)


def golden(weights, batch, scales):
    w = {name: value.double().requires_grad_() for name, value in weights.items()}
    lengths = batch["lengths"].tolist()
    ends = torch.tensor(lengths).cumsum(0).tolist()
    hidden = torch.cat([encode(w, batch["tokens"][end - n:end].long(), batch["segments"][end - n:end].long(), scales)
                        for n, end in zip(lengths, ends, strict=True)])
    p = "cls.predictions."
    masked = norm(w, p + "transform.LayerNorm",
                  F.gelu(linear(w, p + "transform.dense", hidden[batch["masked_positions"].long()])))
    scores = masked @ w["bert.embeddings.word_embeddings.weight"].T + w[p + "bias"]
    first = [0] + ends[:-1]
    pooled = torch.tanh(linear(w, "bert.pooler.dense", hidden[first]))
    next_scores = linear(w, "cls.seq_relationship", pooled)
    masked_loss = F.cross_entropy(scores, batch["masked_ids"].long())
    next_loss = F.cross_entropy(next_scores, batch["next_sentence"].long())
    (masked_loss + next_loss).backward()
    result = {"masked_loss": masked_loss.detach().reshape(1), "next_sentence_loss": next_loss.detach().reshape(1)}
    for name, value in w.items():
        gradient = value.grad if value.grad is not None else torch.zeros_like(value)
        if gradient.dim() == 1:
            result[name] = gradient
        else:
            result[name + ".rows"] = gradient @ bert_gradients.probe(gradient.shape[1])
            result[name + ".cols"] = bert_gradients.probe(gradient.shape[0]) @ gradient
    print(f"scales {scales}: masked-LM loss {masked_loss:.6f}, next-sentence loss {next_loss:.6f}")
    return {name: value.contiguous() for name, value in result.items()}


def main():
    weights = pre_norm_names(load_file(BERT / "bert_tiny.safetensors"))
    save_file(weights, HERE / "weights.safetensors", metadata={"format": "pt"})
    batch = load_file(BERT / f"bert_tiny_heads{HEADS}.safetensors")
    for name, scales in SCALES.items():
        save_file(golden(weights, batch, scales), HERE / f"{name}.safetensors")


if __name__ == "__main__":
    main()
