#!/usr/bin/env python3
"""Losses and gradients of a tiny BERT without LayerNorm, trained with a standardization loss, by PyTorch in double precision.

Needs torch and safetensors. Weights and batch are those of ../bert (run bert_gradients.py there first), whose LayerNorms
are left with gain and bias. Writes beside itself, packed as in ../bert:

  unit.safetensors   mean and variance of every hidden unit
  token.safetensors  of every token
"""

import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
BERT = HERE.parent / "bert"
HEADS = 2
LAYERS = 2
WEIGHT = 0.25
LEAST_VARIANCE = torch.tensor(1e-6).double().item()


def probe(n):
    """Returns the factors of matrices of gradients, as in ../bert."""
    i = torch.arange(n)
    return (2 * ((i * 37 + 11) % 61) - 61).double() / 64


class Standardization:
    """Collects what stands where a LayerNorm stood."""

    def __init__(self, axis):
        self.axis = axis
        self.total = 0.0  # of a row's loss, over rows and places
        self.weighted = 0.0

    def place(self, x, row_scale):
        dim = 0 if self.axis == "unit" else 1
        variance, mean = torch.var_mean(x, dim=dim, correction=0)
        assert variance.min() > LEAST_VARIANCE
        rows = 0.5 * (mean ** 2 + variance - variance.log() - 1).mean() * len(x)
        self.total = self.total + rows
        self.weighted = self.weighted + WEIGHT * row_scale * rows


def linear(w, name, x):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def gain_and_bias(w, name, x):
    return x * w[name + ".weight"] + w[name + ".bias"]


def attention(w, name, x, lengths):
    parts = []
    for one in x.split(lengths):
        length, hidden = one.shape
        q, k, v = (linear(w, f"{name}.attention.self.{part}", one).view(length, HEADS, -1).transpose(0, 1)
                   for part in ("query", "key", "value"))
        scores = q @ k.transpose(1, 2) / (hidden // HEADS) ** 0.5
        parts.append((scores.softmax(-1) @ v).transpose(0, 1).reshape(length, hidden))
    return linear(w, name + ".attention.output.dense", torch.cat(parts))


def golden(weights, batch, axis):
    w = {name: value.double().requires_grad_() for name, value in weights.items()}
    lengths = batch["lengths"].tolist()
    tokens = len(batch["tokens"])
    token_scale = torch.tensor(1 / tokens).float().double().item()  # rounded as Strata's is
    standardization = Standardization(axis)

    def affine(name, x, scale=token_scale):
        standardization.place(x, scale)
        return gain_and_bias(w, name, x)

    e = "bert.embeddings."
    positions = torch.cat([torch.arange(n) for n in lengths])
    h = affine(e + "LayerNorm", w[e + "word_embeddings.weight"][batch["tokens"].long()]
               + w[e + "token_type_embeddings.weight"][batch["segments"].long()]
               + w[e + "position_embeddings.weight"][positions])
    for layer in range(LAYERS):
        name = f"bert.encoder.layer.{layer}"
        h = affine(name + ".attention.output.LayerNorm", h + attention(w, name, h, lengths))
        inner = F.gelu(linear(w, name + ".intermediate.dense", h))
        h = affine(name + ".output.LayerNorm", h + linear(w, name + ".output.dense", inner))
    p = "cls.predictions."
    masked = F.gelu(linear(w, p + "transform.dense", h[batch["masked_positions"].long()]))
    masked = affine(p + "transform.LayerNorm", masked, 1 / len(masked))
    scores = masked @ w[e + "word_embeddings.weight"].T + w[p + "bias"]
    first = torch.tensor([0] + lengths[:-1]).cumsum(0)
    pooled = torch.tanh(linear(w, "bert.pooler.dense", h[first]))
    next_scores = linear(w, "cls.seq_relationship", pooled)
    masked_loss = F.cross_entropy(scores, batch["masked_ids"].long())
    next_loss = F.cross_entropy(next_scores, batch["next_sentence"].long())
    (masked_loss + next_loss + standardization.weighted).backward()
    result = {"masked_loss": masked_loss, "next_sentence_loss": next_loss,
              "standardization_loss": standardization.total}
    result = {name: value.detach().reshape(1) for name, value in result.items()}
    for name, value in w.items():
        gradient = value.grad if value.grad is not None else torch.zeros_like(value)
        name = name.replace("LayerNorm", "Affine")
        if gradient.dim() == 1:
            result[name] = gradient
        else:
            result[name + ".rows"] = gradient @ probe(gradient.shape[1])
            result[name + ".cols"] = probe(gradient.shape[0]) @ gradient
    print(f"{axis}: masked-LM loss {masked_loss:.6f}, next-sentence loss {next_loss:.6f}, "
          f"standardization {standardization.weighted:.6f}")
    return {name: value.contiguous() for name, value in result.items()}


def main():
    weights = load_file(BERT / "bert_tiny.safetensors")
    batch = load_file(BERT / f"bert_tiny_heads{HEADS}.safetensors")
    for axis in ("unit", "token"):
        save_file(golden(weights, batch, axis), HERE / f"{axis}.safetensors")


if __name__ == "__main__":
    main()
