#include "tests/simulation/damage.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/files/files.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/resume_point.h"
#include "training/checkpoint/checkpoint.h"

namespace strata::simulation {
namespace {

namespace fs = std::filesystem;

uint32_t below(loadbalance::Random& random, uint64_t count) {
  return count == 0 ? 0 : random.below(static_cast<uint32_t>(count));
}

void flip_a_bit(const fs::path& path, loadbalance::Random& random) {
  std::string bytes = read_file(path);
  if (bytes.empty()) return;
  char& byte = bytes[below(random, bytes.size())];
  byte = static_cast<char>(byte ^ (1 << below(random, 8)));
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Damages the last bytes of a file. The first `flushed` bytes had been flushed.
void tear(const fs::path& path, uint64_t flushed, loadbalance::Random& random) {
  if (!fs::exists(path)) return;
  const uint64_t size = fs::file_size(path);
  if (size > flushed) fs::resize_file(path, flushed + below(random, size - flushed));
}

// Returns some part of the last checkpoint, or an empty path.
fs::path some_part(const fs::path& checkpoints, loadbalance::Random& random) {
  const auto steps = harness::checkpoint_steps(checkpoints);
  if (steps.empty()) return {};
  const auto parts = list_directory(harness::checkpoint_folder(checkpoints, steps.front()));
  return parts.empty() ? fs::path() : parts[below(random, parts.size())];
}

// Returns the last complete checkpoint; its log and step trace were flushed with it.
std::optional<harness::ResumePoint> last_whole(const fs::path& checkpoints) {
  for (const int64_t step : harness::checkpoint_steps(checkpoints)) {
    const fs::path folder = harness::checkpoint_folder(checkpoints, step);
    try {
      const auto parts = training::open_checkpoint(folder);
      for (const training::CheckpointFile& part : parts) part.verify();
      return harness::parse_note(parts.front().header().note);
    } catch (const Error&) {
      continue;  // try the one before
    }
  }
  return std::nullopt;
}

// Returns the size of the first `lines` lines.
uint64_t bytes_of_lines(const fs::path& path, int64_t lines) {
  const std::string text = read_file(path);
  size_t end = 0;
  for (; lines > 0 && end < text.size(); --lines) end = text.find('\n', end) + 1;
  return end;
}

}  // namespace

std::string damage(const harness::ResultTree& tree, loadbalance::Random& random) {
  const fs::path checkpoints = tree.checkpoints(0), part = some_part(checkpoints, random);
  switch (below(random, 8)) {
    case 0:
      if (part.empty()) break;
      flip_a_bit(part, random);
      return "a bit of the last checkpoint is flipped";
    case 1:
      if (part.empty()) break;
      tear(part, 0, random);
      return "a part of the last checkpoint is cut";
    case 2:
      if (part.empty()) break;
      fs::remove(part);
      return "a part of the last checkpoint is missing";
    case 3: {
      const auto point = last_whole(checkpoints);
      if (!point) break;
      tear(tree.log(0), point->log_bytes, random);
      return "the log's end is lost";
    }
    case 4: {
      const auto point = last_whole(checkpoints);
      if (!point) break;
      tear(tree.step_trace(0), bytes_of_lines(tree.step_trace(0), point->step), random);
      return "the step trace's end is lost";
    }
    default:
      break;
  }
  return "nothing is damaged";
}

}  // namespace strata::simulation
