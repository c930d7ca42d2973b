#include "compliance/checks/published_target.h"

#include "compliance/checks/rounds.h"

namespace strata::compliance {
namespace {

struct Target {
  std::string_view benchmark, since;  // since a round
  double accuracy;
};

// BERT's target in round 0.7 depends on the batch, so it is missing.
constexpr Target kTargets[] = {
    {"bert", "1.0.0", 0.720},         {"dlrm", "0.7.0", 0.8025},
    {"dlrm_dcnv2", "3.0.0", 0.80275}, {"deepseekv3_671b", "6.0.0", 3.6},
    {"flux1", "5.1.0", 0.586},        {"gnmt", "0.7.0", 0.24},
    {"gnn", "4.0.0", 0.72},           {"gpt3", "3.0.0", 2.69},
    {"gpt_oss_20b", "6.0.0", 3.34},   {"llama2_70b_lora", "4.0.0", 0.925},
    {"llama31_405b", "5.0.0", 5.6},   {"llama31_8b", "5.1.0", 3.3},
    {"minigo", "0.7.0", 0.5},         {"resnet", "0.7.0", 0.759},
    {"retinanet", "5.0.0", 0.34},     {"rgat", "5.0.0", 0.72},
    {"rnnt", "1.0.0", 0.058},         {"ssd", "0.7.0", 0.23},
    {"ssd", "2.0.0", 0.34},           {"transformer", "0.7.0", 0.25},
    {"unet3d", "1.0.0", 0.908},
};

}  // namespace

std::optional<double> published_target(std::string_view benchmark, std::string_view round) {
  std::optional<double> found;
  for (const Target& target : kTargets) {
    if (target.benchmark != benchmark) continue;
    if (round.empty() && found) return std::nullopt;
    if (round.empty() || compare_versions(target.since, round) <= 0) {
      found = target.accuracy;
    }
  }
  return found;
}

}  // namespace strata::compliance
