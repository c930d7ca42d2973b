#include "training/checkpoint/checkpoint_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <string_view>

#include "base/error.h"
#include "base/files/crc32c.h"
#include "base/files/lines.h"
#include "bert/weights/safetensors.h"

namespace strata::training {
namespace {

using device::DType;

constexpr char kFormat[] = "strata checkpoint 2", kChecksum[] = "checksum";

const char* stored_name(DType dtype) { return dtype == DType::kF64 ? "F64" : "F32"; }

template <typename Integer>
bool parse(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

std::map<std::string, std::string> to_metadata(const CheckpointHeader& header) {
  std::map<std::string, std::string> metadata = {
      {"format", kFormat},
      {"step", std::to_string(header.step)},
      {"parameters", std::to_string(header.parameters)},
      {"rank", std::to_string(header.rank)},
      {"ranks", std::to_string(header.ranks)},
      {"plan_ranks", std::to_string(header.plan.ranks)},
      {"plan_batch_per_rank", std::to_string(header.plan.batch_per_rank)},
      {"plan_micro_batches", std::to_string(header.plan.micro_batches)},
      {"model", header.model},
      {"note", header.note}};
  if (header.loss_scale) {
    metadata["loss_scale"] = std::to_string(static_cast<int64_t>(header.loss_scale->scale));
    metadata["clean_steps"] = std::to_string(header.loss_scale->clean_steps);
    metadata["skipped_steps"] = std::to_string(header.loss_scale->skipped_steps);
  }
  return metadata;
}

CheckpointHeader to_header(const std::filesystem::path& path,
                           const std::map<std::string, std::string>& metadata) {
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  if (text("format") != kFormat) {
    fail("{}: is not a checkpoint of this version of Strata (format \"{}\", expected \"{}\")",
         path.string(), text("format"), kFormat);
  }
  const auto number = [&](const char* key, auto& value) {
    const std::string_view name = key;
    const bool counts_from_0 = name == "rank" || name == "clean_steps" || name == "skipped_steps";
    if (parse(text(key), value) && value >= (counts_from_0 ? 0 : 1)) return;
    fail("{}: is damaged: its {} is \"{}\"", path.string(), key, text(key));
  };
  CheckpointHeader header{.model = text("model"), .note = text("note")};
  number("step", header.step);
  number("parameters", header.parameters);
  number("rank", header.rank);
  number("ranks", header.ranks);
  number("plan_ranks", header.plan.ranks);
  number("plan_batch_per_rank", header.plan.batch_per_rank);
  number("plan_micro_batches", header.plan.micro_batches);
  if (metadata.contains("loss_scale")) {
    int64_t scale = 0;
    header.loss_scale.emplace();
    number("loss_scale", scale);
    number("clean_steps", header.loss_scale->clean_steps);
    number("skipped_steps", header.loss_scale->skipped_steps);
    header.loss_scale->scale = static_cast<float>(scale);
  }
  return header;
}

// No array has more elements than the model has parameters.
Piece to_piece(const std::filesystem::path& path, const std::string& name,
               const bert::StoredTensor& tensor, int64_t parameters,
               std::span<const std::byte> file) {
  const size_t slash = name.rfind('/');
  Piece piece{.array = name.substr(0, slash)};
  const bool wide = tensor.dtype == stored_name(DType::kF64);
  if (slash == std::string::npos || !parse(name.substr(slash + 1), piece.range.begin) ||
      (!wide && tensor.dtype != stored_name(DType::kF32)) || piece.range.begin > parameters ||
      tensor.size() > parameters - piece.range.begin) {
    fail("{}: tensor \"{}\" of {} is not part of a checkpoint", path.string(), name, tensor.dtype);
  }
  piece.dtype = wide ? DType::kF64 : DType::kF32;
  piece.range.end = piece.range.begin + tensor.size();
  piece.bytes = file.subspan(tensor.begin, tensor.end - tensor.begin);
  return piece;
}

}  // namespace

void write_checkpoint_file(const std::filesystem::path& path, const CheckpointHeader& header,
                           std::span<const Piece> pieces) {
  std::vector<bert::TensorEntry> entries;
  for (const Piece& piece : pieces) {
    entries.push_back({fmt::format("{}/{}", piece.array, piece.range.begin),
                       stored_name(piece.dtype),
                       {piece.range.size()}});
  }
  entries.push_back({kChecksum, "U32", {1}});
  bert::SafetensorsWriter file(path, entries, to_metadata(header));
  for (const Piece& piece : pieces) file.write(piece.bytes);
  const uint32_t checksum = file.checksum();
  file.write(std::as_bytes(std::span(&checksum, 1)));
  file.commit();
}

CheckpointFile::CheckpointFile(const std::filesystem::path& path) : path_(path), file_(path) {
  const bert::SafetensorsFile stored(path);
  header_ = to_header(path, stored.metadata());
  for (const auto& [name, tensor] : stored.tensors()) {
    if (name == kChecksum) {
      checksum_at_ = tensor.begin;
    } else {
      pieces_.push_back(to_piece(path, name, tensor, header_.parameters, file_.bytes()));
    }
  }
  if (checksum_at_ + sizeof(uint32_t) != file_.bytes().size()) {
    fail("{}: does not end with its checksum", path.string());
  }
}

void CheckpointFile::verify() const {
  // The file is read, not mapped, so that a disk error throws instead of ending the process.
  std::ifstream file = open_to_read(path_, std::ios::binary);
  std::string piece;
  uint32_t computed = 0, stored = 0;
  for (size_t left = checksum_at_; file && left > 0; left -= piece.size()) {
    piece.resize(std::min(left, size_t{1} << 20));
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    computed = crc32c(piece, computed);
  }
  file.read(reinterpret_cast<char*>(&stored), sizeof stored);
  if (!file) fail("{}: cannot be read to its end", path_.string());
  if (computed != stored) {
    fail("{}: is damaged: its checksum is {:08x}, but its bytes have {:08x}", path_.string(),
         stored, computed);
  }
}

}  // namespace strata::training
