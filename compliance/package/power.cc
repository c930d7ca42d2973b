#include "compliance/package/power.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "base/files/files.h"
#include "base/text/counts.h"
#include "compliance/package/submission_tree.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// Counts the files whose names start with `prefix`, and checks that their numbers are 0 to n-1.
struct Numbered {
  size_t count = 0;
  bool complete = true;
};

Numbered number_files(const std::vector<fs::path>& all, std::string_view prefix) {
  Numbered found;
  std::set<long> numbers;
  for (const fs::path& file : all) {
    if (!file.filename().string().starts_with(prefix)) continue;
    ++found.count;
    const std::string stem = file.stem().string();
    const size_t underscore = stem.rfind('_');
    const char* first = stem.data() + (underscore == stem.npos ? 0 : underscore + 1);
    long number = -1;
    const auto [end, error] = std::from_chars(first, stem.data() + stem.size(), number);
    if (error != std::errc() || end != stem.data() + stem.size()) number = -1;
    found.complete = found.complete && number >= 0;
    numbers.insert(number);
  }
  found.complete = found.complete && numbers.size() == found.count &&
                   (numbers.empty() || *numbers.rbegin() == static_cast<long>(found.count) - 1);
  return found;
}

// Reports the runs whose number of files is not the most frequent one.
void check_equal(const std::map<std::string, size_t>& counts, std::string_view what,
                 PowerVerdict& verdict) {
  std::map<size_t, size_t> times;
  for (const auto& [run, count] : counts) ++times[count];
  size_t commonest = 0;
  size_t most = 0;
  for (const auto& [count, how_often] : times) {
    if (how_often > most) std::tie(commonest, most) = std::pair(count, how_often);
  }
  for (const auto& [run, count] : counts) {
    if (count == commonest) continue;
    verdict.failed_runs.insert(run);
    verdict.section.errors.push_back(
        fmt::format("{}: has {} {}, but the other runs have {}", run, count,
                    noun_of(count, fmt::format("{} file", what)), commonest));
  }
}

}  // namespace

PowerVerdict check_power(const fs::path& power_folder, const std::vector<fs::path>& logs) {
  PowerVerdict verdict;
  verdict.section.title = "Power";
  std::map<std::string, size_t> nodes;
  std::map<std::string, size_t> switches;
  size_t found = 0;  // power logs of all runs
  const auto fail_run = [&](const std::string& run, const std::string& reason) {
    verdict.failed_runs.insert(run);
    verdict.section.errors.push_back(fmt::format("{}: {}", run, reason));
  };
  for (const fs::path& log : logs) {
    const std::string run = log.stem().string();
    std::error_code error;
    if (!fs::is_directory(power_folder / run, error)) {
      const std::string what = what_is_at(power_folder / run);
      fail_run(run,
               fmt::format("has no power logs: {} is {}", (power_folder / run).string(), what));
      continue;
    }
    ListingProblems problems;
    const auto all = files(power_folder / run, &problems);
    if (!problems.empty()) fail_run(run, problems.front());
    for (const fs::path& file : all) {
      if (!fs::is_regular_file(file, error))
        fail_run(run,
                 fmt::format("{} is {}, not a log", file.filename().string(), what_is_at(file)));
    }
    const Numbered node = number_files(all, "node");
    const Numbered sw = number_files(all, "sw");
    if (all.size() > node.count + sw.count) {
      verdict.section.warnings.push_back(
          fmt::format("{}: has files that are neither node_N.txt nor sw_N.txt", run));
    }
    if (!node.complete)
      fail_run(run, fmt::format("the node files must be node_0 to node_{}", node.count - 1));
    if (!sw.complete)
      fail_run(run, fmt::format("the switch files must be sw_0 to sw_{}", sw.count - 1));
    found += node.count + sw.count;
    nodes[run] = node.count;
    switches[run] = sw.count;
  }
  verdict.section.judged = found > 0;
  if (found == 0) verdict.section.notes.push_back("no run has a power log node_N.txt or sw_N.txt");
  check_equal(nodes, "node", verdict);
  check_equal(switches, "switch", verdict);
  return verdict;
}

}  // namespace strata::compliance
