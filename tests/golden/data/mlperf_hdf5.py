"""Writes mlperf_fixed.hdf5, mlperf_varlen.hdf5 and mlperf_hdf5.json: the same samples as h5py writes them in
MLPerf's two forms, with the types submitters use, and as plain lists.

  python mlperf_hdf5.py
"""

import json
import pathlib

import h5py
import numpy as np

MAX_LENGTH = 16
MAX_PREDICTIONS = 4
FIRST = [5, 9, 3]
LENGTHS = [9, 16, 5]
POSITIONS = [[1, 3], [2, 4, 11, 14], [1]]
LABELS = [0, 1, 1]


def samples():
    for i, length in enumerate(LENGTHS):
        tokens = [101] + [(1000 + 977 * i + 131 * j) % 30522 for j in range(1, length)]
        tokens[FIRST[i] - 1] = tokens[-1] = 102
        yield {
            "input_ids": tokens,
            "segment_ids": [0] * FIRST[i] + [1] * (length - FIRST[i]),
            "masked_lm_positions": POSITIONS[i],
            "masked_lm_ids": [(29000 + 411 * i + 17 * p) % 30522 for p in POSITIONS[i]],
        }


def write_fixed(path, rows):
    def padded(name, columns):
        return [row[name] + [0] * (columns - len(row[name])) for row in rows]

    mask = [[1] * length + [0] * (MAX_LENGTH - length) for length in LENGTHS]
    columns = {
        "input_ids": (padded("input_ids", MAX_LENGTH), "i4"),
        "input_mask": (mask, "i1"),
        "segment_ids": (padded("segment_ids", MAX_LENGTH), "i1"),
        "masked_lm_positions": (padded("masked_lm_positions", MAX_PREDICTIONS), "i4"),
        "masked_lm_ids": (padded("masked_lm_ids", MAX_PREDICTIONS), "i4"),
        "next_sentence_labels": (LABELS, "i1"),
    }
    with h5py.File(path, "w") as file:
        for name, (values, dtype) in columns.items():
            file.create_dataset(name, data=np.array(values), dtype=dtype, compression="gzip")


def write_variable(path, rows):
    dtypes = {"input_ids": "i2", "segment_ids": "i1", "masked_lm_positions": "i2", "masked_lm_ids": "i2"}
    with h5py.File(path, "w") as file:
        for name, dtype in dtypes.items():
            data_set = file.create_dataset(name, (len(rows),), dtype=h5py.vlen_dtype(np.dtype(dtype)))
            for i, row in enumerate(rows):
                data_set[i] = row[name]
        file.create_dataset("next_sentence_labels", data=np.array(LABELS), dtype="i1")


def main():
    folder = pathlib.Path(__file__).parent
    rows = list(samples())
    write_fixed(folder / "mlperf_fixed.hdf5", rows)
    write_variable(folder / "mlperf_varlen.hdf5", rows)
    for row, label in zip(rows, LABELS):
        row["next_sentence_label"] = label
    lines = ",\n".join(json.dumps(row) for row in rows)
    (folder / "mlperf_hdf5.json").write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    main()
