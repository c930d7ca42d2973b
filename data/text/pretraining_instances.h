// Makes BERT pretraining instances from documents by the recipe of MLPerf's data set (Devlin et al.
// 2018, A.2).
#pragma once

#include <cstdint>

#include "data/text/corpus.h"
#include "data/text/instances.h"
#include "data/text/vocabulary.h"

namespace strata::data {

struct Recipe {
  int32_t max_length = 512;      // maximum tokens of an instance, including special ones
  int32_t max_predictions = 76;  // maximum masked positions of an instance
  int32_t dupe_factor = 10;      // passes over the documents, each with its own choices
  double masked_lm_prob = 0.15;  // fraction of an instance's tokens that are masked
  double short_seq_prob = 0.1;   // fraction of instances with a random shorter target length
  uint64_t seed = 12345;
};

// Throws Error for a value that cannot make a data set.
void check_recipe(const Recipe& recipe);

// Makes the instances of every document and shuffles them. The result depends only on the corpus,
// the recipe and the vocabulary, not on the platform or the number of threads. Random second
// sentences come from `corpus`, so a training corpus never uses a held-out document.
Instances make_instances(const Corpus& corpus, const Recipe& recipe, const Vocabulary& vocabulary,
                         unsigned threads);

// Makes the same instances, in the same order, as MLPerf's create_pretraining_data.py from the same
// text and options. Its random numbers are one stream, so this takes one thread.
Instances make_reference_instances(const Corpus& corpus, const Recipe& recipe,
                                   const Vocabulary& vocabulary);

}  // namespace strata::data
