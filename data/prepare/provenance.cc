#include "data/prepare/provenance.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "data/text/hash.h"

namespace strata::data {

namespace fs = std::filesystem;

std::string to_hex(uint64_t hash) { return fmt::format("{:016x}", hash); }

nlohmann::ordered_json to_json(const Recipe& recipe) {
  return {{"max_length", recipe.max_length},         {"max_predictions", recipe.max_predictions},
          {"dupe_factor", recipe.dupe_factor},       {"masked_lm_prob", recipe.masked_lm_prob},
          {"short_seq_prob", recipe.short_seq_prob}, {"seed", recipe.seed}};
}

void add_unicode(nlohmann::ordered_json& inputs, UnicodeVersion unicode) {
  if (unicode != kNewestUnicode) inputs["unicode"] = to_string(unicode);
}

InstanceFileInfo info_of(const Recipe& recipe, const Vocabulary& vocabulary,
                         const std::string& text_hash) {
  return {.vocabulary_size = vocabulary.size(),
          .max_length = recipe.max_length,
          .max_predictions = recipe.max_predictions,
          .seed = recipe.seed,
          .text_hash = text_hash};
}

uint64_t hash_files(std::span<const fs::path> files) {
  uint64_t hash = fingerprint({});
  for (const fs::path& file : files) hash = hash_text(read_file(file), hash);
  return hash;
}

bool is_made_from(const fs::path& path, const std::string& made_from) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  try {
    return describe_instance_file(path).made_from == made_from;
  } catch (const Error&) {
    return false;  // another program's or a damaged file is made again
  }
}

void require_writable_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    fail("{}: cannot create the output directory: {}; choose another with --out",
         directory.string(), error.message());
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    fail(
        "{}: cannot write into the output directory; change its permissions or choose another "
        "with --out",
        directory.string());
  }
}

}  // namespace strata::data
