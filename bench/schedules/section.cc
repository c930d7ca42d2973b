#include "bench/schedules/section.h"

#include "base/error.h"
#include "bench/devices/sleeping_device.h"
#include "config/run_config_checks.h"
#include "training/factories/checks.h"
#include "training/factories/model.h"

namespace strata::bench {

std::unique_ptr<device::Backend> device_asleep(double flops_per_second, bool resident) {
  if (flops_per_second == 0) return nullptr;
  return make_sleeping_device(flops_per_second, resident);
}

std::optional<std::string> reason_to_skip(const config::RunConfig& config, int ranks) {
  const auto conflicts = config::conflicts_in(config, [](const std::string&) { return ""; });
  if (!conflicts.empty()) return conflicts.front().substr(conflicts.front().find(": ") + 2);
  try {
    training::check_stages(config, training::make_bert_config(config), ranks);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace strata::bench
