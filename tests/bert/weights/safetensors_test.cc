#include "bert/weights/safetensors.h"

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <limits>

#include "base/files/crc32c.h"
#include "base/files/files.h"
#include "tests/bert/errors.h"

namespace strata::bert {
namespace {

// Returns a file with this header and these bytes after it.
std::string with_header(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + data;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class Safetensors : public testing::Test {
 protected:
  void write(const std::string& bytes) { write_file_atomically(file_.path(), bytes); }
  void expect_refused(const std::string& bytes, const std::vector<std::string>& parts) {
    write(bytes);
    std::vector<std::string> all = parts;
    all.push_back(file_.name());
    expect_error([&] { SafetensorsFile{file_.path()}; }, all);
  }
  std::vector<float> read(const std::string& dtype, const std::string& data, size_t count) {
    write(with_header("{\"x\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + std::to_string(count) +
                          "],\"data_offsets\":[0," + std::to_string(data.size()) + "]}}",
                      data));
    std::vector<float> values(count);
    SafetensorsFile(file_.path()).read("x", values);
    return values;
  }

  TemporaryFile file_{".safetensors"};
};

TEST_F(Safetensors, WrittenTensorsAreReadBack) {
  const std::vector<float> matrix{1, -2, 3.5f, 0, 1e-30f, 7}, vector{9, 8};
  const std::vector<NamedTensor> tensors{{"matrix", {2, 3}, matrix}, {"vector", {2}, vector}};
  write_safetensors(file_.path(), tensors);
  const SafetensorsFile file(file_.path());
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors().at("matrix").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.tensors().at("matrix").dtype, "F32");
  EXPECT_EQ(file.tensors().at("matrix").begin % 4, 0u) << "cannot be mapped in place";
  std::vector<float> values(6), two(2);
  file.read("matrix", values);
  EXPECT_EQ(values, matrix);
  file.read("vector", two);
  EXPECT_EQ(two, vector);
}

TEST_F(Safetensors, TensorsAreWrittenOneByOneWithMetadata) {
  const std::vector<double> wide{1.5, -2};
  const std::vector<float> narrow{3};
  const std::vector<TensorEntry> entries{{"wide", "F64", {2}}, {"narrow", "F32", {1}}};
  {
    SafetensorsWriter writer(file_.path(), entries, {{"step", "7"}});
    writer.write(std::as_bytes(std::span(wide)));
    expect_error([&] { writer.commit(); }, {"4 bytes"});
    writer.write(std::as_bytes(std::span(narrow)));
    writer.commit();
    EXPECT_EQ(writer.checksum(), crc32c(read_file(file_.path())));
  }
  const SafetensorsFile file(file_.path());
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"step", "7"}}));
  std::vector<float> values(2), one(1);
  file.read("wide", values);
  EXPECT_EQ(values, (std::vector<float>{1.5f, -2}));
  file.read("narrow", one);
  EXPECT_EQ(one, narrow);
}

TEST_F(Safetensors, EveryFloatingPointTypeIsRead) {
  EXPECT_EQ(read("F32", bytes_of<float>({1.5f, -0.25f}), 2), (std::vector<float>{1.5f, -0.25f}));
  EXPECT_EQ(read("F64", bytes_of<double>({1.5, -1e10}), 2), (std::vector<float>{1.5f, -1e10f}));
  EXPECT_EQ(read("BF16", bytes_of<uint16_t>({0x3fc0, 0xbf80}), 2),
            (std::vector<float>{1.5f, -1.0f}));
  // One, the largest, the smallest normal and subnormal, minus two, minus zero, infinity.
  const auto half =
      read("F16", bytes_of<uint16_t>({0x3c00, 0x7bff, 0x0400, 0x0001, 0xc000, 0x8000, 0x7c00}), 7);
  EXPECT_EQ(half, (std::vector<float>{1, 65504, 0x1p-14f, 0x1p-24f, -2, -0.0f,
                                      std::numeric_limits<float>::infinity()}));
  EXPECT_TRUE(std::signbit(half[5]));
}

TEST_F(Safetensors, OtherTypesAreListedButNotRead) {
  expect_error([&] { read("I64", std::string(16, '\0'), 2); }, {file_.name(), "\"x\"", "I64"});
}

TEST_F(Safetensors, AnAbsentTensorAndAnotherSizeAreErrors) {
  write_safetensors(file_.path(), std::vector<NamedTensor>{});
  const SafetensorsFile empty(file_.path());
  std::vector<float> values(3);
  expect_error([&] { empty.read("x", values); }, {file_.name(), "\"x\""});
  const std::vector<float> two{1, 2};
  write_safetensors(file_.path(), std::vector<NamedTensor>{{"x", {2}, two}});
  expect_error([&] { SafetensorsFile(file_.path()).read("x", values); }, {"\"x\"", "2", "3"});
}

TEST_F(Safetensors, AMissingFileIsNamed) {
  expect_error([] { SafetensorsFile{"/nowhere/x.safetensors"}; },
               {"/nowhere/x.safetensors", "cannot open", "model.checkpoint"});
  expect_error([] { SafetensorsFile{"/tmp"}; }, {"/tmp", "cannot open"});
}

TEST_F(Safetensors, EveryTruncationIsNoticed) {
  const std::vector<float> values(10, 1.0f);
  write_safetensors(file_.path(), std::vector<NamedTensor>{{"x", {2, 5}, values}});
  const std::string whole = read_file(file_.path());
  for (size_t size = 0; size < whole.size(); ++size) expect_refused(whole.substr(0, size), {});
}

TEST_F(Safetensors, DamagedHeadersAreRefused) {
  const std::string four(4, '\0');
  expect_refused("1234567", {"too short for a safetensors file: 7 bytes"});
  expect_refused(with_header("not JSON", four), {"JSON"});
  expect_refused(with_header("[1]", four), {"JSON"});
  expect_refused(std::string(8, '\xff') + "{}", {"truncated"});
  const auto entry = [](const std::string& text) { return "{\"x\":" + text + "}"; };
  for (
      const char* text :
      {"1", "{}", R"({"dtype":"F32","shape":[1]})",
       R"({"dtype":1,"shape":[1],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":"1","data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[0]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})",
       R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
       R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[0,4000]})",
       R"({"dtype":"F32","shape":[1e300],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[0,4e300]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[-1e300,4]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[0.5,4.5]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,18446744073709551615]})"}) {
    expect_refused(with_header(entry(text), four), {"\"x\""});
  }
}

TEST_F(Safetensors, AFullDiskLeavesTheOldFile) {
  write("before");
  const std::vector<float> values(4096, 1.0f);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limited{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limited);
  expect_error(
      [&] {
        write_safetensors(file_.path(), std::vector<NamedTensor>{{"x", {4096}, values}});
      },
      {file_.name()});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_file(file_.path()), "before");
}

}  // namespace
}  // namespace strata::bert
