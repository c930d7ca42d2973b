#include "data/prepare/mlperf_data.h"

#include <gtest/gtest.h>

#include "data/files/convert.h"
#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

namespace fs = std::filesystem;

class MlperfData : public testing::Test {
 protected:
  MlperfData() {
    fs::create_directories(options_.text);
    for (const char* name : {"part-00000-of-00003", "part-00001-of-00003", "part-00002-of-00003"}) {
      fs::copy_file(kGolden / "reference/mlperf_reference.txt", options_.text / name);
    }
    fs::copy_file(kGolden / "reference/mlperf_reference.txt", options_.text / "eval.txt");
    write_file_atomically(options_.text / "README", "not a part");
  }
  MlperfDataSummary make() {
    lines_.clear();
    return make_mlperf_data(options_,
                            [&](std::string_view line) { lines_ += line, lines_ += "\n"; });
  }
  static Instances load(const fs::path& path) {
    return load_instances(*open_instances(path, {.vocabulary_size = 182}));
  }

  const nlohmann::json golden_ = read_golden("reference/mlperf_reference.json");
  TemporaryDirectory directory_;
  MlperfDataOptions options_{.text = directory_ / "text",
                             .vocabulary = kGolden / "data/wordpiece_vocab.txt",
                             .out = directory_ / "out",
                             .recipe = {.max_length = golden_["max_length"],
                                        .max_predictions = golden_["max_predictions"],
                                        .dupe_factor = golden_["dupe_factor"],
                                        .seed = golden_["seed"]},
                             .eval_samples = 30,
                             .threads = 2};
  std::string lines_;
};

TEST_F(MlperfData, EachPartHasTheReferencesSamples) {
  const MlperfDataSummary summary = make();
  const size_t samples = golden_["instances"].size();
  EXPECT_EQ(summary.files, 4u);
  EXPECT_EQ(summary.skipped, 0u);
  EXPECT_EQ(summary.train_samples, 3 * samples);
  EXPECT_EQ(summary.eval_samples, 30u);
  EXPECT_TRUE(fs::exists(options_.out / "train" / "samples.index"));
  EXPECT_TRUE(fs::exists(options_.out / "eval.hdf5.index"));
  EXPECT_EQ(read_sample_classes(options_.out / "train.shapes").samples(), 3 * samples);
  for (const char* part : {"part-00000-of-00003", "part-00002-of-00003"}) {
    const Instances made = load(options_.out / "train" / (std::string(part) + ".hdf5"));
    ASSERT_EQ(made.size(), samples);
    size_t token = 0, masked = 0;
    for (const nlohmann::json& instance : golden_["instances"]) {
      for (const int32_t id : instance["input_ids"]) ASSERT_EQ(made.tokens[token++], id);
      for (const int32_t id : instance["masked_lm_ids"]) ASSERT_EQ(made.masked_ids[masked++], id);
    }
  }
  EXPECT_TRUE(contains(lines_, "4 of 4: ")) << lines_;
}

// pick_eval_samples.py takes sample int(i * (all / count)).
TEST_F(MlperfData, EvaluationSamplesAreSpreadEvenly) {
  make();
  const Instances eval = load(options_.out / "eval.hdf5");
  const Instances all = load(options_.out / "train" / "part-00000-of-00003.hdf5");
  ASSERT_EQ(all.size(), 76u);
  for (const auto& [picked, from] : {std::pair{0, 0}, {1, 2}, {2, 5}, {15, 38}, {29, 73}}) {
    const auto tokens_of = [](const Instances& instances, int index) {
      const auto i = static_cast<size_t>(index);
      return std::vector<int32_t>(
          instances.tokens.begin() + static_cast<ptrdiff_t>(instances.token_offsets[i]),
          instances.tokens.begin() + static_cast<ptrdiff_t>(instances.token_offsets[i + 1]));
    };
    EXPECT_EQ(tokens_of(eval, picked), tokens_of(all, from)) << picked;
  }
}

TEST_F(MlperfData, AnotherCallMakesOnlyMissingAndChangedParts) {
  make();
  EXPECT_EQ(make().skipped, 4u);
  fs::remove(options_.out / "train" / "part-00001-of-00003.hdf5");
  write_file_atomically(options_.out / "eval.hdf5", "damaged");
  EXPECT_EQ(make().skipped, 2u);
  write_file_atomically(options_.text / "part-00002-of-00003",
                        "one two .\nthree four .\n\nyes .\n");
  const MlperfDataSummary summary = make();
  EXPECT_EQ(summary.skipped, 3u);
  EXPECT_TRUE(contains(lines_, "exists already")) << lines_;
  options_.force = true;
  EXPECT_EQ(make().skipped, 0u);
  EXPECT_EQ(make().train_samples, summary.train_samples);
}

TEST_F(MlperfData, UnofficialTextIsReported) {
  const MlperfDataSummary summary = make();
  ASSERT_EQ(summary.unofficial.size(), 2u);
  EXPECT_TRUE(contains(summary.unofficial[0], "wordpiece_vocab.txt: MD5 "));
  EXPECT_TRUE(contains(summary.unofficial[1], "eval.txt: MD5 "));
  EXPECT_TRUE(contains(summary.unofficial[1], "MLPerf's is 2a220f790517261547b1b45ed3ada07a"));
  EXPECT_EQ(lines_.find("not MLPerf's official file: "), 0u) << "said after the work";
}

// U+1C90 is a Georgian capital letter since Unicode 11.0.
TEST_F(MlperfData, NewerCharactersAreReportedUnlessTheReferencesUnicodeIsUsed) {
  const fs::path part = options_.text / "part-00001-of-00003";
  write_file_atomically(part, "one two\u1C90 .\nthree four .\n\nyes .\n");
  const std::string said = fmt::format("U+1C90, 1 time, first in {} at byte 7\n", part.string());
  MlperfDataSummary summary = make();
  EXPECT_EQ(summary.newer_characters.found().size(), 1u);
  EXPECT_TRUE(lines_.ends_with(said)) << lines_;
  options_.unicode = kReferenceUnicode;
  summary = make();
  EXPECT_EQ(summary.skipped, 0u) << "made by other tables";
  EXPECT_FALSE(contains(lines_, "U+1C90")) << lines_;
  EXPECT_EQ(make().skipped, 4u);
}

TEST_F(MlperfData, MissingTextIsNamedUnlessIncompleteDataIsAllowed) {
  fs::remove(options_.text / "part-00001-of-00003");
  std::string message = error_of([&] { make(); });
  EXPECT_TRUE(contains(message, "part-00001-of-00003: is missing (1 of 3 parts)")) << message;
  fs::remove(options_.text / "eval.txt");
  message = error_of([&] { make(); });
  EXPECT_TRUE(contains(message, "eval.txt: is missing")) << message;
  EXPECT_FALSE(fs::exists(options_.out)) << "the work was begun";
  options_.incomplete = true;
  EXPECT_EQ(make().files, 2u);
  fs::remove(options_.text / "part-00002-of-00003");
  fs::remove(options_.text / "part-00000-of-00003");
  EXPECT_TRUE(contains(error_of([&] { make(); }), "holds no part-NNNNN-of-NNNNN"));
  fs::copy_file(kGolden / "reference/mlperf_reference.txt", options_.text / "eval.txt");
  fs::remove_all(options_.out);
  EXPECT_EQ(make().eval_samples, 30u);
  fs::remove(options_.text / "eval.txt");
  EXPECT_TRUE(contains(error_of([&] { options_.text /= "none", make(); }), "cannot list"));
}

TEST_F(MlperfData, PartsOfTwoTextsAreNotMixed) {
  fs::copy_file(kGolden / "reference/mlperf_reference.txt", options_.text / "part-00000-of-00002");
  const std::string message = error_of([&] { make(); });
  EXPECT_TRUE(contains(message, "parts of ")) << message;
}

TEST_F(MlperfData, DataOfAnotherTextIsRefused) {
  make();
  fs::remove(options_.text / "part-00002-of-00003");
  options_.incomplete = true;
  const std::string message = error_of([&] { make(); });
  EXPECT_TRUE(contains(message, "part-00002-of-00003.hdf5: was made from a part")) << message;
}

TEST_F(MlperfData, AnErrorInOnePartEndsTheWork) {
  write_file_atomically(options_.text / "part-00001-of-00003", "\n \n");
  options_.threads = 1;
  const std::string message = error_of([&] { make(); });
  EXPECT_TRUE(contains(message, "part-00001-of-00003: no text")) << message;
  EXPECT_TRUE(fs::exists(options_.out / "train" / "part-00000-of-00003.hdf5"));
  EXPECT_FALSE(fs::exists(options_.out / "train" / "part-00001-of-00003.hdf5"));
  EXPECT_FALSE(fs::exists(options_.out / "train" / "part-00002-of-00003.hdf5"));
  options_.threads = 4;
  EXPECT_TRUE(contains(error_of([&] { make(); }), "part-00001-of-00003: no text"));
}

}  // namespace
}  // namespace strata::data
