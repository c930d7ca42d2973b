// What tests/golden/bert/bert_gradients.py wrote.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bert/config.h"
#include "bert/weights/weights.h"
#include "data/files/packed_batch.h"

namespace strata::bert {

struct Golden {
  // `heads`: 1 or 2, of the same weights.
  explicit Golden(int heads);

  // What tests/golden/pre_norm/pre_norm.py wrote: "plain", "scaled" or "dropped".
  static Golden pre_norm(const std::string& name);

  // What tests/golden/standardization/standardization.py wrote, "unit" or "token": of
  // kStandardizationWeight.
  static Golden standardized(const std::string& axis);
  static constexpr double kStandardizationWeight = 0.25;

  // Largest difference between a parameter's gradient and the golden one, and the largest golden
  // value, and sums of squares: of the vector itself, or of the matrix's products with the script's
  // probe vectors. A product is a sum whose terms may cancel, while their errors hardly do: the
  // root of its terms' squares counts as a value, too.
  struct Comparison {
    double difference = 0;
    double largest = 0;
    double squared_difference = 0;  // sums over all values
    double squared = 0;
  };
  Comparison compare(const Parameter& parameter, const double* gradient) const;
  double value(const std::string& name) const { return values.at(name).at(0); }

  BertConfig config;
  data::PackedBatch batch;
  std::map<std::string, std::vector<double>> values;  // every tensor of the file
};

// The weights the golden gradients belong to.
HostWeights golden_weights(const ParameterLayout& layout);
// The same, where gain and bias are what LayerNorm leaves.
HostWeights golden_affine_weights(const BertConfig& config);
HostWeights golden_pre_norm_weights(const ParameterLayout& layout);

// The samples of `batch` one by one.
std::vector<data::PackedBatch> split(const data::PackedBatch& batch);

}  // namespace strata::bert
