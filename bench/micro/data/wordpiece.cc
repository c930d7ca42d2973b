#include "data/text/wordpiece.h"

#include "bench/micro/data/synthetic_text.h"
#include "bench/micro/micro.h"

namespace strata::bench::micro {
namespace {

// `seen`: every word has been met before; else all are new.
void wordpiece(benchmark::State& state, bool seen) {
  const data::Vocabulary vocabulary = synthetic_vocabulary();
  const std::string text = synthetic_text(state.range(0));
  data::WordPiece known(vocabulary);
  std::vector<int32_t> tokens;
  known.tokenize(text, tokens);
  for (auto _ : state) {
    tokens.clear();
    if (seen) {
      known.tokenize(text, tokens);
    } else {
      data::WordPiece(vocabulary).tokenize(text, tokens);
    }
    benchmark::DoNotOptimize(tokens.data());
  }
  count_work(state, 0, static_cast<double>(text.size()));
  state.SetItemsProcessed(state.iterations() * std::ssize(tokens));
}

}  // namespace

void add_wordpiece() {
  for (const bool seen : {false, true}) {
    benchmark::RegisterBenchmark(seen ? "wordpiece/seen_words" : "wordpiece/new_words", wordpiece,
                                 seen)
        ->ArgName("words")
        ->Arg(1000)
        ->Arg(30'000)
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace strata::bench::micro
