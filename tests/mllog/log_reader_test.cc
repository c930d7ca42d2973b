#include "mllog/log_reader.h"

#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/matchers.h"

namespace strata::mllog {
namespace {

using ::strata::testing::TemporaryFolder;

constexpr const char* kRecord =
    R"({"time_ms": 5, "key": "seed", "value": 7, "metadata": {"a": [1, {}]}})";

std::string event_line(const std::string& record = kRecord) { return ":::MLLOG " + record + "\n"; }

LogReader parse(const std::string& text) { return LogReader::from_text(text, "test"); }

TEST(LogReader, ReadsTheFieldsOfARecord) {
  const LogReader log = parse(event_line());
  ASSERT_EQ(log.events().size(), 1u);
  EXPECT_EQ(log.events()[0].key, "seed");
  EXPECT_EQ(log.events()[0].value, "7");
  EXPECT_EQ(log.events()[0].metadata, R"({"a": [1, {}]})");
  EXPECT_EQ(log.events()[0].time_ms, 5);
}

TEST(LogReader, TakesTheLastTokenOfALine) {
  const LogReader log = parse("rank 0: :::MLLOG {\"broken\": rank 1: " + event_line());
  EXPECT_EQ(log.events().size(), 1u);
  EXPECT_EQ(log.bad_line_count(), 0u);
}

TEST(LogReader, NamesEventsHiddenByTheLastTokenOfALine) {
  const std::string key =
      "{\"namespace\": \"\", \"time_ms\": 5, \"event_type\": \"POINT_IN_TIME\", \"key\": ";
  const auto event = [&](const std::string& name) {
    return ":::MLLOG " + key + '"' + name + "\", \"value\": 1, \"metadata\": {}}";
  };
  const LogReader log =
      parse("0: " + event("a") + " " + event("b") + event("c") + "\n" + event("d") +
            "\n\n:::MLLOG {\"broken\": :::MLLOG {\"more\": " + event("e") + "\n" +
            "grep ':::MLLOG ' x | grep -c ':::MLLOG ' " + event("f") + "\n");
  EXPECT_EQ(log.events().size(), 4u);
  EXPECT_EQ(log.crowded_line_count(), 2u);
  ASSERT_EQ(log.crowded_lines().size(), 2u);
  EXPECT_EQ(log.crowded_lines()[0].lost, "a, b");
  EXPECT_EQ(log.line_number(log.crowded_lines()[0].offset), 1u);
  EXPECT_EQ(log.crowded_lines()[1].lost, "part of an event");
  EXPECT_EQ(log.line_number(log.crowded_lines()[1].offset), 4u);
}

TEST(LogReader, ExplainsAMissingToken) {
  using namespace std::string_literals;
  for (const auto& [text, said] : std::map<std::string, std::string>{
           {"", "the file is empty"},
           {"a\nb\n", "no line holds ':::MLLOG'"},
           {"a\n:::MLLOG{\"key\": 1}\n", "line 2 has ':::MLLOG' where ':::MLLOG ' was expected"},
           {":::MLLOG\t{}\n", "line 1 has ':::MLLOG' where"},
           {":::MLLOGv0.5.0 bert 1.5 (x)\n", "line 1 has ':::MLLOGv0.5.0' where"},
           {"\xff\xfe:\0:\0"s, "iconv -f UTF-16"}}) {
    const LogReader log = parse(text);
    EXPECT_EQ(log.event_count(), 0u);
    EXPECT_THAT(log.why_no_token(), HasSubstr(said));
  }
}

TEST(LogReader, EndsLinesAtCarriageReturnToo) {
  std::string crlf = ":::MLLOG " + std::string(kRecord) + "\r\n";
  std::string cr = ":::MLLOG " + std::string(kRecord) + "\r";
  const LogReader log = parse(crlf + cr + cr + event_line());
  EXPECT_EQ(log.events().size(), 4u);
  EXPECT_EQ(log.bad_line_count(), 0u);
  // Lines are counted as grep counts them.
  EXPECT_EQ(log.line_number(log.events()[0].offset), 1u);
  EXPECT_EQ(log.line_number(log.events()[3].offset), 2u);
  EXPECT_EQ(parse("\n\r\n\r" + event_line()).line_number(4), 3u);
}

TEST(LogReader, AcceptsNoiseNulsAndLatin1) {
  std::string noise(1000, '\0');
  noise += "caf\xE9 \xFF\xFE\n";
  const LogReader log = parse(noise + event_line(R"({"time_ms": 5, "key": "caf\u00e9", "value": ")"
                                                 "\xE9"
                                                 R"(", "metadata": {}})"));
  ASSERT_EQ(log.events().size(), 1u);
  EXPECT_EQ(log.events()[0].key, "caf\xC3\xA9");
  // Surrogates that do not form a pair stay separate, as in Python.
  const LogReader surrogates =
      parse(event_line(R"({"time_ms": 5, "key": "\udc00\udc01", "value": 1, "metadata": {}})"));
  ASSERT_EQ(surrogates.events().size(), 1u);
  EXPECT_EQ(surrogates.events()[0].key, "\xED\xB0\x80\xED\xB0\x81");
  // The first and the last non-ASCII byte.
  const LogReader bytes =
      parse(event_line("{\"time_ms\": 5, \"key\": \"\x80\xFF\", \"value\": 1, "
                       "\"metadata\": {}}"));
  ASSERT_EQ(bytes.events().size(), 1u);
  EXPECT_EQ(bytes.events()[0].key, "\xC2\x80\xC3\xBF");
}

TEST(LogReader, ReportsEveryKindOfBrokenRecord) {
  for (const char* record :
       {"", "{", "[1]", "7", "{\"time_ms\": 5}", R"({"time_ms": 5, "key": "k", "value": 1})",
        R"({"time_ms": 5, "key": "k", "metadata": {}})",
        R"({"time_ms": "x", "key": "k", "value": 1, "metadata": {}})",
        R"({"time_ms": 5, "key": "k", "value": 1, "metadata": {}} x)",
        R"({"time_ms": 5, "key": "k", "value": 01, "metadata": {}})",
        R"({"time_ms": 5, "key": "k", "value": 1., "metadata": {}})",
        R"({"time_ms": 5, "key": "k", "value": .5, "metadata": {}})",
        R"({"time_ms": 5, "key": "k", "value": "a	b", "metadata": {}})",
        R"({"time_ms": 5, "key": "k", "value": "\x", "metadata": {}})",
        R"({"time_ms": 5, "key": "k", "value": 1, "metadata": {},})",
        R"({'time_ms': 5, "key": "k", "value": 1, "metadata": {}})",
        R"({"time_ms": 5, "key": "k", "value": True, "metadata": {}})"}) {
    const LogReader log = parse(":::MLLOG " + std::string(record) + "\n" + event_line());
    EXPECT_EQ(log.bad_line_count(), 1u) << record;
    EXPECT_EQ(log.events().size(), 1u) << record;
  }
}

TEST(LogReader, AcceptsWhatPythonAccepts) {
  for (const char* value :
       {"NaN", "Infinity", "-Infinity", "123456789012345678901234567890", "1e999", "-0", "1E+5",
        "null", "\"\\ud800\"", "\"\\/\"", "{\"a\": 1, \"a\": 2}"}) {
    const LogReader log = parse(event_line(
        std::string(R"({"time_ms": 5, "key": "k", "metadata": null, "value": )") + value + "}"));
    EXPECT_EQ(log.bad_line_count(), 0u) << value;
    ASSERT_EQ(log.events().size(), 1u) << value;
    EXPECT_EQ(log.events()[0].value, value);
  }
  EXPECT_EQ(parse(event_line(R"({"time_ms": "5", "key": "k", "value": 1, "metadata": {}})"))
                .events()
                .at(0)
                .time_ms,
            5);
  EXPECT_TRUE(
      std::isinf(parse(event_line(R"({"time_ms": 1e999, "key": "k", "value": 1, "metadata": {}})"))
                     .events()
                     .at(0)
                     .time_ms));
}

TEST(LogReader, ReadsTimesAsPythonReadsFloats) {
  const auto read = [](const std::string& time) {
    return parse(
        event_line(R"({"key": "k", "value": 1, "metadata": {}, "time_ms": )" + time + "}"));
  };
  const std::pair<const char*, double> times[] = {{R"("+5")", 5},
                                                  {R"("1_000")", 1000},
                                                  {R"("1_0.5_0")", 10.5},
                                                  {R"("1\n")", 1},
                                                  {R"("\u0031")", 1},
                                                  {R"(" -.5e1 ")", -5},
                                                  {R"("-Infinity")", -INFINITY},
                                                  {R"("1e999")", INFINITY},
                                                  // Digits and spaces of other scripts
                                                  {R"("\u0661\u0662.\u0663e\u0661")", 123},
                                                  {R"("\uff11\uff12\u2003")", 12},
                                                  {R"("\u00a0\u0085\u16807\u202f\u3000")", 7},
                                                  {R"("\u0967_\u0966\u0966\u0966")", 1000},
                                                  {R"("-\ud835\udfd9")", -1}};
  for (const auto& [text, value] : times) {
    const LogReader log = read(text);
    ASSERT_EQ(log.events().size(), 1u) << text;
    EXPECT_EQ(log.events()[0].time_ms, value) << text;
  }
  EXPECT_TRUE(std::isnan(read(R"("nan")").events().at(0).time_ms));
  for (const char* text :
       {"\"nan(1)\"", "\"_1\"", "\"1_\"", "\"1__0\"", "\"0x10\"", "\"+-1\"", "\"\"", "\"e5\"",
        "null", "[1]", R"("\u00b2")", R"("\u2460")", R"("\u0661\u00b5")", R"("1\u2013")"}) {
    EXPECT_EQ(read(text).bad_line_count(), 1u) << text;
  }
  EXPECT_EQ(read("1" + std::string(400, '0')).bad_line_count(), 1u) << "an OverflowError there";
}

TEST(LogReader, RefusesJsonThatIsTooDeepOrTooLongForPython) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(
      parse(event_line(R"({"time_ms": 5, "key": "k", "metadata": {}, "value": )" + deep + "}"))
          .bad_line_count(),
      1u);
  for (const size_t digits : {4300, 4301}) {
    EXPECT_EQ(parse(event_line(R"({"time_ms": 5, "key": "k", "metadata": {}, "value": )" +
                               std::string(digits, '1') + "}"))
                  .bad_line_count(),
              digits > 4300 ? 1u : 0u);
  }
}

TEST(LogReader, ReadsTheFormatOfRound06) {
  const LogReader log = LogReader::from_text(
      ":::MLL 1558631910.748 eval_accuracy: {\"value\": 0.5, \"metadata\": {}}\n:::MLL x: 1\n",
      "test", LogFormat::kMll);
  ASSERT_EQ(log.events().size(), 1u);
  EXPECT_EQ(log.events()[0].key, "eval_accuracy");
  EXPECT_DOUBLE_EQ(log.events()[0].time_ms, 1558631910.748);
  EXPECT_EQ(log.bad_line_count(), 1u);
  // Python's json.loads() decides about the text after the key.
  for (const char* record : {"{\"value\": 0.5", "{", "", "0.5 0.5", "{} x", "{'a': 1}", "nul"}) {
    const LogReader broken =
        LogReader::from_text(":::MLL 1558631910.748 eval_accuracy: " + std::string(record) + "\n",
                             "test", LogFormat::kMll);
    EXPECT_EQ(broken.bad_line_count(), 1u) << record;
    EXPECT_TRUE(broken.events().empty()) << record;
  }
}

TEST(LogReader, LargeFilesAreReadInPiecesWithTheSameResult) {
  const TemporaryFolder folder;
  std::string text = "\n";
  size_t events = 0;
  while (text.size() < LogReader::kWholeFileBytes + 3'000'000) {
    text += std::string(997 + events % 13, 'n') + "\nrank 3 " + event_line();
    ++events;
    if (events % 1000 == 0) text += ":::MLLOG {broken\n";
  }
  text += ":::MLLOG {\"truncated";
  const LogReader whole = parse(text);
  const LogReader pieces(folder.write("large.txt", text), LogFormat::kMllog);
  EXPECT_FALSE(pieces.is_whole());
  EXPECT_EQ(pieces.event_count(), events);
  EXPECT_EQ(pieces.event_count(), whole.event_count());
  EXPECT_EQ(pieces.bad_line_count(), whole.bad_line_count());
  size_t at = 0;
  bool same = true;
  pieces.visit([&](const Event& event) {
    const Event& other = whole.events()[at++];
    same = same && event.offset == other.offset && event.line == other.line;
    return true;
  });
  EXPECT_TRUE(same);
  EXPECT_EQ(at, events);
  EXPECT_EQ(pieces.bad_line_count(), whole.bad_line_count()) << "each was counted once";
  EXPECT_EQ(pieces.crowded_line_count(), whole.crowded_line_count());
  EXPECT_EQ(pieces.line_number(whole.events().back().offset),
            whole.line_number(whole.events().back().offset));
}

TEST(LogReader, EndlessLineIsOneBadLine) {
  const TemporaryFolder folder;
  const std::string text = "noise\n:::MLLOG {\"key\": \"" +
                           std::string(LogReader::kMaxLineBytes + 4'000'000, 'x') + "\n" +
                           event_line();
  const LogReader log(folder.write("endless.txt", text), LogFormat::kMllog);
  EXPECT_EQ(log.bad_line_count(), 1u);
  EXPECT_EQ(log.event_count(), 1u);
  EXPECT_EQ(log.bad_lines()[0].offset, text.find(":::"));
  EXPECT_TRUE(text.starts_with("noise\n" + log.bad_lines()[0].text));
  EXPECT_EQ(log.bad_lines()[0].text.size(), 160u);
}

TEST(LogReader, MissingFileIsAnError) {
  EXPECT_THROW(LogReader("/nonexistent/log.txt", LogFormat::kMllog), Error);
}

}  // namespace
}  // namespace strata::mllog
