#!/usr/bin/env python3
"""Losses and gradients of a tiny BERT, computed by PyTorch in double precision.

Needs torch, transformers and safetensors. Writes beside itself:

  bert_tiny.safetensors         weights in F32, under the names `transformers` gives them
  bert_tiny_config.json         the model's configuration
  bert_tiny_heads<N>.safetensors  for N = 1 and 2 attention heads: the batch, the losses, the gradients

A matrix G of gradients is kept as two products, `<name>.rows` = G v and `<name>.cols` = u^T G, where u
and v have the elements probe(i) below; a vector is kept whole. This keeps the files small, and a wrong
element still shows in both products.
"""

import json
import pathlib

import torch
import transformers
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
LENGTHS = [24, 9, 17, 1]
MASKED = [[3, 7, 8, 20], [5], [1, 2, 11], []]  # positions in each sample
IS_RIGHT = [True, False, False, True, True, False, True, False]  # whether the model is to predict it
NEXT_SENTENCE = [0, 1, 1, 0]
TIED = ["cls.predictions.decoder.weight", "cls.predictions.decoder.bias"]


def config(heads):
    return transformers.BertConfig(
        vocab_size=40, hidden_size=64, num_hidden_layers=2, num_attention_heads=heads,
        intermediate_size=32, max_position_embeddings=24, type_vocab_size=2, hidden_act="gelu",
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, layer_norm_eps=1e-12,
        attn_implementation="eager")


def random_weights():
    """F32 weights: attention is not uniform and no gradient vanishes, yet F32 keeps five digits."""
    generator = torch.Generator().manual_seed(20240)
    weights = {}
    for name, shape in parameters(transformers.BertForPreTraining(config(2))).items():
        noise = torch.randn(shape.shape, generator=generator, dtype=torch.float64)
        if name.endswith("LayerNorm.weight"):
            value = 1 + 0.2 * noise
        else:
            value = (0.1 if noise.dim() == 2 else 0.2) * noise
        weights[name] = value.float()
    return weights


def parameters(model):
    return {name: p for name, p in model.named_parameters() if name not in TIED}


def padded_batch():
    generator = torch.Generator().manual_seed(10)
    shape = (len(LENGTHS), max(LENGTHS))
    # Not 0, the padding token: PyTorch gives its embedding no gradient from where it is looked up.
    tokens = torch.randint(1, 40, shape, generator=generator)
    columns = torch.arange(shape[1])
    lengths = torch.tensor(LENGTHS)[:, None]
    present = columns < lengths
    segments = (columns >= lengths // 2).long() * present
    return {"input_ids": tokens * present, "attention_mask": present.long(),
            "token_type_ids": segments}


def choose_labels(scores):
    """Labels of the masked positions: the model's own prediction where IS_RIGHT, else its third choice."""
    labels = torch.full(scores.shape[:2], -100)
    places = [(b, p) for b, positions in enumerate(MASKED) for p in positions]
    for (b, p), right in zip(places, IS_RIGHT, strict=True):
        best = scores[b, p].topk(3)
        assert best.values[0] - best.values[1] > 0.02, "too close to call in low precision"
        labels[b, p] = best.indices[0 if right else 2]
    return labels


def probe(n):
    i = torch.arange(n)
    return (2 * ((i * 37 + 11) % 61) - 61).double() / 64


def packed(values, mask):
    return values[mask.bool()].int()


def golden(heads, weights):
    model = transformers.BertForPreTraining(config(heads)).double()
    with torch.no_grad():
        for name, parameter in parameters(model).items():
            parameter.copy_(weights[name].double())
    assert model.cls.predictions.decoder.weight is model.bert.embeddings.word_embeddings.weight
    batch = padded_batch()
    with torch.no_grad():
        labels = choose_labels(model(**batch).prediction_logits)
    next_sentence = torch.tensor(NEXT_SENTENCE)
    output = model(**batch, labels=labels, next_sentence_label=next_sentence)
    output.loss.backward()

    mask = batch["attention_mask"]
    is_masked = labels >= 0
    masked_loss = torch.nn.functional.cross_entropy(output.prediction_logits[is_masked],
                                                    labels[is_masked])
    next_loss = torch.nn.functional.cross_entropy(output.seq_relationship_logits, next_sentence)
    assert abs(masked_loss + next_loss - output.loss) < 1e-12
    correct = (output.prediction_logits[is_masked].argmax(-1) == labels[is_masked]).sum()
    next_correct = (output.seq_relationship_logits.argmax(-1) == next_sentence).sum()

    result = {
        "tokens": packed(batch["input_ids"], mask),
        "segments": packed(batch["token_type_ids"], mask),
        "lengths": torch.tensor(LENGTHS).int(),
        "masked_positions": packed(labels, mask).ge(0).nonzero()[:, 0].int(),
        "masked_ids": labels[is_masked].int(),
        "next_sentence": next_sentence.int(),
        "masked_loss": masked_loss.detach().reshape(1),
        "next_sentence_loss": next_loss.detach().reshape(1),
        "masked_correct": correct.int().reshape(1),
        "next_sentence_correct": next_correct.int().reshape(1),
    }
    for name, parameter in parameters(model).items():
        gradient = parameter.grad
        if gradient.dim() == 1:
            result[name] = gradient
        else:
            result[name + ".rows"] = gradient @ probe(gradient.shape[1])
            result[name + ".cols"] = probe(gradient.shape[0]) @ gradient
    print(f"heads {heads}: masked-LM loss {masked_loss:.6f}, {correct} of {is_masked.sum()} right; "
          f"next-sentence loss {next_loss:.6f}, {next_correct} of {len(NEXT_SENTENCE)} right")
    return {name: value.contiguous() for name, value in result.items()}


def main():
    weights = random_weights()
    save_file(weights, HERE / "bert_tiny.safetensors", metadata={"format": "pt"})
    keys = ["vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
            "intermediate_size", "max_position_embeddings", "type_vocab_size", "hidden_act",
            "hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps"]
    text = json.dumps({key: getattr(config(2), key) for key in keys}, indent=2) + "\n"
    (HERE / "bert_tiny_config.json").write_text(text)
    for heads in (1, 2):
        save_file(golden(heads, weights), HERE / f"bert_tiny_heads{heads}.safetensors")


if __name__ == "__main__":
    main()
