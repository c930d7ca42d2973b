// The system that the harness times: it trains a model. The harness knows nothing of the model, and
// the system nothing of the log. training/bert_system.h is the one that the program measures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/host/system_description.h"

namespace strata::harness {

// Facts about the data, known once it may be read.
struct DataFacts {
  int64_t train_samples = 0;
  int64_t eval_samples = 0;  // samples of an evaluation
  uint32_t checksum = 0;     // CRC-32C of file sizes and sample lengths; 0 without checkpoints
};

// Paths for the outputs that the configuration asks for. An empty path means no output.
struct RunFiles {
  std::filesystem::path step_trace;   // JSON lines
  std::filesystem::path tensorboard;  // a folder of event files
  std::filesystem::path timeline;     // Chrome trace JSON
  std::filesystem::path checkpoint;   // safetensors
  bool resumed = false;               // append to the files of an interrupted run
};

struct TrainedStep {
  int64_t step = 0;            // counted from 1
  int64_t samples = 0;         // samples trained on so far, over all ranks
  std::optional<double> loss;  // absent if the loss was not read; the same on every rank
  std::string remark;          // for people; empty: nothing out of the ordinary
};

struct CheckpointFacts {
  int64_t step = 0;  // the last trained step
  std::string note;
};

// Lines for people.
using Say = std::function<void(const std::string&)>;

// Serves several experiments, one after another: prepare, warm_up, start, then train_step and
// evaluate in turn, then save. A resumed experiment calls restore before start. All ranks make the
// same calls in the same order. Every call throws Error for problems that a user can fix.
class SystemUnderTest {
 public:
  virtual ~SystemUnderTest() = default;

  virtual SystemFacts system_facts() const = 0;
  // Files and directories that a run reads training and evaluation data from.
  virtual std::vector<std::filesystem::path> data_files() const = 0;
  // The tensors that the model starts with, by MLPerf's names.
  virtual std::vector<std::string> tensors() const = 0;

  // Makes weights and optimizer state before the clock starts. `seed` also decides the order of the
  // samples and dropout.
  virtual void prepare(uint64_t seed, const RunFiles& files, const Say& say) = 0;
  // Makes the first steps as fast as later ones, before the clock starts. Keeps the weights.
  virtual void warm_up(const Say& say) = 0;

  // Reads every part of the checkpoint and verifies its checksum. Returns its step and note, the
  // same on every rank. If the checkpoint is unusable, says so, prints the reason to standard error
  // and returns nullopt. Throws Error if the checkpoint does not suit the system.
  virtual std::optional<CheckpointFacts> checkpoint_facts(const std::filesystem::path& folder,
                                                          const Say& say) = 0;
  // Loads a checkpoint, so that training continues after its step. After warm_up, before start.
  virtual void restore(const std::filesystem::path& folder) = 0;

  // Opens the data sets, which may be read from now on, not before. The clock runs.
  virtual DataFacts start() = 0;
  // Trains on the next global batch.
  virtual TrainedStep train_step() = 0;
  // Masked-LM accuracy over the evaluation set; the same on every rank.
  virtual double evaluate() = 0;

  // Copies the state of training and starts a thread that writes it and the note into the folder.
  // Called between steps, after finish_checkpoint.
  virtual void begin_checkpoint(const std::filesystem::path& folder, const std::string& note) = 0;
  // Waits until all ranks have written. Returns whether all could. A rank that could not says why.
  virtual bool finish_checkpoint() = 0;

  // Writes the files, after the clock has stopped.
  virtual void save() = 0;
};

}  // namespace strata::harness
