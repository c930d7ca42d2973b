#include "data/text/wordpiece.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<int32_t> tokenize(WordPiece& word_piece, std::string_view text) {
  std::vector<int32_t> ids;
  word_piece.tokenize(text, ids);
  return ids;
}

TEST(WordPiece, AgreesWithTransformersOnAwkwardText) {
  const Vocabulary vocabulary = Vocabulary::read(kGolden / "data/wordpiece_vocab.txt");
  WordPiece word_piece(vocabulary);
  const nlohmann::json cases = read_golden("data/wordpiece.json");
  EXPECT_GE(cases.size(), 35u);
  for (const auto& example : cases) {
    const std::string text = from_hex(example["bytes"]);
    const std::vector<int32_t> expected = example["ids"];
    EXPECT_EQ(tokenize(word_piece, text), expected) << example["name"];
    EXPECT_EQ(tokenize(word_piece, text), expected) << example["name"] << ", words seen before";
  }
}

TEST(WordPiece, CharactersForPrivateUseAreUnknownAsInTheReference) {
  const Vocabulary vocabulary = word_vocabulary(3);
  WordPiece word_piece(vocabulary);
  EXPECT_EQ(tokenize(word_piece, "a \ue000 b"),
            (std::vector<int32_t>{kSpecialEntries, vocabulary.unknown(), kSpecialEntries + 1}));
}

TEST(WordPiece, LongestPiecesComeFirstAndAWordWithoutPiecesIsUnknown) {
  const Vocabulary vocabulary =
      Vocabulary::parse("[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\nunaff\n##aff\n##a\n##able\n##ble\n", "v");
  WordPiece word_piece(vocabulary);
  EXPECT_EQ(tokenize(word_piece, "unaffable"), (std::vector<int32_t>{5, 8}));
  EXPECT_EQ(tokenize(word_piece, "unable"), (std::vector<int32_t>{4, 8}));
  EXPECT_EQ(tokenize(word_piece, "unablex un"), (std::vector<int32_t>{0, 4}));
}

}  // namespace
}  // namespace strata::data
