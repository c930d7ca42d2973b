#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/files/files.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

using nlohmann::json;

std::vector<std::string> balance(const std::vector<std::string>& more) {
  std::vector<std::string> command = {kStrata, "bench", "balance"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

// Explains a step without running it.
TEST(BenchStep, ExplainsTheOrderOfWork) {
  const std::string config = STRATA_SOURCE_DIR "/scripts/configs/tiny.yaml";
  const std::vector<std::string> command = {
      kStrata, "bench",     "step",  "--config",
      config,  "--explain", "--set", "batch.gradient_accumulation_steps=2"};
  std::vector<std::string> as_json = command;
  as_json.push_back("--json");
  const ProcessResult result = run(as_json);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json explained = json::parse(result.out)["stages"][0];
  EXPECT_EQ(explained["schedule"], "micro_batch_order");
  EXPECT_EQ(explained["blocks"], 4);
  const json& operations = explained["operations"];
  EXPECT_EQ(operations[0], (json{{"operation", "forward"},
                                 {"lane", "compute"},
                                 {"block", "embeddings"},
                                 {"micro_batch", 0},
                                 {"after", json::array()}}));
  EXPECT_EQ(operations[4]["operation"], "backward");
  EXPECT_EQ(operations[4]["block"], "heads");
  EXPECT_EQ(operations[4]["after"], json{3});
  EXPECT_EQ(operations[13]["operation"], "ready");
  EXPECT_EQ(operations.back()["operation"], "update");
  EXPECT_EQ(operations.back()["bucket"], 0);
  EXPECT_EQ(operations.back()["lane"], "arithmetic");
  const ProcessResult table = run(command);
  EXPECT_THAT(table.out, HasSubstr("lane         operation"));
  EXPECT_THAT(table.out, HasSubstr("arithmetic   update           bucket 0"));
}

TEST(BenchStep, ExplainsEveryStageOfAPipeline) {
  const std::string config = STRATA_SOURCE_DIR "/scripts/configs/tiny.yaml";
  const ProcessResult result =
      run({kStrata, "bench", "step", "--config", config, "--explain", "--json", "--set",
           "batch.gradient_accumulation_steps=2", "--set", "parallel.stages=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json stages = json::parse(result.out)["stages"];
  ASSERT_EQ(stages.size(), 2u);
  for (int stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(stages[stage]["schedule"], "modular_pipeline");
    EXPECT_EQ(stages[stage]["stage"], stage);
    EXPECT_EQ(stages[stage]["blocks"], stage == 0 ? 3 : 1);
  }
  EXPECT_EQ(stages[1]["operations"][0], (json{{"operation", "receive_input"},
                                              {"lane", "messages"},
                                              {"block", "layer_1"},
                                              {"micro_batch", 0},
                                              {"peer", 0},
                                              {"after", json::array()}}));
}

// Returns the command for a sleeping device on two ranks, with `more` options.
std::vector<std::string> schedule(const std::vector<std::string>& more, int ranks = 2) {
  std::vector<std::string> command;
  if (ranks > 1) command = {kMpirun, "-n", std::to_string(ranks)};
  command.insert(command.end(),
                 {kStrata, "bench", "schedule", "--config",
                  STRATA_SOURCE_DIR "/scripts/configs/tiny.yaml", "--steps", "1", "--tokens", "100",
                  "--sleep", "1000", "--set", "batch.gradient_accumulation_steps=2"});
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

const std::vector<std::string> kDataParallelOrders = {
    "micro_batch", "micro_batch, recompute", "micro_batch, tied-embedding split",
    "layer",       "layer, recompute",       "layer, tied-embedding split"};
const std::vector<std::string> kPipelineOrders = {"contiguous, 2 stages", "modular, 2 stages"};
const std::vector<std::string> kShardedOrders = {
    "none, micro_batch", "state, micro_batch", "gradients, micro_batch", "all, micro_batch",
    "none, layer",       "state, layer",       "gradients, layer",       "all, layer"};

ProcessOptions over_ranks() {
  ProcessOptions options;
  options.environment["ASAN_OPTIONS"] = "detect_leaks=0";  // Open MPI keeps some memory
  return options;
}

TEST(BenchSchedule, PrintsEverySectionAsJson) {
  const ProcessResult result =
      run(schedule({"--set", "clip.mode=after_allreduce", "--json"}), over_ranks());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json printed = json::parse(result.out);
  EXPECT_EQ(printed["ranks"], 2);
  EXPECT_EQ(printed["micro_batches"], 2);
  EXPECT_EQ(printed["emulated_link"]["gigabits_per_second"], 1);
  const auto names_in = [&](const char* section) {
    EXPECT_TRUE(printed[section]["skipped"].empty()) << printed[section];
    std::vector<std::string> names;
    for (const json& order : printed[section]["orders"]) names.push_back(order["order"]);
    return names;
  };
  EXPECT_EQ(names_in("data_parallel"), kDataParallelOrders);
  EXPECT_EQ(names_in("pipelines"), kPipelineOrders);
  EXPECT_EQ(names_in("sharding"), kShardedOrders);
  EXPECT_EQ(printed["data_parallel"]["tokens_per_step"], 2 * 2 * 100);
  for (const json& order : printed["data_parallel"]["orders"]) {
    for (const char* key :
         {"communication_seconds", "exposed_communication_seconds", "activation_bytes"}) {
      EXPECT_TRUE(order[key]["measured"].is_number() && order[key]["formula"].is_number()) << key;
    }
  }
  for (const json& order : printed["pipelines"]["orders"]) {
    EXPECT_EQ(order["stages"], 2);
    EXPECT_TRUE(order["message_bytes_per_stage"]["equal"]) << order;
    // One layer per stage, 2 x 100 tokens, 64 hidden units in fp32, in both directions.
    EXPECT_EQ(order["message_bytes_per_stage"]["measured"], 2 * 200 * 64 * 4);
    for (const char* key : {"measured", "paper", "messages", "heads", "formula", "deviation"}) {
      EXPECT_TRUE(order["bubble"][key].is_number()) << key;
    }
    for (const char* key :
         {"step_seconds", "span_seconds", "layers_seconds", "heads_seconds", "waiting_seconds"}) {
      EXPECT_TRUE(order[key].is_number()) << key;
    }
  }
  for (const json& order : printed["sharding"]["orders"]) {
    for (const char* key :
         {"bytes_sent_per_step", "weight_bytes", "gradient_bytes", "state_bytes"}) {
      EXPECT_TRUE(order[key]["equal"]) << key << " in " << order;
    }
    EXPECT_GT(order["resident_bytes"]["measured"], 0) << order;
  }
}

TEST(BenchSchedule, PrintsARowForEveryOrderOfTheSectionsChosen) {
  const auto has_row = [](const std::string& table, const std::string& name) {
    return table.find("\n" + name + " ") != std::string::npos;
  };
  const ProcessResult result =
      run(schedule({"--only", "pipelines,sharding", "--set", "clip.mode=bucket_before_allreduce",
                    "--set", "parallel.stages=2"}),
          over_ranks());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const auto* names : {&kPipelineOrders, &kShardedOrders}) {
    for (const std::string& name : *names) EXPECT_TRUE(has_row(result.out, name)) << result.out;
  }
  EXPECT_FALSE(has_row(result.out, "layer, recompute")) << result.out;
  EXPECT_THAT(result.out,
              HasSubstr("all, micro_batch                    skipped: optimizer.sharded: in "
                        "micro_batch order sharded gradients are reduced after every "
                        "micro-batch"));
  EXPECT_THAT(result.out, Not(HasSubstr("unequal")));
}

TEST(BenchSchedule, RefusesOneRankAndUnknownSections) {
  expect_refusal(run(schedule({}, 1)), {"a single rank has no communication"});
  const ProcessResult unknown = run(schedule({"--only", "sections"}, 1));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("--only"));
}

TEST(BenchSchedule, HelpSaysWhatEveryColumnIs) {
  const std::string help = run({kStrata, "bench", "schedule", "--help"}).out;
  for (const char* column :
       {"step, increase", "tail", "exposed", "activations", "layers", "heads", "waiting", "bubble",
        "paper", "messages", "heads %", "MB sent", "sent", "resident"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + column)) << column;
  }
}

TEST(BenchBalance, MeasuresEveryStrategyAtEveryNumberOfRanks) {
  const ProcessResult result =
      run(balance({"--ranks", "8,64", "--steps", "20", "--samples", "50000", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::pair<int, std::string>, json> rows;
  const json printed = json::parse(result.out);
  for (const json& row : printed["plans"]) rows[{row["ranks"], row["strategy"]}] = row;
  EXPECT_EQ(rows.size(), 10u);
  for (const int ranks : {8, 64}) {
    const auto mean = [&](const char* strategy) {
      return rows.at({ranks, strategy})["mean_imbalance"].get<double>();
    };
    EXPECT_GT(mean("random"), mean("stratified"));
    EXPECT_GT(mean("stratified"), mean("stratified+presort"));
    EXPECT_LT(mean("planned"), 1.003);
    EXPECT_GE(mean("planned"), 1);
    EXPECT_EQ(rows.at({ranks, "planned"})["group_ranks"], ranks);
    EXPECT_EQ(rows.at({ranks, "stratified+presort"})["group_ranks"], 8);
    EXPECT_EQ(rows.at({ranks, "planned"})["bytes_received_per_rank_and_step"], 0);
    EXPECT_GT(rows.at({ranks, "exchange"})["bytes_received_per_rank_and_step"], 0);
  }
}

TEST(BenchBalance, PrintsATableOfTheChosenStrategies) {
  const ProcessResult result = run(balance(
      {"--ranks", "4", "--steps", "2", "--samples", "1000", "--strategies", "random,planned"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("|     4 | random "));
  EXPECT_THAT(result.out, HasSubstr("|     4 | planned "));
  EXPECT_THAT(result.out, Not(HasSubstr("exchange")));
  EXPECT_EQ(result.err, "");
}

TEST(BenchBalance, ImpossiblePlansAreRefusedWithTheReason) {
  expect_refusal(run(balance({"--ranks", "100", "--samples", "1000"})),
                 {"1,000 samples", "100 ranks x 16"});
  expect_refusal(run(balance({"--cost", "{linear: 1}"})), {"--cost", "quadratic", "missing"});
  expect_refusal(run(balance({"--lengths", "/absent.txt"})), {"/absent.txt"});
}

class BenchWithData : public SmallBenchmark {};

TEST_F(BenchWithData, AMachinesRowsArePrintedFromItsJson) {
  std::vector<std::string> arguments = {"bench",    "machine", "--models",  "tiny", "--steps", "1",
                                        "--rounds", "1",       "--threads", "1",    "--json"};
  const auto measure = [&](const std::string& tokens) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--tokens", tokens});
    const ProcessResult measured = strata(all);
    EXPECT_EQ(measured.exit_code, 0) << measured.err;
    return measured.out;
  };
  json first = json::parse(measure("64"));
  first["steps"][0]["model_flops_per_second"] = 3e9;
  first["steps"][0]["matrix_peak_flops_per_second"] = 4e9;
  first["processor"]["model"] = "Some CPU";
  first["matrix_peak_flops_per_second"] = {{"fp32", 2e11}, {"bf16", nullptr}};
  write_file_atomically(path("first.json"), first.dump());
  write_file_atomically(path("second.json"), measure("100"));
  const ProcessResult rows =
      strata({"bench", "machine", "--from", path("first.json"), path("second.json")});
  ASSERT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_THAT(rows.out, HasSubstr("| tiny, 64 tokens | tiny, 100 tokens |"));
  const std::string row = rows.out.substr(rows.out.find("| Some CPU"));
  EXPECT_THAT(row, HasSubstr(" | 200, - | "));
  EXPECT_THAT(row, HasSubstr(" | 75 % | - | "));
  EXPECT_EQ(std::ranges::count(rows.out, '\n'), 4);
  // The output can be read again.
  const ProcessResult again = strata({"bench", "machine", "--from", path("first.json"), "--json"});
  EXPECT_EQ(json::parse(again.out)["processor"], first["processor"]);
  EXPECT_EQ(json::parse(again.out)["steps"][0]["share_of_matrix_peak"], 0.75);

  write_file_atomically(path("other.json"), R"({"processor": {}})");
  expect_refusal(strata({"bench", "machine", "--from", path("other.json")}),
                 {"other.json", "is not what 'strata bench machine --json' prints"});
}

TEST_F(BenchWithData, APathThatIsNotUtf8MakesValidJson) {
  std::filesystem::copy(path("model.json"), path("caf\xe9.json"));
  const ProcessResult measured =
      strata({"bench", "machine", "--models", path("caf\xe9.json"), "--tokens", "64", "--steps",
              "1", "--rounds", "1", "--threads", "1", "--json"});
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_TRUE(json::parse(measured.out)["steps"][0]["model"].get<std::string>().ends_with(
      "caf\uFFFD.json"));
}

TEST(BenchMachine, TheDocumentHasARowForEveryResult) {
  const std::filesystem::path root = STRATA_SOURCE_DIR;
  std::vector<std::string> command = {kStrata, "bench", "machine", "--from"};
  for (const auto& file : list_directory(root / "bench/results")) {
    if (file.filename().string().starts_with("machine_")) command.push_back(file.string());
  }
  ASSERT_GT(command.size(), 4u);
  const ProcessResult rows = run(command);
  ASSERT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_THAT(read_file(root / "docs/measurements/processors.md"), HasSubstr(rows.out)) << rows.out;
}

TEST_F(BenchWithData, BalanceTakesTheLengthsOfADataSet) {
  const ProcessResult result = run(balance({"--lengths", path("data/train.hdf5"), "--ranks", "2",
                                            "--batch", "2", "--steps", "5", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["plans"].size(), 5u);
}

TEST_F(BenchWithData, AMeasuredCostCanBeUsedForTrainingAndPlanning) {
  const std::string cost = path("cost.json");
  const ProcessResult measured = strata({"bench", "cost", "--config", path("run.yaml"), "--rounds",
                                         "5", "--tokens", "2048", "--out", cost, "--json"});
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const json printed = json::parse(measured.out);
  EXPECT_EQ(printed, json::parse(read_file(cost)));
  EXPECT_GT(printed["linear"].get<double>() + printed["quadratic"].get<double>(), 0);
  EXPECT_GE(printed["batches"].size(), 5u);

  const ProcessResult planned =
      run(balance({"--lengths", path("data/train.hdf5"), "--ranks", "2", "--batch", "2", "--steps",
                   "2", "--cost", cost, "--json"}));
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  const ProcessResult trained = strata(train({"--set", "batch.load_balance.strategy=planned",
                                              "--set", "batch.load_balance.cost=" + cost}));
  EXPECT_LE(trained.exit_code, 1) << trained.err;
  EXPECT_THAT(read_file(result("result_0.yaml")), HasSubstr("cost: {linear: "));
}

std::vector<std::string> simulate(const std::vector<std::string>& more) {
  std::vector<std::string> command = {kStrata, "bench", "simulate", "--config",
                                      STRATA_SOURCE_DIR "/scripts/configs/bert-large-8gpu.yaml"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

// BERT-large on 1,024 GPUs: a bucket's clipping lets updates hide the last all-reduces.
TEST(BenchSimulate, ComparesClipModesAndBuckets) {
  const ProcessResult result =
      run(simulate({"--ranks", "8,1024", "--gflops", "400000", "--gbytes", "2500", "--network",
                    "5e-6,50e9", "--domain", "nvlink-h100", "--clip",
                    "after_allreduce,bucket_before_allreduce", "--buckets", "25,200", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json simulated = json::parse(result.out);
  EXPECT_EQ(simulated["executor"], "streams");
  std::map<std::tuple<int, std::string, double>, json> seconds;
  for (const json& each : simulated["simulations"]) {
    seconds[{each["ranks"], each["clip"], each["bucket_megabytes"]}] = each["seconds"];
  }
  ASSERT_EQ(seconds.size(), 8u);
  const auto exposed = [&](int ranks, const char* clip, double bucket) {
    return seconds.at({ranks, clip, bucket})["exposed_communication"].get<double>();
  };
  EXPECT_LT(exposed(1024, "bucket_before_allreduce", 25), exposed(1024, "after_allreduce", 25));
  EXPECT_LT(exposed(8, "after_allreduce", 25), exposed(1024, "after_allreduce", 25));
  EXPECT_LT(exposed(1024, "after_allreduce", 25), exposed(1024, "after_allreduce", 200));
}

// Each channel takes a processor from computing, and too few do not fill the link.
TEST(BenchSimulate, ComparesNumbersOfNcclChannels) {
  const ProcessResult result = run(simulate(
      {"--ranks", "8", "--gflops", "400000", "--network", "5e-6,50e9", "--domain", "nvlink-h100",
       "--channels", "1,8,24,100", "--channel-gbytes", "20", "--processors", "132", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<double> steps;
  const json simulated = json::parse(result.out);
  for (const json& each : simulated["simulations"]) steps.push_back(each["seconds"]["step"]);
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_GT(steps[0], steps[1]);
  EXPECT_GT(steps[3], steps[2]);
}

TEST(BenchSimulate, RefusesImpossibleSettings) {
  const std::vector<std::string> speed = {"--ranks", "8", "--gflops", "1000"};
  const auto error = [&](std::vector<std::string> arguments, bool adds_speed = true) {
    if (adds_speed) arguments.insert(arguments.begin(), speed.begin(), speed.end());
    const ProcessResult result = run(simulate(arguments));
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_THAT(error({"--ranks", "1"}, false),
              HasSubstr("--measured FILE, --fitted FILE or --gflops"));
  EXPECT_THAT(error({}), HasSubstr("need --network"));
  EXPECT_THAT(error({"--network", "1e-6,1e9", "--measured", "none.json"}), HasSubstr("none.json"));
  EXPECT_THAT(
      error({"--network", "1e-6,1e9", "--set", "parallel.stages=3", "--set", "run.division=open"}),
      HasSubstr("parallel.stages"));
  EXPECT_THAT(error({"--network", "1e-6,1e9", "--channels", "132", "--channel-gbytes", "20",
                     "--processors", "132"}),
              HasSubstr("--channels 132"));
  EXPECT_THAT(error({"--network", "1e-6,1e9", "--buckets", "1,2", "--timeline", "t.json"}),
              HasSubstr("one case, not 2"));
}

}  // namespace
}  // namespace strata::cli
