#include "compliance/review/unlike_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace strata::compliance {

std::vector<ReviewFinding> review_settings(std::span<const RunSettings> runs,
                                           std::optional<double> published) {
  struct Question {
    SettingKind kind;
    const char* id;
    const char* what;
  };
  constexpr Question kQuestions[] = {
      {SettingKind::kTarget, "review/runs/target", "targets"},
      {SettingKind::kHyperparameter, "review/runs/settings", "hyperparameters"},
      {SettingKind::kData, "review/runs/data", "data"}};
  std::vector<ReviewFinding> findings;
  const auto differing = differing_settings(runs);
  for (const Question& question : kQuestions) {
    std::vector<std::string> texts;
    std::filesystem::path log;
    for (const DifferingSetting& setting : differing) {
      if (setting.kind != question.kind) continue;
      texts.push_back(setting.describe());
      if (log.empty()) log = setting.log;
    }
    if (texts.empty()) continue;
    findings.push_back(
        {question.id,
         fmt::format("the runs of this folder have different {}: {}; their mean does "
                     "not describe one system",
                     question.what, fmt::join(texts, ", ")),
         log, 0});
  }
  if (!published) return findings;
  size_t others = 0;
  const RunSettings* first = nullptr;
  for (const RunSettings& run : runs) {
    const auto target = run.target();
    if (!target || *target == *published) continue;
    if (others++ == 0) first = &run;
  }
  if (first == nullptr) return findings;
  findings.push_back(
      {"review/runs/target",
       fmt::format(
           "the run was trained to the target {}, but the benchmark's target is {} ({} of {} logs)",
           *first->target(), *published, others, runs.size()),
       first->log, 0});
  return findings;
}

}  // namespace strata::compliance
