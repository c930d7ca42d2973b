// Synthetic text, logs and corpora of any size, the same on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/files/temporary_folder.h"
#include "data/text/corpus.h"
#include "data/text/vocabulary.h"

namespace strata::bench::micro {

// Returns the special entries, and words and word endings that make up synthetic_text.
data::Vocabulary synthetic_vocabulary();
// Returns `words` words, few frequent and many rare (Zipf's law). Some have several pieces. The
// text has capitals, commas and full stops.
std::string synthetic_text(int64_t words);
// Returns documents of about 20 sentences with about 25 tokens each.
data::Corpus synthetic_corpus(int64_t documents, const data::Vocabulary& vocabulary);
// Returns the log of a BERT run in the open division with `evaluations` evaluations. It passes the
// rules of training 2.1.0.
std::string synthetic_log(int64_t evaluations);

// Makes a folder in the system's folder for temporary files. Throws Error if that fails.
std::unique_ptr<TemporaryFolder> make_temporary_folder();

}  // namespace strata::bench::micro
