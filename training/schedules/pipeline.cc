#include "training/schedules/pipeline.h"

#include <optional>
#include <ranges>

#include "base/range.h"

namespace strata::training {
namespace {

using enum Task::Kind;

// Work on one micro-batch. At most one message precedes it.
struct StagePiece {
  std::optional<Task> receive;
  std::vector<Task> tasks;
};

class StagePieces {
 public:
  StagePieces(const bert::Stage& stage, int blocks, bool recompute)
      : stage_(stage), blocks_(blocks), recompute_(recompute) {}

  // Ranges of consecutive blocks on this stage, without the heads.
  std::vector<Range> runs() const {
    std::vector<Range> runs;
    for (int block = 0; block < heads(); ++block) {
      if (!has(block)) continue;
      if (runs.empty() || runs.back().end != block) runs.push_back({block, block});
      ++runs.back().end;
    }
    return runs;
  }
  int heads() const { return blocks_ - 1; }
  bool has(int block) const { return stage_.has_block(block, blocks_); }

  StagePiece forward(const Range& run, int m) const {
    const int first = static_cast<int>(run.begin), last = static_cast<int>(run.end) - 1;
    StagePiece piece;
    if (first > 0 && !has(first - 1)) piece.receive = {kReceiveInput, first, m};
    for (int block = first; block <= last; ++block) piece.tasks.push_back({kForward, block, m});
    if (last != heads() && !has(last + 1)) piece.tasks.push_back({kSendOutput, last, m});
    return piece;
  }

  StagePiece through_heads(int m, bool ready) const {
    StagePiece piece{.tasks = {{kForward, heads(), m}, {kBackward, heads(), m}}};
    if (!has(heads() - 1)) {
      piece.receive = {kReceiveInput, heads(), m};
      piece.tasks.push_back({kSendGradient, heads(), m});
    }
    if (ready) piece.tasks.push_back({kReady, heads(), m});
    return piece;
  }

  StagePiece backward(const Range& run, int m, bool ready) const {
    const int first = static_cast<int>(run.begin), last = static_cast<int>(run.end) - 1;
    StagePiece piece;
    if (!has(last + 1)) piece.receive = {kReceiveGradient, last, m};
    for (int block = last; block >= first; --block) {
      if (recompute_) piece.tasks.push_back({kRecompute, block, m});
      piece.tasks.push_back({kBackward, block, m});
      if (block == first && first > 0) piece.tasks.push_back({kSendGradient, first, m});
      if (ready) piece.tasks.push_back({kReady, block, m});
    }
    return piece;
  }

 private:
  bert::Stage stage_;
  int blocks_;
  bool recompute_;
};

const char* name_of(bert::Pipeline pipeline) {
  switch (pipeline) {
    case bert::Pipeline::kContiguous:
      return "contiguous_pipeline";
    case bert::Pipeline::kModular:
      return "modular_pipeline";
    case bert::Pipeline::kRing:
      return "ring";
  }
  return "";
}

Schedule schedule_of(const bert::Stage& stage, int blocks, int micro_batches, bool recompute) {
  return {.name = name_of(stage.pipeline),
          .stage = stage,
          .blocks = blocks,
          .micro_batches = micro_batches,
          .in_flight = micro_batches,
          .recomputes = recompute};
}

// Appends the pieces. Each message is received during the piece before the one that reads it.
void append(const std::vector<StagePiece>& pieces, Schedule& schedule) {
  std::vector<Task>& tasks = schedule.tasks;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i == 0 && pieces[i].receive) tasks.push_back(*pieces[i].receive);
    const std::optional<Task> next =
        i + 1 < pieces.size() ? pieces[i + 1].receive : std::optional<Task>();
    const bool ahead = schedule.micro_batches > 1;
    if (next && ahead) tasks.push_back(*next);
    tasks.insert(tasks.end(), pieces[i].tasks.begin(), pieces[i].tasks.end());
    if (next && !ahead) tasks.push_back(*next);
  }
}

}  // namespace

Schedule pipeline(const bert::Stage& stage, int blocks, int micro_batches, bool recompute) {
  const StagePieces of(stage, blocks, recompute);
  const std::vector<Range> runs = of.runs();
  const int last = micro_batches - 1;
  std::vector<StagePiece> pieces;
  for (const Range& run : runs) {
    for (int m = 0; m < micro_batches; ++m) pieces.push_back(of.forward(run, m));
  }
  for (int m = 0; m < micro_batches && of.has(of.heads()); ++m) {
    pieces.push_back(of.through_heads(m, m == last));
  }
  for (const Range& run : runs | std::views::reverse) {
    for (int m = 0; m < micro_batches; ++m) pieces.push_back(of.backward(run, m, m == last));
  }
  Schedule schedule = schedule_of(stage, blocks, micro_batches, recompute);
  append(pieces, schedule);
  schedule.tasks.push_back({kUpdate, 0, last});
  return schedule;
}

Schedule pipeline_forward(const bert::Stage& stage, int blocks, int micro_batches) {
  const StagePieces of(stage, blocks, false);
  std::vector<Range> runs = of.runs();
  if (of.has(of.heads())) runs.push_back({of.heads(), of.heads() + 1});
  std::vector<StagePiece> pieces;
  for (const Range& run : runs) {
    for (int m = 0; m < micro_batches; ++m) pieces.push_back(of.forward(run, m));
  }
  Schedule schedule = schedule_of(stage, blocks, micro_batches, false);
  append(pieces, schedule);
  return schedule;
}

}  // namespace strata::training
