"""Numbers of 8 bits as ml_dtypes rounds to them, for tests/device/float8_test.cc: prints float8.json.

Of both formats every code's value, and the codes of floats within the largest number: those half-way between two
neighbours, the floats next to these, and some spread over all. Needs numpy and ml_dtypes."""
import json

import ml_dtypes
import numpy as np

result = {}
for name, dtype, largest in (("e4m3", ml_dtypes.float8_e4m3fn, 448.0), ("e5m2", ml_dtypes.float8_e5m2, 57344.0)):
    codes = np.arange(256, dtype=np.uint8)
    values = codes.view(dtype).astype(np.float64)
    # Bit patterns of floats, ties and their neighbours among them.
    ties = np.unique(np.abs(values[np.isfinite(values)]))
    ties = ((ties[1:] + ties[:-1]) / 2).astype(np.float32).view(np.uint32)
    spread = np.arange(0, np.float32(largest).view(np.uint32), 2097143, dtype=np.uint32)
    bits = np.concatenate([ties, ties - 1, ties + 1, spread])
    bits = np.unique(np.concatenate([bits, bits | np.uint32(0x80000000)]))
    rounded = bits.view(np.float32).astype(dtype).view(np.uint8)
    result[name] = {"values": [str(v) for v in values], "bits": bits.tolist(), "codes": rounded.tolist()}
print(json.dumps(result))
