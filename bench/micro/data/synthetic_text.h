// Text, logs and corpora of any size, the same on every machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/text/corpus.h"
#include "data/text/vocabulary.h"

namespace strata::bench::micro {

// The special entries, then words and endings of words that words_of is made of.
data::Vocabulary synthetic_vocabulary();
// `words` words, few of them frequent and many rare (Zipf's law), some of them of several pieces,
// with capitals, commas and full stops.
std::string synthetic_text(int64_t words);
// Documents of some 20 sentences of some 25 tokens.
data::Corpus synthetic_corpus(int64_t documents, const data::Vocabulary& vocabulary);
// The log of a run of BERT in the open division with `evaluations` evaluations, which the rules of
// training 2.1.0 pass.
std::string synthetic_log(int64_t evaluations);

// A directory that is gone with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace strata::bench::micro
