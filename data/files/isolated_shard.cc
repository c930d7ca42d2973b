#include "data/files/isolated_shard.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/hdf5/reader_process.h"

namespace strata::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "strata-hdf5";
constexpr const char* kAdvice = "the file is damaged, copy it or make it again";

enum class Task : uint8_t { kOpen, kReadIndex, kRead, kReadDocuments, kClose, kDescribe };
enum class Outcome : uint8_t { kDone, kError, kReadError, kNoMemory };

// A message consists of numbers, and of texts and vectors preceded by their sizes.
template <typename Number>
void put(std::string& message, Number value) {
  message.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <typename Values>
void put_all(std::string& message, const Values& values) {
  put(message, uint64_t{values.size()});
  message.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
}

class Parts {
 public:
  explicit Parts(std::string_view message) : rest_(message) {}

  template <typename Number>
  Number take() {
    Number value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  template <typename Values>
  Values take_all() {
    constexpr size_t kSize = sizeof(typename Values::value_type);
    const auto count = take<uint64_t>();
    if (count > rest_.size() / kSize) fail("a message of the process that reads HDF5 is too short");
    Values values(count, {});
    if (count > 0) std::memcpy(values.data(), next(count * kSize).data(), count * kSize);
    return values;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view next(size_t bytes) {
    if (bytes > rest_.size()) fail("a message of the process that reads HDF5 is too short");
    const std::string_view part = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return part;
  }
  std::string_view rest_;
};

struct Request {
  Task task = Task::kOpen;
  uint64_t shard = 0;
  bool variable_length = false;
  fs::path path;
  fs::path folder;  // base of relative paths
  uint32_t row = 0;
  int32_t length = 0, masked_count = 0;

  void put_into(std::string& message) const {
    put(message, task);
    put(message, shard);
    put(message, variable_length);
    put_all(message, path.native());
    put_all(message, folder.native());
    put(message, row);
    put(message, length);
    put(message, masked_count);
  }
  static Request from(Parts& parts) {
    Request out;
    out.task = parts.take<Task>();
    out.shard = parts.take<uint64_t>();
    out.variable_length = parts.take<bool>();
    out.path = parts.take_all<std::string>();
    out.folder = parts.take_all<std::string>();
    out.row = parts.take<uint32_t>();
    out.length = parts.take<int32_t>();
    out.masked_count = parts.take<int32_t>();
    return out;
  }
};

fs::path start_of(const fs::path& path) {
  std::error_code ignored;
  return path.is_absolute() ? fs::path() : fs::current_path(ignored);
}

// Ten times the need of the slowest kind of file, which is compressed and has all of its masks
// read.
int processor_seconds(const fs::path& path) {
  constexpr int kLeast = 5;
  constexpr double kPerGibibyte = 300, kMost = 1e6;
  std::error_code ignored;
  const auto bytes = static_cast<double>(fs::file_size(path, ignored));
  return kLeast + static_cast<int>(std::min(bytes / (1 << 30) * kPerGibibyte, kMost));
}

// ---- In the reader process

// Opens a shard at its first request, also after a crash of the previous process.
void perform(const Request& request, std::string& out) {
  static std::map<uint64_t, std::unique_ptr<InstanceShard>> shards;
  if (request.task == Task::kClose) {
    shards.erase(request.shard);
    return;
  }
  if (request.task == Task::kDescribe) {
    const InstanceFileInfo info = describe_hdf5(request.path);
    put(out, info.form);
    put(out, info.samples);
    put(out, info.vocabulary_size);
    put(out, info.max_length);
    put(out, info.max_predictions);
    put(out, info.seed);
    put_all(out, info.text_hash);
    put_all(out, info.made_from);
    for (const std::string& set : info.data_sets) put_all(out, set);
    return;
  }
  auto& shard = shards[request.shard];
  if (!shard) shard = open_shard(request.path, request.variable_length);
  if (request.task == Task::kReadIndex) {
    const ShardIndex index = shard->read_index();
    put_all(out, index.lengths);
    put_all(out, index.masked_counts);
  } else if (request.task == Task::kRead) {
    static RawSample sample;
    shard->read(request.row, request.length, request.masked_count, sample);
    put(out, sample.next_sentence);
    put_all(out, sample.tokens);
    put_all(out, sample.segments);
    put_all(out, sample.masked_positions);
    put_all(out, sample.masked_ids);
  } else if (request.task == Task::kReadDocuments) {
    put_all(out, shard->documents());
  }
}

std::string answer(std::string_view message) {
  const auto report = [](Outcome outcome, std::string_view what) {
    std::string out;
    put(out, outcome);
    return out.append(what);
  };
  try {
    std::string out;
    put(out, Outcome::kDone);
    for (Parts parts(message); !parts.rest().empty();) {
      const Request request = Request::from(parts);
      std::error_code ignored;  // opening the file reports the error
      if (!request.folder.empty()) fs::current_path(request.folder, ignored);
      limit_processor_time(processor_seconds(request.path));
      perform(request, out);
    }
    return out;
  } catch (const ReadError& error) {
    return report(Outcome::kReadError, error.what());
  } catch (const std::bad_alloc&) {
    return report(Outcome::kNoMemory, "");
  } catch (const std::exception& error) {
    return report(Outcome::kError, error.what());
  }
}

// Runs before main(), so that tests and benchmarks can serve, too.
[[gnu::constructor]] void serve(int argc, char** argv, char**) {
  serve_if_named(kName, argc, argv, answer);
}

// ---- In the program

class Reader {
 public:
  // Returns the answers to the requests, without their outcome. Several requests must be for rows.
  std::string ask(std::span<const Request> requests) {
    const std::lock_guard lock(mutex_);
    std::string answered;
    if (std::optional<std::string> all = try_asking(requests)) {
      answered = *std::move(all);
    } else {
      if (requests.size() == 1 && death_ != SIGKILL) fail_for(requests[0]);
      for (const Request& request : requests) {
        const std::string part = ask_again(request);
        answered.append(part, answered.empty() ? 0 : sizeof(Outcome));
      }
    }
    Parts parts(answered);
    const auto outcome = parts.take<Outcome>();
    answered.erase(0, sizeof outcome);
    if (outcome == Outcome::kError) throw Error(answered);
    if (outcome == Outcome::kReadError) throw ReadError(answered);
    if (outcome == Outcome::kNoMemory) throw std::bad_alloc();
    return answered;
  }

 private:
  std::optional<std::string> try_asking(std::span<const Request> requests) {
    std::string message;
    for (const Request& request : requests) request.put_into(message);
    if (!process_ || !process_->is_ours()) process_.emplace(kName);
    auto answered = process_->answer(message);
    if (!answered) {
      death_ = process_->death();
      process_.reset();
    }
    return answered;
  }

  // Repeats one request, which finds the file that crashed the process. If the process was killed
  // from outside, the request succeeds.
  std::string ask_again(const Request& request) {
    if (auto answered = try_asking({&request, 1})) return *std::move(answered);
    fail_for(request);
  }

  [[noreturn]] void fail_for(const Request& request) const {
    const std::string path = request.path.string();
    if (death_ == SIGKILL) {
      throw ReadError(path + ": the process that reads it was killed; memory may have run out");
    }
    if (death_ == SIGPROF) {
      fail("{}: the HDF5 library could not read it within {} s of processor time; {}", path,
           processor_seconds(request.path), kAdvice);
    }
    fail("{}: the HDF5 library crashes on it ({}); {}", path,
         death_ == 0 ? "it ended the process" : fmt::format("signal {}", death_), kAdvice);
  }

  std::mutex mutex_;
  std::optional<ReaderProcess> process_;
  int death_ = 0;  // signal of the last process that ended
};

// Never destroyed, because shards close at any time. The reader process ends with the program.
Reader& reader() {
  static Reader& reader = *new Reader;
  return reader;
}

// Checks the sizes, because a file may have damaged the reader process without ending it.
void take_sample(Parts& parts, const Request& request, RawSample& out) {
  out.next_sentence = parts.take<int32_t>();
  for (auto* values : {&out.tokens, &out.segments, &out.masked_positions, &out.masked_ids}) {
    *values = parts.take_all<std::vector<int32_t>>();
  }
  const auto length = static_cast<size_t>(request.length);
  const auto masked_count = static_cast<size_t>(request.masked_count);
  if (out.tokens.size() == length && out.segments.size() == length &&
      out.masked_positions.size() == masked_count && out.masked_ids.size() == masked_count) {
    return;
  }
  fail("{}: row {} was read with other lengths than its index has; {}", request.path.string(),
       request.row, kAdvice);
}

class IsolatedShard : public InstanceShard {
 public:
  IsolatedShard(const fs::path& path, bool variable_length)
      : request_{.shard = ++shards_,
                 .variable_length = variable_length,
                 .path = path,
                 .folder = start_of(path)} {
    ask(Task::kOpen);
  }
  ~IsolatedShard() override {
    try {
      ask(Task::kClose);
    } catch (const std::exception&) {  // the process is gone, and the shard with it
    }
  }

  ShardIndex read_index() const override {
    const std::string answered = ask(Task::kReadIndex);
    Parts parts(answered);
    ShardIndex index;
    index.lengths = parts.take_all<std::vector<int32_t>>();
    index.masked_counts = parts.take_all<std::vector<int32_t>>();
    if (index.lengths.size() != index.masked_counts.size()) {
      fail("{}: its index has unequal numbers of lengths and masked counts; {}",
           request_.path.string(), kAdvice);
    }
    return index;
  }

  void read(uint32_t row, int32_t length, int32_t masked_count, RawSample& out) const override {
    const Request request = request_for(row, length, masked_count);
    const std::string answered = reader().ask({&request, 1});
    Parts parts(answered);
    take_sample(parts, request, out);
  }

  Request request_for(uint32_t row, int32_t length, int32_t masked_count) const {
    Request request = request_;
    request.task = Task::kRead;
    request.row = row;
    request.length = length;
    request.masked_count = masked_count;
    return request;
  }

  std::vector<uint32_t> documents() const override {
    return Parts(ask(Task::kReadDocuments)).take_all<std::vector<uint32_t>>();
  }

 private:
  std::string ask(Task task) const {
    Request request = request_;
    request.task = task;
    return reader().ask({&request, 1});
  }

  static inline std::atomic<uint64_t> shards_ = 0;
  const Request request_;
};

}  // namespace

std::unique_ptr<InstanceShard> open_isolated(const fs::path& path, bool variable_length) {
  return std::make_unique<IsolatedShard>(path, variable_length);
}

void read_rows(std::span<const ShardRow> rows, std::vector<RawSample>& samples) {
  if (samples.size() < rows.size()) samples.resize(rows.size());
  std::vector<Request> requests;
  std::vector<RawSample*> wanted;
  for (size_t i = 0; i < rows.size(); ++i) {
    const ShardRow& row = rows[i];
    if (const auto* isolated = dynamic_cast<const IsolatedShard*>(row.shard.get())) {
      requests.push_back(isolated->request_for(row.row, row.length, row.masked_count));
      wanted.push_back(&samples[i]);
    } else {
      row.shard->read(row.row, row.length, row.masked_count, samples[i]);
    }
  }
  if (requests.empty()) return;
  const std::string answered = reader().ask(requests);
  Parts parts(answered);
  for (size_t i = 0; i < requests.size(); ++i) take_sample(parts, requests[i], *wanted[i]);
}

InstanceFileInfo describe_isolated(const fs::path& path) {
  const Request request = {.task = Task::kDescribe, .path = path, .folder = start_of(path)};
  const std::string answered = reader().ask({&request, 1});
  Parts parts(answered);
  InstanceFileInfo info;
  info.form = parts.take<InstanceForm>();
  info.samples = parts.take<uint64_t>();
  info.vocabulary_size = parts.take<int32_t>();
  info.max_length = parts.take<int32_t>();
  info.max_predictions = parts.take<int32_t>();
  info.seed = parts.take<uint64_t>();
  info.text_hash = parts.take_all<std::string>();
  info.made_from = parts.take_all<std::string>();
  while (!parts.rest().empty()) info.data_sets.push_back(parts.take_all<std::string>());
  return info;
}

}  // namespace strata::data
