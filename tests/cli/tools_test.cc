// Runs the tools that need no training like a user: check, score and plot.
#include "tests/cli/tools.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

TEST_F(Tools, AnUnreadableLogDoesNotChangeTheVerdictsOfOthers) {
  const std::string good = path("Acme/results/good/bert/result_0.txt");
  BertLog far = BertLog::passing();
  std::string text = far.without("submission_benchmark").text();
  const std::string time = "\"time_ms\": ";
  for (size_t at = 0; (at = text.find(time, at)) != text.npos; ++at)
    text.replace(at + time.size(), 13, "1e301");
  const std::string far_away = folder_.write("far.txt", text).string();
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const ProcessResult result =
      strata({"check", "log", far_away, path("fifo"), "/dev/zero", path("absent"), good});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.out, HasSubstr("passed " + good));
  for (const std::string& bad : {far_away, path("fifo"), std::string("/dev/zero"), path("absent")})
    EXPECT_THAT(result.out, HasSubstr("failed " + bad));
  EXPECT_THAT(result.err, HasSubstr("is a FIFO"));
  EXPECT_EQ(strata({"check", "log", good}).exit_code, 0);
  EXPECT_EQ(strata({"check", "log", path("Acme")}).exit_code, 0);
}

TEST_F(Tools, AnErrorOfManyReasonsIsOneLine) {
  std::vector<std::string> words = {"check", "system", "--ruleset", "5.0.0"};
  for (int i = 0; i < 40; ++i) words.push_back(path("absent" + std::to_string(i) + ".json"));
  const ProcessResult systems = strata(words);
  EXPECT_EQ(systems.exit_code, 2);
  EXPECT_THAT(systems.err,
              HasSubstr("absent0.json: is missing, not a description (and 39 more problems)"));
  EXPECT_EQ(std::ranges::count(systems.err, '\n'), 1) << systems.err;
  for (const char* system : {"a", "b", "c"}) {
    for (int i = 0; i < 40; ++i) {
      folder_.write(fmt::format("Acme/results/{}/bert/result_{}.txt", system, i), "nothing\n");
    }
  }
  for (const char* option : {"--fit", "--check"}) {
    const ProcessResult plan =
        strata({"plan", option, path("Acme/results/a"), "--ranks", "8", "--batch", "448"});
    EXPECT_EQ(plan.exit_code, 2) << plan.out;
    EXPECT_EQ(std::ranges::count(plan.err, '\n'), 1) << plan.err;
    EXPECT_LT(plan.err.size(), 500u) << plan.err;
  }
}

TEST_F(Tools, OnlyAFailedVerdictGivesAFailingExitCode) {
  BertLog other = BertLog::passing();
  const std::string log = write_run("other", 0, other.set("submission_benchmark", "\"ssd\""));
  // Ignores rules that are installed on this machine.
  const ProcessResult unjudged = strata({"check", "log", log, "--rules", "built-in"});
  EXPECT_EQ(unjudged.exit_code, 0) << unjudged.out;
  EXPECT_EQ(unjudged.out.substr(0, 11), "not judged ") << unjudged.out;
  const ProcessResult rcp =
      strata({"check", "rcp", path("Acme/results/other"), "--rcp", "built-in"});
  EXPECT_EQ(rcp.exit_code, 0) << rcp.out;
  EXPECT_THAT(rcp.out, HasSubstr("not judged " + path("Acme/results/other/bert")));
  BertLog broken = BertLog::passing();
  write_run("other", 1, broken.without("run_stop"));
  EXPECT_EQ(strata({"check", "log", path("Acme/results/other")}).exit_code, 1);
}

// A resumed run breaks no rule, but fails with --strict.
TEST_F(Tools, FindingsOfTheReviewFailOnlyWithStrict) {
  BertLog log = BertLog::passing();
  log.append({"resumed", "12", ""});
  std::swap(log.events.back(), *(log.events.end() - 2));
  const std::string resumed = write_run("resumed", 0, log);
  const ProcessResult lenient = strata({"check", "log", resumed});
  EXPECT_EQ(lenient.exit_code, 0) << lenient.out;
  EXPECT_THAT(lenient.out, HasSubstr("[review/clock/resumed]"));
  const ProcessResult strict = strata({"check", "log", resumed, "--strict", "--github"});
  EXPECT_EQ(strict.exit_code, 1) << strict.out;
  EXPECT_THAT(strict.out, HasSubstr("::error file="));
  EXPECT_EQ(strata({"check", "log", path("Acme/results/good"), "--strict"}).exit_code, 0);
}

TEST_F(Tools, UnreadablePartsDoNotStopTheOthers) {
  folder_.write("Acme/results/large/bert/result_0.txt", "");
  fs::resize_file(path("Acme/results/large/bert/result_0.txt"), uint64_t{1} << 40);
  for (const char* command : {"rcp", "seeds"}) {
    std::vector<std::string> words = {"check", command, path("Acme/results")};
    if (std::string(command) == "rcp") words.insert(words.end(), {"--ruleset", "5.0.0"});
    const ProcessResult result = strata(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.out, HasSubstr("good/bert\n"));
    EXPECT_THAT(result.err, HasSubstr("a log may have"));
  }
  const std::string description = folder_.write("x.json", "{}").string();
  fs::create_symlink("/dev/zero", path("zero.json"));
  const ProcessResult systems = strata({"check", "system", "--ruleset", "5.0.0", path("zero.json"),
                                        path("absent.json"), description});
  EXPECT_EQ(systems.exit_code, 2);
  EXPECT_THAT(systems.out, HasSubstr("missing field \"submitter\""));
  EXPECT_THAT(systems.err, HasSubstr("zero.json: is a device"));
  EXPECT_THAT(systems.err, HasSubstr("absent.json: is missing"));
  // A package with a failed log is still judged.
  EXPECT_EQ(strata({"score", path("Acme")}).exit_code, 0);
  EXPECT_EQ(strata({"plot", "curves", path("Acme"), "-o", path("x.svg")}).exit_code, 0);
}

TEST_F(Tools, TheConvergenceCheckNamesSkippedLines) {
  folder_.write("Acme/results/good/bert/result_0.txt",
                ":::MLLOG {\"broken\n" + BertLog::passing().text());
  const ProcessResult rcp = strata({"check", "rcp", path("Acme"), "--ruleset", "5.0.0"});
  EXPECT_THAT(rcp.out, HasSubstr("result_0.txt: skipped 1 line"));
  EXPECT_THAT(rcp.out, HasSubstr("the first is line 1: unterminated string"));
}

TEST_F(Tools, AnOutputOptionKeepsDevicesAndLinks) {
  const std::string acme = path("Acme");
  fs::create_symlink("/dev/null", path("null"));
  fs::create_symlink("/dev/full", path("full"));
  folder_.write("target", "old");
  fs::create_symlink("target", path("link"));
  EXPECT_EQ(strata({"score", acme, "--csv", path("null")}).exit_code, 0);
  const ProcessResult full = strata({"score", acme, "--csv", path("full")});
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_THAT(full.err, HasSubstr("No space left"));
  EXPECT_EQ(strata({"score", acme, "--json", "-o", path("link")}).exit_code, 0);
  EXPECT_EQ(read_file(path("target")).substr(0, 1), "{");
  for (const char* name : {"null", "full", "link"}) EXPECT_TRUE(fs::is_symlink(path(name))) << name;
  fs::create_symlink("picture", path("picture.svg"));
  EXPECT_EQ(strata({"plot", "scores", acme, "-o", path("picture.svg")}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("picture.svg")));
  EXPECT_TRUE(fs::is_regular_file(path("picture")));
  EXPECT_EQ(strata({"score", acme, "--csv", acme}).exit_code, 2);
  EXPECT_TRUE(fs::is_directory(acme));
}

TEST_F(Tools, StandardOutputMayBeNamed) {
  fs::create_symlink("/dev/stdout", path("out"));
  const ProcessResult piped = strata_to("score " + path("Acme") + " --csv " + path("out"), "| cat");
  EXPECT_THAT(piped.out, HasSubstr("Acme,good,bert"));
  EXPECT_THAT(piped.out, HasSubstr("Acme       good"));
  const ProcessResult file = strata({"score", path("Acme"), "--csv", path("out")});
  EXPECT_EQ(file.out, piped.out);
  EXPECT_TRUE(fs::is_symlink(path("out")));
}

TEST_F(Tools, AFailedWriteToStandardOutputIsAnError) {
  for (const std::string words :
       {"--version", "--help", "check --help", "score ACME", "score ACME --json", "check log ACME",
        "check rcp ACME", "plot curves ACME --json"}) {
    std::string command = words;
    if (const size_t at = command.find("ACME"); at != command.npos)
      command.replace(at, 4, path("Acme"));
    for (const char* redirection : {"> /dev/full", ">&-"}) {
      const ProcessResult result = strata_to(command, redirection);
      EXPECT_EQ(result.exit_code, 2) << words << redirection;
      EXPECT_THAT(result.err, HasSubstr("cannot write")) << words << redirection;
    }
  }
}

TEST_F(Tools, CompareExitsWithOneIfASideIsWorseThanTheLimit) {
  BertLog slower = BertLog::passing();
  const double begin = slower.at("run_start").time_ms;
  slower.at("run_stop").time_ms = begin + 1.1 * (slower.at("run_stop").time_ms - begin);
  write_run("slower", 0, slower);
  const std::string good = path("Acme/results/good"), worse = path("Acme/results/slower");
  const ProcessResult refused = strata({"compare", good, worse, "--fail-above", "9%"});
  EXPECT_EQ(refused.exit_code, 1) << refused.err;
  EXPECT_THAT(refused.out, HasSubstr("+10.00 %"));
  EXPECT_THAT(refused.err, HasSubstr("time to train of slower is 10.00 % worse than that of good"));
  EXPECT_EQ(strata({"compare", good, worse, "--fail-above", "0.11"}).exit_code, 0);
  EXPECT_EQ(strata({"compare", worse, good, "--fail-above", "9%"}).exit_code, 0);
}

TEST_F(Tools, CompareRefusesWhatCannotBeCompared) {
  const auto error_of = [](const std::vector<std::string>& words) {
    const ProcessResult refused = strata(words);
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    return refused.err;
  };
  const std::string good = path("Acme/results/good");
  const std::string file = folder_.write("bench.json", R"({"step_seconds": 1})").string();
  EXPECT_THAT(error_of({"compare", good}), HasSubstr("at least two sides"));
  EXPECT_THAT(error_of({"compare", good, file}), HasSubstr("cannot be compared"));
  EXPECT_THAT(error_of({"compare", good, path("absent")}), HasSubstr("absent: is missing"));
  for (const char* share : {"-1%", "3 %", "nan", "", "%", "3%%", "3"}) {
    EXPECT_THAT(error_of({"compare", file, file, "--fail-above=" + std::string(share)}),
                HasSubstr("--fail-above"))
        << share;
  }
}

TEST_F(Tools, AGateWithoutAScoreFailsClosed) {
  const std::string good = path("Acme/results/good");
  BertLog aborted = BertLog::passing();
  aborted.at("run_stop").metadata = "\"status\": \"aborted\"";
  write_run("failed", 0, aborted);
  const ProcessResult shown = strata({"compare", good, path("Acme/results/failed")});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const ProcessResult refused =
      strata({"compare", good, path("Acme/results/failed"), "--fail-above", "3%"});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("no score"));
}

// A newly opened file must not take the descriptor of a closed stream.
TEST_F(Tools, AClosedStreamDoesNotMixIntoAFile) {
  const ProcessResult result = strata_to("score " + path("Acme") + " --csv " + path("csv"), ">&-");
  EXPECT_EQ(result.exit_code, 2);
  const std::string csv = read_file(path("csv"));
  EXPECT_EQ(csv.substr(0, 10), "submitter,") << csv;
  EXPECT_EQ(csv.find("ruleset: "), csv.npos) << csv;
}

TEST_F(Tools, AnUnknownCommandIsNamedWithTheNearest) {
  const auto error_of = [](const std::vector<std::string>& words) {
    const ProcessResult refused = strata(words);
    EXPECT_EQ(refused.exit_code, 2);
    return refused.err;
  };
  EXPECT_THAT(error_of({"chek", "log"}), HasSubstr("'strata chek'; did you mean 'check'?"));
  EXPECT_THAT(error_of({"check", "pakage"}),
              HasSubstr("'strata check pakage'; did you mean 'package'?"));
  EXPECT_THAT(error_of({"plot", "sores"}), HasSubstr("did you mean 'scores'?"));
  const std::string far = error_of({"check", "everything"});
  EXPECT_THAT(far, Not(HasSubstr("did you mean")));
  EXPECT_THAT(far, HasSubstr("log, package, round"));
}

// ---- Plans

// Returns the part of `strata bench step --json` that plans read.
std::string measured_step(int sequences, double seconds) {
  std::string lengths = "1";
  for (int i = 1; i < sequences; ++i) lengths += ", 1";
  return "{\"ranks\": 1, \"sequences_per_step\": " + std::to_string(sequences) +
         ", \"seconds\": {\"step\": " + std::to_string(seconds) + "}, \"lengths\": [[" + lengths +
         "]]}";
}

// A batch of 80 takes 12,500 steps of 20 ms and of 3 ms for each of a rank's samples, and 3 ms for
// each of a rank's 3,333 evaluated samples every now and then.
TEST_F(Tools, APlanFindsTheFewestRanksForATimeAndTheCheapest) {
  const std::string small = folder_.write("small.json", measured_step(4, 0.032)).string();
  const std::string large = folder_.write("large.json", measured_step(20, 0.080)).string();
  const ProcessResult result =
      strata({"plan",    "--measured", small,       "--measured", large,     "--ranks", "40,80",
              "--batch", "80",         "--samples", "1000000",    "--start", "0",       "--under",
              "8min",    "--memory",   "1TB",       "--price",    "2",       "--watts", "500"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("fewest ranks under 8 min: "));
  EXPECT_THAT(result.out, HasSubstr("fewest ranks whose interval is under 8 min: "));
  EXPECT_THAT(result.out,
              HasSubstr("cheapest, with the least energy, within 10 % of the fastest: "));
}

TEST_F(Tools, APlanIsMadeFromTwoBatchSizesAndDrawn) {
  // A sample takes 3 ms, a step 20.
  const std::string small = folder_.write("small.json", measured_step(4, 0.032)).string();
  const std::string large = folder_.write("large.json", measured_step(20, 0.080)).string();
  const std::vector<std::string> words = {
      "plan",    "--measured", small,       "--measured", large,     "--ranks", "1,8",
      "--batch", "80,4096",    "--samples", "1000000",    "--start", "2"};
  const ProcessResult table = strata(words);
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("time per sample 3.00 ms, per step 20.00 ms"));
  // 80 samples on 8 ranks take 30 and 20 ms.
  EXPECT_THAT(table.out, HasSubstr("    30.00 |"));

  // BERT-large on a rank needs 10 bytes per parameter beside weights and gradients, far more than 5
  // GB.
  std::vector<std::string> small_memory = words;
  small_memory.insert(small_memory.end(), {"--memory", "5"});
  const ProcessResult warned = strata(small_memory);
  EXPECT_EQ(warned.exit_code, 0) << warned.err;
  EXPECT_EQ(warned.out, table.out);
  EXPECT_EQ(table.err, "");
  EXPECT_THAT(warned.err, HasSubstr("8 ranks, batch 80: "));
  EXPECT_THAT(warned.err, HasSubstr(" GB per rank, more than --memory 5"));
  small_memory.back() = "5000";
  EXPECT_EQ(strata(small_memory).err, "");

  std::vector<std::string> as_json = words;
  as_json.push_back("--json");
  const ProcessResult printed = strata(as_json);
  EXPECT_EQ(printed.out.substr(0, 16), "{\n  \"version\": 2") << printed.out;
  const std::string plan = folder_.write("plan.json", printed.out).string();
  const ProcessResult drawn = strata({"plot", "plan", plan, "-o", path("plan.svg")});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_THAT(read_file(path("plan.svg")), HasSubstr(">8 x 512<"));
  EXPECT_EQ(strata({"plot", "plan", plan, "-o", plan}).exit_code, 2);
}

TEST_F(Tools, APlanOfOneBatchSizeIsRefusedWithTheReason) {
  const std::string step = folder_.write("step.json", measured_step(4, 0.032)).string();
  const ProcessResult result =
      strata({"plan", "--measured", step, "--ranks", "8", "--batch", "80"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("cannot separate time per sample from time per step"));
  EXPECT_THAT(result.err, HasSubstr(step));
}

TEST_F(Tools, APlanRefusesWrongInputsByName) {
  const std::string step = folder_.write("step.json", measured_step(4, 0.032)).string();
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals = {
      {{}, "nothing to calibrate from"},
      {{"--measured", step}, "nothing to predict"},
      {{"--measured", step, "--fit", path("Acme")}, "--measured and --fit"},
      {{"--measured", step, "--ranks", "8"}, "--ranks and --batch"},
      {{"--measured", step, "--ranks", "8", "--batch", "80", "--search"}, "--memory"},
      {{"--measured", path("absent.json"), "--ranks", "8", "--batch", "80"}, "absent.json"},
      {{"--fit", path("absent/x"), "--ranks", "8", "--batch", "80"}, "absent/x"},
      {{"--fit", path("Acme/results/good"), "--ranks", "8", "--batch", "80"}, "systems/good.json"},
      {{"--check", path()}, "good.json"},
      {{"--check", path("Acme"), "--ranks", "8", "--batch", "80"}, "--ranks: needs --fit"},
      {{"--check", path("Acme"), "--under", "2min", "--batch", "80"}, "--under: needs --fit"},
  };
  for (const auto& [words, reason] : refusals) {
    std::vector<std::string> command = {"plan"};
    command.insert(command.end(), words.begin(), words.end());
    const ProcessResult result = strata(command);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(reason)) << reason;
  }
  const std::string large = folder_.write("large.json", measured_step(20, 0.080)).string();
  for (const char* network :
       {"5", "1e-6", "a,b", "1e-6,0", "-1,1e9", "1,2,3", "nan,1", ",", "0,1e-300", "1e308,1"}) {
    const ProcessResult result = strata(
        {"plan", "--measured", step, large, "--ranks", "8", "--batch", "80", "--network", network});
    EXPECT_EQ(result.exit_code, 2) << network;
    EXPECT_THAT(result.err, HasSubstr("expected SECONDS,BYTES_A_SECOND"));
  }
  const std::vector<std::pair<std::vector<std::string>, std::string>> networks = {
      {{"--domain", "nvl72"}, "--domain: needs --network"},
      {{"--cards", "2"}, "--cards: needs --network"},
      {{"--network", "0,1e9", "--domain", "ethernet"}, "nvlink-a100 (8 A100"},
      {{"--network", "0,1e9", "--domain", "2.5,0,1e9"}, "ACCELERATORS,SECONDS,BYTES_A_SECOND"},
      {{"--network", "0,1e9", "--domain", "8,0,0"},
       "--domain 8,0,0: expected SECONDS,BYTES_A_SECOND"},
      {{"--under", "2"}, "--under: Value 2 is not a number in s, min, h"},
      {{"--under", "2parsec"}, "--under: Value 2parsec"},
      {{"--memory", "40MB"}, "--memory: Value 40MB is not a number in GB, GiB, TB"},
      {{"--price", "nan"}, "--price: Value nan"},
      {{"--watts", "0"}, "--watts: Value 0"},
      {{"--ranks", "8,1000000", "--batch", "10000000"},
       "--ranks 1000000: more than 1,024 times the ranks that were measured"},
      {{"--batch", "3"}, "--batch 3: is less than a sample for each of 8 ranks"}};
  for (const auto& [words, reason] : networks) {
    std::vector<std::string> command = {"plan",    "--measured", step,      large,
                                        "--ranks", "8",          "--batch", "80"};
    command.insert(command.end(), words.begin(), words.end());
    const ProcessResult result = strata(command);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(reason));
  }
  for (const char* option : {"--batch", "--samples", "--start", "--sample-tokens", "--memory"}) {
    const ProcessResult result =
        strata({"plan", "--measured", step, large, "--ranks", "8", "--batch", "80", option, "nan"});
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_THAT(result.err, HasSubstr(std::string(option) + ": Value nan"));
  }
  const std::string model = folder_.write("model.json", R"({"hidden_size": 0})").string();
  const std::vector<std::pair<std::vector<std::string>, std::string>> layouts = {
      {{"--clip", "gently"}, "--clip"},
      {{"--stages", "3"}, "--stages 3: does not divide 8 ranks"},
      {{"--stages", "2"}, "--stages 2: needs at least as many micro-batches"},
      {{"--split-tied-embedding"},
       "--split-tied-embedding: before_allreduce and bucket_before_allreduce clip a rank's own "
       "gradient"},
      {{"--sharded", "all", "--clip", "before_allreduce"},
       "--sharded: sharded gradients are reduced"},
      {{"--model", path("absent.json")}, "absent.json"},
      {{"--model", model}, "model.json: \"num_hidden_layers\""}};
  for (const auto& [words, reason] : layouts) {
    std::vector<std::string> command = {"plan",    "--measured", step,      large,
                                        "--ranks", "8",          "--batch", "80"};
    command.insert(command.end(), words.begin(), words.end());
    const ProcessResult result = strata(command);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(reason)) << reason;
  }
}

TEST_F(Tools, AFolderInPlaceOfAFileIsNamedAndViceVersa) {
  const std::string log = path("Acme/results/good/bert/result_0.txt");
  const ProcessResult system = strata({"check", "system", path("Acme")});
  EXPECT_EQ(system.exit_code, 2);
  EXPECT_THAT(system.err, HasSubstr("Acme: is a folder; give the system descriptions in it"));
  for (const auto& [rules, is] : std::vector<std::pair<std::string, std::string>>{
           {path("nothing"), "is missing"}, {log, "is a regular file"}}) {
    const ProcessResult refused = strata({"check", "log", log, "--rules", rules});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr(rules + ": " + is + ", a folder of rules was expected"));
  }
}

}  // namespace
}  // namespace strata::cli
