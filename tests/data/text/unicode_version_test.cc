#include "data/text/unicode_version.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "data/text/hash.h"
#include "data/text/unicode.h"
#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

constexpr char32_t kCapitalSigma = 0x03A3;
constexpr char32_t kFinalSigma = 0x03C2;
constexpr char32_t kBlock = 0x4000;

char flag(bool value) { return value ? '1' : '0'; }

// Returns the golden file's versions of Unicode that are supported here.
std::vector<std::pair<UnicodeVersion, nlohmann::json>> known_versions() {
  std::vector<std::pair<UnicodeVersion, nlohmann::json>> versions;
  const nlohmann::json golden = read_golden("data/unicode.json");
  for (const auto& [name, expected] : golden.items()) {
    const UnicodeVersion version{std::stoi(name), std::stoi(name.substr(name.find('.') + 1))};
    if (version <= installed_unicode()) versions.emplace_back(version, expected);
  }
  return versions;
}

std::string plain(std::u32string_view word, UnicodeVersion version) {
  std::vector<std::string> codes;
  for (const char32_t code : strip_accents(lower_case(word, version), version))
    codes.push_back(fmt::format("{:X}", static_cast<uint32_t>(code)));
  return fmt::format("{}", fmt::join(codes, "."));
}

// Returns the line that tests/golden/data/unicode.py writes for a character.
std::string line(char32_t c, UnicodeVersion version) {
  std::string text = {flag(is_space(c, version)), flag(is_dropped(c, version)),
                      flag(is_punctuation(c, version)), ' '};
  text += plain({&c, 1}, version) + " ";
  for (const std::u32string& before : {std::u32string(), std::u32string(U"a")})
    text += flag(lower_case(before + c + kCapitalSigma, version).back() == kFinalSigma);
  return text + "\n";
}

// The words of tests/golden/data/unicode.py, in the same order.
class Words {
 public:
  std::u32string next() {
    static constexpr std::pair<uint32_t, uint32_t> kRanges[] = {
        {0x3A3, 1},    {0x3A3, 1},      {0x61, 26},         {0x27, 1},
        {0x300, 0x70}, {0x300, 0x1D00}, {0x10000, 0x10000}, {0x10000, 0x10000}};
    uint32_t drawn[18];
    for (uint32_t& number : drawn) number = draw();
    std::u32string word;
    for (size_t i = 0; i < 2 + drawn[0] % 7; ++i) {
      const auto [first, size] = kRanges[drawn[2 + 2 * i] % 8];
      word.push_back(first + drawn[3 + 2 * i] % size);
    }
    return word;
  }

 private:
  uint32_t draw() {
    state_ = (1103515245 * state_ + 12345) & 0x7FFFFFFF;
    return state_ >> 8;
  }
  uint32_t state_ = 1;
};

// Compares all characters with Python, the oracle, in each version of Unicode that a Python had.
TEST(UnicodeVersion, EveryCharacterIsTreatedAsInPythonOfThatVersion) {
  const auto versions = known_versions();
  EXPECT_GE(versions.size(), 4u);  // up to 13.0, the version of utf8proc 2.5
  for (const auto& [version, expected] : versions) {
    const nlohmann::json& blocks = expected["blocks"];
    ASSERT_EQ(blocks.size(), 0x110000 / kBlock);
    for (size_t block = 0; block < blocks.size(); ++block) {
      const auto first = static_cast<char32_t>(block) * kBlock;
      uint64_t digest = fingerprint("");
      for (char32_t c = first; c < first + kBlock; ++c) {
        if (c < 0xD800 || c >= 0xE000) digest = fingerprint(line(c, version), digest);
      }
      EXPECT_EQ(fmt::format("{:016x}", digest), blocks[block].get<std::string>())
          << "Unicode " << to_string(version) << fmt::format(", from U+{:X}", uint32_t{first});
    }
  }
}

TEST(UnicodeVersion, WordsOfMarksAndSigmasAreTreatedAsInPythonOfThatVersion) {
  constexpr int kRandomWords = 100'000;
  for (const auto& [version, expected] : known_versions()) {
    Words words;
    uint64_t digest = fingerprint("");
    for (int i = 0; i < kRandomWords; ++i)
      digest = fingerprint(plain(words.next(), version) + "\n", digest);
    EXPECT_EQ(fmt::format("{:016x}", digest), expected["words"].get<std::string>())
        << to_string(version);
  }
}

TEST(UnicodeVersion, NewerCharactersAreUnassignedInOlderOnes) {
  constexpr char32_t kAdlamCapitalAlif = 0x1E900;  // since 9.0, with a small letter
  constexpr char32_t kGeorgianCapitalAn = 0x1C90;  // since 11.0, with a small letter
  constexpr char32_t kVithkuqiCapitalA = 0x10570;  // since 14.0, with a small letter
  constexpr char32_t kMedefaidrinComma = 0x16E97;  // since 11.0
  EXPECT_FALSE(is_newer(kAdlamCapitalAlif, {9, 0}));
  EXPECT_TRUE(is_newer(kGeorgianCapitalAn, {10, 0}));
  EXPECT_FALSE(is_newer(kGeorgianCapitalAn, {11, 0}));
  EXPECT_TRUE(is_newer(kVithkuqiCapitalA, {13, 0}));
  EXPECT_FALSE(is_newer(kVithkuqiCapitalA, kNewestUnicode));
  EXPECT_TRUE(is_punctuation(kMedefaidrinComma, {11, 0}));
  EXPECT_FALSE(is_punctuation(kMedefaidrinComma, {9, 0}));
  EXPECT_EQ(lower_case({&kGeorgianCapitalAn, 1}, {9, 0}), std::u32string(1, kGeorgianCapitalAn));
  EXPECT_EQ(lower_case({&kGeorgianCapitalAn, 1}, {11, 0}), U"\u10D0");
}

TEST(UnicodeVersion, IsParsedFromTextAndUnsupportedVersionsAreRefused) {
  EXPECT_EQ(parse_unicode_version("9.0"), kReferenceUnicode);
  EXPECT_EQ(parse_unicode_version("12.1"), (UnicodeVersion{12, 1}));
  EXPECT_EQ(parse_unicode_version(to_string(installed_unicode())), installed_unicode());
  for (const char* text : {"8.0", "99.0", "", "9", "9.", "9.0.0", " 9.0", "nine"}) {
    const std::string message = error_of([&] { parse_unicode_version(text); });
    EXPECT_TRUE(contains(message, fmt::format("'{}' is not a supported version of Unicode", text)))
        << message;
  }
}

}  // namespace
}  // namespace strata::data
