// Reads arbitrary bytes as a vocabulary, after its required entries. The bytes after a zero are
// text to tokenize.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "data/text/vocabulary.h"
#include "data/text/wordpiece.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace strata::data;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t zero = std::min(bytes.find('\0'), size);
  const std::string_view entries = bytes.substr(0, zero),
                         text = bytes.substr(std::min(zero + 1, size));
  for (const char* before : {"", "[UNK]\n[CLS]\n[SEP]\n[MASK]\n"}) {
    try {
      const Vocabulary vocabulary = Vocabulary::parse(before + std::string(entries), "fuzz");
      for (int32_t id = 0; id < vocabulary.size(); ++id) {
        if (vocabulary.find(vocabulary.entry(id)) != id) __builtin_trap();
      }
      std::vector<int32_t> ids;
      WordPiece(vocabulary).tokenize(text, ids);
    } catch (const strata::Error&) {
    }
  }
  return 0;
}
