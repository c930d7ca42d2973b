#include "data/text/wordpiece.h"

#include <algorithm>

#include "data/text/unicode.h"

namespace strata::data {
namespace {

constexpr size_t kMostWordsSeen = 1 << 18;
constexpr std::string_view kAsciiSpaces = " \t\n\r";

}  // namespace

// Words never reach across ASCII spaces, so what stands between them is a key for all later steps.
void WordPiece::tokenize(std::string_view text, std::vector<int32_t>& out) {
  for (size_t begin = text.find_first_not_of(kAsciiSpaces); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kAsciiSpaces, begin), text.size());
    std::string chunk(text.substr(begin, end - begin));
    auto found = seen_.find(chunk);
    if (found == seen_.end()) {
      if (seen_.size() >= kMostWordsSeen) seen_.clear();
      std::vector<int32_t> pieces;
      tokenize_chunk(chunk, pieces);
      found = seen_.emplace(std::move(chunk), std::move(pieces)).first;
    }
    out.insert(out.end(), found->second.begin(), found->second.end());
    begin = text.find_first_not_of(kAsciiSpaces, end);
  }
}

void WordPiece::tokenize_chunk(std::string_view chunk, std::vector<int32_t>& out) {
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

void WordPiece::tokenize_word(std::u32string_view word, std::vector<int32_t>& out) {
  const std::u32string plain = strip_accents(lower_case(word, unicode_), unicode_);
  size_t begin = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (!is_punctuation(plain[i], unicode_)) continue;
    match_pieces(std::u32string_view(plain).substr(begin, i - begin), out);
    match_pieces(std::u32string_view(plain).substr(i, 1), out);
    begin = i + 1;
  }
  match_pieces(std::u32string_view(plain).substr(begin), out);
}

void WordPiece::match_pieces(std::u32string_view word, std::vector<int32_t>& out) {
  if (word.empty()) return;
  if (word.size() > kLongestWord) {
    out.push_back(vocabulary_.unknown());
    return;
  }
  std::string text;
  std::vector<size_t> ends;  // bytes of `text` up to the end of each code point
  for (const char32_t code_point : word) {
    append_utf8(code_point, text);
    ends.push_back(text.size());
  }
  const size_t pieces_before = out.size();
  std::string piece;
  for (size_t begin = 0; begin < word.size();) {
    const size_t first_byte = begin == 0 ? 0 : ends[begin - 1];
    size_t end = word.size();
    for (; end > begin; --end) {
      piece.assign(begin == 0 ? "" : "##");
      piece.append(text, first_byte, ends[end - 1] - first_byte);
      if (const auto id = vocabulary_.find(piece)) {
        out.push_back(*id);
        break;
      }
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
