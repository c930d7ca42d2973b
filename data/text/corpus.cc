#include "data/text/corpus.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/threads/parallel.h"
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
  const auto is_ascii_letter_or_sign = [](unsigned char c) { return c > ' ' && c < 0x80; };
  if (std::ranges::any_of(line, is_ascii_letter_or_sign)) return false;
  const std::u32string code_points = decode_utf8(line);
  return std::ranges::all_of(code_points, [unicode](char32_t c) { return is_space(c, unicode); });
}

// Token ids of consecutive lines; `blank` tells a blank line from a line without tokens.
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

// Returns "UTF-16" or "UTF-32" if `text` begins with its mark, or has a NUL in most of its
// characters.
std::string wide_encoding(std::string_view text) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
  if (text.starts_with("\xff\xfe"sv) || text.starts_with("\xfe\xff"sv)) return "UTF-16";
  constexpr size_t kLooked = 1 << 16;
  const std::string_view beginning = text.substr(0, kLooked);
  size_t nuls[2] = {0, 0};
  for (size_t i = 0; i < beginning.size(); ++i) nuls[i % 2] += beginning[i] == '\0';
  const size_t characters = beginning.size() / 2;
  if (characters == 0 || std::max(nuls[0], nuls[1]) * 2 < characters) return {};
  return nuls[0] > nuls[1] ? "UTF-16BE" : "UTF-16LE";
}

// Describes a file that is not text, with advice; empty if its first bytes do not tell.
std::string_view other_file(std::string_view text) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"\x1f\x8b"sv, "is compressed with gzip; uncompress it with gunzip"},
      {"BZh91AY&SY"sv, "is compressed with bzip2; uncompress it with bunzip2"},
      {"\xfd"
       "7zXZ\0"sv,
       "is compressed with xz; uncompress it with unxz"},
      {"\x28\xb5\x2f\xfd"sv, "is compressed with zstd; uncompress it with unzstd"},
      {"PK\x03\x04"sv, "is a ZIP archive; unpack it"},
      {"%PDF-"sv, "is a PDF file; convert it to plain text"},
      {"version https://git-lfs"sv,
       "is a Git LFS pointer; fetch the file itself with git lfs pull"}};
  for (const auto& [beginning, said] : kKinds) {
    if (text.starts_with(beginning)) return said;
  }
  return {};
}

// True if `text` has control characters that do not occur in texts.
bool has_controls(std::string_view text) {
  constexpr char kEscape = 0x1b;
  return std::ranges::any_of(text, [](unsigned char c) {
    return c < ' ' && (c < '\t' || c > '\r') && c != kEscape && c != '\0';
  });
}

// Numbers of line feeds, and of carriage returns that no line feed or carriage return follows.
struct LineEnds {
  uint64_t line_feeds = 0, lone_returns = 0;
};

LineEnds line_ends_of(std::string_view text) {
  LineEnds ends;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    ends.line_feeds += text[i] == '\n';
    ends.lone_returns += text[i] == '\r' && next != '\n' && next != '\r';
  }
  return ends;
}

// True if bytes of 0x80 and above stand alone or in pairs between ASCII letters, like the accented
// letters of Western European languages in Latin-1.
bool looks_like_latin1(std::string_view text) {
  uint64_t high = 0, runs = 0;
  bool was_high = false;
  for (const char c : text) {
    const bool is_high = (static_cast<unsigned char>(c) & 0x80) != 0;
    high += is_high;
    runs += is_high && !was_high;
    was_high = is_high;
  }
  return high <= 2 * runs;
}

// Throws Error if `text` is not UTF-8. Returns a warning about a few malformed bytes, or an empty
// string.
std::string check_encoding(std::string_view text, const std::filesystem::path& file) {
  constexpr uint64_t kMostShare = 1000;  // denominator of a fraction of the bytes
  const std::string name = file.string();
  if (const std::string_view other = other_file(text); !other.empty()) fail("{}: {}", name, other);
  if (const std::string wide = wide_encoding(text); !wide.empty()) {
    fail("{}: is {}, UTF-8 was expected; convert it: iconv -f {} -t UTF-8 OLD > NEW", name, wide,
         wide);
  }
  const LineEnds ends = line_ends_of(text);
  if (ends.lone_returns > ends.line_feeds) {
    fail(
        "{}: its lines end with only a carriage return, so they would be joined; convert it: tr "
        "'\\r' '\\n"
        "' < OLD > NEW",
        name);
  }
  const MalformedBytes found = count_malformed(text);
  if (found.count == 0) return {};
  const std::string said = fmt::format(
      "{} of {} not UTF-8; the first is 0x{:02X} at byte {}, in line {}", count_text(found.count),
      counted(text.size(), "byte is", "bytes are"), static_cast<unsigned char>(text[found.first]),
      found.first,
      1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(found.first), '\n'));
  if (found.count * kMostShare <= text.size()) {
    return fmt::format("{}: {}; they are left out", name, said);
  }
  if (has_controls(text)) {
    fail("{}: is not text: {}; give plain text in UTF-8", name, said);
  }
  if (looks_like_latin1(text)) {
    fail(
        "{}: is probably Latin-1 or Windows-1252: {}; convert it: iconv -f WINDOWS-1252 -t UTF-8 "
        "OLD > NEW",
        name, said);
  }
  fail("{}: is not UTF-8 text: {}; convert it with iconv from its encoding", name, said);
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
                     unsigned threads, UnicodeVersion unicode, NewerCharacters* newer,
                     std::vector<std::string>* warnings) {
  Corpus corpus;
  const auto finish_document = [&] {
    corpus.finish_document(static_cast<uint32_t>(corpus.documents()));
  };
  for (const auto& file : files) {
    std::string text = read_file(file);
    if (const std::string warning = check_encoding(text, file); !warning.empty() && warnings) {
      warnings->push_back(warning);
    }
    if (newer != nullptr) newer->add(text, file);
    std::erase(text, '\r');  // TensorFlow, which MLPerf reads text with, drops all of them, too
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

std::string doubt_about_next_sentences(const Corpus& corpus) {
  const size_t documents = corpus.documents();
  if (documents == 1) {
    return "the text is a single document, so a random second sentence comes from the same "
           "document as the true next sentence: next-sentence labels mean nothing; put a blank "
           "line between documents";
  }
  size_t alone = 0;
  for (size_t d = 0; d < documents; ++d) {
    alone += corpus.document_offsets[d + 1] - corpus.document_offsets[d] == 1;
  }
  if (2 * alone <= documents) return {};
  return fmt::format(
      "{} of {} a single sentence without a next one: next-sentence labels mean {}; put blank "
      "lines only between documents, and each sentence on its own line",
      count_text(alone), counted(documents, "document is", "documents are"),
      alone == documents ? "nothing" : "little");
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
        "no document is left to train on: {} of {} are held out for evaluation, and every "
        "sentence of the others is left out, because it also occurs in these; give more text, or "
        "hold out other documents",
        count_text(split.eval.documents()), counted(corpus.documents(), "document"));
  }
  return split;
}

}  // namespace strata::data
