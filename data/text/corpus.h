// Tokenized raw text: documents of sentences of token ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/text/newer_characters.h"
#include "data/text/vocabulary.h"

namespace strata::data {

// D documents, S sentences, T tokens in flat arrays. Document d has the sentences
// [document_offsets[d], document_offsets[d+1]); sentence s has the tokens [sentence_offsets[s],
// sentence_offsets[s+1]). No document or sentence is empty.
struct Corpus {
  std::vector<int32_t> tokens;             // [T]
  std::vector<uint64_t> sentence_offsets;  // [S+1]
  std::vector<uint64_t> document_offsets;  // [D+1]
  std::vector<uint32_t> document_numbers;  // [D] position in the whole text, kept when it is split

  Corpus() : sentence_offsets{0}, document_offsets{0} {}
  size_t documents() const { return document_numbers.size(); }
  size_t sentences() const { return sentence_offsets.size() - 1; }
  std::span<const int32_t> sentence(size_t index) const {
    return std::span(tokens).subspan(sentence_offsets[index],
                                     sentence_offsets[index + 1] - sentence_offsets[index]);
  }
  void append_sentence(std::span<const int32_t> sentence_tokens);
  void finish_document(uint32_t number);  // no effect on an empty document
};

// Reads files in MLPerf's raw-text form: UTF-8, one sentence per line, a blank line between
// documents; a file's end also ends a document. Drops bytes that are not UTF-8. Adds characters to
// `newer` and a line for each file with dropped bytes to `warnings`, if given. Throws Error if a
// file cannot be read or no file holds text. Throws Error, naming UTF-16 or Latin-1 if it is
// detected, if more than a thousandth of a file's bytes are not UTF-8.
Corpus read_raw_text(std::span<const std::filesystem::path> files, const Vocabulary& vocabulary,
                     unsigned threads, UnicodeVersion unicode = kNewestUnicode,
                     NewerCharacters* newer = nullptr,
                     std::vector<std::string>* warnings = nullptr);

// Explains why next-sentence labels of samples from `corpus` are not informative: it is a single
// document, or most documents are one sentence. Returns an empty string otherwise.
std::string doubt_about_next_sentences(const Corpus& corpus);

struct CorpusSplit {
  Corpus train;
  Corpus eval;
  // Sentences left out of `train` because they also occur in `eval`.
  uint64_t repeated_sentences = 0;
};

// Holds out the documents marked in `held_out` [documents]. Leaves training sentences that are
// equal, token for token, to a held-out sentence out of `train`, so that no evaluation text is
// trained on. Throws Error if nothing is left to train on.
CorpusSplit split_corpus(const Corpus& corpus, const std::vector<bool>& held_out);

}  // namespace strata::data
