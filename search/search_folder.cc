#include "search/search_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/json.h"
#include "config/run_config.h"

namespace strata::search {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

fs::path plan_in(const fs::path& folder) { return folder / "plan.json"; }

// Returns the plan without the configuration, which has its own file.
ordered_json to_json(const SearchPlan& plan) {
  ordered_json space = ordered_json::array();
  for (const Dimension& dimension : plan.space) {
    space.push_back({{"key", dimension.key},
                     {"distribution", name_of(dimension.distribution)},
                     {"choices", dimension.choices},
                     {"low", dimension.low},
                     {"high", dimension.high},
                     {"when", to_json(dimension.when)}});
  }
  return {{"ranks", plan.ranks},
          {"seed", plan.seed},
          {"objective", name_of(plan.objective)},
          {"rungs.trials", plan.trials},
          {"rungs.eta", plan.eta},
          {"rungs.samples", plan.rungs},
          {"evaluate_every_samples", plan.evaluate_every},
          {"finals.trials", plan.finalists},
          {"finals.seeds", plan.seeds},
          {"finals.samples", plan.final_samples},
          {"space", space}};
}

ordered_json read_plan_file(const fs::path& folder) {
  ordered_json plan = ordered_json::parse(read_file(plan_in(folder)), nullptr, false);
  if (!plan.is_object()) {
    fail("{}: is not a search plan; name a folder that 'strata search' made",
         plan_in(folder).string());
  }
  return plan;
}

void check_same(const fs::path& folder, const SearchPlan& plan) {
  std::vector<std::string> differing;
  const ordered_json before = read_plan_file(folder), now = to_json(plan);
  for (const auto& [key, value] : now.items()) {
    if (before.value(key, ordered_json()) != value) differing.push_back(key);
  }
  const config::RunConfig base = config::load_run_config(configuration_in(folder));
  for (const std::string& line : config::differences(base, configuration_of(plan))) {
    differing.push_back(line);
  }
  if (differing.empty()) return;
  fail("{}: the search in this folder has another plan; name another folder. Differences: {}",
       folder.string(), fmt::join(differing, "; "));
}

// Refuses runs of another search, because they would take part in this one.
void check_runs(const TrialLog& log, const SearchPlan& plan, const fs::path& folder) {
  for (const auto& [run, finished] : log.runs()) {
    const bool is_drawn = run.trial >= kBaseTrial && run.trial <= plan.trials;
    if (is_drawn && finished.settings == settings_of(plan, run.trial)) continue;
    fail("{}: {}, trial {}: {}; remove the line, or name another folder",
         trial_log_in(folder).string(), name_of_stage(run.stage), run.trial,
         !is_drawn
             ? std::string("the plan has no such trial")
             : fmt::format("its settings ({}) differ from those of the plan ({})",
                           to_text(finished.settings), to_text(settings_of(plan, run.trial))));
  }
}

fs::path made(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("{}: cannot be created: {}", folder.string(), error.message());
  return fs::absolute(folder).lexically_normal();
}

}  // namespace

SearchFolder::SearchFolder(fs::path folder, const SearchPlan& plan)
    : folder_(made(folder)), lock_(folder_), log_(trial_log_in(folder_)) {
  remove_leftovers(folder_);
  // The plan is written last, so its presence shows that the folder is complete.
  if (fs::exists(plan_in(folder_))) {
    check_same(folder_, plan);
    check_runs(log_, plan, folder_);
    return;
  }
  if (!log_.runs().empty()) {
    fail("{}: has runs of a search, but no plan.json; name another folder", folder_.string());
  }
  const std::string base = config::to_yaml(configuration_of(plan));
  if (exists_or_is_link(configuration()) && read_file(configuration()) != base) {
    fail("{}: exists already and does not belong to a search; move it away, or name another folder",
         configuration().string());
  }
  write_file_atomically(configuration(), base);
  write_file_atomically(plan_in(folder_), json_text(to_json(plan), 2) + "\n");
}

fs::path SearchFolder::plan() const { return plan_in(folder_); }

void SearchFolder::write_winner(const Settings& settings, const std::string& comment) const {
  std::string text = "# " + comment + "\n";
  for (size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    text.insert(at + 1, "# ");
  }
  write_file_atomically(winner(), text + config::to_yaml(config::load_run_config(
                                             configuration(), overrides_of(settings))));
}

fs::path configuration_in(const fs::path& folder) { return folder / "base.yaml"; }

fs::path trial_log_in(const fs::path& folder) { return folder / "trials.jsonl"; }

SearchPlan read_plan(const fs::path& folder) {
  const ordered_json object = read_plan_file(folder);
  SearchPlan plan;
  try {
    plan.seed = object.at("seed").get<uint64_t>();
    plan.objective = object.at("objective") == name_of(Objective::kSeconds) ? Objective::kSeconds
                                                                            : Objective::kSamples;
    plan.trials = object.at("rungs.trials").get<int>();
    plan.eta = object.at("rungs.eta").get<int>();
    plan.rungs = object.at("rungs.samples").get<std::vector<int64_t>>();
    plan.finalists = object.at("finals.trials").get<int>();
    plan.seeds = object.at("finals.seeds").get<int>();
  } catch (const nlohmann::json::exception& error) {
    fail("{}: is not a search plan ({})", plan_in(folder).string(), error.what());
  }
  if (plan.trials < 0 || plan.eta < 1 || plan.rungs.empty() || plan.seeds < 0) {
    fail("{}: is not a search plan", plan_in(folder).string());
  }
  return plan;
}

}  // namespace strata::search
