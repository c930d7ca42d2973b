// Checks which folders use which, from their #include lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/files.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = STRATA_SOURCE_DIR;

// The folders from top to bottom: each may use itself and the folders below it. A file belongs to
// the longest folder that matches.
const std::vector<std::string> kOrder = {
    "cli/bench",
    "cli/rules",
    "cli",
    "cli/manual",
    "cli/options",
    "bench/micro",
    "bench",
    "search/jobs",
    "search",
    "training",
    "training/factories",
    "training/sync",
    "training/batches",
    "training/trace",
    "training/ranks",
    "training/schedules",
    "harness",
    "harness/record",
    "harness/host",
    "config",
    "bert/model",
    "bert/blocks/heads",
    "bert/blocks",
    "bert/weights",
    "bert",
    "comm/buckets",
    "comm/emulated",
    "comm",
    "optim",
    "report",
    "report/sections",
    "report/runs",
    "report/tables",
    "plan/report",
    "plan/published",
    "plan",
    "plan/forms",
    "loadbalance/plans",
    "loadbalance",
    "compare",
    "scoring/plots",
    "scoring/export",
    "scoring/summary",
    "scoring",
    "drawing",
    "compliance/formats",
    "compliance/trees",
    "compliance/package",
    "compliance/review",
    "compliance/checks",
    "compliance/sources",
    "compliance/language",
    "mllog",
    "data/loading",
    "data/prepare",
    "data/files",
    "data/hdf5",
    "data/text",
    "device/registry",
    "device/sample",
    "device/cuda",
    "device/cuda/attention",
    "device/cuda/gemm",
    "device/cuda/host",
    "device/cuda/runtime",
    "device/cpu",
    "device/cpu/bf16",
    "device/cpu/kernels",
    "device/reference",
    "device/plain",
    "device",
    "base/tensorboard",
    "base",
    "base/text",
};

// Folders below that a folder must still not use.
const std::map<std::string, std::vector<std::string>> kForbidden = {
    {"harness", {"bert", "comm", "optim", "loadbalance", "device", "data"}},
    {"compliance", {"data", "device"}},
    {"scoring", {"data", "device"}},
    {"compare", {"bert", "comm", "optim", "loadbalance", "data", "device"}},
    {"optim", {"loadbalance", "compliance", "data"}},
    {"comm", {"optim", "loadbalance", "compliance", "data"}},
    {"bert", {"comm", "optim", "loadbalance", "compliance", "scoring"}},
    {"plan", {"data", "device"}},
    {"drawing", {"compliance", "mllog", "data", "device"}},
    {"mllog", {"data", "device"}},
    {"loadbalance", {"compliance", "scoring", "data"}},
    {"data", {"device"}},
};

std::string room_of(const std::string& path) {
  std::string best;
  for (const std::string& room : kOrder) {
    if (path.starts_with(room + "/") && room.size() > best.size()) best = room;
  }
  return best;
}

std::string top_of(const std::string& path) { return path.substr(0, path.find('/')); }

size_t height_of(const std::string& room) {
  return static_cast<size_t>(std::ranges::find(kOrder, room) - kOrder.begin());
}

bool is_source(const fs::path& path) {
  static const std::set<std::string> endings = {".h", ".cc", ".cu"};
  return endings.contains(path.extension().string());
}

// Returns the paths of all files in the folders of the order and in `others`, relative to the root.
std::vector<std::string> files_of_rooms(std::set<std::string> others = {}) {
  std::set<std::string> tops = std::move(others);
  for (const std::string& room : kOrder) tops.insert(top_of(room));
  std::vector<std::string> files;
  for (const std::string& top : tops) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), kRoot).string());
    }
  }
  std::ranges::sort(files);
  return files;
}

// Returns the first group of every match of a pattern in a file.
std::vector<std::string> matches(const fs::path& file, const std::string& pattern) {
  const std::regex regex(pattern);
  const std::string text = read_file(file);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

TEST(Layers, AFolderUsesOnlyFoldersBelowIt) {
  int includes = 0;
  for (const std::string& file : files_of_rooms()) {
    if (!is_source(file)) continue;
    const std::string room = room_of(file);
    ASSERT_NE(room, "") << file << " lies in no folder of the order";
    for (const std::string& used : matches(kRoot / file, R"(#include "([a-z0-9_]+/[^"]+)\")")) {
      const std::string used_room = room_of(used);
      ++includes;
      ASSERT_NE(used_room, "") << file << " includes " << used << ", of no folder of the order";
      EXPECT_TRUE(fs::exists(kRoot / used))
          << file << " includes " << used << ", which is not there";
      EXPECT_LE(height_of(room), height_of(used_room))
          << file << " includes " << used << ", but " << room << " is below " << used_room;
      const auto forbidden = kForbidden.find(top_of(room));
      if (forbidden == kForbidden.end()) continue;
      EXPECT_FALSE(std::ranges::count(forbidden->second, top_of(used)))
          << file << " includes " << used << ", but " << forbidden->first << " must not know "
          << top_of(used);
    }
  }
  EXPECT_GT(includes, 1000) << "the includes were not found";
}

TEST(Layers, FoldersHaveAtMostTwentyTwoFiles) {
  constexpr int kMost = 22;
  std::map<std::string, int> files;
  for (const std::string& file : files_of_rooms()) {
    const std::string folder = fs::path(file).parent_path().string();
    if (!folder.starts_with("compliance/rules") && !file.ends_with("README.md")) ++files[folder];
  }
  for (const auto& [folder, count] : files) EXPECT_LE(count, kMost) << folder;
}

TEST(Layers, EveryFolderHasAShortReadme) {
  constexpr int kMostLines = 5;
  for (const std::string& room : kOrder) {
    if (!fs::exists(kRoot / room)) continue;
    const fs::path readme = kRoot / room / "README.md";
    ASSERT_TRUE(fs::exists(readme)) << room << " has no README.md";
    const std::string text = read_file(readme);
    const auto lines = std::ranges::count(text, '\n');
    EXPECT_GT(lines, 0) << readme;
    EXPECT_LE(lines, kMostLines) << readme;
  }
}

std::vector<fs::path> documents() {
  std::vector<fs::path> paths = {kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") paths.push_back(entry.path());
  }
  return paths;
}

TEST(Documents, NameFilesThatExist) {
  size_t names = 0;
  for (const fs::path& document : documents()) {
    for (const std::string& name :
         matches(document,
                 R"(`((?:[a-z0-9_]+/)+[A-Za-z0-9_]+\.(?:h|cc|cu|sh|py|md|yaml|cmake|txt))`)")) {
      ++names;
      EXPECT_TRUE(fs::exists(kRoot / name)) << document << " names " << name;
    }
  }
  EXPECT_GT(names, 50u);
}

TEST(Documents, NameTestsThatExist) {
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    for (std::string test : matches(entry.path(), R"(\bTEST(?:_F|_P)?\((\w+,\s*\w+)\))")) {
      tests.insert(std::regex_replace(test, std::regex(R"(,\s*)"), "."));
    }
  }
  size_t names = 0;
  for (const fs::path& document : documents()) {
    for (const std::string& name : matches(document, R"(`([A-Z]\w+\.[A-Z]\w+)`)")) {
      ++names;
      EXPECT_TRUE(tests.contains(name)) << document << " names " << name;
    }
  }
  EXPECT_GT(names, 50u);
}

// fmt::join is declared in <fmt/ranges.h> since {fmt} 11. Another file of a unity build may hide a
// missing include.
TEST(Includes, FilesThatCallFmtJoinIncludeItsHeader) {
  const std::string call = std::string("fmt::") + "join(";
  int joining = 0;
  for (const std::string& file : files_of_rooms({"tests", "examples"})) {
    if (!is_source(file)) continue;
    const std::string text = read_file(kRoot / file);
    if (text.find(call) == std::string::npos) continue;
    ++joining;
    EXPECT_NE(text.find("#include <fmt/ranges.h>"), std::string::npos)
        << file << " calls fmt::join without <fmt/ranges.h>";
  }
  EXPECT_GT(joining, 40);
}

// Two users of one machine share the folder for temporary files. So the system makes every name in
// it unique, or the name contains the process number.
TEST(TemporaryFiles, HaveUniqueNames) {
  const std::regex place(R"((temp_directory_path|TempDir)\((error|ignored)?\)[^;]*;)");
  int places = 0;
  for (const std::string& file : files_of_rooms({"tests"})) {
    if (!is_source(file) || file == "tests/layers/layers_test.cc") continue;
    const std::string text = read_file(kRoot / file);
    for (std::sregex_iterator match(text.begin(), text.end(), place), end; match != end; ++match) {
      ++places;
      const std::string statement = match->str();
      // The statement only returns the folder; its caller makes the name.
      if (statement.find('"') == std::string::npos) continue;
      EXPECT_TRUE(statement.find("XXXXXX") != std::string::npos ||
                  statement.find("pid()") != std::string::npos ||
                  statement.find("owner") != std::string::npos)
          << file << ": " << statement;
    }
  }
  EXPECT_GT(places, 12);
}

bool begins_without_subject(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t/#"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" ,"));
  return word == "Of" || word == "What" || word == "Those" || word == "Whose";
}

// Comments that begin with such a word borrow their subject from the name beside them.
TEST(Comments, BeginWithTheirSubject) {
  const std::set<std::string> endings = {".h",  ".cc", ".cu",    ".inc",
                                         ".sh", ".py", ".cmake", ".txt"};
  int comments = 0;
  for (const std::string& file :
       files_of_rooms({"tests", "scripts", "cmake", "examples", "packaging"})) {
    const std::string ending = fs::path(file).extension().string();
    if (!endings.contains(ending) || file.find("__pycache__") != std::string::npos) continue;
    const bool is_source_code = is_source(file) || ending == ".inc";
    std::istringstream lines(read_file(kRoot / file));
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      const size_t begin = line.find_first_not_of(" \t");
      if (begin == std::string::npos ||
          !line.substr(begin).starts_with(is_source_code ? "//" : "#")) {
        continue;
      }
      ++comments;
      EXPECT_FALSE(begins_without_subject(line)) << file << ':' << number << ": " << line;
    }
  }
  EXPECT_GT(comments, 5000);
}

// The list in docs/architecture.md leads from Trainer::step to the Adam kernel.
TEST(Documents, TheWalkThroughOneStepNamesAtMostEighteenFiles) {
  const std::string text = read_file(kRoot / "docs" / "architecture.md");
  const size_t begin = text.find("## One step"), end = text.find("## One MLPerf run");
  ASSERT_LT(begin, end);
  const std::regex line(R"(\n\d+\. `([^`]+)`)");
  const std::string section = text.substr(begin, end - begin);
  std::vector<std::string> files;
  for (std::sregex_iterator match(section.begin(), section.end(), line), none; match != none;
       ++match) {
    files.push_back((*match)[1]);
    EXPECT_TRUE(fs::exists(kRoot / files.back())) << files.back();
  }
  EXPECT_EQ(files.front(), "training/trainer.cc");
  EXPECT_EQ(files.back(), "device/operations/update_rules.h");
  EXPECT_LE(files.size(), 18u);
  EXPECT_GT(files.size(), 15u);
}

}  // namespace
}  // namespace strata
