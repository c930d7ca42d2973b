"""Shared by pytorch_step.py and pytorch_train.py: transformers' BERT with SDPA, losses under bf16 autocast, clip_grad_norm_,
fused AdamW."""
import torch
from transformers import BertConfig


def config_of(model):
    """Returns the configuration of bert-large or of a config.json."""
    if model == "bert-large":
        config = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096,
                            hidden_act="gelu_pytorch_tanh")
    else:
        config = BertConfig.from_json_file(model)
    config._attn_implementation = "sdpa"
    return config


def autocast(device, enabled=True):
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled)


def scores(model, inputs, where):
    """Returns scores of the vocabulary at masked positions, and of the next sentence."""
    encoded = model.bert(**inputs)
    return (model.cls.predictions(encoded.last_hidden_state[where[0], where[1]]),
            model.cls.seq_relationship(encoded.pooler_output))


def update(model, optimizer, max_norm):
    """Updates the weights by the gradients, and removes these. Returns the gradients' norm before clipping."""
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm
