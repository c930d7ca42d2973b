// Names of the data sets and attributes in instance files. docs/data.md describes them.
#pragma once

#include <cstdint>

namespace strata::data::schema {

// Strata's packed form.
inline constexpr int64_t kFormatVersion = 1;
inline constexpr const char* kTokens = "tokens";                       // [T]
inline constexpr const char* kOffsets = "offsets";                     // [N+1, 2] into T and M
inline constexpr const char* kFirstLengths = "first_segment_lengths";  // [N]
inline constexpr const char* kMaskedPositions =
    "masked_lm_positions";                                            // [M], MLPerf: [N, P] or rows
inline constexpr const char* kMaskedIds = "masked_lm_ids";            // like the positions
inline constexpr const char* kNextSentence = "next_sentence_labels";  // [N] in every form

// MLPerf's forms.
inline constexpr const char* kInputIds = "input_ids";               // [N, L] or rows
inline constexpr const char* kInputMask = "input_mask";             // [N, L]
inline constexpr const char* kMaskedWeights = "masked_lm_weights";  // in TFRecords: 1, then 0
inline constexpr const char* kSegmentIds = "segment_ids";           // [N, L] or rows

// Optional, in every form.
inline constexpr const char* kDocuments = "documents";  // [N, 2]

// Attributes of the file.
inline constexpr const char* kVersionAttribute = "format_version";
inline constexpr const char* kVocabularySizeAttribute = "vocabulary_size";
inline constexpr const char* kMaxLengthAttribute = "max_sequence_length";
inline constexpr const char* kMaxPredictionsAttribute = "max_predictions_per_sequence";
inline constexpr const char* kSeedAttribute = "seed";
inline constexpr const char* kTextHashAttribute = "text_hash";
inline constexpr const char* kMadeFromAttribute = "made_from";

}  // namespace strata::data::schema
