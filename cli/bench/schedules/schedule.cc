#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/schedules/schedule_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/bench/schedules/link_options.h"
#include "cli/bench/schedules/schedule_report.h"
#include "cli/bench/step/step_options.h"
#include "cli/options/config_options.h"
#include "cli/options/outputs.h"
#include "cli/output/progress.h"
#include "cli/output/write_json.h"
#include "cli/ranks.h"

namespace strata::cli {
namespace {

const std::map<std::string, bench::Section> kSections = {
    {"data_parallel", bench::Section::kDataParallel},
    {"pipelines", bench::Section::kPipelines},
    {"sharding", bench::Section::kSharding},
    {"modules", bench::Section::kModules}};

struct BenchScheduleOptions {
  ConfigOptions run;
  bench::ScheduleOptions benchmark;
  std::vector<std::string> only;
  LinkOptions link{.gigabits_per_second = 1};
  double sleeping_gigaflops = 0;
  bool json = false;
};

// Shows one line per section.
class SectionProgress {
 public:
  void update(std::string_view section, size_t done, size_t total) {
    if (section != section_) progress_.emplace(fmt::format("measuring {}", section));
    section_ = section;
    progress_->update(done, total);
  }

 private:
  std::string section_;
  std::optional<Progress> progress_;
};

}  // namespace

void add_bench_schedule(CLI::App& bench) {
  const auto options = std::make_shared<BenchScheduleOptions>();
  CLI::App* command = bench.add_subcommand(
      "schedule", "Measure every schedule over the same network, and compare it with closed forms");
  add_config_options(*command, options->run, ": model, precision, batch, optimizer, reduce",
                     "batch.gradient_accumulation_steps=4")
      ->required();
  add_step_options(*command, "Number of steps to measure for every order", options->benchmark.steps,
                   options->benchmark.micro_batch_tokens);
  add_link_options(*command, options->link, "Speed of the emulated link of every rank in Gbit/s")
      .speed->capture_default_str();
  command
      ->add_option(
          "--only", options->only,
          "Sections to measure: data_parallel, pipelines, sharding, modules (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(kSections))
      ->type_name("SECTION,...");
  add_sleep_option(*command, options->sleeping_gigaflops);
  names_output(command->add_option("--timeline", options->benchmark.timeline,
                                   "Write the last step of every order as Chrome trace JSON, for "
                                   "ui.perfetto.dev"),
               OutputKind::kFile);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(kScheduleColumns);
  command->callback([options] {
    on_all_ranks([&](const training::Ranks& ranks) {
      SectionProgress progress;
      bench::ScheduleOptions benchmark = options->benchmark;
      benchmark.link = options->link.link();
      if (!options->only.empty()) benchmark.only.clear();
      for (const std::string& section : options->only) {
        benchmark.only.push_back(kSections.at(section));
      }
      benchmark.sleeping_flops = 1e9 * options->sleeping_gigaflops;
      if (ranks.first()) {
        benchmark.progress = [&](std::string_view section, size_t done, size_t total) {
          progress.update(section, done, total);
        };
      }
      const auto config = options->run.load();
      refuse_to_replace(files_read(config), benchmark.timeline, "--timeline");
      const auto result = bench::benchmark_schedules(config, benchmark, ranks);
      if (!ranks.first()) return;
      if (options->json) {
        write_json(to_json(result));
      } else {
        print_tables(result);
      }
    });
  });
}

}  // namespace strata::cli
