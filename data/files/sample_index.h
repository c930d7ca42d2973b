// How long every sample of a data set is: what a plan needs to know before it reads any.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/files/sample_classes.h"

namespace strata::data {

// A file of the data set that an index is of.
struct IndexedFile {
  std::string name;  // without its folder
  uint64_t bytes = 0;
  uint64_t samples = 0;

  bool operator==(const IndexedFile&) const = default;
};

// Samples have two numbers: where they stand in the data set, and their place in the order of
// SampleClasses, in which those of a class are as they stand. Plans deal places.
class SampleIndex {
 public:
  // [samples] of a data set, in its order. At most 2^32 - 1 samples.
  SampleIndex(std::vector<uint16_t> lengths, std::vector<uint16_t> masked_counts);

  // What `write` wrote, read as it is needed. Throws Error where the file is none, is damaged as
  // far as its head tells, or is not of files of these names and sizes, `files[].samples` aside.
  static SampleIndex open(const std::filesystem::path& path, std::span<const IndexedFile> files);
  // All or nothing. `files`: the data set's, in order.
  void write(const std::filesystem::path& path, std::span<const IndexedFile> files) const;

  uint32_t size() const { return static_cast<uint32_t>(lengths_.size()); }
  std::span<const uint16_t> lengths() const { return lengths_; }              // [size()] tokens
  std::span<const uint16_t> masked_counts() const { return masked_counts_; }  // [size()]

  const SampleClasses& classes() const { return classes_; }
  // The sample at a place. Throws Error where the file it came from is damaged.
  uint32_t sample_at(uint32_t place) const;

  // The data set's files, of an index that was opened.
  std::span<const IndexedFile> files() const { return files_; }

 private:
  SampleIndex() = default;

  std::span<const uint16_t> lengths_, masked_counts_;
  std::span<const uint32_t> order_;  // [size()] by place
  SampleClasses classes_;
  std::vector<IndexedFile> files_;
  std::string path_;                   // of the file, for messages
  std::shared_ptr<const void> owner_;  // of what the spans show
};

// Where the index of a data set lies that is given as these paths: beside the first, a file, or in
// it, a folder.
std::filesystem::path index_path(const std::filesystem::path& first);

}  // namespace strata::data
