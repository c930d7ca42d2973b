// Reads arbitrary bytes as a TFRecord shard, as `strata train` and `strata data inspect` do. The
// first byte chooses whether checksums are corrected before.
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/files/crc32c.h"
#include "data/files/tfrecord_shard.h"
#include "tests/data/files/fuzz/read_instances.h"
#include "tests/support/fuzz_file.h"

namespace {

// Corrects the checksums of all records up to the first that does not fit.
void repair(std::string& file) {
  constexpr size_t kHeader = 12, kFooter = 4;
  const auto put = [&](size_t begin, size_t end) {
    const uint32_t checksum = strata::masked_crc32c({file.data() + begin, end - begin});
    std::memcpy(file.data() + end, &checksum, sizeof checksum);
  };
  for (size_t at = 0; file.size() - at >= kHeader;) {
    uint64_t length;
    std::memcpy(&length, file.data() + at, sizeof length);
    put(at, at + sizeof length);
    const size_t left = file.size() - at - kHeader;
    if (left < kFooter || length > left - kFooter) return;
    put(at + kHeader, at + kHeader + length);
    at += kHeader + length + kFooter;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const strata::fuzz::FuzzFile file(".tfrecord");
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) repair(bytes);
  file.write(bytes);
  strata::fuzz::read_instances(file.path());
  return 0;
}
