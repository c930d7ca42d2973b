#include "data/text/pretraining_instances.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/threads/parallel.h"
#include "data/text/python_random.h"
#include "data/text/random.h"

namespace strata::data {
namespace {

constexpr int32_t kSpecialTokens = 3;  // [CLS] first [SEP] second [SEP]
constexpr double kMaskedAsMask = 0.8;
constexpr double kMaskedAsItself = 0.5;  // share of the others; the rest become a random token
constexpr int kTriesForAnotherDocument = 10;

// Consecutive tokens of a document.
struct Segment {
  uint32_t document = 0;
  std::span<const int32_t> tokens;
};

// Keys of the independent random streams of a seed.
enum Stream : uint64_t { kDocumentStream = 1, kShuffleStream = 2 };

// Moves `count` random elements of `candidates` to the front, ascending.
void choose(std::span<uint16_t> candidates, size_t count, Random& random) {
  for (size_t i = 0; i < count; ++i) {
    std::swap(candidates[i], candidates[i + random.below(candidates.size() - i)]);
  }
  std::sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(count));
}

// The same, in random order.
void choose(std::span<uint16_t> candidates, size_t, PythonRandom& random) {
  random.shuffle(candidates);
}

// Instances whose tokens are still in the corpus, so that tokens are copied only once, to their
// final position. N drafts and M masked positions.
struct Drafts {
  struct Draft {
    Segment first, second;
    bool is_random = false;
    size_t masked_end = 0;  // end in the arrays below
  };
  std::vector<Draft> all;                  // [N]
  std::vector<uint16_t> masked_positions;  // [M] inside the sample, ascending
  std::vector<int32_t> replacements;       // [M] tokens to put there

  size_t masked_begin(size_t draft) const { return draft == 0 ? 0 : all[draft - 1].masked_end; }
};

// Drafts the instances of one document at a time, and holds state shared by all documents.
template <typename Generator>
class DocumentCutter {
 public:
  DocumentCutter(const Corpus& corpus, const Recipe& recipe, const Vocabulary& vocabulary,
                 Drafts& out)
      : corpus_(corpus),
        recipe_(recipe),
        vocabulary_(vocabulary),
        out_(out),
        candidates_(static_cast<size_t>(recipe.max_length)),
        replacements_(candidates_.size()),
        is_masked_(candidates_.size() / kWordBits + 1) {}

  // Fills chunks of sentences up to a target length and cuts each chunk in two. Sentences that a
  // random second half replaces start the next chunk.
  void cut(size_t document, Generator& random) {
    const int64_t most_tokens = recipe_.max_length - kSpecialTokens;
    const int64_t target =
        random.chance(recipe_.short_seq_prob) ? random.between(2, most_tokens) : most_tokens;
    const size_t end = corpus_.document_offsets[document + 1];
    size_t chunk_begin = corpus_.document_offsets[document];
    for (size_t s = chunk_begin; s < end; ++s) {
      if (s + 1 < end && tokens_between(chunk_begin, s + 1) < target) continue;
      s = cut_chunk(document, chunk_begin, s + 1, target, random) - 1;
      chunk_begin = s + 1;
    }
  }

 private:
  static constexpr size_t kWordBits = 64;

  // Returns the sentence after the last one used.
  size_t cut_chunk(size_t document, size_t begin, size_t end, int64_t target, Generator& random) {
    size_t middle = begin + 1;
    if (end - begin >= 2) {
      middle =
          begin + static_cast<size_t>(random.between(1, static_cast<int64_t>(end - begin) - 1));
    }
    Segment first{corpus_.document_numbers[document], tokens_of(begin, middle)};
    const bool is_random = end - begin == 1 || random.chance(0.5);
    const int64_t wanted = target - static_cast<int64_t>(first.tokens.size());
    Segment second = is_random ? random_segment(document, wanted, random)
                               : Segment{first.document, tokens_of(middle, end)};
    truncate(first, second, random);
    mask(first.tokens, second.tokens, random);
    out_.all.push_back({first, second, is_random, out_.replacements.size()});
    return is_random ? middle : end;
  }

  Segment random_segment(size_t not_from, int64_t wanted, Generator& random) const {
    size_t document = not_from;
    for (int tries = 0; tries < kTriesForAnotherDocument && document == not_from; ++tries) {
      document = random.below(corpus_.documents());
    }
    const size_t begin = corpus_.document_offsets[document];
    const size_t end = corpus_.document_offsets[document + 1];
    const size_t start = begin + random.below(end - begin);
    size_t stop = start + 1;
    while (stop < end && tokens_between(start, stop) < wanted) ++stop;
    return {corpus_.document_numbers[document], tokens_of(start, stop)};
  }

  // Shortens the longer segment token by token, at its front or back, until both fit.
  void truncate(Segment& first, Segment& second, Generator& random) const {
    const size_t most_tokens = static_cast<size_t>(recipe_.max_length - kSpecialTokens);
    while (first.tokens.size() + second.tokens.size() > most_tokens) {
      auto& longer = first.tokens.size() > second.tokens.size() ? first.tokens : second.tokens;
      const size_t from_front = random.chance(0.5);  // avoids an unpredictable branch
      longer = longer.subspan(from_front, longer.size() - 1);
    }
  }

  void mask(std::span<const int32_t> first, std::span<const int32_t> second, Generator& random) {
    const size_t tokens = first.size() + second.size() + kSpecialTokens;
    const size_t candidates = add_candidates(second, first.size() + 2, add_candidates(first, 1, 0));
    // Rounds half to even, like the published code.
    const double share = std::nearbyint(static_cast<double>(tokens) * recipe_.masked_lm_prob);
    const size_t count = std::min({static_cast<size_t>(std::max(1.0, share)),
                                   static_cast<size_t>(recipe_.max_predictions), candidates});
    choose(std::span(candidates_).first(candidates), count, random);
    for (size_t i = 0; i < count; ++i) {
      const size_t position = candidates_[i];
      is_masked_[position / kWordBits] |= uint64_t{1} << position % kWordBits;
      int32_t& replacement = replacements_[position];
      if (random.chance(kMaskedAsMask)) {
        replacement = vocabulary_.mask();
      } else if (random.chance(kMaskedAsItself)) {
        replacement =
            position <= first.size() ? first[position - 1] : second[position - first.size() - 2];
      } else {
        replacement = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary_.size())));
      }
    }
    for (size_t word = 0; word * kWordBits < tokens; ++word) {
      for (uint64_t bits = std::exchange(is_masked_[word], 0); bits != 0; bits &= bits - 1) {
        const size_t position = word * kWordBits + static_cast<size_t>(std::countr_zero(bits));
        out_.masked_positions.push_back(static_cast<uint16_t>(position));
        out_.replacements.push_back(replacements_[position]);
      }
    }
  }

  // Adds the positions of `tokens`, except for special tokens; the first is at `position`. Takes
  // and returns the number of candidates.
  size_t add_candidates(std::span<const int32_t> tokens, size_t position, size_t candidates) {
    for (const int32_t token : tokens) {
      candidates_[candidates] = static_cast<uint16_t>(position++);
      candidates += token != vocabulary_.classification() && token != vocabulary_.separator();
    }
    return candidates;
  }

  std::span<const int32_t> tokens_of(size_t begin, size_t end) const {
    return std::span(corpus_.tokens)
        .subspan(corpus_.sentence_offsets[begin],
                 corpus_.sentence_offsets[end] - corpus_.sentence_offsets[begin]);
  }
  int64_t tokens_between(size_t begin, size_t end) const {
    return static_cast<int64_t>(tokens_of(begin, end).size());
  }

  const Corpus& corpus_;
  const Recipe& recipe_;
  const Vocabulary& vocabulary_;
  Drafts& out_;
  std::vector<uint16_t> candidates_;   // positions that may be masked
  std::vector<int32_t> replacements_;  // for masked positions; others hold old values
  std::vector<uint64_t> is_masked_;    // bits of positions; all clear between samples
};

void append(const Drafts& drafts, size_t index, const Vocabulary& vocabulary, Instances& out) {
  const auto& [first, second, is_random, masked_end] = drafts.all[index];
  const size_t begin = out.tokens.size();
  out.tokens.push_back(vocabulary.classification());
  out.tokens.insert(out.tokens.end(), first.tokens.begin(), first.tokens.end());
  out.tokens.push_back(vocabulary.separator());
  out.tokens.insert(out.tokens.end(), second.tokens.begin(), second.tokens.end());
  out.tokens.push_back(vocabulary.separator());
  for (size_t i = drafts.masked_begin(index); i < masked_end; ++i) {
    int32_t& token = out.tokens[begin + drafts.masked_positions[i]];
    out.masked_positions.push_back(drafts.masked_positions[i]);
    out.masked_ids.push_back(std::exchange(token, drafts.replacements[i]));
  }
  out.token_offsets.push_back(out.tokens.size());
  out.masked_offsets.push_back(out.masked_ids.size());
  out.first_lengths.push_back(static_cast<int32_t>(first.tokens.size()) + 2);
  out.next_sentence.push_back(is_random);
  out.documents.push_back(first.document);
  out.documents.push_back(second.document);
}

// Reserves memory for all instances of `parts`.
Instances reserve(const std::vector<Drafts>& parts) {
  size_t samples = 0, tokens = 0, masked = 0;
  for (const Drafts& part : parts) {
    samples += part.all.size();
    masked += part.replacements.size();
    for (const Drafts::Draft& draft : part.all) {
      tokens += draft.first.tokens.size() + draft.second.tokens.size() + kSpecialTokens;
    }
  }
  Instances out;
  out.tokens.reserve(tokens);
  out.token_offsets.reserve(samples + 1);
  out.first_lengths.reserve(samples);
  out.masked_positions.reserve(masked);
  out.masked_ids.reserve(masked);
  out.masked_offsets.reserve(samples + 1);
  out.next_sentence.reserve(samples);
  out.documents.reserve(2 * samples);
  return out;
}

// Position of draft `index` of the concatenation of `parts`.
struct Place {
  uint32_t part, index;
};

template <typename Generator>
Instances shuffle_together(const std::vector<Drafts>& parts, const Vocabulary& vocabulary,
                           Generator& random) {
  std::vector<Place> places;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (size_t i = 0; i < parts[part].all.size(); ++i) {
      places.push_back({static_cast<uint32_t>(part), static_cast<uint32_t>(i)});
    }
  }
  shuffle(places, random);
  Instances out = reserve(parts);
  for (const Place place : places) append(parts[place.part], place.index, vocabulary, out);
  return out;
}

Corpus shuffle_documents(const Corpus& corpus, PythonRandom& random) {
  std::vector<size_t> order(corpus.documents());
  std::iota(order.begin(), order.end(), size_t{0});
  shuffle(order, random);
  Corpus out;
  for (const size_t document : order) {
    for (size_t s = corpus.document_offsets[document]; s < corpus.document_offsets[document + 1];
         ++s) {
      out.append_sentence(corpus.sentence(s));
    }
    out.finish_document(corpus.document_numbers[document]);
  }
  return out;
}

}  // namespace

void check_recipe(const Recipe& recipe) {
  const auto in_unit = [](double value) { return value >= 0.0 && value <= 1.0; };
  if (recipe.max_length < kSpecialTokens + 2 || recipe.max_length > 65535) {
    fail("max-length is {}; it must be 5 to 65535", recipe.max_length);
  }
  if (recipe.max_predictions < 1 || recipe.max_predictions > recipe.max_length) {
    fail("max-predictions is {}; it must be 1 to max-length, {}", recipe.max_predictions,
         recipe.max_length);
  }
  if (recipe.dupe_factor < 1) fail("dupe-factor is {}; it must be 1 or more", recipe.dupe_factor);
  if (!in_unit(recipe.masked_lm_prob)) {
    fail("masked-lm-prob is {}; it must be 0 to 1", recipe.masked_lm_prob);
  }
  if (!in_unit(recipe.short_seq_prob)) {
    fail("short-seq-prob is {}; it must be 0 to 1", recipe.short_seq_prob);
  }
}

Instances make_instances(const Corpus& corpus, const Recipe& recipe, const Vocabulary& vocabulary,
                         unsigned threads) {
  check_recipe(recipe);
  const size_t documents = corpus.documents();
  const size_t passes = static_cast<size_t>(recipe.dupe_factor);
  const auto make_range = [&](size_t begin, size_t end) {
    Drafts out;
    DocumentCutter<Random> cutter(corpus, recipe, vocabulary, out);
    for (size_t task = begin; task < end; ++task) {
      const size_t document = task % documents;
      Random random(
          {recipe.seed, kDocumentStream, task / documents, corpus.document_numbers[document]});
      cutter.cut(document, random);
    }
    return out;
  };
  const auto parts = map_ranges<Drafts>(documents * passes, threads, make_range);
  Random random({recipe.seed, kShuffleStream});
  return shuffle_together(parts, vocabulary, random);
}

Instances make_reference_instances(const Corpus& corpus, const Recipe& recipe,
                                   const Vocabulary& vocabulary) {
  check_recipe(recipe);
  PythonRandom random(recipe.seed);
  const Corpus shuffled = shuffle_documents(corpus, random);
  std::vector<Drafts> all(1);
  DocumentCutter<PythonRandom> cutter(shuffled, recipe, vocabulary, all[0]);
  for (int32_t pass = 0; pass < recipe.dupe_factor; ++pass) {
    for (size_t document = 0; document < shuffled.documents(); ++document) {
      cutter.cut(document, random);
    }
  }
  return shuffle_together(all, vocabulary, random);
}

}  // namespace strata::data
