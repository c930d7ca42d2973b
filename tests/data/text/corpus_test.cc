#include "data/text/corpus.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

// Sentences as text, a document a string, '/' between sentences.
std::vector<std::string> as_text(const Corpus& corpus, const Vocabulary& vocabulary) {
  std::vector<std::string> documents;
  for (size_t d = 0; d < corpus.documents(); ++d) {
    std::string text;
    for (size_t s = corpus.document_offsets[d]; s < corpus.document_offsets[d + 1]; ++s) {
      if (!text.empty()) text += " /";
      for (const int32_t token : corpus.sentence(s)) text += " " + vocabulary.entry(token);
    }
    documents.push_back(text);
  }
  return documents;
}

class RawText : public testing::Test {
 protected:
  Corpus read(const std::vector<std::string>& texts, unsigned threads = 1) {
    std::vector<std::filesystem::path> files;
    for (size_t i = 0; i < texts.size(); ++i) {
      files.push_back(directory_ / fmt::format("{}.txt", i));
      write_file_atomically(files.back(), texts[i]);
    }
    return read_raw_text(files, vocabulary_, threads);
  }

  TemporaryDirectory directory_;
  Vocabulary vocabulary_ = word_vocabulary(26);
};

TEST_F(RawText, BlankLinesSeparateDocuments) {
  const Corpus corpus = read({"a b\nc\n\n\n \t\nd\n\u3000\nE\r\n"});
  EXPECT_EQ(as_text(corpus, vocabulary_), (std::vector<std::string>{" a b / c", " d", " e"}));
  EXPECT_EQ(corpus.document_numbers, (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(RawText, AFileEndsADocumentAndALineWithoutTokensDoesNot) {
  const Corpus corpus = read({"a\n\u200b\nb", "c"});
  EXPECT_EQ(as_text(corpus, vocabulary_), (std::vector<std::string>{" a / b", " c"}));
}

TEST_F(RawText, ThreadsDoNotMatter) {
  std::string text;
  for (size_t i = 0; i < 1000; ++i)
    text += word(i % 26) + " " + word(i % 7) + "\n" + (i % 9 ? "" : "\n");
  const Corpus one = read({text}, 1);
  const Corpus many = read({text}, 5);
  EXPECT_EQ(one.tokens, many.tokens);
  EXPECT_EQ(one.sentence_offsets, many.sentence_offsets);
  EXPECT_EQ(one.document_offsets, many.document_offsets);
  EXPECT_EQ(one.documents(), 112u);
}

TEST_F(RawText, AnEmptyCorpusIsRefused) {
  for (const std::string text : {"", "\n\n", " \n\u3000\n", "\xff\xfe\n"}) {
    const std::string message = error_of([&] { read({text}); });
    EXPECT_TRUE(contains(message, "0.txt: no text in 1 file(s)")) << message;
  }
  EXPECT_THROW(read({}), Error);
}

TEST_F(RawText, AMissingFileIsNamed) {
  const std::filesystem::path missing = directory_ / "missing.txt";
  EXPECT_TRUE(contains(error_of([&] { read_raw_text(std::span(&missing, 1), vocabulary_, 1); }),
                       "missing.txt: cannot open"));
}

TEST_F(RawText, ASplitKeepsDocumentNumbersAndLeavesHeldOutSentencesOutOfTraining) {
  const Corpus corpus = read({"a b\nc\n\nd\na b\n\ne\n\nd\n"});
  const CorpusSplit split = split_corpus(corpus, {false, true, false, false});
  EXPECT_EQ(as_text(split.eval, vocabulary_), (std::vector<std::string>{" d / a b"}));
  EXPECT_EQ(as_text(split.train, vocabulary_), (std::vector<std::string>{" c", " e"}));
  EXPECT_EQ(split.eval.document_numbers, (std::vector<uint32_t>{1}));
  EXPECT_EQ(split.train.document_numbers, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(split.repeated_sentences, 2u);
}

TEST_F(RawText, ASplitThatLeavesNothingToTrainOnIsRefused) {
  const Corpus corpus = read({"a\n\na\n"});
  EXPECT_TRUE(contains(error_of([&] {
                         split_corpus(corpus, {true, false});
                       }),
                       "nothing is left to train on: 1 of 2 documents"));
}

}  // namespace
}  // namespace strata::data
