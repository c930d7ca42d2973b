// Results of tests/golden/bert/bert_gradients.py.
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
  // `heads`: 1 or 2, with the same weights.
  explicit Golden(int heads);

  // Results of tests/golden/pre_norm/pre_norm.py: "plain", "scaled" or "dropped".
  static Golden pre_norm(const std::string& name);

  // Results of tests/golden/standardization/standardization.py, "unit" or "token", with
  // kStandardizationWeight.
  static Golden standardized(const std::string& axis);
  static constexpr double kStandardizationWeight = 0.25;

  // Compares a parameter's gradient with the golden one: the largest difference, the largest golden
  // value, and sums of squares. Compares a vector itself, but a matrix by its products with the
  // script's probe vectors. A product is a sum whose terms may cancel while their errors do not, so
  // the root of its terms' squares counts as a value, too.
  struct Comparison {
    double difference = 0;
    double largest = 0;
    double squared_difference = 0;  // sum over all values
    double squared = 0;
  };
  Comparison compare(const Parameter& parameter, const double* gradient) const;
  double value(const std::string& name) const { return values.at(name).at(0); }

  BertConfig config;
  data::PackedBatch batch;
  std::map<std::string, std::vector<double>> values;  // all tensors of the file
};

// Returns the weights of the golden gradients.
HostWeights golden_weights(const ParameterLayout& layout);
// The same for a model that has only the gain and bias of LayerNorm.
HostWeights golden_affine_weights(const BertConfig& config);
HostWeights golden_pre_norm_weights(const ParameterLayout& layout);

// Returns the samples of `batch` one by one.
std::vector<data::PackedBatch> split(const data::PackedBatch& batch);

}  // namespace strata::bert
