// Compares a run's evaluations and data sizes with its round's rules (requested in
// mlcommons/logging 79 and 143).
#pragma once

#include <string_view>
#include <vector>

#include "compliance/review/run_record.h"

namespace strata::compliance {

// Checks closed-division logs, since the open division is free. Ids:
// - review/evaluation/first, review/evaluation/interval: evaluations against the schedule of the
//   training rules (rounds 1.1 to the benchmark's last): every 4 epochs for resnet, every epoch for
//   maskrcnn and rnnt, every 5 for ssd (from round 2.0 on every one); for unet3d from 1000 epochs
//   on every 20, with 168 samples each, which batches round up; for BERT
//   mlperf_evaluation_interval, from round 1.0 on. Runs stop at whole batches, and may notice a
//   batch late that it is time: each evaluation may come one batch early or two late, and the
//   distance of two may be three batches off. Sample 0 may be evaluated or not.
// - review/evaluation/count: BERT's evaluations lack their number of samples.
// - review/data/train-samples, review/data/eval-samples: the size of the reference's data; rnnt's
//   training set in whole batches, ssd's sets of round 2.0 in samples or batches. For BERT
//   train_samples may also be the samples that the run trained on (training rules, section on
//   BERT). maskrcnn's logs hold neither.
std::vector<Doubt> review_evaluations(const RunRecord& record, std::string_view ruleset);

// Returns whether BERT's counts are samples: many logs of round 1.1 hold a constant.
bool counts_samples(const RunRecord& record);

}  // namespace strata::compliance
