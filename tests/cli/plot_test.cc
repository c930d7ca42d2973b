#include "base/files/files.h"
#include "tests/cli/small_benchmark.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

class PlotCommand : public ::testing::Test {
 protected:
  PlotCommand() {
    ::strata::testing::BertLog log = ::strata::testing::BertLog::passing();
    log_ = folder_.write("Acme/results/small/bert/result_0.txt", log.text()).string();
  }
  ProcessResult plot(std::vector<std::string> words, const ProcessOptions& options = {}) {
    words.insert(words.begin(), {kStrata, "plot"});
    return run(words, options);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  ::strata::testing::TemporaryFolder folder_;
  std::string log_;
};

TEST_F(PlotCommand, WritesPicturesAndSaysWhatIsInThem) {
  const ProcessResult curves = plot({"curves", log_, "-o", path("curves.svg")});
  EXPECT_EQ(curves.exit_code, 0) << curves.err;
  EXPECT_THAT(curves.out, HasSubstr("curves.svg: 1 drawn"));
  EXPECT_THAT(read_file(path("curves.svg")), HasSubstr("target 0.72<"));
  const ProcessResult scores = plot({"scores", path("Acme"), "-o", path("scores.svg")});
  EXPECT_EQ(scores.exit_code, 0) << scores.err;
  EXPECT_THAT(read_file(path("scores.svg")), HasSubstr("Acme small"));
  write_file_atomically(path("trace.json"), R"([{"ph": "X", "name": "a", "ts": 1, "dur": 2}])");
  const ProcessResult timeline = plot({"timeline", path("trace.json"), "-o", path("timeline.svg")});
  EXPECT_EQ(timeline.exit_code, 0) << timeline.err;
  EXPECT_THAT(timeline.out, HasSubstr("timeline.svg: 1 drawn"));
  const ProcessResult printed = plot({"curves", path(""), "--json"});
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("\"accuracy\": 0.7201"));
}

TEST_F(PlotCommand, RefusesImpossibleRequestsAndWritesNothing) {
  const auto refuses = [&](const std::vector<std::string>& words, const std::string& reason,
                           const ProcessOptions& options = {}) {
    const ProcessResult refused = plot(words, options);
    EXPECT_EQ(refused.exit_code, 2) << refused.out;
    EXPECT_THAT(refused.err, HasSubstr(reason));
  };
  refuses({"curves", log_}, "--output");
  refuses({"curves", log_, "-o", ""}, "--output");
  refuses({"curves", log_, "-o", path("x.jpg")}, ".svg, .png or .pdf");
  refuses({"curves", log_, "-o", path("x.svg"), "--target", "nan"}, "--target");
  refuses({"curves", log_, "-o", path("x.svg"), "--benchmark", "ssd"}, "ssd");
  refuses({"scores", path("Acme"), "-o", path("x.svg"), "--benchmark", "ssd"}, "ssd");
  refuses({"curves", path("nowhere"), "-o", path("x.svg")}, "nowhere: is missing");
  refuses({"curves", log_, "-o", path("x.png")}, "apt install librsvg2-bin",
          {.environment = {{"PATH", path("")}}});
  write_file_atomically(path("trace.svg"), R"([{"ph": "X", "name": "a", "ts": 1, "dur": 2}])");
  refuses({"timeline", path("trace.svg"), "-o", path("trace.svg")},
          "is a file that the command reads");
  for (const char* name : {"x.jpg", "x.svg", "x.png"}) {
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
  }
}

}  // namespace
}  // namespace strata::cli
