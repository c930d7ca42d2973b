// The contract a hardware vendor implements: every operation the benchmark runs on a device.
//
// Rules. No operation allocates device memory once its shapes have been seen; none waits for the
// host (CPU backends simply finish before they return). Tensors are row-major and contiguous, in
// device memory, owned by the caller. T is the number of tokens of a packed batch: sequences follow
// each other without padding. Weights are [out, in]. Gradients overwrite their destination, which
// may hold anything (without rows they are zero), or, where `accumulate` is set, are added to it;
// those of embedding tables are always added. Activations and the weights that operations read are
// of `compute_dtype()`; parameter gradients, master weights, optimizer state and saved statistics
// are of `master_dtype()`.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/dropout.h"
#include "device/dtype.h"
#include "device/host_device.h"
#include "device/step_value.h"

namespace strata::device {

// A matrix in device memory that somebody else owns; a vector has one row. `data` null: absent.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  // Of 8 bits: device memory, [2], a power of two that numbers were multiplied by before they were
  // rounded, and its inverse.
  const float* scale = nullptr;

  STRATA_HOST_DEVICE int64_t size() const { return rows * cols; }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype); }
  STRATA_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
  template <typename T>
  STRATA_HOST_DEVICE T* as() const {
    return static_cast<T*>(data);
  }
};

struct ConstTensor {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  const float* scale = nullptr;

  ConstTensor() = default;
  ConstTensor(const void* data_, DType dtype_, int64_t rows_, int64_t cols_)
      : data(data_), dtype(dtype_), rows(rows_), cols(cols_) {}
  ConstTensor(const Tensor& t)
      : data(t.data), dtype(t.dtype), rows(t.rows), cols(t.cols), scale(t.scale) {}
  STRATA_HOST_DEVICE int64_t size() const { return rows * cols; }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype); }
  STRATA_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
  template <typename T>
  STRATA_HOST_DEVICE const T* as() const {
    return static_cast<const T*>(data);
  }
};

// How the T rows of a packed batch divide into sequences (device pointers).
struct Sequences {
  int32_t count = 0;                     // B
  int32_t tokens = 0;                    // T = cu_seqlens[B]
  int32_t max_length = 0;                // no sequence is longer
  int32_t min_length = 0;                // no sequence is shorter
  const int32_t* cu_seqlens = nullptr;   // [B+1], first token of each sequence
  const uint64_t* sample_ids = nullptr;  // [B], key of each sample's dropout
};

// What an operation writes of an output for products in 8 bits: its numbers times a scale, rounded
// to the nearest, or to the largest where they exceed it. Whether they are rounded to the output's
// dtype before is up to the backend. Only where T and the columns are multiples of 16.
struct Float8Copy {
  // Of the output's shape; kE4M3 of weights and activations, kE5M2 of gradients. Absent: none.
  Tensor codes;
  // Device memory: raised to max |x|; null: nobody looks.
  float* largest = nullptr;

  STRATA_HOST_DEVICE explicit operator bool() const { return codes || largest; }
};

enum class Activation : uint8_t { kNone, kGelu /* exact, erf */, kGeluTanh, kTanh };

// Of linear layers, both operands of a product are of the compute dtype, or both of 8 bits: kE4M3
// for x and weight, kE5M2 for dy.

// y = activation(x weight^T + bias).
struct LinearForward {
  ConstTensor x;       // [T, in]
  ConstTensor weight;  // [out, in]
  ConstTensor bias;    // [out]
  Activation activation = Activation::kNone;
  Tensor pre_activation;  // [T, out] kept for backward; absent: not stored
  Tensor y;               // [T, out]; only its shape where y_float8 has codes: not stored
  Float8Copy y_float8;
};

// dx = (dy weight) * activation'(pre_activation), or dx += dy weight where `accumulate`.
struct LinearDataGradient {
  ConstTensor dy;                             // [T, out]
  ConstTensor weight;                         // [out, in]
  Activation activation = Activation::kNone;  // of the layer that produced x
  ConstTensor pre_activation;                 // [T, in], absent for kNone
  bool accumulate = false;                    // only with kNone, and without dx_float8
  Tensor dx;  // [T, in]; only its shape where dx_float8 has codes: not stored
  Float8Copy dx_float8;
};

// d_weight = dy^T x, d_bias = column sums of dy; or += where `accumulate`.
struct LinearWeightGradient {
  ConstTensor x;   // [T, in]
  ConstTensor dy;  // [T, out]
  bool accumulate = false;
  Tensor d_weight;  // [out, in] master dtype
  Tensor d_bias;    // [out] master dtype
};

// dx = dy * activation'(pre_activation); dx may be dy.
struct ActivationBackward {
  Activation activation = Activation::kNone;
  ConstTensor dy;              // [M, n]
  ConstTensor pre_activation;  // [M, n]
  Tensor dx;                   // [M, n]
};

// Self-attention inside every sequence: softmax(q k^T / sqrt(d)), dropout, times v.
struct AttentionForward {
  ConstTensor qkv;  // [T, 3H]: query, key, value, each heads x d
  Sequences sequences;
  int32_t heads = 0;
  Dropout dropout;  // row: head * 65536 + query position, column: key position
  Tensor context;   // [T, H]
  Float8Copy context_float8;
  Tensor log_sum_exp;  // [T, heads] master dtype: of the scaled scores of each row
};

struct AttentionBackward {
  ConstTensor qkv;          // [T, 3H]
  ConstTensor context;      // [T, H]
  ConstTensor d_context;    // [T, H]
  ConstTensor log_sum_exp;  // [T, heads] master dtype
  Sequences sequences;
  int32_t heads = 0;
  Dropout dropout;
  Tensor d_qkv;  // [T, 3H]; only its shape where d_qkv_float8 has codes: not stored
  Float8Copy d_qkv_float8;
};

// y = LayerNorm(residual + dropout(x)).
struct ResidualLayerNormForward {
  ConstTensor x;         // [T, H]
  ConstTensor residual;  // [T, H], absent: none
  ConstTensor gamma;     // [H]
  ConstTensor beta;      // [H]
  float epsilon = 1e-12f;
  Dropout dropout;        // row: position in the sequence, column: hidden unit
  Sequences sequences;    // may be empty where dropout is off
  Tensor normalized;      // [T, H] kept for backward; absent: not stored
  Tensor inverse_stddev;  // [T] master dtype, kept for backward; absent: not stored
  Tensor y;               // [T, H]
  Float8Copy y_float8;
};

struct ResidualLayerNormBackward {
  ConstTensor dy;              // [T, H]
  ConstTensor normalized;      // [T, H]
  ConstTensor inverse_stddev;  // [T] master dtype
  ConstTensor gamma;           // [H]
  Dropout dropout;
  Sequences sequences;
  Tensor d_x;  // [T, H] gradient of x; only its shape where d_x_float8 has codes: not stored
  Float8Copy d_x_float8;
  Tensor d_residual;  // [T, H] gradient of the residual, absent: none; never the same memory as d_x
  bool accumulate = false;  // into d_gamma and d_beta
  Tensor d_gamma;           // [H] master dtype
  Tensor d_beta;            // [H] master dtype
};

// y = dropout(LayerNorm(word[token] + position[position] + segment[segment])).
struct EmbeddingsForward {
  const int32_t* token_ids = nullptr;    // [T]
  const int32_t* segment_ids = nullptr;  // [T]
  const int32_t* positions = nullptr;    // [T]
  Sequences sequences;
  ConstTensor word;      // [V, H]
  ConstTensor position;  // [P, H]
  ConstTensor segment;   // [2, H]
  ConstTensor gamma;     // [H]
  ConstTensor beta;      // [H]
  float epsilon = 1e-12f;
  Dropout dropout;        // row: position in the sequence, column: hidden unit
  Tensor normalized;      // [T, H] kept for backward; absent: not stored
  Tensor inverse_stddev;  // [T] master dtype; absent: not stored
  Tensor y;               // [T, H]
  Float8Copy y_float8;
};

struct EmbeddingsBackward {
  const int32_t* token_ids = nullptr;    // [T]
  const int32_t* segment_ids = nullptr;  // [T]
  const int32_t* positions = nullptr;    // [T]
  Sequences sequences;
  ConstTensor dy;              // [T, H]
  ConstTensor normalized;      // [T, H]
  ConstTensor inverse_stddev;  // [T] master dtype
  ConstTensor gamma;           // [H]
  Dropout dropout;
  Tensor d_word;            // [V, H] master dtype, added to
  Tensor d_position;        // [P, H] master dtype, added to
  Tensor d_segment;         // [2, H] master dtype, added to
  bool accumulate = false;  // into d_gamma and d_beta
  Tensor d_gamma;           // [H] master dtype
  Tensor d_beta;            // [H] master dtype
};

// y[i] = x[rows[i]], or 0 where rows[i] is -1.
struct GatherRows {
  ConstTensor x;                  // [T, H]
  const int32_t* rows = nullptr;  // [M], each in [-1, T)
  Tensor y;                       // [M, H]
};

// dx[rows[i]] += dy[i], except where rows[i] is -1; the others are distinct.
struct ScatterAddRows {
  ConstTensor dy;                 // [M, H]
  const int32_t* rows = nullptr;  // [M], each in [-1, T)
  Tensor dx;                      // [T, H], added to
};

// What a loss operation counts; accumulates over calls until cleared.
struct LossTotals {
  double loss = 0;      // sum of cross-entropies in nats
  int64_t correct = 0;  // rows whose label has the highest score; ties go to the lower class
  int64_t count = 0;    // rows

  double mean() const { return count > 0 ? loss / static_cast<double>(count) : 0.0; }
  double accuracy() const {
    return count > 0 ? static_cast<double>(correct) / static_cast<double>(count) : 0.0;
  }
  LossTotals& operator+=(const LossTotals& other) {
    loss += other.loss;
    correct += other.correct;
    count += other.count;
    return *this;
  }
};

// Softmax cross-entropy of x weight^T + bias against labels, and its gradient, without keeping the
// probabilities. Serves the masked-LM head (C = vocabulary) and the next-sentence head (C = 2). A
// row labelled -1 has no loss and no gradients, and is not counted.
struct ClassifierLoss {
  ConstTensor x;                    // [M, H]
  ConstTensor weight;               // [C, H]
  ConstTensor bias;                 // [C]
  const int32_t* labels = nullptr;  // [M], each in [-1, C)
  StepValue<float> gradient_scale;  // d(total loss)/d(row's cross-entropy)
  Tensor d_x;                       // [M, H]; absent: evaluation only, no gradients are computed
  bool accumulate = false;          // into d_weight and d_bias
  Tensor d_weight;                  // [C, H] master dtype
  Tensor d_bias;                    // [C] master dtype
  LossTotals* totals = nullptr;     // device memory, added to
};

// destination = scale * source, converting between dtypes; in place where they are the same tensor.
struct Convert {
  ConstTensor source;  // [n]
  float scale = 1.0f;
  Tensor destination;  // [n]
};

// norm_squared += sum of squares, accumulated in double.
struct L2NormSquared {
  ConstTensor x;                   // [n]
  double* norm_squared = nullptr;  // device memory
};

// x *= min(1, max_norm / sqrt(norm_squared)).
struct ClipToNorm {
  Tensor x;                              // [n]
  const double* norm_squared = nullptr;  // device memory
  float max_norm = 1.0f;
};

// What makes up for moments that start at zero: 1 / (1 - beta^t) of both.
struct BiasCorrections {
  double first = 1;
  double second = 1;
};

// After step t, from 1.
inline BiasCorrections bias_corrections(double beta1, double beta2, int64_t step) {
  const auto t = static_cast<double>(step);
  return {1 / (1 - std::pow(beta1, t)), 1 / (1 - std::pow(beta2, t))};
}

// Adam with decoupled weight decay and bias correction (Loshchilov & Hutter 2019, algorithm 2) over
// a flat range, in one pass that also writes the weights compute reads: g' = scale * g, scale =
// gradient_scale * min(1, max_norm / sqrt(norm_squared)) where norm_squared is given; m = b1 m +
// (1-b1) g'; v = b2 v + (1-b2) g'^2; w -= lr * (c1 m / (sqrt(c2 v) + epsilon) + weight_decay * w),
// where c1 and c2 are the corrections.
struct AdamUpdate {
  Tensor weights;          // [n] master dtype
  Tensor compute_weights;  // [n] compute dtype; absent where compute reads the master weights
  ConstTensor gradients;   // [n] master dtype
  Tensor first_moment;     // [n] master dtype
  Tensor second_moment;    // [n] master dtype
  StepValue<float> learning_rate;
  StepValue<BiasCorrections> corrections;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0;
  float gradient_scale = 1.0f;
  const double* norm_squared = nullptr;  // device memory; null: no clipping
  float max_norm = 1.0f;
};

// Sums of squares over one tensor, of which LAMB's trust ratio is made.
struct LambNorms {
  double weights = 0;    // ||w||^2
  double direction = 0;  // ||u||^2

  LambNorms& operator+=(const LambNorms& other) {
    weights += other.weights;
    direction += other.direction;
    return *this;
  }
  // ||w|| / ||u||, 1 where either is zero.
  STRATA_HOST_DEVICE double trust_ratio() const {
    return weights > 0 && direction > 0 ? std::sqrt(weights / direction) : 1.0;
  }
};

// The first half of LAMB (You et al. 2020, algorithm 2) over a flat range that lies in one tensor,
// as MLCommons' TensorFlow reference has it (lamb_optimizer_v1.py): both moments are corrected for
// their bias, and epsilon is added after the root. g' is Adam's; m = b1 m + (1-b1) g'; v = b2 v +
// (1-b2) g'^2; u = c1 m / (sqrt(c2 v) + epsilon) + weight_decay * w, where c1 and c2 are the
// corrections, takes the gradient's place; norms += sums of w^2 and u^2. The sums are accumulated
// in double and depend on the range alone, not on how many threads there are, so that ranks stay
// equal to the bit.
struct LambDirection {
  ConstTensor weights;   // [n] master dtype
  Tensor gradients;      // [n] master dtype, in: g, out: u
  Tensor first_moment;   // [n] master dtype
  Tensor second_moment;  // [n] master dtype
  StepValue<BiasCorrections> corrections;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-6f;
  float weight_decay = 0;
  float gradient_scale = 1.0f;
  const double* norm_squared = nullptr;  // device memory; null: no clipping
  float max_norm = 1.0f;
  LambNorms* norms = nullptr;  // device memory, added to
};

// The second half, once the whole tensor's directions are there: w -= lr * trust_ratio * u.
struct LambApply {
  Tensor weights;                    // [n] master dtype
  Tensor compute_weights;            // [n] compute dtype; absent where compute reads the weights
  ConstTensor directions;            // [n] master dtype: the gradients' memory
  const LambNorms* norms = nullptr;  // device memory
  StepValue<float> learning_rate;
};

// Writes a tensor for products in 8 bits.
struct RoundToFloat8 {
  ConstTensor x;  // compute dtype
  Float8Copy copy;
};

// Scales of n tensors for the next step, from the largest values of the last kFloat8History steps,
// of which `largest` has the newest: float8_scale of their maximum.
struct Float8Update {
  float* scales = nullptr;   // [n, 2]: scale, its inverse
  float* largest = nullptr;  // [n], cleared
  float* history = nullptr;  // [n, kFloat8History], newest first
  int64_t count = 0;         // n
  float limit = 1.0f;        // the format's largest number
};

// What runs concurrently. Operations on one stream happen in order.
enum class Stream : uint8_t { kCompute, kReduce, kCopy };

// A point in a stream; 0 is a point already passed.
using Event = uint64_t;

// A device with memory of its own, as system descriptions name it.
struct Accelerator {
  std::string name;
  int64_t memory_bytes = 0;
};

// Operations that were kept instead of run (Backend::keep).
class Recording {
 public:
  virtual ~Recording() = default;
  // Issues them again, in the order they were kept in, after what kCompute was given so far; what
  // any stream but kCopy is given from now on follows them.
  virtual void replay() = 0;
};

// Notes when streams get to points of their work.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  // A mark after what `stream` was given so far, not within kept work. Returns its number, from 0.
  virtual size_t mark(Stream stream) = 0;
  // When the streams got to each mark, in ns of std::chrono::steady_clock: waits for them, then
  // forgets the marks.
  virtual std::vector<int64_t> read() = 0;
};

// Operations may be called from several threads at once as long as each stream is used by one at a
// time.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;         // "cpu", "reference", "cuda"
  virtual std::string description() const = 0;  // device and instruction set, for people
  // Where memory is not the host's.
  virtual std::optional<Accelerator> accelerator() const { return {}; }
  virtual DType compute_dtype() const = 0;
  virtual DType master_dtype() const = 0;
  virtual bool memory_is_host() const { return true; }  // the host may read and write it
  // Whether products can be in 8 bits, be it by computing what they would give. Where they cannot,
  // no tensor is of 8 bits and every Float8Copy is empty.
  virtual bool has_float8() const { return true; }
  // Operations whose numbers of rows round up to the same multiple of this share what was found to
  // be fastest, which the first of them waits for; 0: nothing is tried.
  virtual int64_t rows_tried_together() const { return 0; }
  // The stream as CUDA's libraries know it (a cudaStream_t), its GPU now the calling thread's; null
  // where streams are not CUDA's.
  virtual void* cuda_stream(Stream) { return nullptr; }

  // 64-byte aligned, zeroed device memory. Throws Error where there is not enough.
  virtual void* allocate(size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  // 64-byte aligned host memory that copies to and from the device need not be waited for.
  virtual void* allocate_host(size_t bytes);
  virtual void release_host(void* memory);
  // Of other host memory a copy may make the host wait.
  virtual void copy_to_device(Stream stream, void* device, const void* host, size_t bytes) = 0;
  virtual void copy_to_host(Stream stream, void* host, const void* device, size_t bytes) = 0;
  virtual void fill_zero(Stream stream, void* device, size_t bytes) = 0;
  // A copy of a few bytes, at most kMostStored, that should not make the host wait, though this
  // one does; `values` may be changed at once.
  virtual void store(Stream stream, void* device, const void* values, size_t bytes);
  static constexpr size_t kMostStored = 64;

  virtual Event record(Stream stream) = 0;            // a point after everything issued so far
  virtual void wait(Stream stream, Event event) = 0;  // what follows on `stream` runs after `event`
  virtual void synchronize(Stream stream) = 0;        // the host waits for everything issued

  // This one has the host wait at every mark. Outlived by the backend.
  virtual std::unique_ptr<Stopwatch> make_stopwatch();

  // Keeps what `issue` issues on kCompute, and on streams that it makes wait for kCompute, instead
  // of running it. `issue` joins those streams to kCompute again, waits for no point recorded
  // before, and does not synchronize; all of it has run before with the same shapes. Null where the
  // device cannot do this: then nothing is issued.
  virtual std::unique_ptr<Recording> keep(const std::function<void()>& issue);
  // Within `issue`, once all streams are joined: instead of being called now, `call` is called at
  // this place of every replay, for what must not be kept. Elsewhere just calls it.
  virtual void each_time(const std::function<void()>& call);

  virtual void linear_forward(Stream, const LinearForward&) = 0;
  virtual void linear_data_gradient(Stream, const LinearDataGradient&) = 0;
  virtual void linear_weight_gradient(Stream, const LinearWeightGradient&) = 0;
  virtual void activation_backward(Stream, const ActivationBackward&) = 0;
  virtual void attention_forward(Stream, const AttentionForward&) = 0;
  virtual void attention_backward(Stream, const AttentionBackward&) = 0;
  virtual void residual_layernorm_forward(Stream, const ResidualLayerNormForward&) = 0;
  virtual void residual_layernorm_backward(Stream, const ResidualLayerNormBackward&) = 0;
  virtual void embeddings_forward(Stream, const EmbeddingsForward&) = 0;
  virtual void embeddings_backward(Stream, const EmbeddingsBackward&) = 0;
  virtual void gather_rows(Stream, const GatherRows&) = 0;
  virtual void scatter_add_rows(Stream, const ScatterAddRows&) = 0;
  virtual void classifier_loss(Stream, const ClassifierLoss&) = 0;
  virtual void convert(Stream, const Convert&) = 0;
  virtual void l2_norm_squared(Stream, const L2NormSquared&) = 0;
  virtual void clip_to_norm(Stream, const ClipToNorm&) = 0;
  virtual void adam_update(Stream, const AdamUpdate&) = 0;
  virtual void lamb_direction(Stream, const LambDirection&) = 0;
  virtual void lamb_apply(Stream, const LambApply&) = 0;
  virtual void round_to_float8(Stream, const RoundToFloat8&) = 0;
  virtual void float8_update(Stream, const Float8Update&) = 0;
};

// Device memory of `backend` that is released with its owner; movable.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Backend& backend, size_t bytes)
      : backend_(&backend), data_(backend.allocate(bytes)), bytes_(bytes) {}
  ~Buffer() {
    if (data_) backend_->release(data_);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void swap(Buffer& other) {
    std::swap(backend_, other.backend_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Backend* backend_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// Host memory for copies to and from `backend`'s device, released with its owner.
class HostBuffer {
 public:
  HostBuffer(Backend& backend, size_t bytes)
      : backend_(&backend), data_(backend.allocate_host(bytes)) {}
  ~HostBuffer() {
    if (data_) backend_->release_host(data_);
  }
  HostBuffer(HostBuffer&& other) noexcept
      : backend_(other.backend_), data_(std::exchange(other.data_, nullptr)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(data_, other.data_);
    return *this;
  }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  Backend* backend_;
  void* data_;
};

}  // namespace strata::device
