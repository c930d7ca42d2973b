// The smallest run that a measurement can take.
#pragma once

#include "config/run_config.h"

namespace strata::harness {

inline RunConfig tiny_run(int micro_batch) {
  RunConfig config;
  config.model.config = "tiny";
  config.model.precision = Precision::kFp32;
  config.device.threads = 1;
  config.batch.micro_batch = micro_batch;
  return config;
}

}  // namespace strata::harness
