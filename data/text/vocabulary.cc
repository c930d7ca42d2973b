#include "data/text/vocabulary.h"

#include <algorithm>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "data/text/hash.h"
#include "data/text/unicode.h"

namespace strata::data {

Vocabulary Vocabulary::read(const std::filesystem::path& path) {
  return parse(read_file(path), path.string());
}

Vocabulary Vocabulary::parse(std::string_view text, const std::string& name) {
  Vocabulary vocabulary;
  vocabulary.hash_ = fingerprint(text);
  vocabulary.entries_.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) {
      fail("{}: line {} is empty; a vocabulary has one entry on every line", name,
           vocabulary.entries_.size() + 1);
    }
    if (count_malformed(line).count > 0) {
      fail("{}: line {} is not UTF-8, so no word can match it; convert the file with iconv", name,
           vocabulary.entries_.size() + 1);
    }
    vocabulary.entries_.emplace_back(line);
    begin = end + 1;
  }
  if (vocabulary.entries_.empty()) {
    fail("{}: the vocabulary is empty; give the vocab.txt of the model", name);
  }
  for (size_t i = 0; i < vocabulary.entries_.size(); ++i) {
    const auto [found, is_new] =
        vocabulary.ids_.emplace(vocabulary.entries_[i], static_cast<int32_t>(i));
    if (!is_new) {
      fail("{}: line {} repeats '{}' of line {}; every entry must occur once", name, i + 1,
           vocabulary.entries_[i], found->second + 1);
    }
  }
  const auto special = [&](std::string_view entry) {
    const auto id = vocabulary.find(entry);
    if (!id) {
      fail("{}: the vocabulary of {} lacks {}; give the vocab.txt of a BERT model", name,
           counted(vocabulary.size(), "entry"), entry);
    }
    return *id;
  };
  vocabulary.unknown_ = special("[UNK]");
  vocabulary.classification_ = special("[CLS]");
  vocabulary.separator_ = special("[SEP]");
  vocabulary.mask_ = special("[MASK]");
  return vocabulary;
}

std::optional<int32_t> Vocabulary::find(std::string_view entry) const {
  const auto found = ids_.find(entry);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

}  // namespace strata::data
