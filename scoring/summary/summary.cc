#include "scoring/summary/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/text/json.h"
#include "compliance/checks/rounds.h"
#include "compliance/package/scaling.h"
#include "mllog/python_digits.h"
#include "scoring/summary/description_text.h"
#include "scoring/summary/private_id.h"
#include "scoring/summary/workbook.h"
#include "scoring/table.h"

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Cells = std::vector<SummaryCell>;

constexpr const char* kMetrics[] = {"time_to_train",       "Energy", "GBS",
                                    "samples_to_converge", "RCP",    "rcp_scaling_factor"};
constexpr const char* kWeakMetrics[] = {"number_of_models", "instance_scale", "time_to_train_all"};

std::vector<std::string> columns(const Summary& summary, bool detailed, bool weak) {
  std::vector<std::string> names = {"division",
                                    "availability",
                                    "submitter",
                                    "system",
                                    "number_of_nodes",
                                    "host_processor_model_name",
                                    "host_processors_count",
                                    "accelerator_model_name",
                                    "accelerators_count",
                                    "framework",
                                    "notes",
                                    "private_id"};
  for (const std::string_view benchmark :
       compliance::round_benchmarks(summary.usage, summary.ruleset)) {
    if (weak) {
      for (const char* metric : kWeakMetrics)
        names.push_back(fmt::format("{}:{}", benchmark, metric));
    } else if (detailed) {
      for (const char* metric : kMetrics) names.push_back(fmt::format("{}:{}", benchmark, metric));
    } else {
      names.emplace_back(benchmark);
    }
  }
  names.emplace_back("details_url");
  names.emplace_back("code_url");
  return names;
}

// ---- Descriptions

const json& field(const json& description, const char* name) {
  const auto found = description.find(name);
  if (found == description.end()) fail("\"{}\" field missing", name);
  return *found;
}

// Returns Python's int() of a number or a text.
int64_t integer(const json& description, const char* name) {
  constexpr double kBeyond = 9.2e18;
  const json& value = field(description, name);
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number_float() && std::fabs(value.get<double>()) < kBeyond)
    return static_cast<int64_t>(value.get<double>());
  if (value.is_number_integer() &&
      !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)) {
    return value.get<int64_t>();
  }
  const auto digits =
      value.is_string() ? mllog::python_int(value.get<std::string>()) : std::nullopt;
  int64_t number = 0;
  if (!digits ||
      std::from_chars(digits->data(), digits->data() + digits->size(), number).ec != std::errc()) {
    fail("\"{}\" is {}, a whole number was expected", name, one_line(python_text(value), 80));
  }
  return number;
}

int64_t product(const json& description, const char* a, const char* b) {
  int64_t count = 0;
  if (__builtin_mul_overflow(integer(description, a), integer(description, b), &count))
    fail("\"{}\" times \"{}\" is too large", a, b);
  return count;
}

// Returns "TPUv3.8", which counts the halves of the chips, as the round's table names them.
std::string system_name(const json& description) {
  const std::string name = python_text(field(description, "system_name"));
  if (name != "tpu-v3") return name;
  return fmt::format("TPUv3.{}", 2 * integer(description, "accelerators_per_node"));
}

std::string framework(const json& description) {
  std::string name = python_text(field(description, "framework"));
  const size_t hash = name.find(" commit hash = ");
  if (name.find("TensorFlow") == name.npos || hash == name.npos) return name;
  return name.erase(hash, name.find('\n', hash) - hash);
}

std::string notes(const json& description) {
  std::string text;
  for (const char* name : {"hw_notes", "sw_notes"}) {
    const std::string one = python_text(field(description, name));
    if (!one.empty() && one != "None") text += (text.empty() ? "" : ";") + one;
  }
  return text;
}

// Returns the columns before the benchmarks.
Cells specifications(const json& description, const std::string& private_id) {
  const std::string accelerator = python_text(field(description, "accelerator_model_name"));
  field(description, "host_processor_core_count");
  return {python_text(field(description, "division")),
          python_text(field(description, "status")),
          python_text(field(description, "submitter")),
          system_name(description),
          python_text(field(description, "number_of_nodes")),
          python_text(field(description, "host_processor_model_name")),
          product(description, "host_processors_per_node", "number_of_nodes"),
          accelerator == "tpu-v3" ? "TPUv3" : accelerator,
          product(description, "accelerators_per_node", "number_of_nodes"),
          framework(description),
          notes(description),
          private_id};
}

Cells links(const json& description, const std::string& system, const Summary& summary) {
  std::string round = summary.ruleset;
  if (round.ends_with(".0")) round.resize(round.size() - 2);
  const std::string base =
      fmt::format("https://github.com/mlcommons/{}_results_v{}/blob", summary.usage, round);
  const std::string submitter = python_text(field(description, "submitter"));
  return {fmt::format("{}/main/{}/systems/{}.json", base, submitter, system),
          fmt::format("{}/master/{}/benchmarks", base, submitter)};
}

// ---- Scores

SummaryCell cell(std::optional<double> number) {
  return number ? SummaryCell(*number) : SummaryCell();
}

// Returns the mean without the extremes, however many runs there are.
std::optional<double> published_minutes(const Score& score) {
  std::vector<double> times;
  for (const RunScore& run : score.runs) {
    if (run.counts) times.push_back(run.time_to_train_ms / 60 / 1000);  // the official order
  }
  const auto mean = olympic_score(times, score.runs.size() - times.size(),
                                  compliance::dropped_runs(score.folder.benchmark));
  if (!mean) return std::nullopt;
  return *mean * score.committee_scaling;
}

std::string published_rcp(const Score& score) {
  const compliance::RcpVerdict& rcp = score.rcp;
  if (!score.held_to_rcp || !rcp.judged || rcp.two_sided) return "";
  if (rcp.passed) return "Pass";
  if (rcp.message == "RCP found") return "Fail";
  if (rcp.message == "RCP Interpolation") return "Interp. Fail";
  return rcp.message.find("Missing") != rcp.message.npos ? "Missing" : "Unknown state";
}

// Returns epochs or samples without the extremes. A run that did not converge is the slowest.
std::optional<double> published_samples(const Score& score) {
  std::vector<compliance::RunConvergence> runs;
  for (const RunScore& run : score.runs) runs.push_back(run.convergence);
  auto folder = compliance::combine(runs);
  if (!folder.enough || folder.epochs.size() < 3) return std::nullopt;
  std::sort(folder.epochs.begin(), folder.epochs.end());
  return compliance::olympic_mean(folder.epochs, 1);
}

Cells metrics(const Score* score) {
  if (score == nullptr) return {{}, {}, {}, {}, "", {}};
  const bool judged = score->held_to_rcp && score->rcp.judged && !score->rcp.two_sided;
  return {cell(published_minutes(*score)),
          cell(score->mean == Mean::kOlympic ? score->energy_joules : std::nullopt),
          cell(judged ? score->batch_size : std::nullopt),
          cell(judged ? published_samples(*score) : std::nullopt),
          published_rcp(*score),
          score->committee_scaling};
}

Cells weak_metrics(const Score* score) {
  if (score == nullptr || !score->weak) return {{}, {}, {}};
  const WeakScore& weak = *score->weak;
  return {
      static_cast<double>(weak.models),
      weak.instance_scale ? SummaryCell(static_cast<double>(*weak.instance_scale)) : SummaryCell(),
      weak.time_to_train_all_ms / 60 / 1000};
}

std::string benchmark_alias(const std::string& folder) {
  return folder == "mask" ? "maskrcnn" : folder;
}

// ---- Rows

using ScoresOf = std::map<std::tuple<fs::path, std::string, bool, std::string>, const Score*>;

void append(Cells& row, const Cells& cells) { row.insert(row.end(), cells.begin(), cells.end()); }

// Adds a system's row to each table that it belongs to.
void add_system(const fs::path& submitter, const std::string& system, const Cells& first,
                const Cells& last, const ScoresOf& scores, Summary& summary) {
  Cells strong = first, detailed = first, weak = first;
  for (const std::string_view benchmark :
       compliance::round_benchmarks(summary.usage, summary.ruleset)) {
    const auto score = [&](bool of_weak) -> const Score* {
      const auto found = scores.find({submitter, system, of_weak, std::string(benchmark)});
      return found == scores.end() ? nullptr : found->second;
    };
    const Cells cells = metrics(score(false));
    strong.push_back(cells.front());
    append(detailed, cells);
    append(weak, weak_metrics(score(true)));
  }
  for (Cells* row : {&strong, &detailed, &weak}) append(*row, last);
  std::error_code ignored;
  const fs::path folder = submitter / "results" / system;
  const bool hpc = summary.usage == "hpc";
  if (!hpc || fs::is_directory(folder / "strong", ignored)) {
    summary.strong.rows.push_back(std::move(strong));
    summary.detailed.rows.push_back(std::move(detailed));
  }
  if (hpc && fs::is_directory(folder / "weak", ignored))
    summary.weak.rows.push_back(std::move(weak));
}

json read_description(const fs::path& path) {
  constexpr uint64_t kMostBytes = 1 << 20;
  json description = json::parse(read_file(path, kMostBytes), nullptr, false);
  if (!description.is_object()) fail("{}: is not a JSON object", path.string());
  return description;
}

// Returns the system's private id. A system without one gets a new file, unless `ids` is null.
std::string private_id(const fs::path& folder, const json& description, const std::string& system,
                       PrivateIds* ids) {
  std::string id = read_private_id(folder);
  if (!id.empty() || ids == nullptr) return id;
  id = ids->id_of(description, system);
  write_private_id(folder, id);
  return id;
}

// Missing cells sort last.
bool comes_before(const Cells& a, const Cells& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const SummaryCell& x, const SummaryCell& y) {
                                        const bool no_x = x.index() == 0, no_y = y.index() == 0;
                                        return no_x || no_y ? !no_x && no_y : x < y;
                                      });
}

std::string text_of(const SummaryCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<int64_t>(&cell)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&cell)) return compliance::python_float(*number);
  return "";
}

json json_of(const SummaryCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<int64_t>(&cell)) return *count;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

std::string table_csv(const SummaryTable& table) {
  std::string text = official_csv_line(table.columns);
  for (const Cells& cells : table.rows) {
    Row row;
    for (const SummaryCell& cell : cells) row.push_back(text_of(cell));
    text += official_csv_line(row);
  }
  return text;
}

std::vector<const SummaryTable*> tables(const Summary& summary, bool detailed) {
  std::vector<const SummaryTable*> list;
  const SummaryTable& strong = detailed ? summary.detailed : summary.strong;
  if (!strong.rows.empty() || summary.weak.rows.empty()) list.push_back(&strong);
  if (!summary.weak.rows.empty()) list.push_back(&summary.weak);
  return list;
}

}  // namespace

Summary summarize(const std::vector<Score>& scores, bool make_private_ids) {
  Summary summary;
  ScoresOf found;
  std::vector<fs::path> submitters;
  for (const Score& score : scores) {
    const std::string path = score.folder.path.string();
    if (score.folder.submitter_path.empty()) {
      summary.left_out.push_back(path + ": is not in a submission");
      continue;
    }
    if (std::ranges::find(submitters, score.folder.submitter_path) == submitters.end())
      submitters.push_back(score.folder.submitter_path);
    if (score.ruleset.empty()) {
      summary.left_out.push_back(path + ": its round is unknown; give --ruleset");
      continue;
    }
    if (summary.ruleset.empty()) {
      summary.usage = score.usage;
      summary.ruleset = score.ruleset;
    }
    if (summary.usage != score.usage || summary.ruleset != score.ruleset) {
      fail("results of several rounds ({} {} and {} {}) do not fit in one table; give --ruleset",
           summary.usage, summary.ruleset, score.usage, score.ruleset);
    }
    const std::string benchmark = benchmark_alias(score.folder.benchmark);
    const auto& benchmarks = compliance::round_benchmarks(summary.usage, summary.ruleset);
    if (std::ranges::find(benchmarks, benchmark) == benchmarks.end()) {
      summary.left_out.push_back(fmt::format("{}: '{}' is not a benchmark of {} {}", path,
                                             one_line(benchmark), summary.usage, summary.ruleset));
      continue;
    }
    const bool weak = summary.usage == "hpc" && score.folder.weak_scaling;
    found[{score.folder.submitter_path, score.folder.system, weak, benchmark}] = &score;
  }
  if (submitters.empty()) fail("none of these is a submission (results/ beside systems/)");
  summary.strong.columns = columns(summary, false, false);
  summary.detailed.columns = columns(summary, true, false);
  summary.weak.columns = columns(summary, false, true);
  PrivateIds ids;
  for (const fs::path& submitter : submitters) {
    for (const fs::path& folder :
         compliance::subfolders(submitter / "results", &summary.left_out)) {
      const std::string system = folder.filename().string();
      try {
        const json description = read_description(submitter / "systems" / (system + ".json"));
        const std::string id =
            private_id(folder, description, system, make_private_ids ? &ids : nullptr);
        add_system(submitter, system, specifications(description, id),
                   links(description, system, summary), found, summary);
      } catch (const Error& error) {
        summary.left_out.push_back(fmt::format("{}: {}", folder.string(), error.what()));
      }
    }
  }
  for (SummaryTable* table : {&summary.strong, &summary.detailed, &summary.weak})
    std::ranges::stable_sort(table->rows, comes_before);
  return summary;
}

std::string summary_csv(const Summary& summary, bool detailed) {
  std::string text;
  for (const SummaryTable* table : tables(summary, detailed)) text += table_csv(*table);
  return text;
}

std::string summary_json(const Summary& summary, bool detailed) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const SummaryTable* table : tables(summary, detailed)) {
    for (const Cells& cells : table->rows) {
      nlohmann::ordered_json row;
      for (size_t i = 0; i < cells.size(); ++i) row[table->columns[i]] = json_of(cells[i]);
      rows.push_back(std::move(row));
    }
  }
  return json_text(rows, 2) + '\n';
}

std::string summary_xlsx(const Summary& summary, bool detailed) {
  std::vector<Sheet> sheets;
  for (const SummaryTable* table : tables(summary, detailed)) {
    std::map<std::string, Sheet> of_division;
    for (const char* division : {"closed", "open"}) of_division[division];
    for (const Cells& cells : table->rows) {
      const std::string division = text_of(cells.front());
      of_division[of_division.contains(division) ? division : "other"].rows.push_back(cells);
    }
    for (auto& [division, sheet] : of_division) {
      sheet.name = division + (table == &summary.weak ? " weak scaling" : "");
      sheet.columns = table->columns;
      sheets.push_back(std::move(sheet));
    }
  }
  return workbook(sheets);
}

std::string summary_text(const Summary& summary, bool detailed) {
  std::string text;
  for (const SummaryTable* table : tables(summary, detailed)) {
    size_t width = 0;
    for (const std::string& name : table->columns) width = std::max(width, name.size());
    for (const Cells& cells : table->rows) {
      if (!text.empty()) text += '\n';
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string value = text_of(cells[i]);
        if (!value.empty())
          text += fmt::format("{:<{}}  {}\n", table->columns[i], width, one_line(value, 2000));
      }
    }
  }
  return text;
}

}  // namespace strata::scoring
