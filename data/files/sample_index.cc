#include "data/files/sample_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/mapped_file.h"
#include "base/numbers/random.h"

namespace strata::data {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::array<char, 8> kMagic = {'S', 'T', 'R', 'A', 'T', 'A', 'I', 'X'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kAlignment = 4096;  // alignment of the arrays: a page
constexpr size_t kMostNameBytes = 4096;

// Hashes the file's head, which precedes the arrays.
uint64_t hash_of(std::span<const std::byte> bytes) {
  uint64_t hash = bytes.size();
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[i], std::min(sizeof word, bytes.size() - i));
    hash = splitmix64(hash ^ word);
  }
  return hash;
}

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

// Positions in a file with this many samples and a head that ends at `head_end`.
struct ArrayOffsets {
  ArrayOffsets(uint64_t head_end, uint64_t samples)
      : order(aligned(head_end)),
        lengths(aligned(order + samples * sizeof(uint32_t))),
        masked_counts(aligned(lengths + samples * sizeof(uint16_t))),
        end(masked_counts + samples * sizeof(uint16_t)) {}
  uint64_t order, lengths, masked_counts, end;
};

// Fixed part of the head; then classes, then files: bytes, samples, length of name, name.
struct Head {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t files = 0;
  uint64_t classes = 0;
  uint64_t samples = 0;
  uint64_t head_bytes = 0;  // including classes and files
  uint64_t hash = 0;        // hash of the head, computed with 0 in this field
};
static_assert(sizeof(Head) == 48);

class IndexReader {
 public:
  IndexReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path) {}

  template <typename Value>
  Value value() {
    Value result;
    std::memcpy(&result, take(sizeof result).data(), sizeof result);
    return result;
  }
  std::string text(size_t size) {
    const auto bytes = take(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> take(size_t size) {
    if (size > bytes_.size()) {
      fail("{}: the index ends early; make it again with 'strata data index'", path_);
    }
    const auto taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
};

template <typename Value>
void append(std::string& out, const Value& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename Number>
std::span<const Number> array_at(std::span<const std::byte> bytes, uint64_t offset,
                                 uint64_t count) {
  return {reinterpret_cast<const Number*>(bytes.data() + offset), count};
}

struct Arrays {
  std::vector<uint16_t> lengths, masked_counts;
  std::vector<uint32_t> order;
};

// Returns `samples` in order of their `keys`, with a stable counting sort.
std::vector<uint32_t> sorted_by(std::span<const uint16_t> keys, std::span<const uint32_t> samples) {
  std::vector<uint32_t> begins(size_t{std::numeric_limits<uint16_t>::max()} + 2);
  for (const uint16_t key : keys) ++begins[key + 1u];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<uint32_t> sorted(samples.size());
  for (const uint32_t sample : samples) sorted[begins[keys[sample]]++] = sample;
  return sorted;
}

void check_files(const std::string& path, std::span<const IndexedFile> indexed,
                 std::span<const IndexedFile> files) {
  const auto differs = [&](const std::string& what) {
    fail("{}: is the index of other data: {}; make it again with 'strata data index'", path, what);
  };
  if (indexed.size() != files.size()) {
    differs(fmt::format("it is for {} files, but there are {}", indexed.size(), files.size()));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const IndexedFile &then = indexed[i], &now = files[i];
    if (then.name != now.name)
      differs(fmt::format("it has {} in place of {}", then.name, now.name));
    if (then.bytes != now.bytes) {
      fail(
          "{}: is stale: {} had {} bytes when the index was made, and has {} now; make it again "
          "with 'strata data index'",
          path, now.name, then.bytes, now.bytes);
    }
  }
}

}  // namespace

SampleIndex::SampleIndex(std::vector<uint16_t> lengths, std::vector<uint16_t> masked_counts) {
  const auto arrays = std::make_shared<Arrays>();
  arrays->lengths = std::move(lengths);
  arrays->masked_counts = std::move(masked_counts);
  lengths_ = arrays->lengths;
  masked_counts_ = arrays->masked_counts;
  std::vector<uint32_t> order(lengths_.size());
  std::iota(order.begin(), order.end(), 0u);
  arrays->order = sorted_by(masked_counts_, order);
  arrays->order = sorted_by(lengths_, arrays->order);
  std::vector<SampleClass> classes;
  for (const uint32_t sample : arrays->order) {
    const SampleClass alike{lengths_[sample], masked_counts_[sample], 0};
    if (classes.empty() || classes.back().length != alike.length ||
        classes.back().masked != alike.masked) {
      classes.push_back(alike);
    }
    ++classes.back().count;
  }
  order_ = arrays->order;
  owner_ = arrays;
  classes_ = SampleClasses(std::move(classes));
}

void SampleIndex::write(const std::filesystem::path& path,
                        std::span<const IndexedFile> files) const {
  std::string tables;
  for (const SampleClass& alike : classes_.all()) append(tables, alike);
  for (const IndexedFile& file : files) {
    append(tables, file.bytes);
    append(tables, file.samples);
    append(tables, static_cast<uint64_t>(file.name.size()));
    tables += file.name;
  }
  Head head;
  head.files = static_cast<uint32_t>(files.size());
  head.classes = classes_.all().size();
  head.samples = size();
  head.head_bytes = sizeof head + tables.size();
  std::string bytes;
  append(bytes, head);
  bytes += tables;
  head.hash = hash_of(std::as_bytes(std::span(bytes)));
  std::memcpy(bytes.data(), &head, sizeof head);
  const ArrayOffsets offsets(head.head_bytes, head.samples);
  bytes.reserve(offsets.end);
  const auto append_array = [&](uint64_t offset, auto numbers) {
    bytes.resize(offset);
    bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  };
  append_array(offsets.order, order_);
  append_array(offsets.lengths, lengths_);
  append_array(offsets.masked_counts, masked_counts_);
  write_file_atomically(path, bytes);
}

SampleIndex SampleIndex::open(const std::filesystem::path& path,
                              std::span<const IndexedFile> files) {
  const auto file = std::make_shared<MappedFile>(path);
  file->expect_random_access();
  const std::span<const std::byte> bytes = file->bytes();
  SampleIndex index;
  index.path_ = path.string();
  const auto damaged = [&](std::string_view what) {
    fail("{}: the index is damaged: {}; make it again with 'strata data index'", index.path_, what);
  };
  IndexReader fixed(bytes, index.path_);
  Head head = fixed.value<Head>();
  if (head.magic != kMagic) fail("{}: is not a sample index", index.path_);
  if (head.version != kVersion) {
    fail(
        "{}: is an index of version {}, but this program reads {}; make it again with 'strata data "
        "index'",
        index.path_, head.version, kVersion);
  }
  if (head.head_bytes < sizeof head || head.head_bytes > bytes.size()) damaged("its header's size");
  std::string checked(reinterpret_cast<const char*>(bytes.data()), head.head_bytes);
  const uint64_t hash = std::exchange(head.hash, 0);
  std::memcpy(checked.data(), &head, sizeof head);
  if (hash_of(std::as_bytes(std::span(checked))) != hash) damaged("its header's checksum");
  if (head.samples == 0 || head.samples > std::numeric_limits<uint32_t>::max()) {
    damaged("its number of samples");
  }
  IndexReader tables(bytes.subspan(sizeof head, head.head_bytes - sizeof head), index.path_);
  uint64_t in_classes = 0, in_files = 0;
  std::vector<SampleClass> classes;
  for (uint64_t i = 0; i < head.classes; ++i) {
    const auto c = tables.value<SampleClass>();
    constexpr uint32_t kMost = std::numeric_limits<uint16_t>::max();
    if (c.length > kMost || c.masked > kMost || c.count == 0 || c.count > head.samples) {
      damaged("its classes");
    }
    in_classes += c.count;
    classes.push_back(c);
  }
  for (uint32_t i = 0; i < head.files; ++i) {
    IndexedFile indexed;
    indexed.bytes = tables.value<uint64_t>();
    indexed.samples = tables.value<uint64_t>();
    const auto name_bytes = tables.value<uint64_t>();
    if (name_bytes > kMostNameBytes || indexed.samples > head.samples) damaged("its files");
    indexed.name = tables.text(name_bytes);
    in_files += indexed.samples;
    index.files_.push_back(std::move(indexed));
  }
  if (in_classes != head.samples || in_files != head.samples) damaged("its number of samples");
  const ArrayOffsets offsets(head.head_bytes, head.samples);
  if (bytes.size() != offsets.end) damaged("its size");
  check_files(index.path_, index.files_, files);
  index.order_ = array_at<uint32_t>(bytes, offsets.order, head.samples);
  index.lengths_ = array_at<uint16_t>(bytes, offsets.lengths, head.samples);
  index.masked_counts_ = array_at<uint16_t>(bytes, offsets.masked_counts, head.samples);
  index.classes_ = SampleClasses(std::move(classes));
  index.owner_ = file;
  return index;
}

uint32_t SampleIndex::sample_at(uint32_t sorted_index) const {
  const uint32_t sample = order_[sorted_index];
  const SampleClass& c = classes_.of(sorted_index);
  if (sample >= size() || lengths_[sample] != c.length || masked_counts_[sample] != c.masked) {
    fail("{}: the index is damaged at sorted index {}; make it again with 'strata data index'",
         path_, sorted_index);
  }
  return sample;
}

std::filesystem::path index_path(const std::filesystem::path& first) {
  std::error_code error;
  if (std::filesystem::is_directory(first, error)) return first / "samples.index";
  std::filesystem::path path = first;
  path += ".index";
  return path;
}

}  // namespace strata::data
