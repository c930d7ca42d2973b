#include "data/text/vocabulary.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

TEST(Vocabulary, TheLineNumberIsTheTokenId) {
  const Vocabulary vocabulary =
      Vocabulary::parse("[PAD]\r\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s", "v");
  EXPECT_EQ(vocabulary.size(), 7);
  EXPECT_EQ(vocabulary.find("the"), 5);
  EXPECT_EQ(vocabulary.find("##s"), 6);
  EXPECT_EQ(vocabulary.find("s"), std::nullopt);
  EXPECT_EQ(vocabulary.entry(0), "[PAD]");
  EXPECT_EQ(vocabulary.mask(), 4);
  EXPECT_EQ(vocabulary.unknown(), 1);
  EXPECT_EQ(vocabulary.classification(), 2);
  EXPECT_EQ(vocabulary.separator(), 3);
}

TEST(Vocabulary, AVocabularyWithoutMaskIsRefusedByName) {
  const std::string message =
      error_of([] { Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n", "some/vocab.txt"); });
  EXPECT_EQ(
      message,
      "some/vocab.txt: the vocabulary of 5 entries lacks [MASK]; give the vocab.txt of a BERT "
      "model");
}

TEST(Vocabulary, AnEmptyFileAnEmptyLineAndARepeatedLineAreRefused) {
  EXPECT_TRUE(contains(error_of([] { Vocabulary::parse("", "v"); }), "v: the vocabulary is empty"));
  EXPECT_TRUE(contains(error_of([] { Vocabulary::parse("a\n\nb\n", "v"); }), "v: line 2 is empty"));
  EXPECT_TRUE(contains(error_of([] { Vocabulary::parse("a\nb\na\n", "v"); }),
                       "v: line 3 repeats 'a' of line 1"));
}

TEST(Vocabulary, AnEntryThatIsNotUtf8IsRefused) {
  EXPECT_TRUE(contains(error_of([] {
                         Vocabulary::parse(
                             "a\n\xfc"
                             "ber\n",
                             "v");
                       }),
                       "v: line 2 is not UTF-8"));
}

TEST(Vocabulary, AMissingFileIsNamed) {
  EXPECT_TRUE(contains(error_of([] { Vocabulary::read("/nowhere/vocab.txt"); }),
                       "/nowhere/vocab.txt: cannot open"));
}

}  // namespace
}  // namespace strata::data
