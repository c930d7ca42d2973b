// Division of a model's blocks among ranks.
#pragma once

#include <cstdint>

namespace strata::bert {

// Assignment of layers to the stages of a pipeline (Lamy-Poirier, arXiv 2106.02679) or of a ring
// (Yang et al., arXiv 1909.06695).
enum class Pipeline : uint8_t {
  kContiguous,  // each stage has consecutive layers
  kModular,     // layer i is on stage i mod P
  kRing,        // P + 1 modules of consecutive layers; stage 0 has the first and the last
};

// One of the P stages of a pipeline. P divides the number of layers, except in a ring, whose
// modules may differ by one layer. Stage 0 also has embeddings and heads, because both read the
// word embeddings.
struct Stage {
  int index = 0;
  int count = 1;  // P; 1: the whole model
  Pipeline pipeline = Pipeline::kModular;

  // Returns the stage of a block, one of `blocks` in forward order: embeddings, layers, heads.
  int of_block(int block, int blocks) const {
    const int layer = block - 1, layers = blocks - 2;
    if (layer < 0 || layer == layers) return 0;
    if (pipeline == Pipeline::kRing) return module_of_block(block, blocks) % count;
    return pipeline == Pipeline::kModular ? layer % count : layer / (layers / count);
  }
  // Returns the ring module of a block, from 0. If layers do not divide evenly, the extra ones go
  // to modules from the second on, because stage 0 already has two modules.
  int module_of_block(int block, int blocks) const {
    const int modules = count + 1, layers = blocks - 2, left = layers % modules;
    int module = 0, end = layers / modules;  // end of the module's layers
    while (module + 1 < modules && block > end) {
      end += layers / modules + (module < left ? 1 : 0);
      ++module;
    }
    return module;
  }
  // True if this number of layers can be divided among the stages.
  bool deals(int64_t layers) const {
    return pipeline == Pipeline::kRing ? layers > count : layers % count == 0;
  }
  bool has_block(int block, int blocks) const { return of_block(block, blocks) == index; }

  bool operator==(const Stage&) const = default;
};

}  // namespace strata::bert
