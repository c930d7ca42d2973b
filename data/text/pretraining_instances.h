// Documents -> BERT pretraining instances: the recipe of MLPerf's data set (Devlin et al. 2018,
// A.2).
#pragma once

#include <cstdint>

#include "data/text/corpus.h"
#include "data/text/instances.h"
#include "data/text/vocabulary.h"

namespace strata::data {

struct Recipe {
  int32_t max_length = 512;      // tokens of an instance at most, special ones included
  int32_t max_predictions = 76;  // masked positions of an instance at most
  int32_t dupe_factor = 10;      // passes over the documents, each with its own choices
  double masked_lm_prob = 0.15;  // masked share of an instance's tokens
  double short_seq_prob = 0.1;   // share of instances that aim at a random shorter length
  uint64_t seed = 12345;
};

// Throws Error for a value no data set can be made with.
void check_recipe(const Recipe& recipe);

// Makes the instances of every document and shuffles them. The result depends on the corpus, the
// recipe and the vocabulary alone, not on the platform or the number of threads. Random second
// sentences come from `corpus`, so a training corpus never draws on a held-out document.
Instances make_instances(const Corpus& corpus, const Recipe& recipe, const Vocabulary& vocabulary,
                         unsigned threads);

// The instances that MLPerf's create_pretraining_data.py makes of the same text and options, in its
// order: its random numbers are one stream, so this takes one thread.
Instances make_reference_instances(const Corpus& corpus, const Recipe& recipe,
                                   const Vocabulary& vocabulary);

}  // namespace strata::data
