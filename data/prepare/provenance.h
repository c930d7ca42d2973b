// Records the inputs of a data file, so that an up-to-date file is not made again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "data/files/instance_file.h"
#include "data/text/pretraining_instances.h"
#include "data/text/unicode_version.h"
#include "data/text/vocabulary.h"

namespace strata::data {

// Returns 16 hexadecimal digits.
std::string to_hex(uint64_t hash);

// Returns the options of a recipe by name.
nlohmann::ordered_json to_json(const Recipe& recipe);

// Adds a requested version of Unicode. Adds nothing for the installed one, so that files made
// before this option existed stay up to date.
void add_unicode(nlohmann::ordered_json& inputs, UnicodeVersion unicode);

// Returns the facts that a file states about itself, except for its form and `made_from`.
InstanceFileInfo info_of(const Recipe& recipe, const Vocabulary& vocabulary,
                         const std::string& text_hash);

// Hashes the bytes of all files, in order. Throws Error if one cannot be read.
uint64_t hash_files(std::span<const std::filesystem::path> files);

// True if `path` is an instance file with this `made_from` attribute.
bool is_made_from(const std::filesystem::path& path, const std::string& made_from);

// Creates `directory` if it is missing. Throws Error if files cannot be written into it, before
// work is spent.
void require_writable_directory(const std::filesystem::path& directory);

}  // namespace strata::data
