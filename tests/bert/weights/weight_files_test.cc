// Files of weights that users may have: wrong ones, and several that belong together.
#include <unistd.h>

#include <cstring>

#include "base/files/files.h"
#include "bert/weights/other_file.h"
#include "bert/weights/safetensors.h"
#include "bert/weights/sharded_safetensors.h"
#include "bert/weights/weights.h"
#include "tests/bert/errors.h"
#include "tests/bert/weights/small_config.h"

namespace strata::bert {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

class WeightFiles : public testing::Test {
 protected:
  WeightFiles() { fs::create_directories(folder_); }
  ~WeightFiles() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& bytes) {
    write_file_atomically(folder_ / name, bytes);
    return folder_ / name;
  }
  LoadedWeights load(const fs::path& path) { return load_weights(layout_, path, 9); }
  void expect_refused(const fs::path& path, const std::vector<std::string>& parts) {
    std::vector<std::string> all = parts;
    all.push_back(path.string());
    expect_error([&] { load(path); }, all);
  }

  // Writes the model in two shards with their index, as transformers does: the encoder's tensors in
  // the first.
  fs::path write_shards() {
    std::vector<NamedTensor> shards[2];
    std::string map;
    for (const Parameter& p : layout_.all) {
      const int shard = p.hugging_face.starts_with("cls.");
      shards[shard].push_back(
          {p.hugging_face,
           p.rows == 1 ? std::vector<int64_t>{p.cols} : std::vector<int64_t>{p.rows, p.cols},
           {weights_.data() + p.offset, static_cast<size_t>(p.size())}});
      map += (map.empty() ? "" : ", ") + ("\"" + p.hugging_face + "\": \"" + kShards[shard] + "\"");
    }
    for (int shard = 0; shard < 2; ++shard)
      write_safetensors(folder_ / kShards[shard], shards[shard]);
    return write("model.safetensors.index.json",
                 "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {" + map + "}}");
  }

  static constexpr const char* kShards[] = {"model-00001-of-00002.safetensors",
                                            "model-00002-of-00002.safetensors"};
  fs::path folder_ =
      fs::path(testing::TempDir()) / ("strata-weight-files." + std::to_string(::getpid()));
  ParameterLayout layout_{small_config()};
  HostWeights weights_ = random_weights(layout_, 3);
};

TEST_F(WeightFiles, OtherFilesAreRefusedWithARemedy) {
  struct Case {
    const char* name;
    std::string bytes;
    std::vector<std::string> parts;
  };
  const Case cases[] = {
      {"model.safetensors",
       "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 90868376\n",
       {"Git LFS pointer", "git lfs pull"}},
      {"model.safetensors", "\n<!DOCTYPE html>\n<html><body>401</body></html>", {"web page"}},
      {"model.safetensors", "<HTML><HEAD>", {"web page"}},
      {"model.safetensors",
       "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
       {"XML"}},
      {"pytorch_model.bin",
       "PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0archive/data.pkl"s,
       {"PyTorch", "save_pretrained"}},
      {"pytorch_model.bin",
       "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.",
       {"pickle", "save_pretrained"}},
      {"tf_model.h5", "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0"s, {"HDF5", "save_pretrained"}},
      {"model.safetensors.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03"s, {"gzip", "gunzip"}},
      {"model.gguf", "GGUF\x03\0\0\0\0\0\0\0"s, {"GGUF"}},
      {"model.safetensors", "", {"is empty"}},
      {"checkpoint",
       "model_checkpoint_path: \"model.ckpt-28252\"\nall_model_checkpoint_paths: "
       "\"model.ckpt-28252\"\n",
       {"list of checkpoints", "/model.ckpt-28252"}},
      {"config.json", "{\n  \"hidden_size\": 64, \"vocab_size\": 50\n}\n", {"model.config"}},
      {"pytorch_model.bin.index.json",
       "{\"weight_map\": {\"a\": \"pytorch_model-1.bin\"}}",
       {"index of shards", "save_pretrained"}},
      {"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n", {"is text"}},
  };
  for (const Case& c : cases) expect_refused(write(c.name, c.bytes), c.parts);
}

TEST_F(WeightFiles, AFolderIsNamedWithTheFileInIt) {
  expect_refused(folder_, {"is a folder without weights"});
  write("pytorch_model.bin", "PK");
  expect_refused(folder_, {"is a folder", "pytorch_model.bin", "pickle"});
  write("model.ckpt-7.index", "x");
  expect_refused(folder_, {"give a TensorFlow checkpoint in it", "/model.ckpt-7"});
  write("model.safetensors", "x");
  expect_refused(folder_, {"give a file in it", "/model.safetensors"});
  write_shards();
  expect_refused(folder_, {"/model.safetensors.index.json"});
}

TEST_F(WeightFiles, SinglePartsOfATensorFlowCheckpointAreNamed) {
  expect_refused(write("model.ckpt-7.data-00000-of-00001", "x"),
                 {"part of a TensorFlow checkpoint", "model.ckpt-7.index is missing"});
  expect_refused(write("model.ckpt-8.meta", "x"), {"model.ckpt-8.index is missing"});
  write("model.ckpt-9.index", "version https://git-lfs.github.com/spec/v1\n");
  expect_error([&] { load(folder_ / "model.ckpt-9"); }, {"model.ckpt-9.index", "Git LFS pointer"});
}

TEST_F(WeightFiles, ShardsAreReadByTheirIndex) {
  const LoadedWeights loaded = load(write_shards());
  EXPECT_EQ(loaded.values, weights_);
  EXPECT_TRUE(loaded.initialised.empty());
  EXPECT_TRUE(loaded.unused.empty());
}

// The first shard has all required tensors, so loading it alone would reinitialise the heads.
TEST_F(WeightFiles, AShardAloneIsRefused) {
  write_shards();
  expect_refused(folder_ / kShards[0], {"is shard 1 of 2", "/model.safetensors.index.json"});
  expect_refused(folder_ / kShards[1], {"is shard 2 of 2"});
  fs::copy_file(folder_ / kShards[0], folder_ / "model-00001-of-00001.safetensors");
  EXPECT_FALSE(load(folder_ / "model-00001-of-00001.safetensors").initialised.empty());
}

TEST_F(WeightFiles, WrongIndexesOfShardsAreRefused) {
  const fs::path index = write_shards();
  const std::string whole = read_file(index);
  for (const char* text :
       {"[1]", "{}", "{\"weight_map\": 1}", "{\"weight_map\": {}}", "{\"weight_map\": {\"a\": 1}}",
        "{\"weight_map\": {\"a\": \"../x.safetensors\"}}",
        "{\"weight_map\": {\"a\": \"/etc/passwd\"}}",
        "{\"weight_map\": {\"a\": \"x/y.safetensors\"}}", "{\"weight_map\": {\"a\": \"x.bin\"}}"}) {
    expect_refused(write(index.filename().string(), text), {});
  }
  const std::string first = "cls.predictions.bias";
  std::string text = whole;
  text.replace(text.find(kShards[1], text.find(first)), std::strlen(kShards[1]), kShards[0]);
  expect_refused(write(index.filename().string(), text), {first, "is not in", kShards[0]});
  write(index.filename().string(), whole);
  fs::copy_file(folder_ / kShards[0], folder_ / kShards[1], fs::copy_options::overwrite_existing);
  expect_refused(index, {"is in", kShards[0], kShards[1]});
  write(kShards[1], "version https://git-lfs.github.com/spec/v1\n");
  expect_error([&] { load(index); }, {kShards[1], "Git LFS pointer"});
  fs::remove(folder_ / kShards[1]);
  expect_refused(index, {kShards[1], "is missing"});
}

}  // namespace
}  // namespace strata::bert
