#include "bert/blocks/activations.h"

#include <gtest/gtest.h>

#include "device/registry/backends.h"
#include "tests/bert/subject.h"

namespace strata::bert {
namespace {

TEST(Activations, OnlyBorrowedActivationsLieInTheLendersMemory) {
  const Golden golden(2);
  const auto backend = device::make_backend({"reference", device::DType::kF64});
  const Subject subject(*backend, golden.config, golden.batch);
  const BlockMemory blocks = make_block_memory(subject.model.blocks(), false);
  const int outputs = static_cast<int>(blocks.size()) - 1;  // the last block has no output
  ASSERT_GT(outputs, 1);
  for (int borrowed = 0; borrowed < outputs; ++borrowed) {
    std::vector<bool> which(blocks.size());
    which[static_cast<size_t>(borrowed)] = true;
    const Activations lender(*backend, blocks, 5, golden.config.hidden_size);
    const Activations borrower(*backend, blocks, 5, golden.config.hidden_size, &lender, which);
    for (int block = 0; block < outputs; ++block) {
      EXPECT_EQ(borrower.output(block, 5).data == lender.output(block, 5).data, block == borrowed)
          << block << " where " << borrowed << " is borrowed";
    }
  }
}

}  // namespace
}  // namespace strata::bert
