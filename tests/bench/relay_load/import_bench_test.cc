#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "bench/import/import_campaign.h"
#include "bench/measure/temporary_directory.h"
#include "bench/relay/event_set.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class ImportBench : public testing::Test {
 protected:
  ImportBench() : scratch_(TemporaryDirectory::Make(fs::temp_directory_path()).value()) {}

  fs::path dir() const { return scratch_->path(); }
  std::string Contents(const fs::path& file) const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  ImportCampaign Campaign(const std::vector<Contender>& contenders) const {
    std::ofstream(dir() / "events.jsonl") << "one\ntwo\n";
    return {.contenders = contenders,
            .file = dir() / "events.jsonl",
            .events = 2,
            .repetitions = 2,
            .scratch = dir(),
            .results = dir() / "results",
            .command_line = "import_bench"};
  }

  std::unique_ptr<TemporaryDirectory> scratch_;
};

TEST_F(ImportBench, FiguresAreOfOneEvent) {
  const CommandCost cost{.wall = std::chrono::seconds(4),
                         .user = std::chrono::seconds(5),
                         .system = std::chrono::seconds(1),
                         .peak_mb = 300};
  std::map<std::string, double> values;
  for (const LoadFigure& figure : FiguresOf(cost, 100'000, 70'000'000)) values[figure.name] = figure.value;
  EXPECT_DOUBLE_EQ(values["rate"], 25'000);
  EXPECT_DOUBLE_EQ(values["CPU per event"], 60);
  EXPECT_DOUBLE_EQ(values["of it user"], 50);
  EXPECT_DOUBLE_EQ(values["peak memory"], 300);
  EXPECT_DOUBLE_EQ(values["disk"], 70);
  EXPECT_DOUBLE_EQ(values["disk per event"], 700);
}

TEST_F(ImportBench, EachRepetitionBeginsWithAnother) {
  EXPECT_EQ(OrderOf(3, 1), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(OrderOf(3, 2), (std::vector<size_t>{1, 2, 0}));
  EXPECT_EQ(OrderOf(3, 4), (std::vector<size_t>{0, 1, 2}));
}

TEST_F(ImportBench, EveryCommandGetsTheFileAndAnEmptyDirectory) {
  const std::string check = "test -z \"$(ls {db})\" && cp {file} {db}/ && wc -l < {file} >> ";
  const std::string seen = (dir() / "seen").string();
  const Status status = RunImportCampaign(Campaign({{"a", check + seen}, {"b", check + seen + " && true"}}));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Contents(dir() / "seen"), "2\n2\n2\n2\n");
  EXPECT_NE(Contents(dir() / "results/results.md").find("| figure | a | b | b : a |"), std::string::npos);
  EXPECT_NE(Contents(dir() / "results/results.csv").find(",b,2,import,rate,events/s,"), std::string::npos);
}

TEST_F(ImportBench, ACommandThatFailsEndsIt) {
  const Status status = RunImportCampaign(Campaign({{"good", "true"}, {"bad", "echo it is full >&2; exit 3"}}));
  EXPECT_EQ(status.message(), "bad: the command ended with status 3: it is full");
  EXPECT_NE(Contents(dir() / "results/results.csv").find(",good,1,"), std::string::npos);
}

TEST_F(ImportBench, CostIsThatOfAllProcessesOfTheCommand) {
  const auto command = Process::Start("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done | cat; true", dir() / "log");
  ASSERT_TRUE(command.ok());
  ASSERT_TRUE(command.value()->Wait().ok());
  EXPECT_TRUE(command.value()->Ended());
  const auto cost = command.value()->Cost();
  ASSERT_TRUE(cost.ok()) << cost.status().message();
  EXPECT_GT(cost.value().user + cost.value().system, std::chrono::milliseconds(1));
  EXPECT_GT(cost.value().wall, Duration::zero());
  EXPECT_GT(cost.value().peak_mb, 0);
}

TEST_F(ImportBench, TheFileHoldsTheEventsOfTheSet) {
  const EventRecipe recipe{.purpose = "import", .seed = 3, .count = 20, .day = 20'000};
  const auto file = EventSet::MakeFile(recipe, dir() / "cache");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto events = EventSet::Get(recipe, dir() / "cache");
  ASSERT_TRUE(events.ok());
  std::string lines;
  for (size_t i = 0; i < events.value().size(); ++i) lines += std::string(events.value().json(i)) + "\n";
  EXPECT_EQ(Contents(file.value()), lines);
}

TEST_F(ImportBench, NamesOfContendersFitIntoTables) {
  EXPECT_EQ(ParseContender("weir=exec weir a=b").value().command, "exec weir a=b");
  for (const char* text : {"weir", "=weir", "a b=c", "a,b=c", "a|b=c", "a/b=c"})
    EXPECT_FALSE(ParseContender(text).ok()) << text;
}

}  // namespace
}  // namespace weir
