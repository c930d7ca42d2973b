// Compares logs with their system's description. Names and counts come from the published rounds.
#include "compliance/review/described_system.h"

#include "tests/compliance/review/runs.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

RunRecord run_saying(const std::map<std::string, std::string>& submission) {
  RunRecord run = run_of(0, 0, 1);
  uint64_t offset = 10;
  for (const auto& [key, text] : submission) run.submission[key] = {text, offset += 10};
  return run;
}

const RunRecord kRun = run_saying({{"org", "NVIDIA"},
                                   {"division", "closed"},
                                   {"benchmark", "bert"},
                                   {"status", "onprem"},
                                   {"platform", "8xNVIDIA DGX A100"}});
const DescribedSystem kSystem{"NVIDIA", "closed", "onprem", "NVIDIA A100-SXM4-80GB", 8, 8};

Ids system_ids(const RunRecord& run, const DescribedSystem& system) {
  return ids_of(review_system(run, system, "bert"));
}

TEST(DescribedSystem, IsReadFromItsFile) {
  const DescribedSystem system = read_described_system(R"({"submitter": "Azure",
      "division": "open", "status": "cloud", "number_of_nodes": "16", "accelerators_per_node": 8,
      "accelerator_model_name": "NVIDIA A100-SXM4-80GB"})");
  EXPECT_EQ(system.submitter, "Azure");
  EXPECT_EQ(system.division, "open");
  EXPECT_EQ(system.status, "cloud");
  EXPECT_EQ(system.accelerator, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(system.nodes, 16);
  EXPECT_EQ(system.accelerators_per_node, 8);
  EXPECT_EQ(read_described_system(R"({"number_of_nodes": 1.0})").nodes, 1);
}

TEST(DescribedSystem, AnyTextCanBeRead) {
  for (const char* text : {"", "{", "[]", "{\"submitter\": }", "null", "\xff\xfe",
                           R"({"number_of_nodes": "-1", "accelerators_per_node": 1e18})",
                           R"({"number_of_nodes": "99999999999", "accelerators_per_node": ""})",
                           R"({"number_of_nodes": [1], "accelerators_per_node": null})"}) {
    const DescribedSystem system = read_described_system(text);
    EXPECT_EQ(system.nodes, std::nullopt) << text;
    EXPECT_EQ(system.accelerators_per_node, std::nullopt) << text;
    EXPECT_EQ(system_ids(kRun, system), Ids{}) << text;
  }
}

TEST(DescribedSystem, AMatchingSystemHasNoFinding) {
  EXPECT_EQ(system_ids(kRun, kSystem), Ids{});
  EXPECT_EQ(system_ids(run_saying({}), kSystem), Ids{});
}

TEST(DescribedSystem, ALogOfAnotherSubmitterIsNoticed) {
  DescribedSystem azure = kSystem;
  azure.submitter = "Azure";
  const auto doubts = review_system(kRun, azure, "bert");
  ASSERT_EQ(ids_of(doubts), Ids{"review/system/submitter"});
  EXPECT_EQ(doubts[0].offset, kRun.submission.at("org").offset);
  EXPECT_THAT(doubts[0].text, HasSubstr("'NVIDIA'"));
  EXPECT_THAT(doubts[0].text, HasSubstr("'Azure'"));
}

TEST(DescribedSystem, NamesOfOneCompanyAgree) {
  for (const auto& [logged, described] :
       std::vector<std::pair<std::string, std::string>>{{"Graphcore Ltd.", "Graphcore"},
                                                        {"Habana", "Intel-HabanaLabs"},
                                                        {"SAMSUNG", "Samsung"},
                                                        {"google", "Google"},
                                                        {"!?", "Google"}}) {
    DescribedSystem system = kSystem;
    system.submitter = described;
    EXPECT_EQ(system_ids(run_saying({{"org", logged}}), system), Ids{}) << logged;
  }
  // A name of two letters does not match every name that contains them.
  DescribedSystem system = kSystem;
  system.submitter = "ASUSTeK";
  EXPECT_EQ(system_ids(run_saying({{"org", "US"}}), system), Ids{"review/system/submitter"});
}

TEST(DescribedSystem, DivisionBenchmarkAndStatusAreCompared) {
  DescribedSystem system = kSystem;
  system.division = "open";
  EXPECT_EQ(system_ids(kRun, system), Ids{"review/system/division"});
  EXPECT_EQ(ids_of(review_system(kRun, kSystem, "resnet")), Ids{"review/system/benchmark"});
  system = kSystem;
  for (const char* agrees : {"Available on-premise", "onprem", "available", ""}) {
    system.status = agrees;
    EXPECT_EQ(system_ids(kRun, system), Ids{}) << agrees;
  }
  for (const char* differs :
       {"Available cloud", "cloud", "Preview", "Research, Development, or Internal (RDI)"}) {
    system.status = differs;
    EXPECT_EQ(system_ids(kRun, system), Ids{"review/system/status"}) << differs;
  }
}

TEST(DescribedSystem, PlatformsCountNodes) {
  EXPECT_EQ(counted_nodes("128xNVIDIA DGX A100"), 128);
  EXPECT_EQ(counted_nodes("1 x NVIDIA A100 GPU"), 1);
  EXPECT_EQ(counted_nodes("2xXE8545x4A100-SXM-40GB"), 2);
  for (const char* none :
       {"", "x", "8", "8x", "tpu-v4-4096", "2048", "PaddlePaddle", "99999999999999999999x"}) {
    EXPECT_EQ(counted_nodes(none), std::nullopt) << none;
  }
  EXPECT_EQ(system_ids(run_saying({{"platform", "9xNVIDIA DGX A100"}}), kSystem),
            Ids{"review/system/nodes"});
}

TEST(DescribedSystem, PlatformsCountAccelerators) {
  const char* kModel = "NVIDIA A100-PCIE-80GB";
  EXPECT_EQ(counted_accelerators("1xDSS8440x10A100-PCIE-80GB", kModel), 10);
  EXPECT_EQ(counted_accelerators("X640 G40(8x A100-PCIe)+GPUBOX(6x A100-PCIe)", kModel), 14);
  EXPECT_EQ(counted_accelerators("SD650-N_V2_4xA100-SXM-80GB-500W", kModel), 4);
  EXPECT_EQ(counted_accelerators("8x a100", kModel), 8);
  for (const char* none :
       {"128xNVIDIA DGX A100", "ND96A100", "A100", "1xG492-ID0", "", "12345678901234567890xA100"}) {
    EXPECT_EQ(counted_accelerators(none, kModel), std::nullopt) << none;
  }
  EXPECT_EQ(counted_accelerators("gaudi-8", "Habana Gaudi"), std::nullopt);
  EXPECT_EQ(counted_accelerators(std::string(1 << 20, 'x') + "8xA100", kModel), 8);

  DescribedSystem dell{"Dell", "closed", "onprem", kModel, 1, 8};
  EXPECT_EQ(system_ids(run_saying({{"platform", "1xDSS8440x10A100-PCIE-80GB"}}), dell),
            Ids{"review/system/accelerators"});
  EXPECT_EQ(system_ids(run_saying({{"platform", "1xDSS8440x8A100-PCIE-80GB"}}), dell), Ids{});
  // A count of the whole system's accelerators, or at the name's front, is no number of nodes.
  dell.nodes = 2;
  EXPECT_EQ(system_ids(run_saying({{"platform", "16xA100"}}), dell), Ids{});
  dell.nodes = 1;
  EXPECT_EQ(system_ids(run_saying({{"platform", "8xA100_80GB-baseline"}}), dell), Ids{});
}

// Numbers before a name count nodes, accelerators of a node or of all, or boards of two.
TEST(DescribedSystem, ANumberMayCountNodesOrAcceleratorsOrBoards) {
  struct Case {
    const char *platform, *model;
    double nodes, a_node;
    const char* id;  // empty: none
  };
  for (const Case& one : std::vector<Case>{{"64xNVIDIA GB200", "NVIDIA GB200", 64, 4, ""},
                                           {"2xNVIDIA GB200", "NVIDIA GB200", 2, 4, ""},
                                           {"36xGB200", "NVIDIA GB200", 18, 4, ""},
                                           {"4xMI300X", "AMD Instinct MI300X", 4, 8, ""},
                                           {"8xMI300X", "AMD Instinct MI300X", 4, 8, ""},
                                           {"32xMI300X", "AMD Instinct MI300X", 4, 8, ""},
                                           {"8xGaudi2", "Intel Gaudi 2", 4, 8, ""},
                                           {"AS-4124 A100", "NVIDIA A100", 1, 8, ""},
                                           {"SYS-420 8x A100", "NVIDIA A100", 1, 8, ""},
                                           {"5xGaudi2", "Intel Gaudi 2", 4, 8, "nodes"},
                                           {"5xH100", "NVIDIA H100", 1, 8, "accelerators"},
                                           {"DSS-4xH100", "NVIDIA H100", 1, 8, "accelerators"}}) {
    const DescribedSystem system{"", "", "", one.model, one.nodes, one.a_node};
    const std::string id = one.id;
    EXPECT_EQ(system_ids(run_saying({{"platform", one.platform}}), system),
              id.empty() ? Ids{} : Ids{"review/system/" + id})
        << one.platform;
  }
}

TEST(DescribedSystem, OrganisationsHaveManySpellings) {
  const std::pair<const char*, const char*> same[] = {
      {"Intel-HabanaLabs", "HabanaLabs, an Intel company"},
      {"Habana Labs Intel", "Intel-HabanaLabs"},
      {"IntelHabana", "Habana"},
      {"HPE", "Hewlett Packard Enterprise"},
      {"QCT", "Quanta Cloud Technology"},
      {"Quanta_Cloud_Technology", "QCT"},
      {"TACC", "Texas Advanced Computing Center"},
      {"LBNL", "Lawrence Berkeley National Laboratory"},
      {"NVIDIA+CoreWeave", "CoreWeave + NVIDIA"},
      {"Supermicro", "Super Micro Computer"},
      {"Supemicro", "SUPERMICRO"},
      {"Giga Computing", "GIGABYTE"},
      {"Fujitsu/RIKEN", "RIKEN"},
      {"ASUS", "ASUSTeK"},
      {"Z\xc3\xbcrich", "Z\xc3\xbcrich"}};
  for (const auto& [a, b] : same) {
    EXPECT_TRUE(same_organisation(a, b)) << a << ", " << b;
    EXPECT_TRUE(same_organisation(b, a)) << a << ", " << b;
  }
  const std::pair<const char*, const char*> differ[] = {{"NVIDIA", "Azure"},
                                                        {"Dell", "Intel"},
                                                        {"H3C", "HPE"},
                                                        {"Google", "Graphcore"},
                                                        {"Nettrix", "NVIDIA"},
                                                        {"Cloud Systems", "Data Systems"},
                                                        {"Oracle Cloud", "Google Cloud"},
                                                        {"Fujitsu", "Inspur"},
                                                        {"Lambda", "Lenovo"}};
  for (const auto& [a, b] : differ) {
    EXPECT_FALSE(same_organisation(a, b)) << a << ", " << b;
    EXPECT_FALSE(same_organisation(b, a)) << a << ", " << b;
  }
}

TEST(DescribedSystem, BenchmarksHaveSeveralNames) {
  RunRecord run = run_saying({{"benchmark", "ssd"}});
  EXPECT_EQ(ids_of(review_system(run, {}, "retinanet")), Ids{});
  run.submission["benchmark"].text = "dlrm_dcnv2";
  EXPECT_EQ(ids_of(review_system(run, {}, "dlrm")), Ids{});
  run.submission["benchmark"].text = "llama31_8b";
  EXPECT_EQ(ids_of(review_system(run, {}, "llama31_405b")), Ids{"review/system/benchmark"});
}

TEST(DescribedSystem, CountsOfTheLogAreCompared) {
  RunRecord run = kRun;
  run.numbers["number_of_nodes"] = {8, 500};
  run.numbers["accelerators_per_node"] = {8, 600};
  EXPECT_EQ(system_ids(run, kSystem), Ids{});
  run.numbers["number_of_nodes"].value = 1e18;
  run.numbers["accelerators_per_node"].value = 0;
  const auto doubts = review_system(run, kSystem, "bert");
  ASSERT_EQ(ids_of(doubts), (Ids{"review/system/nodes", "review/system/accelerators"}));
  EXPECT_EQ(doubts[0].offset, 500u);
}

TEST(DescribedSystem, PlaceholdersAreNoticed) {
  EXPECT_EQ(system_ids(run_saying({{"platform", "8xSUBMISSION_PLATFORM_PLACEHOLDER"}}), kSystem),
            Ids{"review/system/placeholder"});
  EXPECT_EQ(system_ids(run_saying({{"org", "SUBMISSION_ORG_PLACEHOLDER"}}), kSystem),
            Ids{"review/system/placeholder"});
}

TEST(DescribedSystem, IsReadAsUtf8) {
  const DescribedSystem system = read_described_system("{\"submitter\": \"Z\xc3\xbcrich\"}");
  EXPECT_EQ(system.submitter, "Z\xc3\xbcrich");
  EXPECT_EQ(read_described_system(R"({"submitter": "Z\u00fcrich"})").submitter, "Z\xc3\xbcrich");
}

TEST(DescribedSystem, SpellingsOfOneNameAreNotMixed) {
  std::vector<RunRecord> runs(2, kRun);
  runs[1].submission["org"].text = "Nvidia Corporation";
  runs[1].submission["platform"].text = "8XNVIDIA-DGX-A100";
  EXPECT_EQ(ids_of(review_same_system(runs)), Ids{});
}

TEST(DescribedSystem, DifferentSystemsInOneFolderAreNoticed) {
  std::vector<RunRecord> runs(6, kRun);
  EXPECT_EQ(ids_of(review_same_system(runs)), Ids{});
  runs[2].submission.clear();  // the log names nothing
  EXPECT_EQ(ids_of(review_same_system(runs)), Ids{});
  for (size_t i = 1; i < 6; ++i) {
    runs[i] = run_saying({{"platform", "dgx" + std::to_string(i) + "\n"}});
    runs[i].path = "bert/result_" + std::to_string(i) + ".txt";
  }
  const auto findings = review_same_system(runs);
  ASSERT_EQ(ids_of(findings), Ids{"review/system/mixed"});
  EXPECT_EQ(findings[0].path, "bert/result_1.txt");
  EXPECT_THAT(findings[0].text,
              HasSubstr(R"('8xNVIDIA DGX A100', 'dgx1\x0a', 'dgx2\x0a', 'dgx3\x0a' and 2 more)"));
}

}  // namespace
}  // namespace strata::compliance
