// Builds an HDF5 file of instances whose data sets and attributes the bytes choose, right and
// wrong.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/files/instance_schema.h"
#include "data/hdf5/hdf5.h"
#include "tests/data/files/fuzz/read_instances.h"
#include "tests/support/fuzz_file.h"

namespace {

using namespace strata::data;
using hdf5::Handle;

enum class Form : uint8_t { kPacked, kFixed, kVariable, kMaxValue = kVariable };

hid_t pick_type(FuzzedDataProvider& input) {
  const hid_t types[] = {H5T_STD_I32LE, H5T_STD_U8LE,   H5T_STD_I16BE, H5T_STD_U64LE,
                         H5T_STD_I64LE, H5T_IEEE_F32LE, H5T_C_S1};
  return input.ConsumeBool() ? types[0] : input.PickValueInArray(types);
}

// Returns mostly `expected`.
hsize_t pick_extent(FuzzedDataProvider& input, hsize_t expected) {
  constexpr hsize_t kOdd[] = {0,          1,          2,          3,          513,
                              1 << 14,    100'000,    1ull << 31, 1ull << 32, (1ull << 32) + 1,
                              1ull << 50, 1ull << 61, 1ull << 63};
  return input.ConsumeIntegralInRange(0, 7) > 0 ? expected : input.PickValueInArray(kOdd);
}

int32_t pick_value(FuzzedDataProvider& input) {
  return input.ConsumeIntegralInRange(0, 7) > 0 ? input.ConsumeIntegralInRange<int32_t>(0, 9)
                                                : input.ConsumeIntegral<int32_t>();
}

void add_rows(FuzzedDataProvider& input, hid_t file, const char* name, hsize_t rows) {
  const Handle space(H5Screate_simple(1, &rows, nullptr));
  const Handle stored(H5Tvlen_create(pick_type(input)));
  const Handle set(
      H5Dcreate2(file, name, stored.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (rows > 100 || set.get() < 0) return;
  std::vector<std::vector<int32_t>> values(rows);
  std::vector<hvl_t> lines(rows);
  for (size_t row = 0; row < rows; ++row) {
    values[row].resize(input.ConsumeIntegralInRange<size_t>(0, 5));
    for (int32_t& value : values[row]) value = pick_value(input);
    lines[row] = {values[row].size(), values[row].data()};
  }
  const Handle memory(H5Tvlen_create(H5T_NATIVE_INT32));
  H5Dwrite(set.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, lines.data());
}

// Large tables are chunked and stay unwritten, so that they read as fill values.
void add_table(FuzzedDataProvider& input, hid_t file, const char* name, std::vector<hsize_t> shape,
               bool rising) {
  for (hsize_t& extent : shape) extent = pick_extent(input, extent);
  if (input.ConsumeIntegralInRange(0, 15) == 0) shape.push_back(2);
  uint64_t elements = 1;
  bool small = true;
  for (const hsize_t extent : shape) {
    small = small && extent <= 1000 && elements * extent <= 1000;
    elements = small ? elements * extent : 0;
  }
  const int rank = static_cast<int>(shape.size());
  const Handle space(H5Screate_simple(rank, shape.data(), nullptr));
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE));
  const bool written = small && input.ConsumeIntegralInRange(0, 7) > 0;
  if (!written) {
    std::vector<hsize_t> chunk(shape);
    for (hsize_t& extent : chunk) extent = std::clamp<hsize_t>(extent, 1, 1000);
    H5Pset_chunk(creation.get(), rank, chunk.data());
    if (input.ConsumeBool()) H5Pset_deflate(creation.get(), 1);
    const int32_t value = pick_value(input);
    H5Pset_fill_value(creation.get(), H5T_NATIVE_INT32, &value);
  }
  const Handle set(H5Dcreate2(file, name, pick_type(input), space.get(), H5P_DEFAULT,
                              creation.get(), H5P_DEFAULT));
  if (!written || set.get() < 0) return;
  std::vector<int32_t> values(elements);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool follows = rising && input.ConsumeIntegralInRange(0, 15) > 0;
    values[i] = i < 2 && follows ? 0
                : follows ? values[i - 2] % (1 << 20) + input.ConsumeIntegralInRange<int32_t>(0, 5)
                          : pick_value(input);
  }
  H5Dwrite(set.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void add_attribute(FuzzedDataProvider& input, hid_t file, const char* name) {
  const Handle space(H5Screate(H5S_SCALAR));
  const bool is_text = input.ConsumeBool();
  const Handle type(H5Tcopy(is_text ? H5T_C_S1 : H5T_STD_I64LE));
  std::string text = input.ConsumeRandomLengthString(40);
  if (is_text) H5Tset_size(type.get(), text.size() + 1);
  const int64_t number = input.ConsumeBool() ? 1 : input.ConsumeIntegral<int64_t>();
  const Handle attribute(H5Acreate2(file, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  H5Awrite(attribute.get(), type.get(), is_text ? text.c_str() : static_cast<const void*>(&number));
}

void write_file(FuzzedDataProvider& input, const std::string& path) {
  const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  const auto form = input.ConsumeEnum<Form>();
  const auto rows = input.ConsumeIntegralInRange<hsize_t>(0, 9);
  const auto present = [&] { return input.ConsumeIntegralInRange(0, 31) > 0; };
  const auto add = [&](const char* name, const std::vector<hsize_t>& shape, bool rising = false) {
    if (present()) add_table(input, file.get(), name, shape, rising);
  };
  if (form == Form::kPacked) {
    add(schema::kOffsets, {rows + 1, 2}, true);
    add(schema::kTokens, {5 * rows});
    add(schema::kFirstLengths, {rows});
    const hsize_t masked = pick_extent(input, 2 * rows);
    add(schema::kMaskedPositions, {masked});
    add(schema::kMaskedIds, {masked});
  } else if (form == Form::kFixed) {
    const hsize_t columns = pick_extent(input, 4), predictions = pick_extent(input, 2);
    for (const char* name : {schema::kInputIds, schema::kInputMask, schema::kSegmentIds}) {
      add(name, {rows, columns});
    }
    for (const char* name : {schema::kMaskedPositions, schema::kMaskedIds}) {
      add(name, {rows, predictions});
    }
  } else {
    for (const char* name :
         {schema::kInputIds, schema::kSegmentIds, schema::kMaskedPositions, schema::kMaskedIds}) {
      if (present()) add_rows(input, file.get(), name, pick_extent(input, rows));
    }
  }
  add(schema::kNextSentence, {rows});
  if (input.ConsumeBool()) add(schema::kDocuments, {rows, 2});
  if (!present()) add("packed_input_len", {rows});
  if (form == Form::kPacked && present()) {
    const int64_t version = schema::kFormatVersion;
    const Handle space(H5Screate(H5S_SCALAR));
    const Handle attribute(H5Acreate2(file.get(), schema::kVersionAttribute, H5T_STD_I64LE,
                                      space.get(), H5P_DEFAULT, H5P_DEFAULT));
    H5Awrite(attribute.get(), H5T_NATIVE_INT64, &version);
  }
  for (const char* name : {schema::kVersionAttribute, schema::kVocabularySizeAttribute,
                           schema::kTextHashAttribute, schema::kMadeFromAttribute}) {
    if (input.ConsumeBool() && H5Aexists(file.get(), name) == 0) {
      add_attribute(input, file.get(), name);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const strata::fuzz::FuzzFile file(".hdf5");
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  FuzzedDataProvider input(data, size);
  write_file(input, file.path().string());
  strata::fuzz::read_instances(file.path(), false);
  return 0;
}
