#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <fstream>

#include "base/files/files.h"
#include "bert/weights/safetensors.h"
#include "data/files/instance_file.h"
#include "data/files/instance_schema.h"
#include "data/hdf5/hdf5.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

// Everything here exits with 2, says once what is wrong and what to do, and leaves no result
// behind.
class BadInput : public SmallBenchmark {
 protected:
  void expect_train_refuses(const std::vector<std::string>& overrides,
                            const std::vector<std::string>& parts) {
    std::vector<std::string> arguments = train();
    for (const std::string& override : overrides) {
      arguments.insert(arguments.end(), {"--set", override});
    }
    expect_refusal(strata(arguments), parts);
    expect_no_results();
  }
  // The system description is not a result of a run.
  void expect_no_results() {
    for (const std::string& file : output_files()) {
      EXPECT_EQ(file, "Strata/systems/small.json");
    }
  }

  // Trains and evaluates until something ends it.
  std::vector<std::string> endless_run(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments =
        train({"--set", "target.masked_lm_accuracy=1", "--set", "target.max_steps=100000000",
               "--set", "target.eval_interval_samples=4"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  ProcessResult prepare(const std::string& text = "text.txt",
                        const std::string& vocabulary = "vocab.txt",
                        const std::string& out = "new") const {
    return strata(
        {"data", "prepare", "--text", path(text), "--vocab", path(vocabulary), "--out", path(out)});
  }

  // A copy of `name` that ends after `bytes` bytes.
  std::string truncated(const std::string& name, size_t bytes) {
    const std::string copy = path("truncated." + fs::path(name).filename().string());
    write_file_atomically(copy, read_file(path(name)).substr(0, bytes));
    return copy;
  }

  // A checkpoint of the whole small model.
  std::string checkpoint() {
    EXPECT_EQ(
        strata(train({"--set", "run.output=" + path("other"), "--set", "log.save_checkpoint=true",
                      "--set", "target.max_steps=10", "--set", "target.masked_lm_accuracy=0.01"}))
            .exit_code,
        0);
    const std::string whole = "other/Strata/results/small/bert/result_0.safetensors";
    fs::rename(path(whole), path("model.safetensors"));
    return path("model.safetensors");
  }
};

// Settings that the data, the model and the machine of the small benchmark cannot follow. "@"
// stands for the benchmark's folder.
TEST_F(BadInput, SettingsThatDoNotFitTheBenchmarkAreRefused) {
  struct Case {
    const char* name;
    std::vector<std::string> settings, parts;
  };
  const Case cases[] = {
      {"missing training data", {"data.train=@nowhere.hdf5"}, {"@nowhere.hdf5"}},
      {"missing evaluation data", {"data.eval=@nowhere.hdf5"}, {"@nowhere.hdf5"}},
      {"data that are not HDF5", {"data.train=@text.txt"}, {"@text.txt"}},
      {"more evaluation samples than there are",
       {"data.eval_samples=1000000"},
       {"data.eval_samples", "1000000"}},
      {"a batch that cannot be filled", {"batch.micro_batch=5000"}, {"5000", "samples"}},
      {"a random batch that cannot be filled",
       {"batch.micro_batch=5000", "batch.load_balance.strategy=random"},
       {"5000", "samples"}},
      {"strata that do not hold the longest sample",
       {"batch.load_balance.strata=[8]"},
       {"strata", "8"}},
      {"a missing model", {"model.config=@nowhere.json"}, {"@nowhere.json"}},
      {"a model that is not JSON", {"model.config=@text.txt"}, {"@text.txt", "JSON"}},
      {"a missing checkpoint", {"model.checkpoint=@nowhere.safetensors"}, {"@nowhere.safetensors"}},
      {"text as a checkpoint", {"model.checkpoint=@text.txt"}, {"@text.txt"}},
      {"a misspelt key", {"optimiser.lr=1"}, {"optimiser", "optimizer"}},
      {"a word for a number", {"optimizer.lr=fast"}, {"optimizer.lr", "fast"}},
      {"a key without a value", {"optimizer.lr"}, {"optimizer.lr"}},
  };
  const auto in_folder = [&](std::vector<std::string> texts) {
    for (std::string& text : texts) {
      if (const size_t at = text.find('@'); at != text.npos) text.replace(at, 1, path(""));
    }
    return texts;
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    expect_train_refuses(in_folder(one.settings), in_folder(one.parts));
  }
}

TEST_F(BadInput, TruncatedDataIsRefused) {
  const size_t whole = fs::file_size(path("data/train.hdf5"));
  for (const size_t bytes : {whole / 2, whole - 100, size_t{1000}, size_t{4}, size_t{0}}) {
    const std::string copy = truncated("data/train.hdf5", bytes);
    expect_train_refuses({"data.train=" + copy}, {copy});
  }
}

TEST_F(BadInput, DataOfAnotherSchemaIsRefused) {
  auto file = data::hdf5::File::create_in_memory(path("other.hdf5"));
  const int32_t value = 1;
  file.write("images", H5T_STD_I32LE, {1}, &value);
  write_file_atomically(path("other.hdf5"), file.image());
  expect_train_refuses({"data.train=" + path("other.hdf5")},
                       {path("other.hdf5"), "input_ids", "images", "strata data prepare"});
}

TEST_F(BadInput, TokensBeyondTheVocabularyAreRefused) {
  std::string small = R"({"vocab_size": 20, "hidden_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 64, "max_position_embeddings": 48,
    "type_vocab_size": 2, "hidden_act": "gelu"})";
  write_file_atomically(path("small.json"), small);
  expect_refusal(
      strata(train({"--set", "model.config=" + path("small.json"), "--set", "model.vocab=none"})),
      {path("data/"), "row", "beyond the vocabulary of 20"});
  // Data are not looked into before the run begins: the log says how it ended.
  EXPECT_TRUE(ends_with_run_stop(events(), "aborted"));
}

TEST_F(BadInput, ATokenBeyondTheVocabularyInOneSampleIsRefused) {
  data::Instances instances;
  for (int sample = 0; sample < 8; ++sample) {
    instances.tokens.insert(instances.tokens.end(), {2, 6, 4, sample == 5 ? 77 : 8, 3});
    instances.masked_positions.push_back(2);
    instances.masked_ids.push_back(7);
    instances.token_offsets.push_back(instances.tokens.size());
    instances.masked_offsets.push_back(instances.masked_ids.size());
    instances.first_lengths.push_back(3);
    instances.next_sentence.push_back(0);
  }
  data::InstanceFileInfo info;
  info.vocabulary_size = 32;
  info.max_length = 48;
  info.max_predictions = 8;
  data::write_instances(path("one.hdf5"), instances, info);
  const ProcessResult refused = strata(train({"--set", "data.train=" + path("one.hdf5")}));
  expect_refusal(refused, {path("one.hdf5"), "row 5", "77", "32"});
  // The run had begun: its log says how it ended.
  EXPECT_TRUE(ends_with_run_stop(events(), "aborted"));
}

TEST_F(BadInput, SamplesLongerThanTheModelsPositionsAreRefused) {
  std::string short_model = read_file(path("model.json"));
  short_model.replace(short_model.find("48"), 2, "16");
  write_file_atomically(path("short.json"), short_model);
  expect_train_refuses({"model.config=" + path("short.json")}, {"data/", "16 tokens"});
}

TEST_F(BadInput, AVocabularyOfAnotherSizeIsRefused) {
  write_file_atomically(path("vocab.txt"), read_file(path("vocab.txt")) + "more\n");
  expect_train_refuses({}, {path("vocab.txt"), "33", "vocab_size=32"});
}

TEST_F(BadInput, AVocabularyWithoutMaskIsRefused) {
  std::string without = read_file(path("vocab.txt"));
  without.replace(without.find("[MASK]"), 6, "[NONE]");
  write_file_atomically(path("vocab.txt"), without);
  expect_train_refuses({}, {path("vocab.txt"), "[MASK]"});
  expect_refusal(prepare(), {path("vocab.txt"), "[MASK]"});
  EXPECT_FALSE(fs::exists(path("new/train.hdf5")));
}

TEST_F(BadInput, AnEmptyCorpusIsRefused) {
  for (const char* text : {"", "\n\n\n", " \t \n \n"}) {
    write_file_atomically(path("empty.txt"), text);
    expect_refusal(prepare("empty.txt"), {path("empty.txt")});
    EXPECT_FALSE(fs::exists(path("new/train.hdf5")));
    EXPECT_FALSE(fs::exists(path("new/eval.hdf5")));
  }
}

TEST_F(BadInput, AMissingTextOrVocabularyIsRefused) {
  expect_refusal(prepare("nowhere.txt"), {path("nowhere.txt")});
  expect_refusal(prepare("text.txt", "nowhere.txt"), {path("nowhere.txt")});
}

TEST_F(BadInput, AnEmptyDataSetIsRefused) {
  data::InstanceFileInfo info;
  info.vocabulary_size = 32;
  info.max_length = 48;
  info.max_predictions = 8;
  data::write_instances(path("none.hdf5"), {}, info);
  expect_train_refuses({"data.train=" + path("none.hdf5")}, {path("none.hdf5"), "no samples"});
}

TEST_F(BadInput, ABatchThatCannotBeFilledOnTwoRanksIsRefused) {
  const ProcessResult refused = strata(
      train({"--set", "batch.micro_batch=5000", "--set", "initialization.warmup_steps=0"}), 2);
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("5000"));
  expect_no_results();
}

TEST_F(BadInput, DamagedCheckpointsAreRefused) {
  const std::string whole = checkpoint();
  const size_t size = fs::file_size(whole);
  for (const size_t bytes : {size - 1, size / 2, size_t{500}, size_t{4}, size_t{0}}) {
    const std::string copy = truncated("model.safetensors", bytes);
    expect_train_refuses({"model.checkpoint=" + copy}, {copy});
  }
  expect_refusal(strata({"eval", "--config", path("run.yaml"), "--checkpoint",
                         truncated("model.safetensors", size / 2)}),
                 {"truncated"});
}

TEST_F(BadInput, CheckpointsOfAnotherModelAreRefused) {
  const std::vector<float> values(64 * 64, 0.5f);
  const std::vector<bert::NamedTensor> tensors{{"some.weight", {64, 64}, values}};
  bert::write_safetensors(path("foreign.safetensors"), tensors);
  expect_train_refuses({"model.checkpoint=" + path("foreign.safetensors")},
                       {path("foreign.safetensors"), "bert.encoder", "model.checkpoint"});
  std::string wide = read_file(path("model.json"));
  wide.replace(wide.find("\"intermediate_size\": 64"), 23, "\"intermediate_size\": 96");
  const std::string whole = checkpoint();
  write_file_atomically(path("wide.json"), wide);
  expect_train_refuses({"model.checkpoint=" + whole, "model.config=" + path("wide.json")},
                       {whole, "shape", "96", "model.config"});
}

TEST_F(BadInput, ImpossibleModelsAreRefused) {
  std::string odd = read_file(path("model.json"));
  odd.replace(odd.find("\"hidden_size\": 64"), 17, "\"hidden_size\": 65");
  write_file_atomically(path("odd.json"), odd);
  expect_train_refuses({"model.config=" + path("odd.json")}, {path("odd.json"), "hidden_size=65"});
}

TEST_F(BadInput, WrongConfigurationsAreRefused) {
  expect_refusal(strata({"train", "--config", path("nowhere.yaml")}), {path("nowhere.yaml")});
  write_file_atomically(path("run.yaml"), read_file(path("run.yaml")) + "colour: red\n");
  expect_train_refuses({}, {path("run.yaml"), "colour"});
  write_file_atomically(path("run.yaml"), "run: [1, 2\n");
  expect_train_refuses({}, {path("run.yaml")});
}

TEST_F(BadInput, AnImpossibleOutputDirectoryIsRefused) {
  write_file_atomically(path("file"), "in the way");
  for (const std::string& output : {path("file/out"), path("file"), std::string("/proc/strata")}) {
    expect_train_refuses({"run.output=" + output}, {output, "run.output"});
  }
  expect_refusal(prepare("text.txt", "vocab.txt", "file/out"), {path("file/out")});
  EXPECT_EQ(read_file(path("file")), "in the way");
}

TEST_F(BadInput, AnImpossibleOutputDirectoryIsRefusedOnTwoRanks) {
  write_file_atomically(path("file"), "in the way");
  const ProcessResult refused = strata(train({"--set", "run.output=" + path("file/out")}), 2);
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr(path("file/out")));
}

// Events wait in memory, then the run ends as aborted and says how many its log lacks.
void expect_no_space_for_events(const ProcessResult& ended, const std::string& log,
                                const std::string& reason) {
  EXPECT_EQ(ended.exit_code, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(log + ": cannot write event"));
  EXPECT_THAT(ended.err, HasSubstr(reason + "; events wait in memory until there is space"));
  EXPECT_THAT(ended.err, HasSubstr(" events before run_stop: " + reason));
  EXPECT_THAT(ended.err, HasSubstr("Free space, or choose another run.output"));
}

// A file that may not grow fails as one on a full disk does.
TEST_F(BadInput, ADiskThatFillsUpAbortsTheRun) {
  ProcessOptions full;
  full.largest_file = 100000;
  const ProcessResult ended = strata(endless_run(), 1, full);
  expect_no_space_for_events(ended, result("result_0.txt").string(), "File too large");
  const auto log = events();
  EXPECT_GE(values_of(log, "eval_accuracy").size(), 10u);
  EXPECT_GT(fs::file_size(result("result_0.txt")), 99000u);
}

// A small file system in a private mount namespace. Skips the test if mounting is not permitted.
class SmallDisk : public BadInput {
 protected:
  void SetUp() override {
    fs::create_directory(path("disk"));
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", path("disk").c_str(), "tmpfs", 0, "size=3m") != 0) {
      GTEST_SKIP() << "needs the right to mount a file system";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount(path("disk").c_str());
  }
  // Fills the disk, except for space that is already reserved.
  void fill() {
    std::ofstream filler(path("disk/filler"), std::ios::binary);
    const std::string block(4096, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void wait_until_it_runs() {
    ASSERT_TRUE(wait_until(
        [&] {
          return fs::exists(log_path()) && !values_of(events(log_path()), "run_start").empty();
        },
        std::chrono::seconds(60)));
  }
  std::string log_path() const { return path("disk/Strata/results/small/bert/result_0.txt"); }

  bool mounted_ = false;
};

TEST_F(SmallDisk, IsRefusedIfItIsFullAtTheStart) {
  fill();
  expect_refusal(strata(train({"--set", "run.output=" + path("disk")})),
                 {path("disk"), "run.output"});
  EXPECT_FALSE(fs::exists(log_path()));
}

TEST_F(SmallDisk, HasRoomForTheEndOfTheLogIfItFillsUpDuringARun) {
  Process job(command(endless_run({"--set", "run.output=" + path("disk")})));
  wait_until_it_runs();
  fill();
  expect_no_space_for_events(job.wait(std::chrono::seconds(60)), log_path(),
                             "No space left on device");
  EXPECT_TRUE(ends_with_run_stop(events(log_path()), "aborted"));
}

TEST_F(SmallDisk, GetsNoPartialCheckpointIfItFillsUpDuringARun) {
  Process job(
      command(train({"--set", "run.output=" + path("disk"), "--set",
                     "target.masked_lm_accuracy=0.01", "--set", "target.eval_interval_samples=4000",
                     "--set", "target.max_steps=1000", "--set", "log.save_checkpoint=true"})));
  wait_until_it_runs();
  fill();
  expect_refusal(job.wait(std::chrono::seconds(60)), {"result_0.safetensors"});
  EXPECT_TRUE(ends_with_run_stop(events(log_path()), "success"));
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(log_path()).parent_path())) {
    files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{"result_0.txt", "result_0.yaml"}));
}

TEST_F(SmallDisk, GetsNoPartialDataSetIfItIsFull) {
  fill();
  expect_refusal(prepare("text.txt", "vocab.txt", "disk/data"), {path("disk/data")});
  EXPECT_FALSE(fs::exists(path("disk/data/train.hdf5")));
}

}  // namespace
}  // namespace strata::cli
