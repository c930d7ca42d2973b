#include "tests/bert/golden.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/files/files.h"
#include "bert/weights/safetensors.h"
#include "tests/support/golden_files.h"

namespace strata::bert {
namespace {

using testing_support::golden_file;

// Reads with full precision; SafetensorsFile::read returns floats.
std::map<std::string, std::vector<double>> read_exactly(const std::string& path) {
  const std::string bytes = read_file(path);
  const SafetensorsFile file(path);
  std::map<std::string, std::vector<double>> values;
  for (const auto& [name, tensor] : file.tensors()) {
    std::vector<double>& to = values[name];
    to.resize(static_cast<size_t>(tensor.size()));
    if (tensor.dtype == "F64") {
      std::memcpy(to.data(), bytes.data() + tensor.begin, to.size() * sizeof(double));
    } else {
      std::vector<int32_t> integers(to.size());
      std::memcpy(integers.data(), bytes.data() + tensor.begin, to.size() * sizeof(int32_t));
      to.assign(integers.begin(), integers.end());
    }
  }
  return values;
}

double probe(int64_t i) { return static_cast<double>(2 * ((i * 37 + 11) % 61) - 61) / 64; }

template <typename T>
std::vector<T> to_integers(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Golden::Golden(int heads)
    : config(load_bert_config(golden_file("bert/bert_tiny_config.json"))),
      values(read_exactly(golden_file(fmt::format("bert/bert_tiny_heads{}.safetensors", heads)))) {
  config.heads = heads;
  batch.tokens = to_integers<int32_t>(values.at("tokens"));
  batch.segments = to_integers<int32_t>(values.at("segments"));
  batch.masked_positions = to_integers<int32_t>(values.at("masked_positions"));
  batch.masked_ids = to_integers<int32_t>(values.at("masked_ids"));
  batch.next_sentence = to_integers<int32_t>(values.at("next_sentence"));
  batch.cu_seqlens = {0};
  for (const double length : values.at("lengths")) {
    batch.sample_ids.push_back(1000 + batch.sample_ids.size());
    for (int32_t position = 0; position < length; ++position) batch.positions.push_back(position);
    batch.cu_seqlens.push_back(static_cast<int32_t>(batch.positions.size()));
  }
}

Golden Golden::pre_norm(const std::string& name) {
  Golden golden(2);
  golden.config.norm = Norm::kPre;
  golden.values = read_exactly(golden_file(fmt::format("pre_norm/{}.safetensors", name)));
  return golden;
}

Golden Golden::standardized(const std::string& axis) {
  Golden golden(2);
  golden.config.norm = Norm::kNone;
  golden.values = read_exactly(golden_file(fmt::format("standardization/{}.safetensors", axis)));
  return golden;
}

Golden::Comparison Golden::compare(const Parameter& parameter, const double* gradient) const {
  Comparison result;
  const auto check = [&](const std::string& name, const std::vector<double>& actual) {
    const std::vector<double>& expected = values.at(name);
    if (actual.size() != expected.size()) throw std::logic_error(name + ": another size");
    for (size_t i = 0; i < actual.size(); ++i) {
      result.difference = std::max(result.difference, std::abs(actual[i] - expected[i]));
      result.largest = std::max(result.largest, std::abs(expected[i]));
      result.squared_difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
      result.squared += expected[i] * expected[i];
      if (!std::isfinite(actual[i]) || !std::isfinite(expected[i])) result.difference = HUGE_VAL;
    }
  };
  if (parameter.rows == 1) {
    check(parameter.hugging_face, {gradient, gradient + parameter.cols});
    return result;
  }
  std::vector<double> rows(parameter.rows), cols(parameter.cols);
  std::vector<double> row_squares(parameter.rows), col_squares(parameter.cols);
  for (int64_t i = 0; i < parameter.rows; ++i) {
    for (int64_t j = 0; j < parameter.cols; ++j) {
      const double of_row = gradient[i * parameter.cols + j] * probe(j);
      const double of_col = gradient[i * parameter.cols + j] * probe(i);
      rows[i] += of_row;
      cols[j] += of_col;
      row_squares[i] += of_row * of_row;
      col_squares[j] += of_col * of_col;
    }
  }
  for (const std::vector<double>* squares : {&row_squares, &col_squares}) {
    for (const double square : *squares) {
      result.largest = std::max(result.largest, std::sqrt(square));
    }
  }
  check(parameter.hugging_face + ".rows", rows);
  check(parameter.hugging_face + ".cols", cols);
  return result;
}

HostWeights golden_weights(const ParameterLayout& layout) {
  return load_weights(layout, golden_file("bert/bert_tiny.safetensors"), 0).values;
}

HostWeights golden_affine_weights(const BertConfig& config) {
  BertConfig post = config;
  post.norm = Norm::kPost;  // same layout
  return golden_weights(ParameterLayout(post));
}

HostWeights golden_pre_norm_weights(const ParameterLayout& layout) {
  return load_weights(layout, golden_file("pre_norm/weights.safetensors"), 0).values;
}

std::vector<data::PackedBatch> split(const data::PackedBatch& batch) {
  std::vector<data::PackedBatch> samples;
  for (size_t b = 0; b < batch.sample_ids.size(); ++b) {
    const int32_t begin = batch.cu_seqlens[b], end = batch.cu_seqlens[b + 1];
    const auto part = [&](const std::vector<int32_t>& all) {
      return std::vector<int32_t>(all.begin() + begin, all.begin() + end);
    };
    data::PackedBatch sample;
    sample.tokens = part(batch.tokens);
    sample.segments = part(batch.segments);
    sample.positions = part(batch.positions);
    sample.cu_seqlens = {0, end - begin};
    for (size_t m = 0; m < batch.masked_positions.size(); ++m) {
      if (batch.masked_positions[m] < begin || batch.masked_positions[m] >= end) continue;
      sample.masked_positions.push_back(batch.masked_positions[m] - begin);
      sample.masked_ids.push_back(batch.masked_ids[m]);
    }
    sample.next_sentence = {batch.next_sentence[b]};
    sample.sample_ids = {batch.sample_ids[b]};
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace strata::bert
