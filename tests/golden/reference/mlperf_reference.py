"""Writes mlperf_reference.*: what MLCommons' BERT reference itself makes of a small text and a small model.

  mlperf_reference.txt      raw text with the oddities that Wikipedia's has
  mlperf_reference.tfrecord the reference's instances of it, as create_pretraining_data.py writes them
  mlperf_reference.ckpt.*   random weights of the reference's graph, as TensorFlow saves them: variables, a few
                            optimizer slots, the step
  mlperf_reference.json     the instances as lists, the reference's losses and accuracy on them, and its losses in a few
                            steps of training

Needs tensorflow, tf_keras and mlperf-logging, and the folder retired_benchmarks/bert of
https://github.com/mlcommons/training:

  python mlperf_reference.py FOLDER
"""

import json
import os
import pathlib
import random
import sys
import tempfile
import types

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tensorflow.compat.v1 as tf

GOLDEN = pathlib.Path(__file__).parent
VOCABULARY = GOLDEN.parent / "data" / "wordpiece_vocab.txt"
MAX_LENGTH, MAX_PREDICTIONS, DUPE_FACTOR = 24, 4, 3
SEED = 12345
RATE, STEPS, WARMUP = 0.02, 12, 3  # of LAMB


def prepare_import(folder):
    """The reference is written for TensorFlow 1.15: gives it the names of that version."""
    tf.disable_v2_behavior()
    sys.modules["tensorflow"] = tf
    sharding = types.ModuleType("tensorflow.compiler.xla.experimental.xla_sharding")
    sharding.xla_sharding = None
    sys.modules[sharding.__name__] = sharding
    sys.path[:0] = [str(folder), str(folder / "cleanup_scripts")]


def text():
    rng = random.Random(7)
    words = "the and in one two world three don four love thing created God STOP yes earth firm heaven".split()
    lines = []
    for document in range(9):
        for _ in range(rng.randint(1, 9)):
            lines.append(" ".join(rng.choice(words) for _ in range(rng.randint(1, 14))) + rng.choice([".", "!", " ?"]))
        lines.append(["", " ", "\u00a0", "\u3000\t", "", "\n", "", "", ""][document])
    lines[1] = "  " + lines[1] + " \r"
    lines[2] = lines[2].replace("STOP", "ST\rOP", 1)  # TensorFlow drops it
    lines[3] = "\u200b\u0001"  # nothing is left of it, but it is no blank line
    lines[4] += " unknowable\ud7ff \u4e2d\u5929 na\u00efve 10TH\u2028love"
    return "\n".join(lines) + "\n"


def write_instances(records):
    import create_pretraining_data as creator

    flags = creator.FLAGS
    flags([sys.argv[0]])
    flags.input_file, flags.output_file = str(GOLDEN / "mlperf_reference.txt"), str(records)
    flags.vocab_file = str(VOCABULARY)
    flags.max_seq_length, flags.max_predictions_per_seq = MAX_LENGTH, MAX_PREDICTIONS
    flags.dupe_factor, flags.random_seed = DUPE_FACTOR, SEED
    creator.main(None)
    for flag in list(flags.flags_by_module_dict()[creator.__name__]):
        delattr(flags, flag.name)  # run_pretraining has flags of the same names


def read_instances(records):
    for record in tf.python_io.tf_record_iterator(str(records)):
        feature = tf.train.Example.FromString(record).features.feature
        lists = {name: list(feature[name].int64_list.value) for name in feature}
        length = sum(lists["input_mask"])
        masked = int(sum(feature["masked_lm_weights"].float_list.value))
        yield {
            "input_ids": lists["input_ids"][:length],
            "segment_ids": lists["segment_ids"][:length],
            "masked_lm_positions": lists["masked_lm_positions"][:masked],
            "masked_lm_ids": lists["masked_lm_ids"][:masked],
            "next_sentence_label": lists["next_sentence_labels"][0],
        }


def run_model(records, instances):
    """Losses and accuracy of the reference's graph on all samples, whose weights it saves; then its losses in STEPS
    steps of LAMB, each on all samples."""
    import modeling
    import optimization
    import run_pretraining

    samples = len(instances)
    ids = [id for instance in instances for id in instance["masked_lm_ids"]]
    config = modeling.BertConfig(
        vocab_size=len(VOCABULARY.read_text().splitlines()),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=1,
        intermediate_size=64,
        max_position_embeddings=MAX_LENGTH,
        type_vocab_size=2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    features = run_pretraining.input_fn_builder([str(records)], samples, MAX_LENGTH, MAX_PREDICTIONS, False)(
        {"batch_size": samples}
    )
    features = tf.data.make_one_shot_iterator(features).get_next()
    model = modeling.BertModel(
        config=config,
        is_training=False,
        input_ids=features["input_ids"],
        input_mask=features["input_mask"],
        token_type_ids=features["segment_ids"],
        # As on TPUs: else gradients of embeddings are clipped by a norm of terms that are not added up.
        use_one_hot_embeddings=True,
    )
    masked = run_pretraining.get_masked_lm_output(
        config,
        model.get_sequence_output(),
        model.get_embedding_table(),
        features["masked_lm_positions"],
        features["masked_lm_ids"],
        features["masked_lm_weights"],
    )
    next_sentence = run_pretraining.get_next_sentence_output(
        config, model.get_pooled_output(), features["next_sentence_labels"]
    )
    variables = tf.trainable_variables()
    frequencies = np.bincount(ids, minlength=config.vocab_size)
    rng = np.random.default_rng(3)
    kernel = next(v for v in variables if v.op.name.endswith("layer_0/attention/self/query/kernel"))
    slot = tf.get_variable(kernel.op.name + "/lamb_m", initializer=tf.zeros(kernel.shape))
    step = tf.train.create_global_step()
    train = optimization.create_optimizer(
        masked[0] + next_sentence[0], RATE, STEPS, WARMUP, False, "lamb", 1.0, 0, 1
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in variables:
            values = rng.normal(float(variable.op.name.endswith("gamma")), 0.3, variable.shape)
            if variable.op.name == "cls/predictions/output_bias":
                values += 2 * np.log1p(frequencies)  # so that some guesses are right
            variable.load(values.astype(np.float32), session)
        step.load(28252, session)
        checkpoint = tf.train.Saver(variables + [slot, step]).save(
            session, str(GOLDEN / "mlperf_reference.ckpt"), write_meta_graph=False, write_state=False
        )
        print("weights:", checkpoint)
        (loss, _, log_probabilities), (next_loss, _, next_log_probabilities), inputs = session.run(
            [masked, next_sentence, features]
        )
        step.load(0, session)
        losses = [
            [float(value) for value in session.run([masked[0], next_sentence[0], train])[:2]] for _ in range(STEPS)
        ]
    counted = inputs["masked_lm_weights"].reshape(-1) > 0
    right = log_probabilities.argmax(-1) == inputs["masked_lm_ids"].reshape(-1)
    next_right = next_log_probabilities.argmax(-1) == inputs["next_sentence_labels"].reshape(-1)
    evaluation = {
        "masked_lm_loss": float(loss),
        "masked_lm_correct": int((right & counted).sum()),
        "masked_lm_count": int(counted.sum()),
        "next_sentence_loss": float(next_loss),
        "next_sentence_correct": int(next_right.sum()),
    }
    training = {"rate": RATE, "steps": STEPS, "warmup_steps": WARMUP, "losses": losses}
    return evaluation, training


def main():
    (GOLDEN / "mlperf_reference.txt").write_text(text(), newline="")
    prepare_import(pathlib.Path(sys.argv[1]))
    records = GOLDEN / "mlperf_reference.tfrecord"
    write_instances(records)
    instances = list(read_instances(records))
    evaluation, training = run_model(records, instances)
    golden = {
        "max_length": MAX_LENGTH,
        "max_predictions": MAX_PREDICTIONS,
        "dupe_factor": DUPE_FACTOR,
        "seed": SEED,
        "evaluation": evaluation,
        "training": training,
    }
    lines = ",\n".join("  " + json.dumps(instance) for instance in instances)
    head = json.dumps(golden, indent=1)[:-2]
    (GOLDEN / "mlperf_reference.json").write_text(head + ',\n "instances": [\n' + lines + "\n ]\n}\n")


if __name__ == "__main__":
    main()
