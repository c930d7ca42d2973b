// A BERT log like Strata's, in pieces that a test can change.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace strata::testing {

// One event; `value` and `metadata` are JSON (metadata without its braces).
struct LogEvent {
  std::string key;
  std::string value = "null";
  std::string metadata;
  double time_ms = 0;
};

struct BertLog {
  std::vector<LogEvent> events;

  // Returns a log that passes in round 1.0 and later. In the closed division it also initialises
  // all weights (rounds 1.1-2.1).
  static BertLog passing(const std::string& division = "open", double accuracy = 0.7201) {
    BertLog log;
    const auto add = [&log](std::string key, std::string value = "null",
                            std::string metadata = "") {
      log.events.push_back({std::move(key), std::move(value), std::move(metadata)});
    };
    add("cache_clear", "true");
    add("init_start");
    add("submission_benchmark", "\"bert\"");
    add("submission_org", "\"Strata\"");
    add("submission_division", "\"" + division + "\"");
    add("submission_status", "\"onprem\"");
    add("submission_platform", "\"1 x CPU\"");
    for (const char* key :
         {"seed", "global_batch_size", "gradient_accumulation_steps", "opt_base_learning_rate",
          "opt_epsilon", "opt_lamb_epsilon", "opt_lamb_beta_1", "opt_lamb_beta_2",
          "opt_lamb_weight_decay_rate", "opt_learning_rate_training_steps",
          "opt_learning_rate_warmup_steps", "num_warmup_steps", "start_warmup_step",
          "train_samples", "eval_samples"}) {
      add(key, "1");
    }
    add("init_stop");
    add("run_start");
    add("block_start", "null", R"("first_epoch_num": 1, "epoch_count": 1)");
    add("epoch_start", "null", R"("epoch_num": 1)");
    add("eval_start", "null", R"("epoch_num": 640)");
    add("eval_stop", "null", R"("epoch_num": 640)");
    add("eval_accuracy", std::to_string(accuracy), R"("epoch_num": 640)");
    add("epoch_stop", "null", R"("epoch_num": 1)");
    add("block_stop", "null", R"("first_epoch_num": 1)");
    add("run_stop", "null", R"("status": "success")");
    double time_ms = 1'700'000'000'000;
    for (LogEvent& event : log.events) event.time_ms = time_ms += 1000;
    return log;
  }

  LogEvent& at(const std::string& key) {
    return *std::find_if(events.begin(), events.end(),
                         [&](const LogEvent& event) { return event.key == key; });
  }
  BertLog& without(const std::string& key) {
    std::erase_if(events, [&](const LogEvent& event) { return event.key == key; });
    return *this;
  }
  BertLog& set(const std::string& key, std::string value) {
    at(key).value = std::move(value);
    return *this;
  }
  BertLog& append(LogEvent event) {
    if (event.time_ms == 0) event.time_ms = events.back().time_ms + 1;
    events.push_back(std::move(event));
    return *this;
  }
  // Moves `key` directly before `before`.
  BertLog& move_before(const std::string& key, const std::string& before) {
    const LogEvent event = at(key);
    without(key);
    events.insert(std::find_if(events.begin(), events.end(),
                               [&](const LogEvent& other) { return other.key == before; }),
                  event);
    return *this;
  }

  static std::string line(const LogEvent& event) {
    return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " +
           std::to_string(static_cast<long long>(event.time_ms)) +
           ", \"event_type\": \"POINT_IN_TIME\", \"key\": \"" + event.key +
           "\", \"value\": " + event.value +
           ", \"metadata\": {\"file\": \"train.cc\", \"lineno\": 1" +
           (event.metadata.empty() ? "" : ", " + event.metadata) + "}}\n";
  }
  std::string text() const {
    std::string out;
    for (const LogEvent& event : events) out += line(event);
    return out;
  }
};

// A folder that is removed at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strata_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::filesystem::path& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace strata::testing
