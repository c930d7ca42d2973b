#include "tests/cli/small_benchmark.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/files/files.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

// Every other word is the same, so that the model soon learns to predict it.
std::string some_text() {
  std::string text;
  for (int document = 0; document < 40; ++document) {
    for (int sentence = 0; sentence < 6; ++sentence) {
      for (int word = 0; word < 4 + (document + sentence) % 5; ++word) {
        text += fmt::format("and {} ", static_cast<char>('a' + (document * 7 + word * 3) % 26));
      }
      text += "\n";
    }
    text += "\n";
  }
  return text;
}

std::string small_vocabulary() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nand\n";
  for (char letter = 'a'; letter <= 'z'; ++letter) text += std::string(1, letter) + "\n";
  return text;
}

constexpr char kModel[] = R"({"vocab_size": 32, "hidden_size": 64, "num_hidden_layers": 2,
  "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 48,
  "type_vocab_size": 2, "hidden_act": "gelu"})";

constexpr char kRun[] = R"(run:
  system: small
  output: out
  seed: 4
model:
  config: model.json
  vocab: vocab.txt
  precision: fp32
device:
  threads: 1
data:
  train: data/train.hdf5
  eval: data/eval.hdf5
batch:
  micro_batch: 4
  load_balance:
    strata: [16, 32, 48]
optimizer:
  lr: 2e-4
lr_schedule:
  warmup_steps: 5
  training_steps: 400
initialization:
  clear_whole_cache: false
target:
  masked_lm_accuracy: 0.4
  eval_interval_samples: 16
)";

fs::path fresh_directory() {
  std::string name = (fs::temp_directory_path() / "strata-cli.XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
  return name;
}

}  // namespace

SmallBenchmark::SmallBenchmark() : directory_(fresh_directory()) {
  write_file_atomically(path("text.txt"), some_text());
  write_file_atomically(path("vocab.txt"), small_vocabulary());
  write_file_atomically(path("model.json"), kModel);
  write_file_atomically(path("run.yaml"), kRun);
  const ProcessResult made =
      strata({"data", "prepare", "--text", path("text.txt"), "--vocab", path("vocab.txt"), "--out",
              path("data"), "--max-length", "48", "--max-predictions", "8", "--eval-every", "10",
              "--dupe-factor", "3", "--threads", "1"});
  if (made.exit_code != 0) throw std::runtime_error(made.err);
}

SmallBenchmark::~SmallBenchmark() {
  std::error_code error;
  fs::remove_all(directory_, error);
}

std::vector<std::string> SmallBenchmark::command(const std::vector<std::string>& arguments,
                                                 int ranks) const {
  std::vector<std::string> all;
  if (ranks > 1) all = {kMpirun, "-n", std::to_string(ranks)};
  all.push_back(kStrata);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

ProcessResult SmallBenchmark::strata(const std::vector<std::string>& arguments, int ranks,
                                     const ProcessOptions& options) const {
  ProcessOptions with_ranks = options;
  // Open MPI keeps some memory until the process ends.
  if (ranks > 1) with_ranks.environment["ASAN_OPTIONS"] = "detect_leaks=0";
  return run(command(arguments, ranks), with_ranks);
}

std::vector<std::string> SmallBenchmark::train(const std::vector<std::string>& more) const {
  std::vector<std::string> arguments{"train", "--config", path("run.yaml")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

fs::path SmallBenchmark::result(const std::string& name) const {
  return directory_ / "out/Strata/results/small/bert" / name;
}

fs::path SmallBenchmark::system_description() const {
  return directory_ / "out/Strata/systems/small.json";
}

std::vector<Event> SmallBenchmark::events(const fs::path& log) const {
  const std::string text = fs::exists(log) ? read_file(log) : "";
  EXPECT_TRUE(text.empty() || text.back() == '\n') << log << " ends inside a line";
  return parse(text);
}

std::vector<Event> SmallBenchmark::events_so_far() const {
  std::ifstream log(result("result_0.txt"));  // may be removed at any moment
  std::string text(std::istreambuf_iterator<char>(log), {});
  text.resize(text.rfind('\n') + 1);
  return parse(text);
}

std::vector<Event> SmallBenchmark::parse(const std::string& text) {
  std::vector<Event> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kToken = ":::MLLOG ";
    EXPECT_TRUE(line.starts_with(kToken)) << line;
    result.push_back(nlohmann::json::parse(line.substr(kToken.size()), nullptr, false));
    EXPECT_FALSE(result.back().is_discarded()) << line;
  }
  return result;
}

std::vector<std::string> SmallBenchmark::output_files() const {
  std::vector<std::string> files;
  if (!fs::exists(directory_ / "out")) return files;
  for (const auto& entry : fs::recursive_directory_iterator(directory_ / "out")) {
    if (!entry.is_directory()) {
      files.push_back(entry.path().lexically_relative(directory_ / "out").string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<nlohmann::json> values_of(const std::vector<Event>& events, const std::string& key) {
  std::vector<nlohmann::json> values;
  for (const Event& event : events) {
    if (event.at("key") == key) values.push_back(event.at("value"));
  }
  return values;
}

std::string timeline(const std::vector<Event>& events) {
  std::string keys;
  for (const Event& event : events) {
    const std::string key = event.at("key");
    if (event.at("event_type") == "POINT_IN_TIME" && key != "eval_accuracy" &&
        key != "cache_clear") {
      continue;
    }
    if (!keys.empty()) keys += ' ';
    keys += key;
  }
  return keys;
}

bool ends_with_run_stop(const std::vector<Event>& events, const std::string& status) {
  return !events.empty() && events.back().at("key") == "run_stop" &&
         events.back().at("metadata").at("status") == status;
}

void expect_refusal(const ProcessResult& result, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_FALSE(result.timed_out);
  std::vector<std::string> messages;
  std::istringstream lines(result.err);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("strata: ")) messages.push_back(line);
  }
  ASSERT_EQ(messages.size(), 1u) << result.err;
  for (const std::string& part : parts) {
    EXPECT_THAT(messages[0], HasSubstr(part)) << "'" << part << "' is not in: ";
  }
}

}  // namespace strata::cli
