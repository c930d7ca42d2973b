// The smallest run for a measurement.
#pragma once

#include "config/run_config.h"

namespace strata::training {

inline config::RunConfig tiny_run(int micro_batch) {
  config::RunConfig config;
  config.model.config = "tiny";
  config.model.precision = config::Precision::kFp32;
  config.device.threads = 1;
  config.batch.micro_batch = micro_batch;
  return config;
}

}  // namespace strata::training
