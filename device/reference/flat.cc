// Conversion, norms and clipping over flat ranges of any dtype.
#include <algorithm>
#include <cmath>

#include "device/plain/element.h"
#include "device/reference/arguments.h"
#include "device/reference/operations.h"

namespace strata::device::reference {

using plain::load;
using plain::store;

void convert(const Convert& op) {
  const Arguments arguments("convert");
  arguments.range("source", op.source, op.source.size());
  arguments.range("destination", op.destination, op.source.size());
  for (int64_t i = 0; i < op.source.size(); ++i) {
    store(op.destination, i, op.scale * load(op.source, i));
  }
}

void l2_norm_squared(const L2NormSquared& op) {
  const Arguments arguments("l2_norm_squared");
  arguments.require(op.norm_squared != nullptr, "norm_squared is given");
  arguments.range("x", op.x, op.x.size());
  double sum = 0;
  for (int64_t i = 0; i < op.x.size(); ++i) sum += load(op.x, i) * load(op.x, i);
  *op.norm_squared += sum;
}

void clip_to_norm(const ClipToNorm& op) {
  const Arguments arguments("clip_to_norm");
  arguments.require(op.norm_squared != nullptr, "norm_squared is given");
  arguments.range("x", op.x, op.x.size());
  if (op.destination) arguments.range("destination", op.destination, op.x.size());
  const Tensor& destination = op.destination ? op.destination : op.x;
  const double scale = std::min(1.0, op.max_norm / std::sqrt(*op.norm_squared));
  for (int64_t i = 0; i < op.x.size(); ++i) store(destination, i, scale * load(op.x, i));
}

}  // namespace strata::device::reference
