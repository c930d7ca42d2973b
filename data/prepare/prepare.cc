#include "data/prepare/prepare.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/threads/parallel.h"
#include "base/timing.h"
#include "data/prepare/provenance.h"
#include "data/text/corpus.h"

namespace strata::data {
namespace {

namespace fs = std::filesystem;

constexpr int kRecipeVersion = 2;  // increases when the same options give other instances

// Returns everything that a file's contents depend on, on one line.
std::string provenance(const PrepareOptions& options, uint64_t text_hash,
                       const Vocabulary& vocabulary, std::string_view part) {
  nlohmann::ordered_json inputs = {
      {"recipe_version", kRecipeVersion}, {"part", part},
      {"text_hash", to_hex(text_hash)},   {"vocabulary_hash", to_hex(vocabulary.hash())},
      {"eval_every", options.eval_every}, {"eval_documents", options.eval_documents},
      {"format", form_name(options.form)}};
  inputs.update(to_json(options.recipe));
  add_unicode(inputs, options.unicode);
  return json_text(inputs);
}

// Returns a warning if `vocabulary` belongs to a cased model, whose entries with capitals never
// occur in lower-cased text. Returns an empty string otherwise.
std::string doubt_about_case(const Vocabulary& vocabulary) {
  constexpr int32_t kMostShare = 100;  // denominator of a fraction of the entries
  int32_t cased = 0;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& entry = vocabulary.entry(id);
    const bool special = entry.starts_with('[') && entry.ends_with(']');
    cased += !special && std::ranges::any_of(entry, [](char c) { return c >= 'A' && c <= 'Z'; });
  }
  if (cased * int64_t{kMostShare} <= vocabulary.size()) return {};
  return fmt::format(
      "{} of the vocabulary's {} have capital letters, but text is lower-cased; use an uncased "
      "vocabulary, and the model that belongs to it",
      count_text(cased), counted(vocabulary.size(), "entry"));
}

FileSummary summarize(const fs::path& path, const Corpus& corpus, const Instances& instances,
                      const Vocabulary& vocabulary) {
  FileSummary summary;
  summary.path = path;
  summary.documents = corpus.documents();
  summary.sentences = corpus.sentences();
  summary.text_tokens = corpus.tokens.size();
  summary.instances = instances.size();
  summary.tokens = instances.tokens.size();
  for (size_t i = 0; i < instances.size(); ++i) {
    const uint64_t length = instances.token_offsets[i + 1] - instances.token_offsets[i];
    summary.longest = std::max(summary.longest, static_cast<int32_t>(length));
  }
  summary.mean_length = static_cast<double>(summary.tokens) /
                        static_cast<double>(std::max<size_t>(instances.size(), 1));
  summary.targets = count_targets(instances.masked_ids);
  if (summary.targets.most_frequent >= 0) {
    summary.most_frequent = vocabulary.entry(summary.targets.most_frequent);
  }
  return summary;
}

}  // namespace

TargetStatistics count_targets(std::span<const int32_t> masked_ids) {
  std::unordered_map<int32_t, uint64_t> counts;
  for (const int32_t id : masked_ids) ++counts[id];
  TargetStatistics statistics;
  statistics.masked = masked_ids.size();
  uint64_t most = 0;
  for (const auto& [id, count] : counts) {
    if (count > most || (count == most && id < statistics.most_frequent)) {
      most = count;
      statistics.most_frequent = id;
    }
  }
  if (most > 0) {
    statistics.share = static_cast<double>(most) / static_cast<double>(statistics.masked);
  }
  return statistics;
}

std::vector<bool> choose_held_out(size_t documents, const PrepareOptions& options) {
  std::vector<bool> held_out(documents, false);
  if (options.eval_documents >= documents || options.eval_every == 1) {
    fail(
        "the text has {}, all of which would be held out for evaluation; give more "
        "text or hold out fewer (--eval-every, --eval-documents)",
        counted(documents, "document"));
  }
  if (options.eval_documents > 0) {
    const size_t count = options.eval_documents;
    for (size_t i = 0; i < count; ++i) held_out[(2 * i + 1) * documents / (2 * count)] = true;
  } else if (options.eval_every > 0) {
    if (documents < options.eval_every) {
      fail(
          "the text has {}, too few to hold out every {}th for evaluation; give more "
          "text or a smaller --eval-every",
          counted(documents, "document"), options.eval_every);
    }
    for (size_t d = options.eval_every - 1; d < documents; d += options.eval_every) {
      held_out[d] = true;
    }
  }
  return held_out;
}

PrepareSummary prepare(const PrepareOptions& options,
                       const std::function<void(std::string_view)>& report) {
  const auto started = Clock::now();
  check_recipe(options.recipe);
  require_writable_directory(options.out);
  const unsigned threads = thread_count(options.threads);
  const Vocabulary vocabulary = Vocabulary::read(options.vocabulary);
  const bool has_eval = options.eval_every > 0 || options.eval_documents > 0;
  const fs::path train_path = options.out / "train.hdf5";
  const fs::path eval_path = options.out / "eval.hdf5";

  PrepareSummary summary;
  const uint64_t text_hash = hash_files(options.text);
  const std::string train_made_from = provenance(options, text_hash, vocabulary, "train");
  const std::string eval_made_from = provenance(options, text_hash, vocabulary, "eval");
  if (!options.force && is_made_from(train_path, train_made_from) &&
      (!has_eval || is_made_from(eval_path, eval_made_from))) {
    for (const fs::path& path : {train_path, eval_path}) {
      if (fs::exists(path) && !fs::exists(index_path(path)))
        write_index(std::span(&path, 1), options.form == InstanceForm::kMlperfVariable);
    }
    summary.skipped = true;
    return summary;
  }

  report("tokenizing");
  NewerCharacters newer_characters(options.unicode);
  const Corpus corpus = read_raw_text(options.text, vocabulary, threads, options.unicode,
                                      &newer_characters, &summary.warnings);
  report(fmt::format("{}, {}, {}", counted(corpus.documents(), "document"),
                     counted(corpus.sentences(), "sentence"),
                     counted(corpus.tokens.size(), "token")));
  CorpusSplit split = split_corpus(corpus, choose_held_out(corpus.documents(), options));
  summary.repeated_sentences = split.repeated_sentences;
  if (std::string doubt = doubt_about_case(vocabulary); !doubt.empty()) {
    summary.warnings.push_back(std::move(doubt));
  }
  if (std::string doubt = doubt_about_next_sentences(corpus); !doubt.empty()) {
    summary.warnings.push_back(std::move(doubt));
  } else if (split.eval.documents() == 1) {
    summary.warnings.push_back(
        "only one document is held out for evaluation, so a random second sentence comes from the "
        "same document as the true next sentence: next-sentence labels mean nothing; hold out more "
        "(--eval-documents)");
  }

  InstanceFileInfo info = info_of(options.recipe, vocabulary, to_hex(text_hash));
  info.form = options.form;
  const auto make = [&](const Corpus& part, int32_t dupe_factor, const fs::path& path,
                        const std::string& made_from) {
    report(fmt::format("making {}", path.string()));
    Recipe recipe = options.recipe;
    recipe.dupe_factor = dupe_factor;
    const Instances instances = make_instances(part, recipe, vocabulary, threads);
    info.made_from = made_from;
    write_instances(path, instances, info);
    write_index(std::span(&path, 1), options.form == InstanceForm::kMlperfVariable);
    return summarize(path, part, instances, vocabulary);
  };
  if (has_eval) summary.eval = make(split.eval, 1, eval_path, eval_made_from);
  summary.train = make(split.train, options.recipe.dupe_factor, train_path, train_made_from);
  if (const std::string found = newer_characters.describe(); !found.empty()) report(found);
  for (const std::string& warning : summary.warnings) report("warning: " + warning);
  summary.seconds = seconds_since(started);
  return summary;
}

}  // namespace strata::data
