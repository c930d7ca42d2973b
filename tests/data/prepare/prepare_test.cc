#include "data/prepare/prepare.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <set>

#include "data/files/convert.h"
#include "data/text/corpus.h"
#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

void ignore(std::string_view) {}

// Writes the King James Bible with scripts/data/kjv_to_text.sh; returns an empty string without the
// Debian package.
std::string king_james_text(const std::filesystem::path& file) {
  const std::string script = std::string(STRATA_SOURCE_DIR) + "/scripts/data/kjv_to_text.sh";
  const std::string command = fmt::format("'{}' '{}' 2>/dev/null", script, file.string());
  return std::system(command.c_str()) == 0 ? read_file(file) : "";
}

// Returns a vocabulary with every word and sign of ASCII `text`.
std::string vocabulary_of(const std::string& text) {
  std::set<std::string> entries;
  std::string current;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      current += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (!current.empty()) entries.insert(current);
    current.clear();
    if (std::ispunct(static_cast<unsigned char>(c))) entries.insert(std::string(1, c));
  }
  if (!current.empty()) entries.insert(current);
  std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const std::string& entry : entries) lines += entry + "\n";
  return lines;
}

// Documents of sentences in words that few documents share, with one sentence that all share.
std::string synthetic_text(size_t documents) {
  std::string text;
  for (size_t d = 0; d < documents; ++d) {
    for (size_t s = 0; s < 4 + d % 5; ++s) {
      for (size_t i = 0; i < 6 + (d * s) % 9; ++i) text += word((d * 31 + s * 7 + i) % 400) + " ";
      text += ".\n";
    }
    text += "and it was so .\n\n";
  }
  return text;
}

class Prepare : public testing::Test {
 protected:
  Prepare() {
    options_.text = {directory_ / "text.txt"};
    options_.vocabulary = directory_ / "vocab.txt";
    options_.out = directory_ / "out";
    options_.eval_every = 5;
    options_.recipe.max_length = 64;
    options_.recipe.max_predictions = 10;
    options_.recipe.dupe_factor = 3;
    options_.threads = 2;
    set_text(synthetic_text(60));
  }
  void set_text(const std::string& text) {
    write_file_atomically(options_.text[0], text);
    write_file_atomically(options_.vocabulary, vocabulary_of(text));
  }
  PrepareSummary run() { return prepare(options_, ignore); }
  std::string error() {
    return error_of([&] { run(); });
  }

  // Proves from the files and the text that no text of evaluation documents is trained on. Every
  // training segment is consecutive text of its named document. No named document is held out, and
  // no held-out sentence is among the training sentences.
  void expect_no_evaluation_text_in_training() {
    const Vocabulary vocabulary = Vocabulary::read(options_.vocabulary);
    const Corpus corpus = read_raw_text(options_.text, vocabulary, 2);
    const std::vector<bool> held_out = choose_held_out(corpus.documents(), options_);
    std::set<std::vector<int32_t>> eval_sentences;
    const auto each_sentence = [&](bool eval, const auto& visit) {
      for (size_t d = 0; d < corpus.documents(); ++d) {
        if (held_out[d] != eval) continue;
        for (size_t s = corpus.document_offsets[d]; s < corpus.document_offsets[d + 1]; ++s) {
          const auto sentence = corpus.sentence(s);
          visit(d, std::vector<int32_t>(sentence.begin(), sentence.end()));
        }
      }
    };
    each_sentence(true, [&](size_t, std::vector<int32_t> sentence) {
      eval_sentences.insert(std::move(sentence));
    });
    std::map<uint32_t, std::vector<int32_t>> train_text;  // without the held-out sentences
    each_sentence(false, [&](size_t document, const std::vector<int32_t>& sentence) {
      if (eval_sentences.contains(sentence)) return;
      auto& text = train_text[static_cast<uint32_t>(document)];
      text.insert(text.end(), sentence.begin(), sentence.end());
    });

    const auto check = [&](const char* name, bool eval, const auto& has_text) {
      const auto source = open_instances(options_.out / name, {vocabulary.size(), 512});
      const std::vector<uint32_t> documents = source->documents();
      ASSERT_EQ(documents.size(), 2 * source->size()) << name;
      const Instances instances = load_instances(*source);
      for (size_t i = 0; i < instances.size(); ++i) {
        ASSERT_EQ(held_out[documents[2 * i]], eval) << name << " sample " << i;
        ASSERT_EQ(held_out[documents[2 * i + 1]], eval) << name << " sample " << i;
        const Unmasked text = unmask(instances, i);
        ASSERT_TRUE(has_text(documents[2 * i], text.first)) << name << " sample " << i;
        ASSERT_TRUE(has_text(documents[2 * i + 1], text.second)) << name << " sample " << i;
      }
    };
    check("train.hdf5", false, [&](uint32_t document, const std::vector<int32_t>& segment) {
      const auto& text = train_text[document];
      return std::search(text.begin(), text.end(), segment.begin(), segment.end()) != text.end();
    });
    check("eval.hdf5", true, [](uint32_t, const std::vector<int32_t>&) { return true; });
  }

  TemporaryDirectory directory_;
  PrepareOptions options_;
};

TEST_F(Prepare, NoEvaluationTextIsTrainedOn) {
  const PrepareSummary summary = run();
  EXPECT_GE(summary.repeated_sentences, 48u);  // the one that every training document shares
  expect_no_evaluation_text_in_training();
}

TEST_F(Prepare, NoEvaluationTextOfTheKingJamesBibleIsTrainedOn) {
  const std::string text = king_james_text(directory_ / "kjv.txt");
  if (text.empty()) GTEST_SKIP() << "the Debian package bible-kjv is not installed";
  set_text(text);
  options_.eval_every = 20;
  options_.recipe = Recipe();
  options_.recipe.dupe_factor = 1;
  const PrepareSummary summary = run();
  EXPECT_EQ(summary.train.documents + summary.eval->documents, 1189u);
  EXPECT_EQ(summary.train.sentences + summary.eval->sentences + summary.repeated_sentences, 31102u);
  expect_no_evaluation_text_in_training();
}

TEST_F(Prepare, TheSummaryAgreesWithTheFiles) {
  const PrepareSummary summary = run();
  EXPECT_FALSE(summary.skipped);
  EXPECT_EQ(summary.train.documents, 48u);
  ASSERT_TRUE(summary.eval.has_value());
  EXPECT_EQ(summary.eval->documents, 12u);
  for (const FileSummary& part : {summary.train, *summary.eval}) {
    const auto source = open_instances(part.path);
    PackedBatch batch;
    source->read(all_samples(*source), batch);
    EXPECT_EQ(part.instances, source->size());
    EXPECT_EQ(part.tokens, batch.tokens.size());
    EXPECT_EQ(part.targets.masked, batch.masked_ids.size());
    EXPECT_DOUBLE_EQ(part.mean_length, static_cast<double>(batch.tokens.size()) / source->size());
    const auto most =
        std::count(batch.masked_ids.begin(), batch.masked_ids.end(), part.targets.most_frequent);
    EXPECT_DOUBLE_EQ(part.targets.share,
                     static_cast<double>(most) / static_cast<double>(batch.masked_ids.size()));
    for (const int32_t id : batch.masked_ids) {
      EXPECT_LE(std::count(batch.masked_ids.begin(), batch.masked_ids.end(), id), most);
    }
  }
}

TEST_F(Prepare, WorkIsSkippedIfItWouldGiveTheSameFiles) {
  run();
  const std::string before = read_file(options_.out / "train.hdf5");
  EXPECT_TRUE(run().skipped);
  options_.force = true;
  EXPECT_FALSE(run().skipped);
  // The same seed gives the same bytes.
  EXPECT_TRUE(read_file(options_.out / "train.hdf5") == before);
  options_.force = false;
  options_.recipe.seed = 1;
  EXPECT_FALSE(run().skipped);
  EXPECT_FALSE(read_file(options_.out / "train.hdf5") == before);
  set_text(synthetic_text(61));
  EXPECT_FALSE(run().skipped);
  std::filesystem::remove(options_.out / "eval.hdf5");
  EXPECT_FALSE(run().skipped);
  EXPECT_TRUE(run().skipped);
  write_file_atomically(options_.out / "eval.hdf5", "damaged");
  EXPECT_FALSE(run().skipped);
}

TEST_F(Prepare, EveryFormHoldsTheSameInstances) {
  std::vector<PackedBatch> batches;
  for (const InstanceForm form : kAllForms) {
    options_.form = form;
    run();
    const auto source = open_instances(options_.out / "train.hdf5", {.variable_length = true});
    source->read(all_samples(*source), batches.emplace_back());
  }
  for (size_t i = 1; i < batches.size(); ++i) {
    EXPECT_EQ(batches[i].tokens, batches[0].tokens);
    EXPECT_EQ(batches[i].segments, batches[0].segments);
    EXPECT_EQ(batches[i].masked_positions, batches[0].masked_positions);
    EXPECT_EQ(batches[i].masked_ids, batches[0].masked_ids);
    EXPECT_EQ(batches[i].next_sentence, batches[0].next_sentence);
  }
}

TEST_F(Prepare, HoldingOutNothingMakesNoEvaluationFile) {
  options_.eval_every = 0;
  const PrepareSummary summary = run();
  EXPECT_FALSE(summary.eval.has_value());
  EXPECT_EQ(summary.repeated_sentences, 0u);
  EXPECT_FALSE(std::filesystem::exists(options_.out / "eval.hdf5"));
}

TEST_F(Prepare, DocumentsAreHeldOutEvenly) {
  EXPECT_EQ(choose_held_out(10, options_), (std::vector<bool>{0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
  options_.eval_documents = 2;
  EXPECT_EQ(choose_held_out(10, options_), (std::vector<bool>{0, 0, 1, 0, 0, 0, 0, 1, 0, 0}));
  for (uint32_t documents = 2; documents < 40; ++documents) {
    for (options_.eval_documents = 1; options_.eval_documents < documents;
         ++options_.eval_documents) {
      const std::vector<bool> held_out = choose_held_out(documents, options_);
      EXPECT_EQ(std::count(held_out.begin(), held_out.end(), true), options_.eval_documents);
    }
  }
}

TEST_F(Prepare, HoldingOutMoreThanThereIsIsRefused) {
  options_.eval_documents = 60;
  EXPECT_TRUE(contains(error(), "60 documents, all of which would be held out"));
  options_.eval_documents = 0;
  options_.eval_every = 1;
  EXPECT_TRUE(contains(error(), "all of which would be held out"));
  options_.eval_every = 61;
  EXPECT_TRUE(contains(error(), "60 documents, too few to hold out every 61th"));
}

TEST_F(Prepare, BadInputsAreNamedAndNothingIsWritten) {
  options_.text = {directory_ / "missing.txt"};
  EXPECT_TRUE(contains(error(), "missing.txt: cannot open"));
  write_file_atomically(directory_ / "missing.txt", "\n \n");
  EXPECT_TRUE(contains(error(), "missing.txt: no text in 1 file(s)"));
  write_file_atomically(options_.vocabulary, "[UNK]\n[CLS]\n[SEP]\n");
  EXPECT_TRUE(contains(error(), "vocab.txt: the vocabulary of 3 entries lacks [MASK]"));
  options_.recipe.max_length = 2;
  EXPECT_TRUE(contains(error(), "max-length is 2"));
  EXPECT_TRUE(!std::filesystem::exists(options_.out) || std::filesystem::is_empty(options_.out));
}

TEST_F(Prepare, AnUnwritableDirectoryIsNamedBeforeAnyWork) {
  options_.out = options_.text[0] / "out";
  options_.text = {directory_ / "missing.txt"};
  EXPECT_TRUE(contains(error(), "text.txt/out: cannot create the output directory: "));
}

TEST_F(Prepare, ADirectoryWithoutWritePermissionIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "permissions do not stop the superuser";
  std::filesystem::create_directories(options_.out);
  std::filesystem::permissions(options_.out, std::filesystem::perms::owner_read);
  EXPECT_TRUE(contains(error(), "out: cannot write into the output directory"));
  std::filesystem::permissions(options_.out, std::filesystem::perms::owner_all);
}

TEST_F(Prepare, AFullDiskKeepsTheOldFilesAndLeavesNothingElse) {
  run();
  const std::string before = read_file(options_.out / "train.hdf5");
  options_.recipe.seed = 2;
  {
    const FullDisk full_disk(20000);
    EXPECT_TRUE(contains(error(), "train.hdf5: cannot write: "));
  }
  EXPECT_TRUE(read_file(options_.out / "train.hdf5") == before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(options_.out), {}), 4)
      << "two files and their indexes";
}

}  // namespace
}  // namespace strata::data
