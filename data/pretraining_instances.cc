#include "data/pretraining_instances.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/error.h"
#include "data/parallel.h"
#include "data/random.h"

namespace strata::data {
namespace {

constexpr int32_t kSpecialTokens = 3;  // [CLS] first [SEP] second [SEP]
constexpr double kMaskedAsMask = 0.8;
constexpr double kMaskedAsItself = 0.5;  // of the rest; the others become a random token
constexpr int kTriesForAnotherDocument = 10;

// Consecutive tokens of a document.
struct Segment {
  uint32_t document = 0;
  std::span<const int32_t> tokens;
};

// Keys of the independent random streams a seed gives.
enum Stream : uint64_t { kDocumentStream = 1, kShuffleStream = 2 };

void append(Instances& to, const Instances& from, size_t index) {
  const auto copy = [](auto& target, const auto& source, size_t begin, size_t end) {
    target.insert(target.end(), source.begin() + static_cast<ptrdiff_t>(begin),
                  source.begin() + static_cast<ptrdiff_t>(end));
  };
  copy(to.tokens, from.tokens, from.token_offsets[index], from.token_offsets[index + 1]);
  copy(to.masked_positions, from.masked_positions, from.masked_offsets[index],
       from.masked_offsets[index + 1]);
  copy(to.masked_ids, from.masked_ids, from.masked_offsets[index], from.masked_offsets[index + 1]);
  to.token_offsets.push_back(to.tokens.size());
  to.masked_offsets.push_back(to.masked_ids.size());
  to.first_lengths.push_back(from.first_lengths[index]);
  to.next_sentence.push_back(from.next_sentence[index]);
  copy(to.documents, from.documents, 2 * index, 2 * index + 2);
}

// Makes the instances of one document at a time; holds what every document needs.
class DocumentCutter {
 public:
  DocumentCutter(const Corpus& corpus, const Recipe& recipe, const Vocabulary& vocabulary,
                 Instances& out)
      : corpus_(corpus), recipe_(recipe), vocabulary_(vocabulary), out_(out) {}

  // Fills chunks of sentences up to a target length and cuts each chunk in two. Sentences given up
  // for a random second half start the next chunk.
  void cut(size_t document, Random& random) {
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
  // Returns the sentence after the last one used.
  size_t cut_chunk(size_t document, size_t begin, size_t end, int64_t target, Random& random) {
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
    emit(first, second, is_random, random);
    return is_random ? middle : end;
  }

  Segment random_segment(size_t not_from, int64_t wanted, Random& random) const {
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

  // Shortens the longer segment by one token, at its front or back, until both fit.
  void truncate(Segment& first, Segment& second, Random& random) const {
    const size_t most_tokens = static_cast<size_t>(recipe_.max_length - kSpecialTokens);
    while (first.tokens.size() + second.tokens.size() > most_tokens) {
      auto& longer = first.tokens.size() > second.tokens.size() ? first.tokens : second.tokens;
      longer = random.chance(0.5) ? longer.subspan(1) : longer.first(longer.size() - 1);
    }
  }

  void emit(const Segment& first, const Segment& second, bool is_random, Random& random) {
    const size_t begin = out_.tokens.size();
    out_.tokens.push_back(vocabulary_.classification());
    out_.tokens.insert(out_.tokens.end(), first.tokens.begin(), first.tokens.end());
    out_.tokens.push_back(vocabulary_.separator());
    out_.first_lengths.push_back(static_cast<int32_t>(out_.tokens.size() - begin));
    out_.tokens.insert(out_.tokens.end(), second.tokens.begin(), second.tokens.end());
    out_.tokens.push_back(vocabulary_.separator());
    out_.token_offsets.push_back(out_.tokens.size());
    out_.next_sentence.push_back(is_random);
    out_.documents.push_back(first.document);
    out_.documents.push_back(second.document);
    mask(std::span(out_.tokens).subspan(begin), random);
  }

  void mask(std::span<int32_t> tokens, Random& random) {
    candidates_.clear();
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool special =
          tokens[i] == vocabulary_.classification() || tokens[i] == vocabulary_.separator();
      if (!special) candidates_.push_back(static_cast<int32_t>(i));
    }
    // Rounds half to even, as the recipe's published code does.
    const double share =
        std::nearbyint(static_cast<double>(tokens.size()) * recipe_.masked_lm_prob);
    const size_t count =
        std::min({static_cast<size_t>(std::max(1.0, share)),
                  static_cast<size_t>(recipe_.max_predictions), candidates_.size()});
    for (size_t i = 0; i < count; ++i) {
      std::swap(candidates_[i], candidates_[i + random.below(candidates_.size() - i)]);
    }
    std::sort(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(count));
    for (size_t i = 0; i < count; ++i) {
      int32_t& token = tokens[static_cast<size_t>(candidates_[i])];
      out_.masked_positions.push_back(candidates_[i]);
      out_.masked_ids.push_back(token);
      if (random.chance(kMaskedAsMask)) {
        token = vocabulary_.mask();
      } else if (!random.chance(kMaskedAsItself)) {
        token = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocabulary_.size())));
      }
    }
    out_.masked_offsets.push_back(out_.masked_ids.size());
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
  Instances& out_;
  std::vector<int32_t> candidates_;
};

// Where instance `index` of the concatenation of `parts` stands.
struct Place {
  uint32_t part, index;
};

Instances shuffle_together(const std::vector<Instances>& parts, uint64_t seed) {
  std::vector<Place> places;
  for (size_t part = 0; part < parts.size(); ++part) {
    for (size_t i = 0; i < parts[part].size(); ++i) {
      places.push_back({static_cast<uint32_t>(part), static_cast<uint32_t>(i)});
    }
  }
  Random random({seed, kShuffleStream});
  for (size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random.below(i)]);
  Instances out;
  for (const Place place : places) append(out, parts[place.part], place.index);
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
    Instances out;
    DocumentCutter cutter(corpus, recipe, vocabulary, out);
    for (size_t task = begin; task < end; ++task) {
      const size_t document = task % documents;
      Random random(
          {recipe.seed, kDocumentStream, task / documents, corpus.document_numbers[document]});
      cutter.cut(document, random);
    }
    return out;
  };
  return shuffle_together(map_ranges<Instances>(documents * passes, threads, make_range),
                          recipe.seed);
}

}  // namespace strata::data
