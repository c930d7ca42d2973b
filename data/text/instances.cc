#include "data/text/instances.h"

namespace strata::data {

void Instances::append(const Instances& from, size_t index) {
  const auto copy = [](auto& target, const auto& source, size_t begin, size_t end) {
    target.insert(target.end(), source.begin() + static_cast<ptrdiff_t>(begin),
                  source.begin() + static_cast<ptrdiff_t>(end));
  };
  copy(tokens, from.tokens, from.token_offsets[index], from.token_offsets[index + 1]);
  copy(masked_positions, from.masked_positions, from.masked_offsets[index],
       from.masked_offsets[index + 1]);
  copy(masked_ids, from.masked_ids, from.masked_offsets[index], from.masked_offsets[index + 1]);
  token_offsets.push_back(tokens.size());
  masked_offsets.push_back(masked_ids.size());
  first_lengths.push_back(from.first_lengths[index]);
  next_sentence.push_back(from.next_sentence[index]);
  if (!from.documents.empty()) copy(documents, from.documents, 2 * index, 2 * index + 2);
}

}  // namespace strata::data
