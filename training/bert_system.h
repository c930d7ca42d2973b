// BERT pretraining as the system that the harness times.
#pragma once

#include <memory>
#include <optional>

#include "bert/model/model.h"
#include "config/run_config.h"
#include "data/files/instance_file.h"
#include "device/backend.h"
#include "harness/host/signal_thread.h"
#include "harness/system_under_test.h"
#include "training/checkpoint/checkpoint_writer.h"
#include "training/evaluation.h"
#include "training/ranks/ranks.h"
#include "training/trace/step_trace.h"
#include "training/trace/tensorboard_trace.h"
#include "training/trace/timeline.h"
#include "training/trainer.h"

namespace strata::training {

class BertSystem final : public harness::SystemUnderTest {
 public:
  // Makes the device and the model; of the data it sees that it is there. All ranks construct
  // together; all that is taken by reference must outlive it. Throws Error where the device or the
  // model does not suit the configuration.
  BertSystem(const config::RunConfig& config, const Ranks& ranks);
  // On a backend that the caller has made.
  BertSystem(const config::RunConfig& config, const Ranks& ranks,
             std::unique_ptr<device::Backend> backend);

  harness::SystemFacts system_facts() const override;
  std::vector<std::filesystem::path> data_files() const override;
  std::vector<std::string> tensors() const override;
  void prepare(uint64_t seed, const harness::RunFiles& files, const harness::Say& say) override;
  void warm_up(const harness::Say& say) override;
  std::optional<harness::CheckpointFacts> checkpoint_facts(const std::filesystem::path& folder,
                                                           const harness::Say& say) override;
  void restore(const std::filesystem::path& folder) override;
  harness::DataFacts start() override;
  harness::TrainedStep train_step() override;
  double evaluate() override;
  void begin_checkpoint(const std::filesystem::path& folder, const std::string& note) override;
  bool finish_checkpoint() override;
  void save() override;

 private:
  // What one experiment has of its own.
  struct Run {
    Run(BertSystem& system, uint64_t seed, const harness::RunFiles& files);

    harness::RunFiles files;
    std::unique_ptr<data::InstanceSource> train, eval;  // from start() on
    Trainer trainer;
    std::optional<Evaluator> evaluator;  // from start() on
    StepTrace trace;
    TensorBoardTrace tensorboard;
    Timeline timeline;
    CheckpointWriter checkpoints;
    std::filesystem::path checkpoint;  // that is being written
    std::string checkpoint_problem;    // why it could not be begun; empty: it was
    int64_t steps = 0, resumed_after = 0;
  };

  // Whether no rank has a problem, on all ranks. An empty text is none.
  bool all_succeed(const std::string& problem) const;
  void check_suits(const CheckpointHeader& header) const;
  void warn_of_parts_elsewhere() const;
  uint32_t data_checksum() const;

  const config::RunConfig& config_;
  const Ranks& ranks_;
  const harness::SignalThread signal_thread_;  // before the device starts its threads
  bert::BertConfig bert_;
  bert::ParameterLayout whole_;  // of all stages
  std::unique_ptr<device::Backend> backend_;
  std::unique_ptr<bert::Model> model_;
  bert::HostWeights weights_;  // that the experiment starts from
  std::optional<Run> run_;
};

}  // namespace strata::training
