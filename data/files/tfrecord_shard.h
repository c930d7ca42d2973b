// Pretraining instances in the format of MLPerf's create_pretraining_data.py: TFRecords of tf.train
// Examples, padded to one length.
#pragma once

#include "data/files/instance_shard.h"
#include "data/files/tfrecord.h"

namespace strata::data {

class TfrecordShard : public InstanceShard {
 public:
  // Throws Error naming the first record's features if it is not a pretraining instance.
  explicit TfrecordShard(const std::filesystem::path& path);

  ShardIndex read_index() const override;
  void read(uint32_t row, int32_t length, int32_t masked_count, RawSample& out) const override;
  std::vector<uint32_t> documents() const override { return {}; }
  bool is_open() const override { return false; }

  // Returns form, samples, max_length, max_predictions and the features of the first record.
  InstanceFileInfo describe() const;

 private:
  TfrecordFile file_;
};

}  // namespace strata::data
