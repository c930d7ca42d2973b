#include "scoring/summary/workbook_parts.h"

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>

namespace strata::scoring {
namespace {

// An archive without comment or Zip64, as libxlsxwriter writes it (PKWARE's APPNOTE, 4.3).
class Archive {
 public:
  explicit Archive(std::string_view bytes) : bytes_(bytes) {}

  // Returns a whole number of `width` bytes, lowest first, or nullopt beyond the archive's end.
  std::optional<size_t> number(size_t place, size_t width) const {
    if (place > bytes_.size() || bytes_.size() - place < width) return std::nullopt;
    size_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes_[place + i]);
    return value;
  }

  // Returns the inflated file whose directory entry is at `entry`.
  std::optional<std::string> file(size_t entry) const {
    constexpr size_t kDeflated = 8;
    const auto method = number(entry + 10, 2), packed = number(entry + 20, 4);
    const auto size = number(entry + 24, 4), header = number(entry + 42, 4);
    if (!header || method != kDeflated) return std::nullopt;
    const auto name = number(*header + 26, 2), extra = number(*header + 28, 2);
    if (!extra) return std::nullopt;
    const size_t begin = *header + 30 + *name + *extra;
    if (begin > bytes_.size() || bytes_.size() - begin < *packed) return std::nullopt;
    return inflated(bytes_.substr(begin, *packed), *size);
  }

 private:
  static std::optional<std::string> inflated(std::string_view packed, size_t size) {
    std::string text(size, '\0');
    z_stream stream{};
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
    const int end = ::inflate(&stream, Z_FINISH);
    ::inflateEnd(&stream);
    if (end != Z_STREAM_END || stream.avail_out > 0) return std::nullopt;
    return text;
  }

  std::string_view bytes_;
};

bool is_whole_xml(std::string_view text) {
  if (!text.starts_with("<?xml")) return false;
  const size_t root = text.find('<', 1);
  if (root == text.npos) return false;
  const size_t name_end = text.find_first_of(" >/", root);
  if (name_end == text.npos) return false;
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string end = "</";
  end.append(text.substr(root + 1, name_end - root - 1)).append(">");
  return text.ends_with(end);
}

}  // namespace

bool has_whole_parts(std::string_view bytes) {
  constexpr size_t kEndOfDirectory = 22;
  const Archive archive(bytes);
  if (bytes.size() < kEndOfDirectory) return false;
  const size_t end = bytes.size() - kEndOfDirectory;
  const auto files = archive.number(end + 10, 2);
  auto entry = archive.number(end + 16, 4);
  for (size_t i = 0; i < *files; ++i) {
    const auto text = archive.file(*entry);
    if (!text || !is_whole_xml(*text)) return false;
    *entry += 46 + *archive.number(*entry + 28, 2) + *archive.number(*entry + 30, 2) +
              *archive.number(*entry + 32, 2);
  }
  return *files > 0;
}

}  // namespace strata::scoring
