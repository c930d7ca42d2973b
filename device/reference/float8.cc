#include "device/reference/float8.h"

#include <algorithm>

#include "device/reference/operations.h"

namespace strata::device::reference {

void float8_update(const Float8Update& op) {
  for (int64_t i = 0; i < op.count; ++i) {
    float* history = op.history + i * kFloat8History;
    std::copy_backward(history, history + kFloat8History - 1, history + kFloat8History);
    history[0] = op.largest[i];
    op.largest[i] = 0;
    const float scale =
        float8_scale(op.limit, *std::max_element(history, history + kFloat8History));
    op.scales[2 * i] = scale;
    op.scales[2 * i + 1] = 1 / scale;
  }
}

}  // namespace strata::device::reference
