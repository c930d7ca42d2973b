// Gathering and scattering rows.
#include <vector>

#include "device/reference/arguments.h"
#include "device/reference/operations.h"

namespace strata::device::reference {

void gather_rows(const GatherRows& op) {
  const Arguments arguments("gather_rows");
  const int64_t hidden = op.x.cols, count = op.y.rows;
  const ConstMatrix x = arguments.matrix("x", op.x, op.x.rows, hidden);
  const Matrix y = arguments.matrix("y", op.y, count, hidden);
  arguments.indices_or_none("rows", op.rows, count, x.rows);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t h = 0; h < hidden; ++h) y(i, h) = op.rows[i] < 0 ? 0 : x(op.rows[i], h);
  }
}

void scatter_add_rows(const ScatterAddRows& op) {
  const Arguments arguments("scatter_add_rows");
  const int64_t hidden = op.dx.cols, count = op.dy.rows;
  const ConstMatrix dy = arguments.matrix("dy", op.dy, count, hidden);
  const Matrix dx = arguments.matrix("dx", op.dx, op.dx.rows, hidden);
  arguments.indices_or_none("rows", op.rows, count, dx.rows);
  std::vector<bool> seen(dx.rows);
  for (int64_t i = 0; i < count; ++i) {
    if (op.rows[i] < 0) continue;
    arguments.require(!seen[op.rows[i]], "rows are distinct");
    seen[op.rows[i]] = true;
    for (int64_t h = 0; h < hidden; ++h) dx(op.rows[i], h) += dy(i, h);
  }
}

}  // namespace strata::device::reference
