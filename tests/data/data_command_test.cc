#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "cli/commands.h"
#include "data/files/instance_file.h"
#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"
#include "tests/support/json_schema.h"

namespace strata::cli {
namespace {

using data::contains;

class DataCommand : public testing::Test {
 protected:
  DataCommand() {
    std::string text, vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (size_t i = 0; i < 26; ++i) vocabulary += data::word(i) + "\n";
    for (size_t d = 0; d < 10; ++d) {
      for (size_t s = 0; s < 5; ++s) {
        text += data::word(d) + " " + data::word(10 + s);
        for (size_t i = 0; i < 5; ++i) text += fmt::format(" {}", data::word((d * s + i) % 26));
        text += "\n";
      }
      text += "\n";
    }
    write_file_atomically(directory_ / "text.txt", text);
    write_file_atomically(directory_ / "vocab.txt", vocabulary);
  }

  std::string run(const std::string& arguments) {
    CLI::App app;
    exit_code_ = 0;
    add_data_command(app, exit_code_);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    try {
      app.parse("data " + arguments);
    } catch (...) {
      testing::internal::GetCapturedStdout();
      testing::internal::GetCapturedStderr();
      throw;
    }
    progress_ = testing::internal::GetCapturedStderr();
    return testing::internal::GetCapturedStdout();
  }
  std::string prepare(const std::string& more) {
    return run(
        fmt::format("prepare --text {0}/text.txt --vocab {0}/vocab.txt --out {0}/out "
                    "--eval-every 5 --max-length 32 --max-predictions 5 {1}",
                    directory_.path().string(), more));
  }
  std::string file(const std::string& name) { return (directory_ / name).string(); }

  data::TemporaryDirectory directory_;
  std::string progress_;
  int exit_code_ = 0;
};

TEST_F(DataCommand, PrepareWritesBothFilesAndASummary) {
  const auto summary = nlohmann::json::parse(prepare("--json"));
  EXPECT_EQ(summary["skipped"], false);
  EXPECT_EQ(summary["train"]["documents"], 8);
  EXPECT_EQ(summary["eval"]["documents"], 2);
  EXPECT_GT(summary["eval"]["most_frequent_share"], 0.0);
  EXPECT_TRUE(contains(progress_, "10 documents, 50 sentences, 350 tokens"));
  EXPECT_EQ(nlohmann::json::parse(prepare("--json"))["skipped"], true);
  EXPECT_TRUE(contains(prepare(""), "up to date"));
  EXPECT_TRUE(contains(prepare("--force"), "always guessing"));
}

TEST_F(DataCommand, InfoCountsTheContentsOfAFile) {
  prepare("--format mlperf-varlen");
  EXPECT_TRUE(contains(data::error_of([&] { run("info " + file("out/train.hdf5")); }),
                       "has variable-length rows"));
  const auto source =
      data::open_instances(directory_ / "out/train.hdf5", {.variable_length = true});
  const std::string arguments = "info --variable-length " + file("out/train.hdf5");
  const auto info = nlohmann::json::parse(run(arguments + " --json"));
  EXPECT_EQ(info["format"], "mlperf-varlen");
  EXPECT_EQ(info["instances"], source->size());
  EXPECT_EQ(info["max_length"], 32);
  uint64_t counted = 0;
  for (const uint64_t bin : info["histogram"]) counted += bin;
  EXPECT_EQ(counted, source->size());
  EXPECT_TRUE(contains(run(arguments), "data set   input_ids"));
}

TEST_F(DataCommand, ConvertKeepsEverySample) {
  prepare("");
  const std::string arguments =
      fmt::format("convert {} --out {} --format mlperf-fixed --vocab-size 31",
                  file("out/train.hdf5"), file("fixed.hdf5"));
  const auto source = data::open_instances(directory_ / "out/train.hdf5");
  EXPECT_EQ(nlohmann::json::parse(run(arguments + " --json"))["instances"], source->size());
  EXPECT_TRUE(contains(run(arguments), fmt::format("fixed.hdf5: {} instances", source->size())));
  EXPECT_EQ(data::describe_instance_file(directory_ / "fixed.hdf5").form,
            data::InstanceForm::kMlperfFixed);
}

TEST_F(DataCommand, ShowPrintsMaskedAndOriginalTokens) {
  prepare("");
  const std::string arguments = "show " + file("out/eval.hdf5") + " 0 --vocab " + file("vocab.txt");
  const std::string text = run(arguments);
  EXPECT_TRUE(contains(text, "sample 0: ")) << text;
  EXPECT_TRUE(contains(text, "[CLS] ")) << text;
  const auto json = nlohmann::json::parse(run(arguments + " --json"));
  EXPECT_EQ(json["tokens"].size(), json["segments"].size());
  EXPECT_EQ(json["masked_positions"].size(), json["masked_ids"].size());
  EXPECT_EQ(json["documents"].size(), 2u);
}

TEST_F(DataCommand, BadUsageIsRefused) {
  EXPECT_THROW(run("prepare"), CLI::ParseError);
  EXPECT_THROW(run(""), CLI::ParseError);
  EXPECT_THROW(prepare("--eval-documents 2"), CLI::ParseError);  // conflicts with --eval-every
  EXPECT_THROW(prepare("--format csv"), Error);
  EXPECT_THROW(prepare("--dupe-factor 0"), Error);
  EXPECT_THROW(run("info " + file("none.hdf5")), Error);
  prepare("");
  EXPECT_THROW(run("show " + file("out/eval.hdf5") + " 999999 --vocab " + file("vocab.txt")),
               Error);
}

TEST_F(DataCommand, CompareSaysWhetherSamplesAreTheSame) {
  prepare("");
  run(fmt::format("convert {} --out {} --format mlperf-varlen --vocab-size 31",
                  file("out/train.hdf5"), file("copy.hdf5")));
  EXPECT_TRUE(
      contains(run("compare --variable-length " + file("out/train.hdf5") + " " + file("copy.hdf5")),
               "the same "));
  EXPECT_EQ(exit_code_, 0);
  const auto json = nlohmann::json::parse(
      run("compare --json " + file("out/train.hdf5") + " " + file("out/eval.hdf5")));
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(json["same"], false);
  EXPECT_EQ(json["same_content"], false);
  EXPECT_GT(json["only_in_first"], 0);
  EXPECT_TRUE(contains(json["difference"], "sample 0: ")) << json;
}

TEST_F(DataCommand, CompareDistinguishesOrderFromContent) {
  const data::Instances all = data::sample_instances(3);
  data::Instances turned;
  for (const size_t sample : {2, 0, 1}) turned.append(all, sample);
  const auto info = data::sample_info(data::InstanceForm::kPacked);
  data::write_instances(directory_ / "a.hdf5", all, info);
  data::write_instances(directory_ / "b.hdf5", turned, info);
  const std::string arguments = "compare " + file("a.hdf5") + " " + file("b.hdf5");
  EXPECT_TRUE(contains(run(arguments), "\nthe same 3 samples in another order\n"));
  EXPECT_EQ(exit_code_, 1);
  const auto json = nlohmann::json::parse(run(arguments + " --json"));
  EXPECT_EQ(json["same"], false);
  EXPECT_EQ(json["same_content"], true);
  EXPECT_EQ(json["only_in_first"], 0);
}

// Blocks of ``` in docs/data.md show commands after "$ " and their output. Seconds may differ.
TEST_F(DataCommand, TheDocumentShowsTheActualOutput) {
  const std::filesystem::path golden = data::kGolden;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::copy_file(golden / "reference/mlperf_reference.txt", directory_ / "example.txt");
  std::filesystem::copy_file(golden / "data/wordpiece_vocab.txt", directory_ / "example_vocab.txt");
  std::filesystem::current_path(directory_.path());
  std::istringstream document(read_file(std::filesystem::path(STRATA_SOURCE_DIR) / "docs/data.md"));
  const auto without_seconds = [](const std::string& text) {
    return std::regex_replace(text, std::regex(R"(\d+\.\d s\n| +(?=\n))"), "");
  };
  const std::string prompt = "$ strata data ";
  std::string command, shown;
  int commands = 0;
  const auto check = [&] {
    if (!command.empty()) {
      EXPECT_EQ(without_seconds(shown), without_seconds(run(command)));
      ++commands;
    }
    command.clear();
    shown.clear();
  };
  bool in_block = false;
  for (std::string line; std::getline(document, line);) {
    if (line == "```") in_block = !in_block;
    if (line == "```" || line.starts_with(prompt)) {
      check();
      if (in_block && line != "```") command = line.substr(prompt.size());
    } else if (in_block) {
      shown += line + "\n";
    }
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(commands, 7);
}

TEST_F(DataCommand, ShapesArePrintedForTheRunOrAsJson) {
  prepare("");
  const std::string text = run("shapes " + file("out/train.hdf5"));
  EXPECT_TRUE(text.starts_with("# length in tokens, masked positions, samples\n")) << text;
  const std::string printed = run("shapes --json " + file("out/train.hdf5"));
  testing_support::expect_schema("data-shapes", printed);
  const auto json = nlohmann::json::parse(printed);
  uint64_t samples = 0;
  for (const auto& shape : json["shapes"]) samples += shape["samples"].get<uint64_t>();
  EXPECT_EQ(samples, json["samples"]);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + std::ssize(json["shapes"]));
}

TEST_F(DataCommand, PrepareWarnsOfBadEncodingAndUnusableText) {
  std::string text;
  for (size_t i = 0; i < 1000; ++i) text += data::word(i % 26) + " a b c d\n\n";
  write_file_atomically(directory_ / "text.txt", text + "caf\xe9\n");
  const auto json = nlohmann::json::parse(prepare("--json"));
  ASSERT_EQ(json["warnings"].size(), 2u) << json;
  EXPECT_TRUE(contains(json["warnings"][0], "1 of ")) << json;
  EXPECT_TRUE(contains(json["warnings"][1], "next-sentence labels mean nothing")) << json;
  EXPECT_TRUE(contains(progress_, "warning: ")) << progress_;
  write_file_atomically(directory_ / "vocab.txt",
                        read_file(directory_ / "vocab.txt") + "The\n##Name\n");
  EXPECT_TRUE(contains(nlohmann::json::parse(prepare("--json"))["warnings"].dump(),
                       "2 of the vocabulary's 33 entries have capital letters"));
}

TEST_F(DataCommand, MlperfMakesTheReferencesSamplesAndNamesUnofficialText) {
  const std::filesystem::path golden = data::kGolden;
  std::filesystem::create_directories(directory_ / "text");
  std::filesystem::copy_file(golden / "reference/mlperf_reference.txt",
                             directory_ / "text/part-00000-of-00001");
  const std::string command = fmt::format(
      "mlperf --text {0}/text --vocab {1}/data/wordpiece_vocab.txt --out {0}/mlperf --json",
      directory_.path().string(), golden.string());
  EXPECT_THROW(run(command), Error);
  const std::string printed = run(command + " --incomplete");
  testing_support::expect_schema("data-mlperf", printed);
  const auto summary = nlohmann::json::parse(printed);
  EXPECT_EQ(summary["files"], 1);
  EXPECT_GT(summary["train_samples"], 10);
  EXPECT_TRUE(contains(progress_, "1 of 1: part-00000-of-00001.hdf5"));
  EXPECT_TRUE(contains(progress_, "not MLPerf's official file: ")) << progress_;
  EXPECT_TRUE(contains(run("info " + file("mlperf/train/part-00000-of-00001.hdf5")), "packed"));
}

// U+1C90 is a Georgian capital letter since Unicode 11.0.
TEST_F(DataCommand, UnicodeChoosesTheTablesAndNewerCharactersAreListed) {
  std::filesystem::create_directories(directory_ / "text");
  write_file_atomically(directory_ / "text/eval.txt",
                        data::word(0) + " \u1C90\n" + data::word(1) + "\n\n" + data::word(2));
  const std::string command = fmt::format(
      "mlperf --incomplete --text {0}/text --vocab {0}/vocab.txt --out {0}/mlperf --json",
      directory_.path().string());
  const auto newer = nlohmann::json::parse(run(command))["newer_characters"];
  ASSERT_EQ(newer.size(), 1u);
  EXPECT_EQ(newer[0]["code_point"], "U+1C90");
  EXPECT_EQ(newer[0]["count"], 1);
  EXPECT_TRUE(contains(progress_, "--unicode 9.0 follows the reference")) << progress_;
  const auto followed = nlohmann::json::parse(run(command + " --unicode 9.0"));
  EXPECT_EQ(followed["already_there"], 0);
  EXPECT_TRUE(followed["newer_characters"].empty());
  EXPECT_THROW(run(command + " --unicode 8.0"), Error);
}

}  // namespace
}  // namespace strata::cli
