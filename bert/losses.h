// The losses of pretraining.
#pragma once

#include "device/operations/operations.h"

namespace strata::bert {

// Sums over batches.
struct Losses {
  device::LossTotals masked_lm;      // count: masked positions
  device::LossTotals next_sentence;  // count: sequences
  // Unweighted, only in training. count: rows, summed over places in the model.
  device::LossTotals standardization = {};

  // Mean loss of the task, without standardization.
  double mean_loss() const { return masked_lm.mean() + next_sentence.mean(); }
  double masked_lm_accuracy() const { return masked_lm.accuracy(); }
  Losses& operator+=(const Losses& other) {
    masked_lm += other.masked_lm;
    next_sentence += other.next_sentence;
    standardization += other.standardization;
    return *this;
  }
};

}  // namespace strata::bert
