// When a run evaluated, and on how much data, against its round's rules (asked for in
// mlcommons/logging 79 and 143).
#pragma once

#include <string_view>
#include <vector>

#include "compliance/review/run_record.h"

namespace strata::compliance {

// Of closed-division logs; the open division is free. Ids
// - review/evaluation/first, review/evaluation/interval: evaluations against the schedule of the
//   training rules (rounds 1.1 to the benchmark's last): every 4 epochs of resnet, one of maskrcnn
//   and rnnt, 5 of ssd (from round 2.0 on one); unet3d's from 1000 epochs on every 20, of 168
//   samples, which batches round up; BERT's against mlperf_evaluation_interval, from round 1.0 on.
//   Runs stop at whole batches, and may find out a batch late that it is time: each may come one
//   batch early or two late, and the distance of two be three batches off. Sample 0 may be
//   evaluated or not.
// - review/evaluation/count: BERT's evaluations do not say after how many samples they are.
// - review/data/train-samples, review/data/eval-samples: the size of the reference's data; rnnt's
//   training set in whole batches, ssd's sets of round 2.0 in samples or batches. For BERT
//   train_samples may also be the samples that the run trained on (training rules, section on
//   BERT). maskrcnn's logs hold neither.
std::vector<Doubt> review_evaluations(const RunRecord& record, std::string_view ruleset);

// Whether BERT's counts are samples at all: many logs of round 1.1 hold a constant.
bool counts_samples(const RunRecord& record);

}  // namespace strata::compliance
