#include "search/jobs/train_jobs.h"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/range.h"
#include "base/threads/processors.h"
#include "config/run_config.h"

namespace strata::search {
namespace {

constexpr char kResults[] = "result.json", kMessages[] = "messages.txt";

// Returns the command that starts `ranks` ranks with the launcher of the MPI that this program was
// built with. scripts/mpirun.sh gives the same options.
std::vector<std::string> launcher_of_this_mpi(int ranks) {
  const char* named = std::getenv("STRATA_MPIRUN");
  std::vector<std::string> command = {named != nullptr ? named : "mpirun"};
  const auto add = [&](std::initializer_list<const char*> words) {
    command.insert(command.end(), words.begin(), words.end());
  };
#if defined(OPEN_MPI)
  add({"--oversubscribe", "--bind-to", "none"});
  if (::getuid() == 0) add({"--allow-run-as-root"});
  add({"--mca", "odls_base_sigkill_timeout", "0"});
#elif defined(I_MPI_VERSION)
  add({"-genv", "I_MPI_PIN", "0"});
#elif defined(MPICH_VERSION) || defined(MVAPICH_VERSION)
  add({"-bind-to", "none"});
#endif
  add({"-n"});
  command.push_back(std::to_string(ranks));
  return command;
}

std::string with_places(std::string word, int ranks, int slot) {
  const auto replace = [&](const std::string& place, int number) {
    for (size_t at = word.find(place); at != std::string::npos; at = word.find(place, at + 1)) {
      word.replace(at, place.size(), std::to_string(number));
    }
  };
  replace("{ranks}", ranks);
  replace("{slot}", slot);
  return word;
}

std::string last_line(const std::string& text, std::string_view with) {
  std::string found;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find(with) != std::string::npos && !line.empty()) found = line;
    begin = end + 1;
  }
  return found;
}

std::string text_of(const std::filesystem::path& file) {
  try {
    return read_file(file);
  } catch (const Error&) {
    return "";
  }
}

// Returns why a run failed, from its messages.
std::string complaint(const std::filesystem::path& messages, int exit_code) {
  const std::string text = text_of(messages);
  std::string line = last_line(text, "strata: ");
  if (line.empty()) line = last_line(text, "");
  if (line.empty()) line = "no message";
  return fmt::format("exit code {}: {} ({})", exit_code, line, messages.string());
}

}  // namespace

TrainJobs::TrainJobs(const SearchPlan& plan, TrainJobOptions options)
    : plan_(plan), options_(std::move(options)), under_way_(static_cast<size_t>(options_.slots)) {}

TrainJobs::~TrainJobs() {
  for (const UnderWay& slot : under_way_) {
    if (slot.job) slot.job->tell_to_end();
  }
}

std::filesystem::path TrainJobs::folder_of(const TrialRun& run) const {
  const std::string stage = run.stage == kFinals ? fmt::format("final_seed_{}", run.seed)
                                                 : fmt::format("rung_{}", run.stage);
  return options_.folder / fmt::format("trial_{:03}", run.trial) / stage;
}

std::vector<int> TrainJobs::processors_of(int slot) const {
  const std::vector<int> all = affinity();
  if (!options_.launcher.empty() || options_.slots == 1 || std::ssize(all) < options_.slots) {
    return {};
  }
  const auto count = static_cast<int64_t>(all.size());
  const Range share = even_part(count, slot, options_.slots);
  return {all.begin() + share.begin, all.begin() + share.end};
}

std::vector<std::string> TrainJobs::command_of(const TrialRun& run, const Settings& settings,
                                               int64_t samples, int slot) const {
  std::vector<std::string> command;
  for (const std::string& word : options_.launcher) {
    command.push_back(with_places(word, plan_.ranks, slot));
  }
  if (command.empty() && plan_.ranks > 1) command = launcher_of_this_mpi(plan_.ranks);
  std::vector<std::string> overrides = overrides_of(settings);
  const int64_t batch = config::global_batch_size(configuration_of(plan_, settings), plan_.ranks);
  // Every rung but the last has one evaluation, at the end of its samples.
  const auto last = static_cast<int>(plan_.rungs.size()) - 1;
  const bool one = run.stage < last;
  const int64_t before = last > 0 ? plan_.rungs[static_cast<size_t>(last) - 1] : 0;
  overrides.push_back(fmt::format("run.output={}", folder_of(run).string()));
  overrides.push_back(fmt::format("run.seed={}", run.seed));
  overrides.push_back("run.experiments=1");
  overrides.push_back(fmt::format("target.max_steps={}", (samples + batch - 1) / batch));
  overrides.push_back(
      fmt::format("target.eval_interval_samples={}", one ? samples : plan_.evaluate_every));
  overrides.push_back(fmt::format("target.start_eval_at_sample={}", one ? 0 : before));
  for (const std::string& word :
       {options_.strata.string(), std::string("train"), std::string("--config"),
        options_.config.string(), std::string("--json")}) {
    command.push_back(word);
  }
  for (const std::string& value : overrides) {
    command.emplace_back("--set");
    command.push_back(value);
  }
  return command;
}

void TrainJobs::start(const TrialRun& run, const Settings& settings, int64_t samples) {
  const auto free =
      std::ranges::find_if(under_way_, [](const UnderWay& slot) { return slot.job == nullptr; });
  const auto slot = static_cast<int>(free - under_way_.begin());
  const std::filesystem::path folder = folder_of(run);
  // Removes the results of a run that was killed or failed.
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  free->job = std::make_unique<Job>(command_of(run, settings, samples, slot),
                                    Job::Options{.out = folder / kResults,
                                                 .err = folder / kMessages,
                                                 .processors = processors_of(slot),
                                                 .inherited = options_.inherited});
  free->run = run;
  free->began = Clock::now();
}

RunResult TrainJobs::result_of(const TrialRun& run, int exit_code) const {
  RunResult result;
  const std::filesystem::path folder = folder_of(run);
  const auto results = nlohmann::json::parse(text_of(folder / kResults), nullptr, false);
  try {
    if (exit_code > 1) fail("{}", complaint(folder / kMessages, exit_code));
    const auto& run_result = results.at("experiments").at(0);
    result = {
        .ending = run_result.at("reached_target").get<bool>() ? Ending::kReached : Ending::kMissed,
        .accuracy = run_result.at("accuracy").get<double>(),
        .samples = run_result.at("samples").get<int64_t>(),
        .seconds = run_result.at("seconds").get<double>(),
        .log = run_result.at("log").get<std::string>()};
  } catch (const Error& error) {
    result.message = error.what();
  } catch (const nlohmann::json::exception&) {
    result.message = complaint(folder / kMessages, exit_code);
  }
  return result;
}

std::optional<TrialRunner::Ended> TrainJobs::poll() {
  for (UnderWay& slot : under_way_) {
    if (!slot.job) continue;
    const std::optional<int> exit_code = slot.job->exit_code();
    if (!exit_code && (options_.limit == 0 || seconds_since(slot.began) < options_.limit)) continue;
    slot.job.reset();  // ends the job if it has not ended
    if (exit_code) return Ended{slot.run, result_of(slot.run, *exit_code)};
    return Ended{
        slot.run,
        {.message = fmt::format("ended after {} s, the limit (--limit); its last message: {} ({})",
                                options_.limit, progress_of(slot.run),
                                (folder_of(slot.run) / kMessages).string())}};
  }
  return std::nullopt;
}

std::string TrainJobs::progress_of(const TrialRun& run) const {
  const std::string line = last_line(text_of(folder_of(run) / kMessages), "train: ");
  return line.substr(std::min(line.find(": ") + 2, line.size()));
}

}  // namespace strata::search
