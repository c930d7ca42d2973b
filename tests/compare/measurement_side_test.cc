#include "compare/measurement_side.h"

#include <gmock/gmock.h>

#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::compare {
namespace {

using ::strata::testing::TemporaryFolder;
using ::strata::testing_support::error_of;
using ::testing::HasSubstr;

constexpr char kDocument[] = R"({"device": "cpu", "ranks": 2, "step_seconds": 2.5,
  "modes": [{"mode": "none", "step_seconds": 3, "increase": 1}], "lengths": [[1, 2], [3]]})";

TEST(MeasurementSideTest, ReadsDocumentsThatFollowEachOther) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.json", std::string(kDocument) + "\n" + kDocument);
  const MeasurementSide side = read_measurement_side(file);
  EXPECT_EQ(side.documents, 2u);
  EXPECT_EQ(side.numbers.at("modes.none.step_seconds"), (std::vector<double>{3, 3}));
  EXPECT_EQ(side.numbers.at("step_seconds").size(), 2u);
  EXPECT_EQ(side.texts.at("device"), "cpu");
  EXPECT_FALSE(side.numbers.contains("lengths.0"));
}

TEST(MeasurementSideTest, ObjectsWithEqualFirstTextsGetDifferentNames) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.json", R"({"operations": [
    {"operation": "linear", "where": "output", "seconds": 1},
    {"operation": "linear", "where": "input", "seconds": 2},
    {"operation": "adam", "where": "", "seconds": 3}, {"seconds": 4}]})");
  const MeasurementSide side = read_measurement_side(file);
  EXPECT_EQ(side.numbers.at("operations.linear, output.seconds"), std::vector<double>{1});
  EXPECT_EQ(side.numbers.at("operations.linear, input.seconds"), std::vector<double>{2});
  EXPECT_EQ(side.numbers.at("operations.adam.seconds"), std::vector<double>{3});
  EXPECT_EQ(side.numbers.at("operations.3.seconds"), std::vector<double>{4});
}

TEST(MeasurementSideTest, ReadsTheJsonFilesOfAFolder) {
  const TemporaryFolder folder;
  folder.write("runs/1.json", kDocument);
  folder.write("runs/2.json", kDocument);
  folder.write("runs/notes.txt", "no JSON");
  EXPECT_EQ(read_measurement_side(folder.path() / "runs").documents, 2u);
}

constexpr char kGoogleBenchmark[] = R"({"context": {"date": "today", "host_name": "here",
  "executable": "a", "num_cpus": 2, "caches": [{"type": "Data", "size": 1}], "load_avg": [1]},
  "benchmarks": [
    {"name": "adam/elements:8", "run_name": "adam/elements:8", "run_type": "iteration",
     "iterations": 7, "real_time": 9.0, "cpu_time": 4.0, "time_unit": "us", "bytes_per_second": 3},
    {"name": "step/real_time", "run_type": "iteration", "iterations": 2, "real_time": 2.0,
     "cpu_time": 1.0, "time_unit": "ms"},
    {"name": "adam/elements:8_mean", "run_type": "aggregate", "aggregate_name": "mean",
     "real_time": 9.0, "cpu_time": 4.0, "time_unit": "us"}]})";

TEST(MeasurementSideTest, ReadsTheTimesOfGoogleBenchmark) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.json", std::string(kGoogleBenchmark) + kGoogleBenchmark);
  const MeasurementSide side = read_measurement_side(file);
  EXPECT_EQ(side.documents, 2u);
  ASSERT_EQ(side.numbers.size(), 2u);
  EXPECT_EQ(side.numbers.at("adam/elements:8.seconds"), (std::vector<double>{4e-6, 4e-6}));
  EXPECT_EQ(side.numbers.at("step/real_time.seconds"), (std::vector<double>{2e-3, 2e-3}));
  EXPECT_EQ(side.texts, (std::map<std::string, std::string>{{"host_name", "here"}}));
}

TEST(MeasurementSideTest, RefusesABenchmarkThatFailed) {
  const TemporaryFolder folder;
  const auto failed = folder.write("failed.json", R"({"context": {}, "benchmarks": [
    {"name": "rules", "error_occurred": true, "error_message": "no log"}]})");
  EXPECT_THAT(error_of([&] { read_measurement_side(failed); }), HasSubstr("rules failed: no log"));
  const auto broken = folder.write("broken.json", R"({"context": {}, "benchmarks": [{"a": 1}]})");
  EXPECT_THAT(error_of([&] { read_measurement_side(broken); }),
              HasSubstr("broken.json: offset 0: "));
  const auto unit = folder.write("unit.json", R"({"context": {}, "benchmarks": [
    {"name": "a", "cpu_time": 1, "time_unit": "h"}]})");
  EXPECT_THAT(error_of([&] { read_measurement_side(unit); }),
              HasSubstr("unknown unit of time 'h'"));
}

TEST(MeasurementSideTest, NamesFileAndOffsetOfWrongJson) {
  const TemporaryFolder folder;
  const auto broken = folder.write("broken.json", R"({"a": 1} {"a": )");
  EXPECT_THAT(error_of([&] { read_measurement_side(broken); }),
              HasSubstr("broken.json: offset 9: "));
  const auto list = folder.write("list.json", "[1, 2]");
  EXPECT_THAT(error_of([&] { read_measurement_side(list); }),
              HasSubstr("offset 0: is not a JSON object"));
  const auto empty = folder.write("empty.json", " \n");
  EXPECT_THAT(error_of([&] { read_measurement_side(empty); }), HasSubstr("holds no JSON"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  deep += "1" + std::string(100'000, '}');
  const auto nested = folder.write("deep.json", deep);
  EXPECT_THAT(error_of([&] { read_measurement_side(nested); }), HasSubstr("nested more than"));
}

// Reading such a file of some megabytes would take hours.
TEST(MeasurementSideTest, RefusesObjectsOfVeryManyKeys) {
  const TemporaryFolder folder;
  std::string keys = "{\"a\": {}, \"b\": [{";
  for (int i = 0; i < 1'000'000; ++i) keys += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  const auto wide = folder.write("wide.json", R"({"a": 1} )" + keys + "}]}");
  EXPECT_THAT(error_of([&] { read_measurement_side(wide); }),
              HasSubstr("wide.json: offset 9: the object has more keys"));
}

TEST(MeasurementSideTest, NamesImpossibleMeasurements) {
  const TemporaryFolder folder;
  const auto huge =
      folder.write("huge.json", R"({"seconds": {"step": 1}} {"seconds": {"step": 1e308}})");
  EXPECT_THAT(error_of([&] { read_measurement_side(huge); }),
              HasSubstr("huge.json: offset 25: seconds.step is 1e+308"));
}

TEST(MeasurementSideTest, NamesNegativeTimesAndNewerVersions) {
  const TemporaryFolder folder;
  const auto error_of_document = [&](const char* document) {
    const auto file = folder.write("a.json", document);
    return error_of([&] { read_measurement_side(file); });
  };
  EXPECT_THAT(error_of_document(R"({"version": 1, "step_seconds": -0.5})"),
              HasSubstr("a.json: offset 0: step_seconds is -0.5, but must not be negative"));
  EXPECT_THAT(error_of_document(R"({"version": 1, "seconds": {"step": 1, "backward": -2}})"),
              HasSubstr("a.json: offset 0: seconds.backward is -2, but must not be negative"));
  EXPECT_THAT(
      error_of_document(R"({"version": 1} {"version": 3, "step_seconds": 0.5})"),
      HasSubstr("a.json: offset 15: is JSON of version 3, but this program reads version 2"));
  read_measurement_side(
      folder.write("a.json", R"({"version": 1, "step_increase": -0.5, "step_seconds": 0})"));
}

MeasurementSide side(std::map<std::string, std::vector<double>> numbers) {
  return {.name = "side", .documents = 10, .numbers = std::move(numbers)};
}

TEST(CompareMeasurements, KeepsDifferingNumbersAndKnowsWhichIsBetter) {
  MeasurementSide a = side({{"step_seconds", {2}},
                            {"tokens_per_second", {100}},
                            {"ranks", {2}},
                            {"exposed_seconds.formula", {1}},
                            {"index_bytes", {7, 7}}});
  MeasurementSide b = side({{"step_seconds", {3}},
                            {"tokens_per_second", {50}},
                            {"ranks", {4}},
                            {"exposed_seconds.formula", {2}},
                            {"index_bytes", {7, 7}}});
  a.texts["device"] = "cpu";
  b.texts["device"] = "gpu";
  const Comparison comparison = compare_measurements(a, b, {});
  ASSERT_EQ(comparison.quantities.size(), 2u);
  EXPECT_DOUBLE_EQ(*comparison.quantities[0].worse_by(), 0.5);
  EXPECT_DOUBLE_EQ(*comparison.quantities[1].worse_by(), 0.5);
  EXPECT_EQ(comparison.notes,
            (std::vector<std::string>{"the sides differ in ranks: 2 and 4",
                                      "the sides differ in device: cpu and gpu"}));
}

TEST(CompareMeasurements, OnlySelectsMeasurementsByName) {
  const MeasurementSide a = side({{"forward_seconds", {2}}, {"backward_seconds", {4}}});
  const MeasurementSide b = side({{"forward_seconds", {3}}, {"backward_seconds", {5}}});
  const Comparison comparison = compare_measurements(a, b, {"forward"});
  ASSERT_EQ(comparison.quantities.size(), 1u);
  EXPECT_EQ(comparison.quantities.front().name, "forward_seconds");
  EXPECT_THAT(error_of([&] { compare_measurements(a, b, {"reduce"}); }),
              HasSubstr("no time, size or rate in common"));
}

TEST(CompareMeasurements, RefusesOtherModelsAndSidesWithoutACommonMeasurement) {
  MeasurementSide a = side({{"step_seconds", {2}}, {"ranks", {1}}}), b = a;
  a.texts["model"] = "bert-large";
  b.texts["model"] = "minilm";
  EXPECT_THAT(error_of([&] { compare_measurements(a, b, {}); }),
              HasSubstr("differ in model (bert-large and minilm)"));
  EXPECT_THAT(error_of([&] {
                compare_measurements(a, side({{"ranks", {1}}, {"forward_seconds", {2}}}), {});
              }),
              HasSubstr("no time, size or rate in common"));
}

TEST(CompareMeasurements, FewMeasurementsAreNoted) {
  MeasurementSide a = side({{"seconds", {2}}}), b = side({{"seconds", {3}}});
  b.documents = 8;
  const Comparison comparison = compare_measurements(a, b, {});
  ASSERT_EQ(comparison.notes.size(), 1u);
  EXPECT_THAT(comparison.notes.front(), HasSubstr("measured only 8 times"));
}

}  // namespace
}  // namespace strata::compare
