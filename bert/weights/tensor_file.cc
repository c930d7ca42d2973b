#include "bert/weights/tensor_file.h"

#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/files/lines.h"
#include "base/text/counts.h"
#include "device/operations/dtype.h"

namespace strata::bert {
namespace {

uint64_t element_bytes(const std::string& dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL") return 1;
  fail("unknown dtype {}", dtype);
}

float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <typename Stored, typename Convert>
void convert_all(const std::string& bytes, std::span<float> values, const Convert& convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
}

}  // namespace

int64_t StoredTensor::size() const {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  return elements;
}

uint64_t tensor_bytes(const std::string& dtype, const std::vector<int64_t>& shape, uint64_t most) {
  uint64_t bytes = element_bytes(dtype);
  for (const int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && bytes > most / static_cast<uint64_t>(extent))) {
      fail("its shape [{}] is larger than the file", fmt::join(shape, ","));
    }
    bytes *= static_cast<uint64_t>(extent);
  }
  return bytes;
}

std::string read_tensor_bytes(const std::filesystem::path& path, const std::string& name,
                              uint64_t begin, uint64_t end) {
  std::string bytes(end - begin, '\0');
  std::ifstream in = open_to_read(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(begin));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!in) fail("{}: cannot read tensor \"{}\" at byte {}", path.string(), name, begin);
  return bytes;
}

void TensorFile::read(const std::string& name, std::span<float> values) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail("{}: has no tensor \"{}\"", path_.string(), name);
  const StoredTensor& tensor = found->second;
  if (tensor.size() != static_cast<int64_t>(values.size())) {
    fail("{}: tensor \"{}\" has {}, but {} were expected", path_.string(), name,
         counted(tensor.size(), "element"), count_text(values.size()));
  }
  const std::string bytes = read_bytes(name, tensor);
  if (tensor.dtype == "F32") {
    convert_all<float>(bytes, values, [](float value) { return value; });
  } else if (tensor.dtype == "F64") {
    convert_all<double>(bytes, values, [](double value) { return static_cast<float>(value); });
  } else if (tensor.dtype == "F16") {
    convert_all<uint16_t>(bytes, values, from_half);
  } else if (tensor.dtype == "BF16") {
    convert_all<device::BFloat16>(bytes, values,
                                  [](device::BFloat16 value) { return float{value}; });
  } else {
    fail("{}: tensor \"{}\" is {}; weights must be F64, F32, F16 or BF16", path_.string(), name,
         tensor.dtype);
  }
}

}  // namespace strata::bert
