#include "device/reference/float8.h"

#include "device/reference/operations.h"

namespace strata::device::reference {

void float8_update(const Float8Update& op) {
  for (int64_t i = 0; i < op.count; ++i) {
    update_float8_scale(op.limit, op.largest[i], op.history + i * kFloat8History,
                        op.scales + 2 * i);
  }
}

}  // namespace strata::device::reference
