// Which blocks of a model a rank has, where several hold it together.
#pragma once

#include <cstdint>

namespace strata::bert {

// How layers are dealt to the stages of a pipeline (Lamy-Poirier, arXiv 2106.02679).
enum class Pipeline : uint8_t {
  kContiguous,  // each stage has layers that follow each other
  kModular,     // layer i is on stage i mod P
};

// One of the P stages of a pipeline; P divides the number of layers. Stage 0 also has embeddings
// and heads, so that the word embeddings, which both read, are in one place.
struct Stage {
  int index = 0;
  int count = 1;  // P; 1: the whole model
  Pipeline pipeline = Pipeline::kModular;

  // The stage that has a block, of `blocks` in the order of forward: embeddings, layers, heads.
  int of_block(int block, int blocks) const {
    const int layer = block - 1, layers = blocks - 2;
    if (layer < 0 || layer == layers) return 0;
    return pipeline == Pipeline::kModular ? layer % count : layer / (layers / count);
  }
  bool has_block(int block, int blocks) const { return of_block(block, blocks) == index; }

  bool operator==(const Stage&) const = default;
};

}  // namespace strata::bert
