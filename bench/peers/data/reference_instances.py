"""Runs create_pretraining_data.py of MLCommons' BERT reference, which is written for TensorFlow 1.15, on a newer one, and
prints its seconds without those of loading TensorFlow.

  reference_instances.py FOLDER TEXT VOCABULARY OUTPUT      FOLDER: retired_benchmarks/bert of mlcommons/training
"""

import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf

folder, text, vocabulary, output = sys.argv[1:]
sys.modules["tensorflow"] = tf
sys.path.insert(0, os.path.join(folder, "cleanup_scripts"))
import create_pretraining_data

flags = create_pretraining_data.FLAGS
flags(sys.argv[:1])
flags.input_file, flags.output_file, flags.vocab_file = text, output, vocabulary
flags.max_seq_length, flags.max_predictions_per_seq = 512, 76
begin = time.perf_counter()
create_pretraining_data.main(None)
print(time.perf_counter() - begin)
