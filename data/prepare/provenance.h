// What a data file was made from, so that it is not made again in vain.
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

// 16 hexadecimal digits.
std::string to_hex(uint64_t hash);

// The options of a recipe by their names.
nlohmann::ordered_json to_json(const Recipe& recipe);

// Adds a version of Unicode that was asked for; nothing where it is the installed one, as in files
// made before there was a choice.
void add_unicode(nlohmann::ordered_json& inputs, UnicodeVersion unicode);

// What a file made with it says about itself, but for its form and `made_from`.
InstanceFileInfo info_of(const Recipe& recipe, const Vocabulary& vocabulary,
                         const std::string& text_hash);

// Of the bytes of all files, in order. Throws Error where one cannot be read.
uint64_t hash_files(std::span<const std::filesystem::path> files);

// Whether `path` is an instance file with this `made_from` attribute.
bool is_made_from(const std::filesystem::path& path, const std::string& made_from);

// Makes `directory` where it is missing. Throws Error where files cannot be written into it: better
// before the work than after it.
void require_writable_directory(const std::filesystem::path& directory);

}  // namespace strata::data
