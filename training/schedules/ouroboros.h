// Model parallelism with delayed gradients (Ouroboros: Yang et al., arXiv 1909.06695).
#pragma once

#include "training/schedules/schedule.h"

namespace strata::training {

// The tasks of one rank in step t, in a ring of K modules on K - 1 ranks. Forward takes micro-batch
// t through all modules in turn. Then all modules run backward at once: module k = 1 ... K
// processes micro-batch t - K + k, whose output gradient module k + 1 sent in the previous step:
//
//            step t       t + 1      t + 2         K = 3; F, B: forward, backward
//   module 1 F(t)  B(t-2) F(t+1) ..  F(t+2) B(t)   rank 0
//   module 2 F(t)  B(t-1) F(t+1) B(t)              rank 1
//   module 3 F(t)  B(t)                            rank 0
//
// Module k has K - k + 1 micro-batches in flight. A step takes sum F + max over ranks of sum B;
// model parallelism without delay takes sum F + sum B.
Schedule ouroboros(const bert::Stage& stage, int blocks);

// The same without delay: each micro-batch runs forward and backward through all modules in turn.
Schedule undelayed(const bert::Stage& stage, int blocks);

}  // namespace strata::training
