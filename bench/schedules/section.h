// Types shared by the sections of the schedule benchmark.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/emulated/slow_link.h"
#include "config/run_config.h"
#include "device/backend.h"
#include "training/ranks/ranks.h"
#include "training/trace/timeline.h"

namespace strata::bench {

enum class Section : uint8_t { kDataParallel, kPipelines, kSharding, kModules };

struct ScheduleOptions {
  int steps = 5;                   // measured steps per schedule, after one not measured
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  std::optional<comm::Link> link;  // the emulated network; absent: the real one
  double sleeping_flops = 0;       // speed of sleeping_device.h; 0: device.backend
  std::filesystem::path timeline;  // shows the last step of every schedule; empty: none
  std::vector<Section> only = {Section::kDataParallel, Section::kPipelines, Section::kSharding,
                               Section::kModules};
  // Counts a section's schedules, or rounds through them.
  std::function<void(std::string_view section, size_t done, size_t total)> progress;
};

// A measured value and its closed form.
struct Compared {
  double measured = 0, formula = 0;

  double deviation() const { return formula != 0 ? measured / formula - 1 : 0; }
};

// A schedule that the ranks or the configuration do not allow.
struct Skipped {
  std::string name, reason;
};

inline constexpr int kUnmeasuredSteps = 1;

// Returns a sleeping device (sleeping_device.h), or null for 0: the configured one.
std::unique_ptr<device::Backend> device_asleep(double flops_per_second, bool resident = false);

struct SectionSetup {
  const config::RunConfig& config;
  const ScheduleOptions& options;
  const training::Ranks& ranks;
  const training::Ranks& network;  // the same ranks, over the emulated link if there is one
  training::Timeline& timeline;

  std::unique_ptr<device::Backend> make_device(bool resident = false) const {
    return device_asleep(options.sleeping_flops, resident);
  }
};

// Returns why this cannot run on so many ranks, naming the key and the reason.
std::optional<std::string> reason_to_skip(const config::RunConfig& config, int ranks);

}  // namespace strata::bench
