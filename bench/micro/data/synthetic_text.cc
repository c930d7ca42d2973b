#include "bench/micro/data/synthetic_text.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/numbers/random.h"

namespace strata::bench::micro {
namespace {

constexpr int64_t kWords = 20'000;
constexpr int64_t kEndings = 26;

// Returns a word that differs for every number. No word begins all others.
std::string word(int64_t number) {
  std::string text;
  for (++number; number > 0; number /= 20) {
    text += "bcdfghjklmnpqrstvwxz"[number % 20];
    text += "aeiou"[(number / 7) % 5];
  }
  return text;
}
std::string ending(int64_t number) { return {static_cast<char>('a' + number), 'y'}; }

// Draws from a distribution with uniform logarithm, so that 0 is most frequent.
int64_t zipf(std::mt19937_64& random, int64_t count) {
  const double uniform = unit_interval(random());
  return static_cast<int64_t>(std::pow(static_cast<double>(count), uniform)) - 1;
}

std::string event(const std::string& key, const std::string& value, const std::string& metadata,
                  int64_t& time_ms) {
  time_ms += 1000;
  return fmt::format(
      ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"POINT_IN_TIME\", "
      "\"key\": \"{}\", \"value\": {}, \"metadata\": {{\"file\": \"train.cc\", \"lineno\": 1{}}}}}"
      "\n",
      time_ms, key, value, metadata);
}

}  // namespace

data::Vocabulary synthetic_vocabulary() {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n,\n";
  for (int64_t i = 0; i < kWords; ++i) text += word(i) + "\n";
  for (int64_t i = 0; i < kEndings; ++i) text += "##" + ending(i) + "\n";
  return data::Vocabulary::parse(text, "synthetic vocabulary");
}

std::string synthetic_text(int64_t words) {
  std::mt19937_64 random(1);
  std::string text;
  bool capital = true;
  for (int64_t i = 0; i < words; ++i) {
    std::string next = word(zipf(random, kWords));
    if (random() % 4 == 0) next += ending(static_cast<int64_t>(random() % kEndings));
    if (capital) next[0] = static_cast<char>(next[0] - 'a' + 'A');
    capital = random() % 20 == 0;
    text += next + (capital ? ". " : random() % 10 == 0 ? ", " : " ");
  }
  return text;
}

data::Corpus synthetic_corpus(int64_t documents, const data::Vocabulary& vocabulary) {
  std::mt19937_64 random(1);
  const int32_t first = vocabulary.find(word(0)).value();
  data::Corpus corpus;
  for (int64_t document = 0; document < documents; ++document) {
    for (uint64_t sentence = 10 + random() % 21; sentence > 0; --sentence) {
      std::vector<int32_t> tokens(10 + random() % 31);
      for (int32_t& token : tokens) token = first + static_cast<int32_t>(zipf(random, kWords));
      corpus.append_sentence(tokens);
    }
    corpus.finish_document(static_cast<uint32_t>(document));
  }
  return corpus;
}

std::string synthetic_log(int64_t evaluations) {
  int64_t time_ms = 1'700'000'000'000;
  std::string log;
  const auto add = [&](const char* key, const std::string& value = "null",
                       const std::string& metadata = "") {
    log += event(key, value, metadata, time_ms);
  };
  add("cache_clear", "true");
  add("init_start");
  add("submission_benchmark", "\"bert\"");
  add("submission_org", "\"Strata\"");
  add("submission_division", "\"open\"");
  add("submission_status", "\"onprem\"");
  add("submission_platform", "\"1 x CPU\"");
  for (const char* key :
       {"seed", "global_batch_size", "gradient_accumulation_steps", "opt_base_learning_rate",
        "opt_epsilon", "opt_lamb_epsilon", "opt_lamb_beta_1", "opt_lamb_beta_2",
        "opt_lamb_weight_decay_rate", "opt_learning_rate_training_steps",
        "opt_learning_rate_warmup_steps", "num_warmup_steps", "start_warmup_step", "train_samples",
        "eval_samples"}) {
    add(key, "1");
  }
  add("init_stop");
  add("run_start");
  for (int64_t i = 1; i <= evaluations; ++i) {
    const std::string epoch = fmt::format(", \"epoch_num\": {}", i),
                      first_epoch = fmt::format(", \"first_epoch_num\": {}", i);
    add("block_start", "null", first_epoch + ", \"epoch_count\": 1");
    add("epoch_start", "null", epoch);
    add("eval_start", "null", epoch);
    add("eval_stop", "null", epoch);
    add("eval_accuracy", i < evaluations ? "0.5" : "0.7201", epoch);
    add("epoch_stop", "null", epoch);
    add("block_stop", "null", first_epoch);
  }
  add("run_stop", "null", ", \"status\": \"success\"");
  return log;
}

std::unique_ptr<TemporaryFolder> make_temporary_folder() {
  const std::filesystem::path parent = std::filesystem::temp_directory_path();
  std::error_code error;
  auto folder = std::make_unique<TemporaryFolder>(parent, "strata-micro.", error);
  if (error) fail("cannot make {}", (parent / "strata-micro.XXXXXX").string());
  return folder;
}

}  // namespace strata::bench::micro
