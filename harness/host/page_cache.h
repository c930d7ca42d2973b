// Making data cold before a timed run.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace strata::harness {

// Takes files (and the files in directories) out of the operating system's page cache: with
// `whole`, everything where this process may (root), else these files only. Returns what was done,
// for people.
std::string clear_page_cache(std::span<const std::filesystem::path> files, bool whole);

}  // namespace strata::harness
