// Compares BERT's evaluations with the rules' formula. Counts come from the published rounds.
#include "compliance/review/evaluation_schedule.h"

#include <limits>

#include "tests/compliance/review/runs.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

// Returns a run with evaluations after first, first + distance, ... samples.
RunRecord bert_run(double batch, double first, double distance, int evaluations) {
  RunRecord run = run_of(0, 0, 60);
  run.submission = {{"benchmark", {"bert", 1}}, {"division", {"closed", 2}}};
  run.numbers = {{"global_batch_size", {batch, 3}},
                 {"train_samples", {156725653, 4}},
                 {"eval_samples", {10000, 5}}};
  for (int i = 0; i < evaluations; ++i)
    run.evaluations.push_back({kDay0 + i, first + distance * i, static_cast<uint64_t>(100 + i)});
  return run;
}

Ids schedule_ids(const RunRecord& run) { return ids_of(review_evaluations(run, "2.0.0")); }

TEST(EvaluationSchedule, AScheduleThatFollowsTheFormulaHasNoFinding) {
  EXPECT_EQ(schedule_ids(bert_run(448, 150080, 150080, 17)),
            Ids{});  // whole batches, each rounded up
  EXPECT_EQ(schedule_ids(bert_run(3072, 175000, 175000, 15)), Ids{});   // samples
  EXPECT_EQ(schedule_ids(bert_run(14336, 292432, 299281, 16)), Ids{});  // rounded down
  EXPECT_EQ(schedule_ids(bert_run(16384, 327680, 327680, 9)), Ids{});
  EXPECT_EQ(schedule_ids(bert_run(448, 150080, 0, 1)), Ids{});
}

TEST(EvaluationSchedule, SampleZeroMayBeEvaluated) {
  EXPECT_EQ(schedule_ids(bert_run(3072, 0, 175104, 15)), Ids{});
}

TEST(EvaluationSchedule, AFirstEvaluationOffTheFormulaIsNoticed) {
  const auto late = review_evaluations(bert_run(3072, 190464, 175104, 15), "2.0.0");
  ASSERT_EQ(ids_of(late), Ids{"review/evaluation/first"});
  EXPECT_EQ(late[0].offset, 100u);
  EXPECT_THAT(late[0].text, HasSubstr("after 190,464 samples, 5.03 batches late"));
  const auto early = review_evaluations(bert_run(3072, 0, 175104, 15), "2.0.0");
  EXPECT_EQ(ids_of(early), Ids{});
  EXPECT_EQ(schedule_ids(bert_run(3072, 170000, 175104, 15)), Ids{"review/evaluation/first"});
}

TEST(EvaluationSchedule, OneBatchLateHasNoFinding) {
  EXPECT_EQ(schedule_ids(bert_run(4096, 180342, 175000, 15)), Ids{});
  EXPECT_EQ(schedule_ids(bert_run(4096, 184320, 175000, 15)), Ids{"review/evaluation/first"});
}

TEST(EvaluationSchedule, Round07HasItsOwnSchedule) {
  EXPECT_EQ(ids_of(review_evaluations(bert_run(448, 3000000, 500000, 4), "0.7.0")), Ids{});
}

TEST(EvaluationSchedule, CountsOfEvaluationsHaveNoFinding) {
  EXPECT_EQ(schedule_ids(bert_run(448, 1, 1, 18)), Ids{});
}

TEST(EvaluationSchedule, MoreEvaluationsThanTheFormulaAreNoticed) {
  // A run that evaluates twice as often finds the target sooner.
  const auto doubts = review_evaluations(bert_run(448, 150080, 75040, 40), "2.0.0");
  ASSERT_EQ(ids_of(doubts), Ids{"review/evaluation/interval"});
  EXPECT_THAT(doubts[0].text, HasSubstr("39 of 40 evaluations"));
  EXPECT_THAT(doubts[0].text,
              HasSubstr("the evaluation of this line is 75,040 samples after the previous one"));
}

TEST(EvaluationSchedule, ASkippedEvaluationIsNoticedAtItsLine) {
  RunRecord run = bert_run(448, 150080, 150080, 17);
  run.evaluations.erase(run.evaluations.begin() + 5);
  const auto doubts = review_evaluations(run, "2.0.0");
  ASSERT_EQ(ids_of(doubts), Ids{"review/evaluation/interval"});
  EXPECT_EQ(doubts[0].offset, 106u);
}

TEST(EvaluationSchedule, TheOpenDivisionIsNotReviewed) {
  RunRecord run = bert_run(448, 75000, 1000, 40);
  run.submission["division"].text = "open";
  EXPECT_EQ(schedule_ids(run), Ids{});
}

TEST(EvaluationSchedule, ConstantCountsAreReviewedByTheTrainSamples) {
  RunRecord run = bert_run(448, 1, 0, 18);
  EXPECT_FALSE(counts_samples(run));
  EXPECT_EQ(schedule_ids(run), Ids{"review/evaluation/count"});
  run.numbers["train_samples"].value = 2700096;  // 18 times 150,005
  EXPECT_EQ(schedule_ids(run), Ids{});
  run.evaluations.resize(15);
  run.numbers["global_batch_size"].value = 6144;
  run.numbers["train_samples"].value = 3379200;
  const auto doubts = review_evaluations(run, "2.0.0");
  ASSERT_EQ(ids_of(doubts), Ids{"review/evaluation/interval"});
  EXPECT_THAT(doubts[0].text, HasSubstr("one per 225,280 samples"));
}

TEST(EvaluationSchedule, TrainSamplesMustBeTheReferencesOrTheRuns) {
  RunRecord run = bert_run(3072, 175104, 175104, 15);  // to 2,626,560
  for (const double agrees : {156725653.0, 2626560.0, 2800000.0}) {
    run.numbers["train_samples"].value = agrees;
    EXPECT_EQ(schedule_ids(run), Ids{}) << agrees;
  }
  for (const double differs : {1751040.0, 3502080.0, 0.0, -1.0, 1e18}) {
    run.numbers["train_samples"].value = differs;
    EXPECT_EQ(schedule_ids(run), Ids{"review/data/train-samples"}) << differs;
  }
  run.numbers.erase("train_samples");  // the rules then give the number
  EXPECT_EQ(schedule_ids(run), Ids{});
}

// Returns a run of a benchmark that counts epochs.
RunRecord run_in_epochs(const std::string& benchmark, std::vector<double> counts,
                        double batch = 56) {
  RunRecord run = bert_run(batch, 0, 0, 0);
  run.submission["benchmark"].text = benchmark;
  run.numbers.erase("train_samples");
  run.numbers.erase("eval_samples");
  for (const double count : counts)
    run.evaluations.push_back(
        {kDay0 + count, count, count > 0 && count < 1e6 ? static_cast<uint64_t>(count) : 0});
  return run;
}

TEST(EvaluationSchedule, EpochSchedulesOfTheRulesHaveNoFinding) {
  for (const double offset : {0, 1, 2, 3, 4})
    EXPECT_EQ(schedule_ids(run_in_epochs("resnet", {offset, offset + 4, offset + 8})), Ids{});
  EXPECT_EQ(schedule_ids(run_in_epochs("maskrcnn", {1, 2, 2, 3})), Ids{});  // one logged twice
  EXPECT_EQ(schedule_ids(run_in_epochs("ssd", {1, 2, 3})), Ids{});
  EXPECT_EQ(ids_of(review_evaluations(run_in_epochs("ssd", {5, 10, 15}), "1.1.0")), Ids{});
  EXPECT_EQ(schedule_ids(run_in_epochs("unet3d", {1000, 1020, 1040})), Ids{});
  // 4 batches of 48 are 192 samples per epoch.
  EXPECT_EQ(schedule_ids(run_in_epochs("unet3d", {875, 893, 911}, 48)), Ids{});
}

TEST(EvaluationSchedule, OtherEpochSchedulesAreNoticed) {
  const Ids both = {"review/evaluation/first", "review/evaluation/interval"};
  EXPECT_EQ(schedule_ids(run_in_epochs("resnet", {5, 9, 13})), Ids{"review/evaluation/first"});
  const auto often = review_evaluations(run_in_epochs("resnet", {3, 7, 8, 9}), "2.0.0");
  ASSERT_EQ(ids_of(often), Ids{"review/evaluation/interval"});
  EXPECT_EQ(often[0].offset, 8u);
  EXPECT_THAT(
      often[0].text,
      HasSubstr("2 of 4 evaluations are off schedule: the round's rules require 4 epochs between "
                "evaluations; the evaluation of this line is 1 epoch after the previous one"));
  EXPECT_EQ(schedule_ids(run_in_epochs("ssd", {5, 10, 15})), both);
  EXPECT_EQ(ids_of(review_evaluations(run_in_epochs("ssd", {1, 2, 3}), "1.1.0")),
            Ids{"review/evaluation/interval"});
  EXPECT_EQ(schedule_ids(run_in_epochs("unet3d", {1000, 1020}, 48)), both);
  EXPECT_EQ(schedule_ids(run_in_epochs("unet3d", {500, 510})), both);
  RunRecord open = run_in_epochs("resnet", {7, 8});
  open.submission["division"].text = "open";
  EXPECT_EQ(schedule_ids(open), Ids{});
}

TEST(EvaluationSchedule, EpochSchedulesAcceptAnyNumbers) {
  for (const double batch : {0.0, -1.0, 0.5, 1e18, 1e300, 1e12, 1e-300}) {
    for (const double count : {0.0, -1e300, 1e300, 1e-300})
      schedule_ids(run_in_epochs("unet3d", {count, 2 * count, -count}, batch));
  }
  RunRecord run = run_in_epochs("rnnt", {1, 5});
  run.evaluations[1].count.reset();
  EXPECT_EQ(schedule_ids(run), Ids{});
  EXPECT_EQ(schedule_ids(run_in_epochs("rnnt", {})), Ids{});
}

TEST(EvaluationSchedule, SizesOfDataMustBeTheReferences) {
  RunRecord run = bert_run(3072, 175104, 175104, 15);
  run.numbers["eval_samples"].value = 9999;
  const auto doubts = review_evaluations(run, "2.0.0");
  ASSERT_EQ(ids_of(doubts), Ids{"review/data/eval-samples"});
  EXPECT_EQ(doubts[0].offset, 5u);
  run.submission["benchmark"].text = "resnet";
  run.evaluations.clear();
  run.numbers["train_samples"].value = 1281167;
  run.numbers["eval_samples"].value = 50000;
  EXPECT_EQ(schedule_ids(run), Ids{});
  run.numbers["train_samples"].value = 1281168;
  EXPECT_EQ(schedule_ids(run), Ids{"review/data/train-samples"});
  run.evaluations.clear();
  // SSD was trained on other data from round 2.0 on.
  run.submission["benchmark"].text = "ssd";
  const Ids both = {"review/data/train-samples", "review/data/eval-samples"};
  EXPECT_EQ(ids_of(review_evaluations(run, "1.1.0")), both);
  EXPECT_EQ(schedule_ids(run), both);
  EXPECT_EQ(ids_of(review_evaluations(run, "2.1.0")), Ids{});  // its logs have not been checked
  // maskrcnn's logs hold an iteration limit.
  run.submission["benchmark"].text = "maskrcnn";
  EXPECT_EQ(schedule_ids(run), Ids{});
}

TEST(EvaluationSchedule, SsdCountsSamplesOrBatches) {
  RunRecord run = run_in_epochs("ssd", {1, 2, 3}, 256);
  const auto ids = [&](double train, double eval) {
    run.numbers["train_samples"] = {train, 4};
    run.numbers["eval_samples"] = {eval, 5};
    return schedule_ids(run);
  };
  EXPECT_EQ(ids(1170301, 24781), Ids{});
  EXPECT_EQ(ids(4572, 97), Ids{});
  EXPECT_EQ(ids(4571, 97), Ids{"review/data/train-samples"});
  EXPECT_EQ(ids(4572, 96), Ids{"review/data/eval-samples"});
  const auto doubts = review_evaluations(run, "2.0.0");
  EXPECT_THAT(
      doubts[0].text,
      HasSubstr("eval_samples is 96, but the reference data have 24,781 or 97 batches of 256"));
  run.numbers.erase("global_batch_size");
  EXPECT_EQ(ids(4571, 96), Ids{});
}

TEST(EvaluationSchedule, RnntCountsSamplesOfWholeBatches) {
  const auto ids = [](double batch, double train) {
    RunRecord run = run_in_epochs("rnnt", {1, 2, 3}, batch);
    run.numbers["train_samples"] = {train, 4};
    run.numbers["eval_samples"] = {2703, 5};
    return schedule_ids(run);
  };
  for (const auto& [batch, train] : {std::pair{512, 278528},
                                     {1520, 278160},
                                     {1536, 278016},
                                     {2048, 278528},
                                     {6144, 276480},
                                     {6144, 282624},
                                     {1, 279000}}) {
    EXPECT_EQ(ids(batch, train), Ids{}) << batch;
  }
  for (const auto& [batch, train] : {std::pair{512, 278016},
                                     {512, 279552},
                                     {2048, 276480},
                                     {6144, 270336},
                                     {1, 278527},
                                     {64, 281241}}) {
    EXPECT_EQ(ids(batch, train), Ids{"review/data/train-samples"}) << batch << " " << train;
  }
}

TEST(EvaluationSchedule, AcceptsAnyNumbers) {
  for (const double batch : {0.0, -1.0, 0.5, 1e18, 1e300, 1e12}) {
    for (const double count : {0.0, -1e300, 1e300, 1e18, 1e-300}) {
      RunRecord run = bert_run(batch, count, count, 20);
      for (const char* benchmark : {"rnnt", "ssd", "bert"}) {
        run.submission["benchmark"].text = benchmark;
        run.numbers["train_samples"].value = run.numbers["eval_samples"].value = count;
        review_evaluations(run, "2.0.0");
      }
      for (const Doubt& doubt : review_evaluations(run, "2.0.0"))
        EXPECT_LT(doubt.text.size(), 1000u);
    }
  }
  RunRecord run = bert_run(448, 150080, 150080, 17);
  run.evaluations[3].count.reset();
  EXPECT_EQ(schedule_ids(run), Ids{"review/evaluation/count"});
  run.evaluations.clear();
  EXPECT_EQ(schedule_ids(run), Ids{});
  EXPECT_EQ(ids_of(review_evaluations(RunRecord(), "")), Ids{});
}

}  // namespace
}  // namespace strata::compliance
