#include "data/text/corpus.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

// Returns sentences as text, one string per document, with '/' between sentences.
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

TEST_F(RawText, AFileEndsADocumentButALineWithoutTokensDoesNot) {
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
  for (const std::string text : {"", "\n\n", " \n\u3000\n"}) {
    const std::string message = error_of([&] { read({text}); });
    EXPECT_TRUE(contains(message, "0.txt: no text in 1 file(s)")) << message;
  }
  EXPECT_THROW(read({}), Error);
}

TEST_F(RawText, OtherEncodingsAreRefusedByName) {
  const auto with_nuls = [](const std::string& ascii, bool first) {
    std::string wide;
    for (const char c : ascii) wide += first ? std::string{'\0', c} : std::string{c, '\0'};
    return wide;
  };
  struct Case {
    std::string text;
    std::vector<std::string> parts;
  };
  const std::string ascii = "a b c\nd e f\n";
  const Case cases[] = {
      {"\xff\xfe" + with_nuls(ascii, false), {"is UTF-16", "iconv -f UTF-16 -t UTF-8"}},
      {"\xfe\xff" + with_nuls(ascii, true), {"is UTF-16"}},
      {std::string("\xff\xfe\0\0", 4) + ascii, {"is UTF-32"}},
      {with_nuls(ascii, false), {"is UTF-16LE"}},
      {with_nuls(ascii, true), {"is UTF-16BE"}},
      {"a caf\xe9\nna\xefve b\nd\n",
       {"Latin-1", "2 of 17 bytes", "0xE9 at byte 5, in line 1", "iconv -f WINDOWS-1252"}},
      {"a\nb \x96 c\n", {"Latin-1", "0x96 at byte 4, in line 2"}},
      {std::string("\x1f\x8b\x08\0\0\0\0\0\xe1 a\n", 12), {"is compressed with gzip", "gunzip"}},
      {"PK\x03\x04 abc\n", {"is a ZIP archive"}},
      {"version https://git-lfs.github.com/spec/v1\nsize 3\n", {"is a Git LFS pointer"}},
      {"a \x01\xe9 b\n", {"is not text", "0xE9 at byte 3"}},
      {"a b.\rc d\r\re f\n", {"its lines end with only a carriage return", "tr '\\r' '\\n'"}},
      {"\x83\x65\x83\x58\x83\x67\xb1\xb2\xb3\xb4\xb5\xb6\xb7\xb8\n", {"is not UTF-8 text"}},
  };
  for (const Case& c : cases) {
    const std::string message = error_of([&] { read({c.text}); });
    EXPECT_TRUE(contains(message, "0.txt: ")) << message;
    for (const std::string& part : c.parts) EXPECT_TRUE(contains(message, part)) << message;
  }
}

TEST_F(RawText, AFewBytesThatAreNotUtf8AreLeftOutAndCounted) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "a b c\n";
  const std::filesystem::path file = directory_ / "x.txt";
  const auto warnings = [&](const std::string& more) {
    write_file_atomically(file, text + more);
    std::vector<std::string> said;
    read_raw_text(std::span(&file, 1), vocabulary_, 1, kNewestUnicode, nullptr, &said);
    return said;
  };
  EXPECT_TRUE(warnings("caf\u00e9 \u3000\U0001F600\n").empty());
  const auto said = warnings("caf\xe9 \xff\n");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], file.string() +
                         ": 2 of 3,007 bytes are not UTF-8; the first is 0xE9 at byte 3003, in "
                         "line 501; they are left out");
  EXPECT_THROW(warnings("caf\xe9 \xff\xff\xff\n"), Error);
}

TEST_F(RawText, TextWithoutMeaningfulNextSentencesGivesAWarning) {
  EXPECT_EQ(doubt_about_next_sentences(read({"a\nb\n\nc\nd\n\ne\n"})), "");
  EXPECT_TRUE(contains(doubt_about_next_sentences(read({"a\nb\nc\n"})), "a single document"));
  EXPECT_TRUE(contains(doubt_about_next_sentences(read({"a\n\nb\n\nc\n"})),
                       "3 of 3 documents are a single sentence without a next one: next-sentence "
                       "labels mean nothing"));
  EXPECT_TRUE(contains(doubt_about_next_sentences(read({"a\n\nb\n\nc\nd\n"})),
                       "2 of 3 documents are a single sentence"));
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

TEST_F(RawText, ASplitWithoutTrainingDocumentsIsRefused) {
  const Corpus corpus = read({"a\n\na\n"});
  EXPECT_TRUE(
      contains(error_of([&] {
                 split_corpus(corpus, {true, false});
               }),
               "no document is left to train on: 1 of 2 documents are held out for evaluation, "
               "and every sentence of the others is left out"));
}

}  // namespace
}  // namespace strata::data
