#include "import/run/summary.h"

#include <gtest/gtest.h>
#include <simdjson.h>

namespace weir {
namespace {

ImportSummary Example() {
  ImportSummary summary;
  summary.tally[LineOutcome::kImported] = 99'000;
  summary.tally[LineOutcome::kReplaced] = 12;
  summary.tally[LineOutcome::kBlank] = 8;
  summary.tally.bytes = 68'000'000;
  summary.time = std::chrono::milliseconds(4000);
  summary.conditions.throttled = 12;
  summary.conditions.throttled_time = std::chrono::milliseconds(3100);
  summary.input = "a.jsonl";
  summary.line = 99'020;
  return summary;
}

TEST(Summary, TellsWhatBecameOfTheLines) {
  EXPECT_EQ(ToText(Example()),
            "import finished in 4.0s: 24.8k lines/s, 17.0 MB/s\n"
            "  read                                  99020\n"
            "  imported                              99000\n"
            "  duplicate                                 0\n"
            "  replaced                                 12\n"
            "  blank                                     8\n"
            "  rejected                                  0\n"
            "throttled 12 times (3.1s total)\n");
}

TEST(Summary, TellsWhyLinesWereRejectedAndWhereTheyAre) {
  ImportSummary summary = Example();
  summary.tally[LineOutcome::kSignature] = 3;
  summary.tally[LineOutcome::kTooLong] = 1;
  summary.rejects = "data/import/rejects.tsv";
  const std::string text = ToText(summary);
  EXPECT_NE(text.find("  rejected                                  4\n"
                      "    bad signature                           3\n"
                      "    too long                                1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("the rejected lines are in data/import/rejects.tsv\n"), std::string::npos) << text;
  EXPECT_EQ(ExitCode(summary), 1);
  summary.rejects.clear();
  EXPECT_NE(ToText(summary).find("--rejects FILE keeps them"), std::string::npos);
}

TEST(Summary, AnInterruptedOneSaysHowToGoOn) {
  ImportSummary summary = Example();
  summary.end = ImportSummary::End::kStopped;
  summary.read_before = 20;
  summary.go_on = "weir import --resume a.jsonl";
  const std::string text = ToText(summary);
  EXPECT_TRUE(text.starts_with("import ended early after 4.0s: 24.8k lines/s")) << text;
  EXPECT_NE(text.find("of these, 20 lines were read before"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("stopped after line 99020 of a.jsonl; go on with: weir import --resume a.jsonl\n"))
      << text;
  EXPECT_EQ(ExitCode(summary), 2);
}

TEST(Summary, NamesTheDamagedFileToMend) {
  ImportSummary summary = Example();
  summary.end = ImportSummary::End::kFailed;
  summary.input = "-";
  summary.error = summary.checkpoint_problem = "said on standard error";
  summary.damaged = "b.gz";
  summary.not_begun = {"c.jsonl", "d.jsonl"};
  summary.go_on = "weir import --resume - b.gz c.jsonl d.jsonl";
  const std::string text = ToText(summary);
  EXPECT_TRUE(text.ends_with(
      "total)\n"
      "not begun: c.jsonl, d.jsonl\n"
      "stopped after line 99020 of standard input; repair or replace b.gz, then: weir import --resume - b.gz "
      "c.jsonl d.jsonl\n"))
      << text;
  const std::string json = ToJsonLine(summary);
  EXPECT_NE(json.find("\"input\":\"-\",\"line\":99020,\"damaged\":\"b.gz\",\"not_begun\":[\"c.jsonl\",\"d.jsonl\"]"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"checkpoint_problem\":\"said on standard error\""), std::string::npos) << json;
  EXPECT_NE(ToJsonLine(Example()).find("\"not_begun\":[],"), std::string::npos);
}

TEST(Summary, SaysHowMuchADryRunWouldImport) {
  ImportSummary summary = Example();
  summary.dry_run = true;
  EXPECT_NE(ToText(summary).find("\n  would be imported                     99000\n"), std::string::npos)
      << ToText(summary);
  EXPECT_NE(ToJsonLine(summary).find("\"dry_run\":true"), std::string::npos);
  EXPECT_NE(ToJsonLine(summary).find("\"imported\":99000"), std::string::npos);
}

TEST(Summary, ItsJsonHasAMemberForEveryOutcome) {
  ImportSummary summary = Example();
  summary.end = ImportSummary::End::kFailed;
  summary.error = "a \"quoted\"\nerror";
  const std::string line = ToJsonLine(summary);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(simdjson::padded_string(line)).get(json), simdjson::SUCCESS) << line;
  for (size_t i = 0; i < kLineOutcomes; ++i) {
    const auto outcome = static_cast<LineOutcome>(i);
    EXPECT_EQ(uint64_t(json[KeyOf(outcome)]), summary.tally[outcome]) << KeyOf(outcome);
  }
  EXPECT_EQ(uint64_t(json["read"]), 99'020U);
  EXPECT_EQ(uint64_t(json["rejected"]), 0U);
  EXPECT_EQ(bool(json["whole"]), false);
  EXPECT_EQ(uint64_t(json["throttled"]), 12U);
  EXPECT_DOUBLE_EQ(double(json["throttled_s"]), 3.1);
  EXPECT_DOUBLE_EQ(double(json["seconds"]), 4);
  EXPECT_DOUBLE_EQ(double(json["lines_per_s"]), 24'755);
  EXPECT_DOUBLE_EQ(double(json["mb_per_s"]), 17);
  EXPECT_EQ(std::string_view(json["input"]), "a.jsonl");
  EXPECT_EQ(uint64_t(json["line"]), 99'020U);
  EXPECT_EQ(std::string_view(json["error"]), "a \"quoted\"\\x0aerror");
}

TEST(Summary, AnEmptyImportHasNoSpeed) {
  EXPECT_NE(ToText(ImportSummary{}).find("import finished in 0.0ms: 0 lines/s, 0 B/s"), std::string::npos);
  EXPECT_EQ(ExitCode({}), 0);
}

}  // namespace
}  // namespace weir
