// What the sections of the schedule benchmark share.
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
  int steps = 5;                   // measured of every order, after one that is not
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  std::optional<comm::Link> link;  // the emulated network; absent: the real one
  double sleeping_flops = 0;       // of a device that sleeps (sleeping_device.h); 0: device.backend
  std::filesystem::path timeline;  // of the last step of every order; empty: none
  std::vector<Section> only = {Section::kDataParallel, Section::kPipelines, Section::kSharding,
                               Section::kModules};
  // Of rounds through the orders of a section, or of its orders.
  std::function<void(std::string_view section, size_t done, size_t total)> progress;
};

// A value that was measured and its closed form.
struct Compared {
  double measured = 0, formula = 0;

  double deviation() const { return formula != 0 ? measured / formula - 1 : 0; }
};

// An order that ranks or configuration do not allow.
struct Skipped {
  std::string name, reason;
};

inline constexpr int kUnmeasuredSteps = 1;

// One that sleeps (sleeping_device.h); null for 0: the configured one.
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

// Why this cannot run on so many ranks, in words for people: the key and the reason.
std::optional<std::string> reason_to_skip(const config::RunConfig& config, int ranks);

}  // namespace strata::bench
