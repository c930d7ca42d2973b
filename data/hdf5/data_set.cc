#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/printable.h"
#include "data/hdf5/library.h"

namespace strata::data::hdf5 {
namespace {

// A filter's name if it is a common one, else the stored name or the number.
std::string filter_name(H5Z_filter_t filter, const char* stored) {
  constexpr std::pair<H5Z_filter_t, const char*> kNames[] = {
      {4, "SZIP"},           {307, "bzip2"}, {32000, "LZF"},       {32001, "Blosc"}, {32004, "LZ4"},
      {32008, "Bitshuffle"}, {32013, "ZFP"}, {32015, "Zstandard"}, {32026, "Blosc2"}};
  for (const auto& [id, name] : kNames) {
    if (id == filter) return fmt::format("{} ({})", name, filter);
  }
  return *stored ? fmt::format("{} ({})", one_line(stored, 40), filter) : std::to_string(filter);
}

// The bytes of an array of `type`, or UINT64_MAX if there are more.
template <typename Extent>
uint64_t bytes_of(hid_t type, const std::vector<Extent>& shape) {
  uint64_t bytes = H5Tget_size(type);
  for (const Extent extent : shape) {
    bytes = extent != 0 && bytes > UINT64_MAX / extent ? UINT64_MAX : bytes * extent;
  }
  return bytes;
}

}  // namespace

std::string DataSet::description() const {
  return fmt::format("{} {} [{}]", name_, type_name_, fmt::join(shape_, ", "));
}

bool DataSet::is_whole() const {
  if (std::find(shape_.begin(), shape_.end(), 0) != shape_.end()) return true;
  const Lock lock;
  const Handle creation = own(H5Dget_create_plist(id_.get()), where_, "read the layout");
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) {
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    require(H5Dget_space_status(id_.get(), &status), where_, "read the layout");
    return status == H5D_SPACE_STATUS_ALLOCATED;
  }
  // Chunks are counted, because the status compares bytes and compressed chunks have fewer.
  std::vector<hsize_t> chunk(shape_.size());
  require(H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()), where_,
          "read the layout");
  hsize_t stored = 0, needed = 1;
  require(H5Dget_num_chunks(id_.get(), space_.get(), &stored), where_, "count the chunks");
  for (size_t i = 0; i < chunk.size(); ++i) {
    const hsize_t along = (shape_[i] - 1) / chunk[i] + 1;
    if (along > stored / needed) return false;
    needed *= along;
  }
  return true;
}

void DataSet::require_readable() const {
  constexpr size_t kNameBytes = 64;
  const Lock lock;
  const Handle creation = own(H5Dget_create_plist(id_.get()), where_, "read the layout");
  const int filters = H5Pget_nfilters(creation.get());
  require(filters, where_, "read the filters");
  for (int i = 0; i < filters; ++i) {
    char name[kNameBytes] = "";
    unsigned flags = 0, config = 0;
    size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags,
                                               &values, nullptr, sizeof name, name, &config);
    require(filter, where_, "read the filters");
    name[kNameBytes - 1] = '\0';
    if (H5Zfilter_avail(filter) > 0) continue;
    fail(
        "{}: is compressed with the filter {}, which is not installed here; rewrite the file on a "
        "machine that has it: h5repack -f GZIP=1 OLD NEW, or copy its data sets with h5py",
        where_, filter_name(filter, name));
  }
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED) {
    const Handle type = own(H5Dget_type(id_.get()), where_, "read the type");
    const uint64_t needed = bytes_of(type.get(), shape_);
    const uint64_t stored = H5Dget_storage_size(id_.get());  // 0: nothing was written
    if (stored != 0 && stored < needed) {
      fail("{}: needs {} bytes, but only {} are stored; the file is damaged, copy it again", where_,
           needed, stored);
    }
  }
  if (filters == 0 || shape_.empty() || H5Pget_layout(creation.get()) != H5D_CHUNKED) return;
  std::vector<hsize_t> chunk(shape_.size());
  require(H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()), where_,
          "read the layout");
  const Handle type = own(H5Dget_type(id_.get()), where_, "read the type");
  const uint64_t bytes = bytes_of(type.get(), chunk);
  if (bytes <= kChunkCacheBytes) return;
  std::vector<hsize_t> better = chunk;
  better[0] = std::min<hsize_t>(better[0], kRowsPerChunk);
  fail(
      "{}: has compressed chunks of [{}], {} MiB each, which every read of a sample would "
      "uncompress; rewrite the file with smaller chunks: h5repack -l {}:CHUNK={} OLD NEW",
      where_, fmt::join(chunk, ", "), bytes >> 20, name_, fmt::join(better, "x"));
}

Handle DataSet::select(uint64_t first_row, uint64_t row_count, uint64_t columns) const {
  const hsize_t start[] = {first_row, 0};
  const hsize_t count[] = {row_count, columns};
  require(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, start, nullptr, count, nullptr), where_,
          "select rows");
  return simple_space({row_count * (shape_.size() == 1 ? 1 : columns)}, where_);
}

void DataSet::read_bytes(uint64_t first_row, uint64_t row_count, uint64_t columns, hid_t type,
                         void* out) const {
  if (row_count == 0 || columns == 0) return;
  const Lock lock;
  const Handle memory = select(first_row, row_count, columns);
  require(H5Dread(id_.get(), type, memory.get(), space_.get(), transfer_.get(), out), where_,
          fmt::format("read {} from row {}", counted(row_count, "row"), first_row));
}

void DataSet::read_variable(uint64_t first_row, uint64_t row_count, std::vector<int32_t>& values,
                            std::vector<size_t>& lengths) const {
  values.clear();
  lengths.clear();
  const Lock lock;
  const Handle memory = select(first_row, row_count, 1);
  const Handle type = own(H5Tvlen_create(H5T_NATIVE_INT32), where_, "make a row type");
  std::vector<hvl_t> rows(row_count, hvl_t{0, nullptr});
  const herr_t status =
      H5Dread(id_.get(), type.get(), memory.get(), space_.get(), transfer_.get(), rows.data());
  const std::string reason = status < 0 ? library_reason() : "";
  for (const hvl_t& row : rows) {
    if (status < 0 || row.len == 0) {
      lengths.push_back(0);
      continue;
    }
    const auto* first = static_cast<const int32_t*>(row.p);
    values.insert(values.end(), first, first + row.len);
    lengths.push_back(row.len);
  }
  H5Dvlen_reclaim(type.get(), memory.get(), H5P_DEFAULT, rows.data());
  if (status < 0) {
    fail("{}: cannot read {} from row {}: {}", where_, counted(row_count, "row"), first_row,
         reason);
  }
}

}  // namespace strata::data::hdf5
