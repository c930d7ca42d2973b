#include "scoring/score_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/text/json_version.h"
#include "base/text/printable.h"
#include "compliance/package/report.h"
#include "scoring/minutes.h"
#include "scoring/system_names.h"
#include "scoring/table.h"

namespace strata::scoring {
namespace {

std::string_view mean_name(Mean mean) {
  return mean == Mean::kOlympic ? "olympic" : mean == Mean::kPlain ? "plain" : "none";
}

std::string minutes(std::optional<double> ms) {
  return ms ? fmt::format("{:.4f}", *ms / kMsPerMinute) : "-";
}

// Returns "-" if the system need not meet reference convergence.
std::string rcp_word(const Score& score) {
  return score.held_to_rcp ? std::string(compliance::word(score.rcp.outcome())) : "-";
}

// Returns, for each score, the folder that distinguishes its system from others of the same name.
std::vector<std::string> places_of(const std::vector<Score>& scores) {
  std::vector<const compliance::ResultFolder*> folders;
  for (const Score& score : scores) folders.push_back(&score.folder);
  return distinguishing_places(folders);
}

std::string in_place(const std::string& name, const std::string& place) {
  return place.empty() ? name : name + " in " + place;
}

std::string where(const Score& score, const std::string& place) {
  return in_place(fmt::format("{}/{}", score.folder.submitter, score.folder.place()), place);
}

// Notes: a heading, and the folders that it concerns.
using Notes = std::vector<std::pair<std::string, std::vector<std::string>>>;

void note(Notes& notes, const std::string& heading, std::string folder) {
  auto known = std::find_if(notes.begin(), notes.end(),
                            [&](const auto& entry) { return entry.first == heading; });
  if (known == notes.end()) known = notes.insert(notes.end(), {heading, {}});
  known->second.push_back(std::move(folder));
}

// Notes the runs of a folder that do not count, grouped by reason.
void note_runs(const Score& score, const std::string& place, Notes& notes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const RunScore& run : score.runs) {
    if (!run.counts) note(reasons, run.reason, run.log.filename().string());
  }
  for (const auto& [reason, runs] : reasons) {
    note(notes, "runs that do not count",
         fmt::format("{}: {}: {}", where(score, place), fmt::join(runs, ", "), reason));
  }
}

void note_times(const Score& score, const std::string& place, Notes& notes) {
  const auto odd = [](const RunScore& run) { return !run.odd_time.empty(); };
  const auto run = std::ranges::find_if(score.runs, odd);
  if (run == score.runs.end()) return;
  note(notes, "times that are not dates; the minutes are computed from them nevertheless",
       fmt::format("{}: {}: {} ({} of {} runs)", where(score, place), run->log.filename().string(),
                   run->odd_time, std::ranges::count_if(score.runs, odd), score.runs.size()));
}

void note_energy(const Score& score, const std::string& place, Notes& notes) {
  const auto run = std::find_if(score.runs.begin(), score.runs.end(),
                                [](const RunScore& one) { return !one.energy_problem.empty(); });
  if (run != score.runs.end())
    note(notes, "no energy, because it is unknown for a run that counts",
         fmt::format("{}: {}", where(score, place), run->energy_problem));
}

Notes notes_of(const std::vector<Score>& scores) {
  Notes notes;
  std::set<std::string> unusable;
  const std::vector<std::string> places = places_of(scores);
  for (size_t i = 0; i < scores.size(); ++i) {
    const Score& score = scores[i];
    const std::string& place = places[i];
    note_runs(score, place, notes);
    note_times(score, place, notes);
    if (!score.differing_settings.empty()) {
      note(notes, "runs with different settings, averaged nevertheless",
           fmt::format("{}: {}", where(score, place), fmt::join(score.differing_settings, ", ")));
    }
    if (score.mean == Mean::kPlain) {
      note(notes,
           "a plain mean instead of an olympic one, because there are fewer runs than a submission "
           "needs",
           fmt::format("{}: has {}, needs {}; {} {}", where(score, place), score.runs.size(),
                       score.runs_needed > 0 ? counted(score.runs_needed, "run") : "3 or more runs",
                       score.counting_runs(), score.counting_runs() == 1 ? "counts" : "count"));
    }
    if (score.weak || !score.weak_problem.empty()) {
      if (!score.weak) {
        note(notes, "no weak-scaling throughput",
             fmt::format("{}: {}", where(score, place), score.weak_problem));
      }
    } else if (score.mean == Mean::kNone) {
      note(notes, "no score, because too few runs count",
           fmt::format("{}: {} of {}", where(score, place), score.counting_runs(),
                       score.runs.size()));
    }
    if (const std::string& problem = score.system.problem;
        !problem.empty() && unusable.insert(problem).second) {
      note(notes, "system descriptions that cannot be used", problem);
    }
    if (!score.scaling_problem.empty()) {
      note(notes, "scaling.json not applied",
           fmt::format("{}: {}", where(score, place), score.scaling_problem));
    }
    note_energy(score, place, notes);
    if (score.held_to_rcp && score.rcp.outcome() == compliance::Outcome::kFailed) {
      note(notes, "convergence check failed",
           fmt::format("{}: {}", where(score, place), score.rcp.message));
    }
    if (score.rcp.judged && score.rcp.passed && score.rcp.scaling > 1) {
      note(notes, "converged faster than the reference mean, but not too fast",
           fmt::format("{}: RCP scaling {:.4f}", where(score, place), score.rcp.scaling));
    }
  }
  return notes;
}

// Sums up what the table shows for each folder.
std::string counts_text(const std::vector<Score>& scores) {
  size_t multiplied = 0;
  std::map<std::string, size_t> not_judged;  // by reason
  for (const Score& score : scores) {
    multiplied += score.committee_scaling != 1;
    if (score.held_to_rcp && score.rcp.outcome() == compliance::Outcome::kNotJudged)
      ++not_judged[score.rcp.message];
  }
  std::string text;
  if (multiplied > 0) {
    text += counted(multiplied, "folder") + ": minutes multiplied by the factor in scaling.json\n";
  }
  for (const auto& [reason, count] : not_judged)
    text += fmt::format("{}: convergence not judged: {}\n", counted(count, "folder"), reason);
  return text;
}

std::string notes_text(const std::vector<Score>& scores) {
  std::string text;
  std::set<std::string> no_rules;
  for (const Score& score : scores) {
    for (const RunScore& run : score.runs) {
      if (!run.not_judged.empty()) no_rules.insert(run.not_judged);
    }
  }
  for (const std::string& reason : no_rules) {
    text += fmt::format("not judged by rules, so a log counts if it says success: {}\n", reason);
  }
  for (const auto& [heading, items] : notes_of(scores)) {
    text += heading + ":\n";
    for (const std::string& item : items) text += "  " + one_line(item) + '\n';
  }
  return text + counts_text(scores);
}

nlohmann::json json_number(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json weak_json(const Score& score) {
  if (!score.weak) return nullptr;
  const auto& scale = score.weak->instance_scale;
  return {{"models", score.weak->models},
          {"instance_scale", scale ? nlohmann::json(*scale) : nlohmann::json()},
          {"time_to_train_all_ms", score.weak->time_to_train_all_ms}};
}

}  // namespace

namespace {

bool has_weak(const Score& score) { return score.weak || !score.weak_problem.empty(); }

// Returns a row per folder of weak scaling, or an empty text if there is none.
std::string weak_table(const std::vector<Score>& scores) {
  std::vector<Row> rows = {{"submitter", "system", "benchmark", "division", "accelerators",
                            "models", "accelerators per model", "minutes for all",
                            "models per minute", "RCP"}};
  const std::vector<std::string> places = places_of(scores);
  for (size_t i = 0; i < scores.size(); ++i) {
    const Score& score = scores[i];
    if (!has_weak(score)) continue;
    const auto& weak = score.weak;
    const auto count = [](std::optional<int64_t> number) {
      return number ? std::to_string(*number) : std::string("-");
    };
    const std::string rate =
        weak && weak->time_to_train_all_ms > 0
            ? rounded_text(
                  static_cast<double>(weak->models) * kMsPerMinute / weak->time_to_train_all_ms, 4)
            : "-";
    rows.push_back({score.folder.submitter, in_place(score.folder.system, places[i]),
                    score.folder.benchmark, score.system.division, count(score.system.accelerators),
                    weak ? std::to_string(weak->models) : "-",
                    count(weak ? weak->instance_scale : std::nullopt),
                    minutes(weak ? std::optional(weak->time_to_train_all_ms) : std::nullopt), rate,
                    rcp_word(score)});
  }
  return rows.size() == 1 ? "" : align(rows);
}

}  // namespace

std::string score_table(const std::vector<Score>& scores) {
  std::vector<Row> rows = {{"submitter", "system", "benchmark", "division", "accelerators", "runs",
                            "minutes", "factor", "RCP-scaled", "mean", "RCP", "batch",
                            "to converge", "seq/s/acc.", "energy kJ"}};
  const bool has_targets = std::ranges::any_of(
      scores, [](const Score& score) { return score.target && !has_weak(score); });
  constexpr std::ptrdiff_t kTargetColumn = 6;  // after "runs"
  if (has_targets) rows[0].insert(rows[0].begin() + kTargetColumn, "target");
  const std::vector<std::string> places = places_of(scores);
  for (size_t i = 0; i < scores.size(); ++i) {
    const Score& score = scores[i];
    if (has_weak(score)) continue;
    const auto& accelerators = score.system.accelerators;
    Row row = {score.folder.submitter,
               in_place(score.folder.system, places[i]),
               score.folder.benchmark,
               score.system.division,
               accelerators ? std::to_string(*accelerators) : "-",
               fmt::format("{}/{}", score.counting_runs(), score.runs.size()),
               minutes(score.time_to_train_ms),
               score.committee_scaling == 1 ? "-" : fmt::format("{:.4f}", score.committee_scaling),
               minutes(score.rcp_scaled_ms),
               std::string(mean_name(score.mean)),
               rcp_word(score),
               number_cell(score.batch_size, "{:.0f}"),
               number_cell(score.samples_to_converge, "{:.10g}"),
               number_cell(score.sequences_per_second_per_accelerator, "{:.1f}"),
               score.energy_joules ? fmt::format("{:.1f}", *score.energy_joules / 1000) : "-"};
    if (has_targets) row.insert(row.begin() + kTargetColumn, number_cell(score.target, "{:.6g}"));
    rows.push_back(std::move(row));
  }
  const std::string notes = notes_text(scores), weak = weak_table(scores);
  std::string text = rows.size() > 1 || weak.empty() ? align(rows) : "";
  if (!weak.empty()) text += fmt::format("{}weak scaling:\n{}", text.empty() ? "" : "\n", weak);
  return notes.empty() ? text : text + '\n' + notes;
}

std::string score_csv(const std::vector<Score>& scores) {
  std::string text =
      "submitter,system,benchmark,division,usage,ruleset,accelerator,accelerators,runs,runs_"
      "counting,mean,"
      "time_to_train_minutes,unscaled_minutes,rcp_scaled_minutes,scaling,rcp,rcp_scaling,rcp_"
      "message,global_batch_"
      "size,"
      "samples_to_converge,sequences_per_second,sequences_per_second_per_accelerator,energy_"
      "joules,models,instance_scale,time_to_train_all_minutes,target\n";
  const std::vector<std::string> places = places_of(scores);
  for (size_t i = 0; i < scores.size(); ++i) {
    const Score& score = scores[i];
    const auto to_minutes = [](std::optional<double> ms) {
      return ms ? std::optional<double>(*ms / kMsPerMinute) : std::nullopt;
    };
    const Row cells = {
        score.folder.submitter,
        in_place(score.folder.system, places[i]),
        score.folder.benchmark,
        score.system.division,
        score.usage,
        score.ruleset,
        score.system.accelerator,
        score.system.accelerators ? std::to_string(*score.system.accelerators) : "",
        std::to_string(score.runs.size()),
        std::to_string(score.counting_runs()),
        std::string(mean_name(score.mean)),
        csv_number(to_minutes(score.time_to_train_ms)),
        csv_number(to_minutes(score.unscaled_ms)),
        csv_number(to_minutes(score.rcp_scaled_ms)),
        csv_number(score.committee_scaling),
        score.held_to_rcp ? rcp_word(score) : "",
        csv_number(score.rcp.scaling),
        score.rcp.message,
        csv_number(score.batch_size),
        csv_number(score.samples_to_converge),
        csv_number(score.sequences_per_second),
        csv_number(score.sequences_per_second_per_accelerator),
        csv_number(score.energy_joules),
        score.weak ? std::to_string(score.weak->models) : "",
        score.weak && score.weak->instance_scale ? std::to_string(*score.weak->instance_scale) : "",
        csv_number(score.weak ? to_minutes(score.weak->time_to_train_all_ms) : std::nullopt),
        csv_number(score.target)};
    text += csv_line(cells);
  }
  return text;
}

std::string score_json(const std::vector<Score>& scores) {
  nlohmann::json out = nlohmann::json::array();
  for (const Score& score : scores) {
    nlohmann::json runs = nlohmann::json::array();
    for (const RunScore& run : score.runs) {
      runs.push_back(
          {{"log", run.log.string()},
           {"counts", run.counts},
           {"reason", run.reason},
           {"not_judged", run.not_judged},
           {"odd_time", run.odd_time},
           {"time_to_train_ms",
            run.counts ? nlohmann::json(run.time_to_train_ms) : nlohmann::json()},
           {"converged", run.convergence.converged},
           {"samples_to_converge",
            run.convergence.converged ? nlohmann::json(run.convergence.epochs) : nlohmann::json()},
           {"energy_joules", json_number(run.energy_joules)},
           {"energy_problem", run.energy_problem}});
    }
    const auto& accelerators = score.system.accelerators;
    out.push_back(
        {{"path", score.folder.path.string()},
         {"submitter", score.folder.submitter},
         {"system", score.folder.system},
         {"benchmark", score.folder.benchmark},
         {"division", score.system.division},
         {"usage", score.usage},
         {"ruleset", score.ruleset},
         {"ruleset_ground", score.ground},
         {"rules", compliance::rules_json(score.rules())},
         {"accelerator", score.system.accelerator},
         {"accelerators", accelerators ? nlohmann::json(*accelerators) : nlohmann::json()},
         {"runs", runs},
         {"runs_needed", score.runs_needed},
         {"mean", mean_name(score.mean)},
         {"time_to_train_ms", json_number(score.time_to_train_ms)},
         {"unscaled_ms", json_number(score.unscaled_ms)},
         {"rcp_scaled_ms", json_number(score.rcp_scaled_ms)},
         {"scaling", score.committee_scaling},
         {"scaling_problem", score.scaling_problem},
         {"rcp",
          {{"outcome", rcp_word(score)},
           {"points", score.rcp.points},
           {"points_sha256", score.rcp.points_sha256},
           {"judged", score.rcp.judged},
           {"passed", score.rcp.passed},
           {"message", score.rcp.message}}},
         {"target", json_number(score.target)},
         {"differing_settings", score.differing_settings},
         {"global_batch_size", json_number(score.batch_size)},
         {"samples_to_converge", json_number(score.samples_to_converge)},
         {"sequences_per_second", json_number(score.sequences_per_second)},
         {"sequences_per_second_per_accelerator",
          json_number(score.sequences_per_second_per_accelerator)},
         {"energy_joules", json_number(score.energy_joules)},
         {"weak", weak_json(score)},
         {"weak_problem", score.weak_problem}});
  }
  return json_text(nlohmann::json{{"version", kJsonVersion}, {"scores", out}}, 2) + '\n';
}

}  // namespace strata::scoring
