// Which blocks of a model a rank has, where several hold it together.
#pragma once

#include <cstdint>

namespace strata::bert {

// How layers are dealt to the stages of a pipeline (Lamy-Poirier, arXiv 2106.02679), or to those of
// a ring (Yang et al., arXiv 1909.06695).
enum class Pipeline : uint8_t {
  kContiguous,  // each stage has layers that follow each other
  kModular,     // layer i is on stage i mod P
  kRing,        // P + 1 modules of layers that follow each other; the first and the last on stage 0
};

// One of the P stages of a pipeline; P divides the number of layers, but for a ring, whose modules
// may have one layer more than others. Stage 0 also has embeddings and heads, so that the word
// embeddings, which both read, are in one place.
struct Stage {
  int index = 0;
  int count = 1;  // P; 1: the whole model
  Pipeline pipeline = Pipeline::kModular;

  // The stage that has a block, of `blocks` in the order of forward: embeddings, layers, heads.
  int of_block(int block, int blocks) const {
    const int layer = block - 1, layers = blocks - 2;
    if (layer < 0 || layer == layers) return 0;
    if (pipeline == Pipeline::kRing) return module_of_block(block, blocks) % count;
    return pipeline == Pipeline::kModular ? layer % count : layer / (layers / count);
  }
  // The module of a ring that has a block, from 0. Layers left over are dealt from the second on:
  // stage 0 has two modules already.
  int module_of_block(int block, int blocks) const {
    const int modules = count + 1, layers = blocks - 2, left = layers % modules;
    int module = 0, end = layers / modules;  // of its layers
    while (module + 1 < modules && block > end) {
      end += layers / modules + (module < left ? 1 : 0);
      ++module;
    }
    return module;
  }
  // Whether so many layers can be dealt.
  bool deals(int64_t layers) const {
    return pipeline == Pipeline::kRing ? layers > count : layers % count == 0;
  }
  bool has_block(int block, int blocks) const { return of_block(block, blocks) == index; }

  bool operator==(const Stage&) const = default;
};

}  // namespace strata::bert
