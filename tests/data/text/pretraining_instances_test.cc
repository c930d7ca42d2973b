#include "data/text/pretraining_instances.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "data/text/hash.h"
#include "tests/data/data_test_support.h"

namespace strata::data {
namespace {

constexpr size_t kWords = 3000;

// The corpus of tests/golden/data/pretraining_instances.py. Every token determines its document:
// word w belongs to document w % documents.
Corpus golden_corpus() {
  constexpr size_t kDocuments = 40;
  Corpus corpus;
  size_t counter = 0;
  for (size_t d = 0; d < kDocuments; ++d) {
    for (size_t s = 0; s < 1 + (13 * d) % 30; ++s) {
      std::vector<int32_t> sentence;
      for (size_t i = 0; i < 3 + (37 * d + 17 * s * s) % 40; ++i) {
        const size_t word_of_document = counter++ % (kWords / kDocuments);
        sentence.push_back(kSpecialEntries +
                           static_cast<int32_t>(word_of_document * kDocuments + d));
      }
      corpus.append_sentence(sentence);
    }
    corpus.finish_document(static_cast<uint32_t>(d));
  }
  return corpus;
}

uint32_t document_of(int32_t token) { return static_cast<uint32_t>(token - kSpecialEntries) % 40; }

uint64_t hash_of(const Instances& instances) {
  uint64_t hash = fingerprint({});
  const auto add = [&](const auto& values) {
    for (const auto value : values) hash = fingerprint(fmt::format("{} ", value), hash);
  };
  add(instances.tokens);
  add(instances.token_offsets);
  add(instances.first_lengths);
  add(instances.masked_positions);
  add(instances.masked_ids);
  add(instances.masked_offsets);
  add(instances.next_sentence);
  add(instances.documents);
  return hash;
}

class PretrainingInstances : public testing::Test {
 protected:
  PretrainingInstances() {
    recipe_.max_length = 128;
    recipe_.max_predictions = 20;
    recipe_.dupe_factor = 200;
  }
  Instances make(unsigned threads = 2) const {
    return make_instances(corpus_, recipe_, vocabulary_, threads);
  }
  int32_t length(const Instances& instances, size_t i) const {
    return static_cast<int32_t>(instances.token_offsets[i + 1] - instances.token_offsets[i]);
  }

  Corpus corpus_ = golden_corpus();
  Vocabulary vocabulary_ = word_vocabulary(kWords);
  Recipe recipe_;
};

TEST_F(PretrainingInstances, EveryInstanceIsTwoSegmentsBetweenSpecialTokens) {
  const Instances instances = make();
  ASSERT_GT(instances.size(), 30000u);
  for (size_t i = 0; i < instances.size(); ++i) {
    const int32_t* tokens = &instances.tokens[instances.token_offsets[i]];
    const int32_t count = length(instances, i);
    const int32_t first = instances.first_lengths[i];
    ASSERT_LE(count, recipe_.max_length);
    ASSERT_GE(first, 3);
    ASSERT_GE(count - first, 2);
    for (int32_t t = 0; t < count; ++t) {
      ASSERT_GE(tokens[t], 0);
      ASSERT_LT(tokens[t], vocabulary_.size());
    }
    ASSERT_EQ(tokens[0], vocabulary_.classification());
    ASSERT_EQ(tokens[first - 1], vocabulary_.separator());
    ASSERT_EQ(tokens[count - 1], vocabulary_.separator());
  }
}

TEST_F(PretrainingInstances, EverySegmentIsConsecutiveTextOfItsDocument) {
  recipe_.dupe_factor = 3;
  const Instances instances = make();
  const auto is_text_of = [&](const std::vector<int32_t>& segment, uint32_t document) {
    const auto begin = corpus_.sentence_offsets[corpus_.document_offsets[document]];
    const auto end = corpus_.sentence_offsets[corpus_.document_offsets[document + 1]];
    const auto first = corpus_.tokens.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = corpus_.tokens.begin() + static_cast<ptrdiff_t>(end);
    return std::search(first, last, segment.begin(), segment.end()) != last;
  };
  for (size_t i = 0; i < instances.size(); ++i) {
    const Unmasked text = unmask(instances, i);
    ASSERT_TRUE(is_text_of(text.first, instances.documents[2 * i]));
    ASSERT_TRUE(is_text_of(text.second, instances.documents[2 * i + 1]));
    if (instances.next_sentence[i] == 0) {
      std::vector<int32_t> both = text.first;
      both.insert(both.end(), text.second.begin(), text.second.end());
      ASSERT_EQ(instances.documents[2 * i], instances.documents[2 * i + 1]);
      // The first segment is truncated only if the pair was too long.
      if (length(instances, i) < recipe_.max_length) {
        ASSERT_TRUE(is_text_of(both, instances.documents[2 * i]));
      }
    } else {
      ASSERT_NE(instances.documents[2 * i], instances.documents[2 * i + 1]);
    }
  }
}

TEST_F(PretrainingInstances, MaskedPositionsRiseAndAreNeverSpecialTokens) {
  const Instances instances = make();
  for (size_t i = 0; i < instances.size(); ++i) {
    const uint64_t begin = instances.masked_offsets[i];
    const uint64_t end = instances.masked_offsets[i + 1];
    const int32_t count = length(instances, i);
    const int32_t share = static_cast<int32_t>(std::nearbyint(count * 0.15));
    ASSERT_EQ(end - begin, static_cast<uint64_t>(std::min(20, std::max(1, share))));
    for (uint64_t m = begin; m < end; ++m) {
      const int32_t position = instances.masked_positions[m];
      ASSERT_TRUE(m == begin || position > instances.masked_positions[m - 1]);
      ASSERT_GT(position, 0);
      ASSERT_LT(position, count - 1);
      ASSERT_NE(position, instances.first_lengths[i] - 1);
      const bool in_first = position < instances.first_lengths[i];
      ASSERT_EQ(document_of(instances.masked_ids[m]), instances.documents[2 * i + !in_first]);
    }
  }
}

TEST_F(PretrainingInstances, MaskedTokensAreReplacedInTheRatioEightyTenTen) {
  const Instances instances = make();
  double masked = 0, as_mask = 0, as_itself = 0, as_other = 0;
  std::map<int32_t, int> others;
  for (size_t i = 0; i < instances.size(); ++i) {
    for (uint64_t m = instances.masked_offsets[i]; m < instances.masked_offsets[i + 1]; ++m) {
      const auto place =
          instances.token_offsets[i] + static_cast<uint64_t>(instances.masked_positions[m]);
      const int32_t seen = instances.tokens[place];
      ++masked;
      if (seen == vocabulary_.mask()) {
        ++as_mask;
      } else if (seen == instances.masked_ids[m]) {
        ++as_itself;
      } else {
        ++as_other;
        ++others[seen];
      }
    }
  }
  ASSERT_GT(masked, 500000);
  // A random token is the mask, or the token itself, with probability 1 / vocabulary size each.
  const double chance = 0.1 / vocabulary_.size();
  const auto expect_share = [&](double count, double share) {
    EXPECT_NEAR(count / masked, share, 4 * std::sqrt(share * (1 - share) / masked));
  };
  expect_share(as_mask, 0.8 + chance);
  expect_share(as_itself, 0.1 + chance);
  expect_share(as_other, 0.1 - 2 * chance);
  // The whole vocabulary, including special entries.
  EXPECT_GT(others.size(), 0.99 * vocabulary_.size());
}

TEST_F(PretrainingInstances, EveryPlaceOfASampleIsMaskedEquallyOften) {
  const Instances instances = make();
  std::vector<double> masked(128), expected(128);
  for (size_t i = 0; i < instances.size(); ++i) {
    if (length(instances, i) != 128) continue;
    const double share = 19.0 / 125.0;  // nearbyint(128 * 0.15) of all but the special tokens
    for (int32_t p = 1; p < 127; ++p) {
      if (p != instances.first_lengths[i] - 1) expected[static_cast<size_t>(p)] += share;
    }
    for (uint64_t m = instances.masked_offsets[i]; m < instances.masked_offsets[i + 1]; ++m) {
      ++masked[static_cast<size_t>(instances.masked_positions[m])];
    }
  }
  for (size_t p = 1; p < 127; ++p) {
    EXPECT_NEAR(masked[p], expected[p], 4.5 * std::sqrt(expected[p])) << "position " << p;
  }
}

TEST_F(PretrainingInstances, LengthsAndLabelsAreDistributedAsInTheReference) {
  const nlohmann::json golden = read_golden("data/pretraining_instances.json");
  const Instances instances = make();
  const auto count = static_cast<double>(instances.size());
  double length_sum = 0, first_sum = 0, random_sum = 0;
  std::vector<double> histogram(golden["histogram"].size());
  for (size_t i = 0; i < instances.size(); ++i) {
    const int32_t tokens = length(instances, i);
    length_sum += tokens;
    first_sum += instances.first_lengths[i];
    random_sum += instances.next_sentence[i];
    ++histogram[static_cast<size_t>(tokens - 1) * histogram.size() / 128];
  }
  // Instances of one document share a target length, so they are not independent, but passes over
  // the documents are. The golden numbers come from ten times as many passes.
  const double passes = recipe_.dupe_factor;
  const double a_pass = golden["instances_a_pass"][0];
  const double pass_deviation = golden["instances_a_pass"][1];
  EXPECT_NEAR(count / passes, a_pass, 4 * pass_deviation * std::sqrt(1.1 / passes));
  const double effective = count / 20;  // at most 20 instances share a document's target
  const auto expect_mean = [&](const char* name, double sum) {
    const double deviation = golden[name][1];
    EXPECT_NEAR(sum / count, golden[name][0].get<double>(),
                4 * deviation * std::sqrt(1.1 / effective))
        << name;
  };
  expect_mean("length", length_sum);
  expect_mean("first_length", first_sum);
  const double random_share = golden["random_share"];
  EXPECT_NEAR(random_sum / count, random_share,
              4 * std::sqrt(random_share * (1 - random_share) * 1.1 / effective));
  EXPECT_NEAR(static_cast<double>(instances.masked_ids.size()) / count,
              golden["mean_masked"].get<double>(),
              4 * 0.15 * golden["length"][1].get<double>() * std::sqrt(1.1 / effective));
  for (size_t bin = 0; bin < histogram.size(); ++bin) {
    const double share = golden["histogram"][bin];
    EXPECT_NEAR(histogram[bin] / count, share, 4 * std::sqrt(share * (1 - share) * 1.1 / effective))
        << "bin " << bin;
  }
}

TEST_F(PretrainingInstances, TheSeedAloneDecides) {
  recipe_.dupe_factor = 2;
  const uint64_t hash = hash_of(make(1));
  EXPECT_EQ(hash, 11938318497332988281u);  // on every platform
  EXPECT_EQ(hash, hash_of(make(7)));       // for any number of threads
  recipe_.seed = 54321;
  EXPECT_NE(hash, hash_of(make(1)));
}

TEST_F(PretrainingInstances, DuplicatesHaveDifferentMasks) {
  recipe_.short_seq_prob = 0;
  recipe_.dupe_factor = 1;
  const size_t once = make().size();
  recipe_.dupe_factor = 10;
  const Instances instances = make();
  EXPECT_NEAR(static_cast<double>(instances.size()), 10.0 * static_cast<double>(once),
              0.1 * 10.0 * static_cast<double>(once));
  std::set<std::vector<int32_t>> masks;
  for (size_t i = 0; i < instances.size(); ++i) {
    const auto begin = static_cast<ptrdiff_t>(instances.masked_offsets[i]);
    const auto end = static_cast<ptrdiff_t>(instances.masked_offsets[i + 1]);
    masks.emplace(instances.masked_positions.begin() + begin,
                  instances.masked_positions.begin() + end);
  }
  EXPECT_EQ(masks.size(), instances.size());
}

TEST_F(PretrainingInstances, TheOrderIsShuffled) {
  recipe_.dupe_factor = 1;
  const Instances instances = make();
  size_t neighbours = 0;
  for (size_t i = 1; i < instances.size(); ++i) {
    neighbours += instances.documents[2 * i] == instances.documents[2 * (i - 1)];
  }
  EXPECT_LT(neighbours, instances.size() / 5);
}

TEST_F(PretrainingInstances, ASingleDocumentAndTheShortestLengthStillWork) {
  Corpus corpus;
  const std::vector<int32_t> sentence(50, kSpecialEntries);
  corpus.append_sentence(sentence);
  corpus.finish_document(0);
  recipe_.max_length = 5;
  recipe_.max_predictions = 5;
  recipe_.masked_lm_prob = 1;
  recipe_.dupe_factor = 1;
  const Instances instances = make_instances(corpus, recipe_, vocabulary_, 1);
  ASSERT_EQ(instances.size(), 1u);
  EXPECT_EQ(instances.tokens.size(), 5u);
  EXPECT_EQ(instances.masked_positions, (std::vector<int32_t>{1, 3}));
}

TEST_F(PretrainingInstances, ImpossibleRecipesAreRefusedByName) {
  const auto message = [&](auto change) {
    Recipe recipe;
    change(recipe);
    return error_of([&] { check_recipe(recipe); });
  };
  EXPECT_TRUE(contains(message([](Recipe& r) { r.max_length = 4; }), "max-length is 4"));
  EXPECT_TRUE(contains(message([](Recipe& r) { r.max_predictions = 0; }), "max-predictions is 0"));
  EXPECT_TRUE(contains(message([](Recipe& r) { r.dupe_factor = 0; }), "dupe-factor is 0"));
  EXPECT_TRUE(
      contains(message([](Recipe& r) { r.masked_lm_prob = 1.5; }), "masked-lm-prob is 1.5"));
  EXPECT_TRUE(
      contains(message([](Recipe& r) { r.short_seq_prob = std::nan(""); }), "short-seq-prob"));
}

// Golden results of create_pretraining_data.py, run by tests/golden/reference/mlperf_reference.py.
TEST(ReferenceInstances, MatchMlperfsProgram) {
  const nlohmann::json golden = read_golden("reference/mlperf_reference.json");
  const Vocabulary vocabulary = Vocabulary::read(kGolden / "data/wordpiece_vocab.txt");
  const std::filesystem::path text = kGolden / "reference/mlperf_reference.txt";
  const Recipe recipe{.max_length = golden["max_length"],
                      .max_predictions = golden["max_predictions"],
                      .dupe_factor = golden["dupe_factor"],
                      .seed = golden["seed"]};
  const Corpus corpus = read_raw_text(std::span(&text, 1), vocabulary, 2);
  const Instances made = make_reference_instances(corpus, recipe, vocabulary);
  const nlohmann::json& expected = golden["instances"];
  ASSERT_EQ(made.size(), expected.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const auto part = [](const auto& all, const auto& offsets, size_t index) {
      return std::vector<int32_t>(all.begin() + static_cast<ptrdiff_t>(offsets[index]),
                                  all.begin() + static_cast<ptrdiff_t>(offsets[index + 1]));
    };
    const auto tokens = part(made.tokens, made.token_offsets, i);
    EXPECT_EQ(tokens, expected[i]["input_ids"].get<std::vector<int32_t>>()) << i;
    std::vector<int32_t> segments(tokens.size(), 1);
    std::fill_n(segments.begin(), made.first_lengths[i], 0);
    EXPECT_EQ(segments, expected[i]["segment_ids"].get<std::vector<int32_t>>()) << i;
    EXPECT_EQ(part(made.masked_positions, made.masked_offsets, i),
              expected[i]["masked_lm_positions"].get<std::vector<int32_t>>());
    EXPECT_EQ(part(made.masked_ids, made.masked_offsets, i),
              expected[i]["masked_lm_ids"].get<std::vector<int32_t>>());
    EXPECT_EQ(made.next_sentence[i], expected[i]["next_sentence_label"].get<int>());
  }
}

}  // namespace
}  // namespace strata::data
