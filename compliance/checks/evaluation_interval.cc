#include "compliance/checks/evaluation_interval.h"

namespace strata::compliance {

int64_t mlperf_evaluation_interval(int64_t global_batch_size) {
  // 0.05 * (230.23 b + 3e6) / 25000 = (23023 b + 3e8) / 5e7.
  return (23023 * global_batch_size + 300'000'000) / 50'000'000 * 25'000;
}

}  // namespace strata::compliance
