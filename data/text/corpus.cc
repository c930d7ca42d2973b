#include "data/text/corpus.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "data/text/unicode.h"
#include "data/text/wordpiece.h"

namespace strata::data {
namespace {

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_blank(std::string_view line, UnicodeVersion unicode) {
  if (std::any_of(line.begin(), line.end(), [](char c) { return c > ' '; })) return false;
  const std::u32string code_points = decode_utf8(line);
  return std::ranges::all_of(code_points, [unicode](char32_t c) { return is_space(c, unicode); });
}

// Token ids of consecutive lines; a blank line and one without tokens differ in `blank`.
struct TokenizedLines {
  std::vector<int32_t> tokens;
  std::vector<size_t> ends;
  std::vector<bool> blank;
};

TokenizedLines tokenize_lines(std::span<const std::string_view> lines, const Vocabulary& vocabulary,
                              UnicodeVersion unicode) {
  WordPiece word_piece(vocabulary, unicode);
  TokenizedLines out;
  for (const std::string_view line : lines) {
    word_piece.tokenize(line, out.tokens);
    out.ends.push_back(out.tokens.size());
    out.blank.push_back(is_blank(line, unicode));
  }
  return out;
}

std::string_view bytes_of(std::span<const int32_t> tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()};
}

}  // namespace

void Corpus::append_sentence(std::span<const int32_t> sentence_tokens) {
  tokens.insert(tokens.end(), sentence_tokens.begin(), sentence_tokens.end());
  sentence_offsets.push_back(tokens.size());
}

void Corpus::finish_document(uint32_t number) {
  if (document_offsets.back() == sentences()) return;
  document_offsets.push_back(sentences());
  document_numbers.push_back(number);
}

Corpus read_raw_text(std::span<const std::filesystem::path> files, const Vocabulary& vocabulary,
                     unsigned threads, UnicodeVersion unicode, NewerCharacters* newer) {
  Corpus corpus;
  const auto finish_document = [&] {
    corpus.finish_document(static_cast<uint32_t>(corpus.documents()));
  };
  for (const auto& file : files) {
    std::string text = read_file(file);
    if (newer != nullptr) newer->add(text, file);
    std::erase(text,
               '\r');  // wherever they stand: so does TensorFlow, with which MLPerf reads text
    const auto lines = split_lines(text);
    const auto parts = map_ranges<TokenizedLines>(lines.size(), threads, [&](size_t a, size_t b) {
      return tokenize_lines(std::span(lines).subspan(a, b - a), vocabulary, unicode);
    });
    for (const TokenizedLines& part : parts) {
      for (size_t line = 0, begin = 0; line < part.ends.size(); begin = part.ends[line++]) {
        const size_t end = part.ends[line];
        if (part.blank[line]) finish_document();
        if (end > begin) {
          corpus.append_sentence(std::span(part.tokens).subspan(begin, end - begin));
        }
      }
    }
    finish_document();
  }
  if (corpus.documents() == 0) {
    fail(
        "{}: no text in {} file(s); give UTF-8 text with one sentence a line and a blank line "
        "between documents",
        files.empty() ? "no input" : files.front().string(), files.size());
  }
  return corpus;
}

CorpusSplit split_corpus(const Corpus& corpus, const std::vector<bool>& held_out) {
  CorpusSplit split;
  std::unordered_set<std::string_view> eval_sentences;
  for (const bool eval : {true, false}) {
    Corpus& part = eval ? split.eval : split.train;
    for (size_t d = 0; d < corpus.documents(); ++d) {
      if (held_out[d] != eval) continue;
      for (size_t s = corpus.document_offsets[d]; s < corpus.document_offsets[d + 1]; ++s) {
        const auto sentence = corpus.sentence(s);
        if (eval) {
          eval_sentences.insert(bytes_of(sentence));
        } else if (eval_sentences.contains(bytes_of(sentence))) {
          ++split.repeated_sentences;
          continue;
        }
        part.append_sentence(sentence);
      }
      part.finish_document(corpus.document_numbers[d]);
    }
  }
  if (split.train.documents() == 0) {
    fail(
        "nothing is left to train on: {} of {} documents are held out for evaluation; hold out "
        "fewer or give more text",
        split.eval.documents(), corpus.documents());
  }
  return split;
}

}  // namespace strata::data
