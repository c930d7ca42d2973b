#include "data/hdf5/hdf5.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/data/data_test_support.h"

namespace strata::data::hdf5 {
namespace {

class Hdf5 : public testing::Test {
 protected:
  void write(File& file) { write_file_atomically(path_, file.image()); }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "x.hdf5";
};

TEST_F(Hdf5, DataSetsAndAttributesComeBack) {
  File made = File::create_in_memory(path_);
  const std::vector<int32_t> values = {1, 2, 3, 4, 5, 6};
  made.write("table", H5T_STD_U16LE, {3, 2}, values.data());
  made.write("squeezed", H5T_STD_I32LE, {3, 2}, values.data(), true);
  made.write_variable("rows", H5T_STD_I16LE, values, {0, 1, 1, 6});
  made.set_attribute("number", int64_t{-5});
  made.set_attribute("text", std::string_view("caf\u00e9"));
  made.set_attribute("nothing", std::string_view(""));
  write(made);

  const File file = File::open(path_);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"rows", "squeezed", "table"}));
  EXPECT_EQ(file.integer_attribute("number"), -5);
  EXPECT_EQ(file.integer_attribute("other"), std::nullopt);
  EXPECT_EQ(file.string_attribute("text"), "caf\u00e9");
  EXPECT_EQ(file.string_attribute("nothing"), "");
  for (const char* name : {"table", "squeezed"}) {
    const DataSet table = file.data_set(name);
    EXPECT_TRUE(table.is_integer());
    std::vector<int32_t> read(4);
    table.read(1, 2, 2, read.data());
    EXPECT_EQ(read, (std::vector<int32_t>{3, 4, 5, 6}));
  }
  EXPECT_EQ(file.data_set("table").description(), "table uint16 [3, 2]");
  const DataSet rows = file.data_set("rows");
  EXPECT_EQ(rows.description(), "rows variable-length int16 [3]");
  std::vector<int32_t> read;
  std::vector<size_t> lengths;
  rows.read_variable(1, 2, read, lengths);
  EXPECT_EQ(lengths, (std::vector<size_t>{0, 5}));
  EXPECT_EQ(read, (std::vector<int32_t>{2, 3, 4, 5, 6}));
}

class StoredHdf5 : public Hdf5 {
 protected:
  // Writes a file with one data set, 'x', of 1000 values, created according to `prepare`.
  template <typename Prepare>
  void make(const Prepare& prepare, hid_t type = H5T_STD_I32LE) {
    const Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE));
    prepare(creation.get());
    const bool chunked = H5Pget_layout(creation.get()) == H5D_CHUNKED;
    const hsize_t shape = 1000, most = chunked ? H5S_UNLIMITED : shape;
    const Handle space(H5Screate_simple(1, &shape, &most));
    const Handle set(
        H5Dcreate2(file.get(), "x", type, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    EXPECT_GE(set.get(), 0);
  }
  void read() {
    const File file = File::open(path_);
    const DataSet set = file.data_set("x");
    set.require_readable();
    int32_t value = 0;
    set.read(0, 1, 1, &value);
  }
  template <typename Prepare>
  std::string error_with(const Prepare& prepare) {
    make(prepare);
    return error_of([&] { read(); });
  }
};

// The library accepts any filter until values are written.
TEST_F(StoredHdf5, AFilterThatIsMissingIsNamed) {
  const auto error_of_filter = [&](H5Z_filter_t filter, const char* name) {
    // Registered while the file is made, as in the program that wrote it.
    const H5Z_class2_t known = {
        H5Z_CLASS_T_VERS,
        filter,
        1,
        1,
        name,
        nullptr,
        nullptr,
        [](unsigned, size_t, const unsigned*, size_t bytes, size_t*, void**) { return bytes; }};
    H5Zregister(&known);
    make([&](hid_t creation) {
      const hsize_t chunk = 100;
      H5Pset_chunk(creation, 1, &chunk);
      H5Pset_filter(creation, filter, H5Z_FLAG_MANDATORY, 0, nullptr);
    });
    H5Zunregister(filter);
    return error_of([&] { read(); });
  };
  const std::string lzf = error_of_filter(32000, "lzf");
  EXPECT_TRUE(contains(lzf, "x.hdf5: data set 'x': is compressed with the filter LZF (32000)"))
      << lzf;
  EXPECT_TRUE(contains(lzf, "h5repack")) << lzf;
  EXPECT_TRUE(contains(error_of_filter(511, "of nobody"), "the filter of nobody (511)"));
}

TEST_F(StoredHdf5, ValuesInOtherFilesAreRefused) {
  const std::filesystem::path other = directory_ / "other";
  write_file_atomically(other, std::string(4000, 'x'));
  const std::string external = error_with(
      [&](hid_t creation) { EXPECT_GE(H5Pset_external(creation, other.c_str(), 0, 4000), 0); });
  EXPECT_TRUE(contains(external, "data set 'x': has its values in other files")) << external;
  const std::string mapped = error_with([&](hid_t creation) {
    const hsize_t shape = 1000;
    const Handle space(H5Screate_simple(1, &shape, nullptr));
    EXPECT_GE(H5Pset_virtual(creation, space.get(), "other.hdf5", "y", space.get()), 0);
  });
  EXPECT_TRUE(contains(mapped, "data set 'x': is a virtual data set")) << mapped;
}

TEST_F(StoredHdf5, LinksAreRefused) {
  {
    const Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_external("other.hdf5", "/x", file.get(), "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/elsewhere", file.get(), "here", H5P_DEFAULT, H5P_DEFAULT);
  }
  const File file = File::open(path_);
  EXPECT_TRUE(contains(error_of([&] { file.data_set("elsewhere"); }), "is a link to another file"));
  EXPECT_TRUE(contains(error_of([&] { file.data_set("here"); }), "data set 'here': is a link"));
}

TEST_F(StoredHdf5, CompressedChunksBeyondTheCacheAreRefused) {
  const auto compressed = [](hsize_t chunk, bool deflated) {
    return [=](hid_t creation) {
      H5Pset_chunk(creation, 1, &chunk);
      if (deflated) H5Pset_deflate(creation, 1);
    };
  };
  for (const auto& [chunk, deflated] :
       {std::pair(hsize_t{100}, true), {hsize_t{1} << 22, true}, {hsize_t{1} << 23, false}}) {
    make(compressed(chunk, deflated));
    EXPECT_NO_THROW(read()) << chunk;
  }
  const std::string error = error_with(compressed(hsize_t{1} << 23, true));
  EXPECT_TRUE(contains(error, "data set 'x': has compressed chunks of [8388608], 32 MiB each"))
      << error;
  EXPECT_TRUE(contains(error, "h5repack -l x:CHUNK=64 OLD NEW")) << error;
}

TEST_F(StoredHdf5, OnlyBooleanEnumerationsCountAsIntegers) {
  const Handle type(H5Tenum_create(H5T_STD_I8LE));
  const int8_t red = 0, green = 2;
  H5Tenum_insert(type.get(), "RED", &red);
  H5Tenum_insert(type.get(), "GREEN", &green);
  make([](hid_t) {}, type.get());
  EXPECT_FALSE(File::open(path_).data_set("x").is_integer());
  EXPECT_EQ(File::open(path_).data_set("x").description(), "x enumeration [1000]");
}

TEST_F(Hdf5, OtherKindsOfFilesAreNamed) {
  const std::pair<std::string, const char*> files[] = {
      {"", "the file is empty"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"},
      {"<!DOCTYPE html><html></html>", "web page"}};
  for (const auto& [bytes, part] : files) {
    write_file_atomically(path_, bytes);
    EXPECT_TRUE(contains(error_of([&] { File::open(path_); }), part)) << part;
  }
}

TEST_F(Hdf5, ADataSetWithUnwrittenRowsIsIncomplete) {
  File made = File::create_in_memory(path_);
  const std::vector<int32_t> values(200);
  made.write("table", H5T_STD_I32LE, {100, 2}, values.data());
  made.write("squeezed", H5T_STD_I32LE, {100, 2}, values.data(), true);
  made.write("empty", H5T_STD_I32LE, {0, 2}, values.data());
  made.write_variable("rows", H5T_STD_I32LE, {}, {0, 0, 0});
  write(made);
  {
    const Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hsize_t shape[] = {3, 2}, most[] = {H5S_UNLIMITED, 2}, more[] = {4, 2};
    const Handle space(H5Screate_simple(2, shape, most));
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(creation.get(), 2, shape);
    const Handle set(H5Dcreate2(file.get(), "longer", H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                                creation.get(), H5P_DEFAULT));
    H5Dwrite(set.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dset_extent(set.get(), more);
  }
  const File file = File::open(path_);
  for (const char* name : {"table", "squeezed", "empty", "rows"}) {
    EXPECT_TRUE(file.data_set(name).is_whole()) << name;
  }
  EXPECT_FALSE(file.data_set("longer").is_whole());
}

TEST_F(Hdf5, MissingForeignAndTruncatedFilesAreNamedWithTheReason) {
  EXPECT_TRUE(contains(error_of([&] { File::open(path_); }), "x.hdf5: cannot open: "));
  EXPECT_TRUE(contains(error_of([&] { File::open(path_); }), "No such file"));
  write_file_atomically(path_, "not HDF5 at all");
  EXPECT_TRUE(contains(error_of([&] { File::open(path_); }), "file signature not found"));
  File made = File::create_in_memory(path_);
  const std::vector<int32_t> values(1000);
  made.write("values", H5T_STD_I32LE, {1000}, values.data());
  const std::string whole(made.image());
  write_file_atomically(path_, whole.substr(0, whole.size() / 2));
  EXPECT_TRUE(contains(error_of([&] { File::open(path_); }), "truncated file"));
  EXPECT_TRUE(contains(error_of([&] { File::open(directory_.path()); }), "is a directory"));
}

TEST_F(Hdf5, AMissingDataSetAndRowsBeyondTheEndAreNamed) {
  File made = File::create_in_memory(path_);
  const std::vector<int32_t> values(10);
  made.write("values", H5T_STD_I32LE, {10}, values.data());
  write(made);
  const File file = File::open(path_);
  EXPECT_TRUE(
      contains(error_of([&] { file.data_set("none"); }), "x.hdf5: data set 'none': cannot open"));
  std::vector<int32_t> read(20);
  EXPECT_TRUE(contains(error_of([&] { file.data_set("values").read(0, 20, 1, read.data()); }),
                       "x.hdf5: data set 'values': cannot read 20 rows from row 0"));
}

// The library does not report which of the two it was.
TEST_F(Hdf5, AFailedDecompressionNamesBothPossibleCauses) {
  File made = File::create_in_memory(path_);
  const std::vector<int32_t> values(1000, 7);
  made.write("squeezed", H5T_STD_I32LE, {1000}, values.data(), true);
  std::string bytes(made.image());
  const size_t chunk = bytes.find("\x78\x01");  // start of zlib's data at level 1
  ASSERT_NE(chunk, std::string::npos);
  bytes.replace(chunk, 8, 8, '\xff');
  write_file_atomically(path_, bytes);
  const File file = File::open(path_);
  std::vector<int32_t> read(1000);
  const std::string error =
      error_of([&] { file.data_set("squeezed").read(0, 1000, 1, read.data()); });
  EXPECT_TRUE(contains(error, "x.hdf5: data set 'squeezed': cannot read")) << error;
  // HDF5 1.10 and 1.14 say different things.
  EXPECT_TRUE(contains(error, "inflate() failed (the file is damaged, or there was no memory)") ||
              contains(error,
                       "filter returned failure during read (the file is damaged, or there "
                       "was no memory)"))
      << error;
}

TEST_F(Hdf5, ThreadsMayReadAtTheSameTime) {
  File made = File::create_in_memory(path_);
  std::vector<int32_t> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
  made.write("values", H5T_STD_I32LE, {1000}, values.data());
  write(made);
  const auto read_all = [&] {
    for (uint64_t row = 0; row < 1000; row += 50) {
      const File file = File::open(path_);
      int32_t value = -1;
      file.data_set("values").read(row, 1, 1, &value);
      EXPECT_EQ(value, static_cast<int32_t>(row));
    }
  };
  std::thread other(read_all);
  read_all();
  other.join();
}

}  // namespace
}  // namespace strata::data::hdf5
