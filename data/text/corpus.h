// Raw text, tokenized: documents of sentences of token ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/text/newer_characters.h"
#include "data/text/vocabulary.h"

namespace strata::data {

// D documents, S sentences, T tokens, all flat. Document d has the sentences [document_offsets[d],
// document_offsets[d+1]); sentence s has the tokens [sentence_offsets[s], sentence_offsets[s+1]).
// No document or sentence is empty.
struct Corpus {
  std::vector<int32_t> tokens;             // [T]
  std::vector<uint64_t> sentence_offsets;  // [S+1]
  std::vector<uint64_t> document_offsets;  // [D+1]
  std::vector<uint32_t> document_numbers;  // [D] place in the whole text, kept when it is split

  Corpus() : sentence_offsets{0}, document_offsets{0} {}
  size_t documents() const { return document_numbers.size(); }
  size_t sentences() const { return sentence_offsets.size() - 1; }
  std::span<const int32_t> sentence(size_t index) const {
    return std::span(tokens).subspan(sentence_offsets[index],
                                     sentence_offsets[index + 1] - sentence_offsets[index]);
  }
  void append_sentence(std::span<const int32_t> sentence_tokens);
  void finish_document(uint32_t number);  // no effect where no sentence was appended to it
};

// Reads files in MLPerf's raw-text form: UTF-8, one sentence a line, a blank line between
// documents; a file also ends a document. Notes characters in `newer` where it is given. Bytes that
// are not UTF-8 are left out; `warnings`, where it is given, receives a line about each such file.
// Throws Error for a file that cannot be read, one of which more than a thousandth of the bytes are
// not UTF-8, naming UTF-16 and Latin-1, and if no file holds text.
Corpus read_raw_text(std::span<const std::filesystem::path> files, const Vocabulary& vocabulary,
                     unsigned threads, UnicodeVersion unicode = kNewestUnicode,
                     NewerCharacters* newer = nullptr,
                     std::vector<std::string>* warnings = nullptr);

// Says why next-sentence labels of samples made of `corpus` mean little or nothing: it is a single
// document, or most documents are one sentence. Empty if neither is so.
std::string doubt_about_next_sentences(const Corpus& corpus);

struct CorpusSplit {
  Corpus train;
  Corpus eval;
  uint64_t repeated_sentences = 0;  // left out of `train` because they also stand in `eval`
};

// Holds out the documents whose place is marked in `held_out` [documents]. Training sentences that
// are equal, token for token, to a held-out sentence are left out of `train`: no evaluation text is
// trained on. Throws Error where nothing is left to train on.
CorpusSplit split_corpus(const Corpus& corpus, const std::vector<bool>& held_out);

}  // namespace strata::data
