#include "data/text/wordpiece.h"

#include <algorithm>

#include "data/text/unicode.h"

namespace strata::data {
namespace {

constexpr size_t kMostWordsSeen = 1 << 18;
constexpr std::string_view kContinued = "##";  // marks pieces that continue a word

constexpr bool is_ascii_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
constexpr bool continues_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

// Words never contain ASCII spaces, so the text between spaces is a cache key for all later steps.
void WordPiece::tokenize(std::string_view text, std::vector<int32_t>& out) {
  for (size_t begin = 0;;) {
    while (begin < text.size() && is_ascii_space(text[begin])) ++begin;
    if (begin == text.size()) return;
    size_t end = begin + 1;
    while (end < text.size() && !is_ascii_space(text[end])) ++end;
    chunk_ = text.substr(begin, end - begin);
    auto found = seen_.find(chunk_);
    if (found == seen_.end()) {
      if (seen_.size() >= kMostWordsSeen) seen_.clear();
      std::vector<int32_t> pieces;
      tokenize_chunk(chunk_, pieces);
      found = seen_.emplace(chunk_, std::move(pieces)).first;
    }
    out.insert(out.end(), found->second.begin(), found->second.end());
    begin = end;
  }
}

void WordPiece::tokenize_chunk(std::string_view chunk, std::vector<int32_t>& out) {
  if (std::ranges::all_of(chunk, is_ascii)) return tokenize_ascii(chunk, out);
  std::u32string word;
  const auto finish_word = [&] {
    tokenize_word(word, out);
    word.clear();
  };
  for (const char32_t code_point : decode_utf8(chunk)) {
    if (is_dropped(code_point, unicode_)) continue;
    const bool alone = is_cjk(code_point);
    if (alone || is_space(code_point, unicode_)) finish_word();
    if (!is_space(code_point, unicode_)) word.push_back(code_point);
    if (alone) finish_word();
  }
  finish_word();
}

// Fast path of tokenize_word: these characters are the same in all versions, have no accents, and
// their only spaces and control characters are ones that are dropped.
void WordPiece::tokenize_ascii(std::string_view chunk, std::vector<int32_t>& out) {
  plain_.clear();
  const auto finish_word = [&] {
    match_pieces(plain_, plain_.size(), out);
    plain_.clear();
  };
  for (const char c : chunk) {
    const auto code_point = static_cast<char32_t>(c);
    if (code_point < 0x20 || code_point == 0x7F) continue;
    const bool alone = is_punctuation(code_point, unicode_);
    if (alone) finish_word();
    plain_.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
    if (alone) finish_word();
  }
  finish_word();
}

void WordPiece::tokenize_word(std::u32string_view word, std::vector<int32_t>& out) {
  plain_.clear();
  size_t code_points = 0;
  const auto finish_word = [&] {
    match_pieces(plain_, code_points, out);
    plain_.clear();
    code_points = 0;
  };
  for (const char32_t code_point : strip_accents(lower_case(word, unicode_), unicode_)) {
    const bool alone = is_punctuation(code_point, unicode_);
    if (alone) finish_word();
    append_utf8(code_point, plain_);
    ++code_points;
    if (alone) finish_word();
  }
  finish_word();
}

// `word` is UTF-8.
void WordPiece::match_pieces(std::string_view word, size_t code_points, std::vector<int32_t>& out) {
  if (word.empty()) return;
  if (code_points > kLongestWord) {
    out.push_back(vocabulary_.unknown());
    return;
  }
  const size_t pieces_before = out.size();
  // The mark overwrites the bytes before a piece, which are matched already or reserved for it.
  marked_ = kContinued;
  marked_ += word;
  for (size_t begin = kContinued.size(); begin < marked_.size();) {
    size_t first = begin;
    if (begin > kContinued.size()) {
      first -= kContinued.size();
      kContinued.copy(&marked_[first], kContinued.size());
    }
    size_t end = marked_.size();
    while (end > begin) {
      if (const auto id = vocabulary_.find(std::string_view(marked_).substr(first, end - first))) {
        out.push_back(*id);
        break;
      }
      do --end;
      while (end > begin && continues_code_point(marked_[end]));
    }
    if (end == begin) {
      out.resize(pieces_before);
      out.push_back(vocabulary_.unknown());
      return;
    }
    begin = end;
  }
}

}  // namespace strata::data
