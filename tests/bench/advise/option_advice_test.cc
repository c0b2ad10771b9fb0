#include "bench/advise/option_advice.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

DatabaseHistory Stalled(StallLimit limit, bool stops, LsmOptions options = {}) {
  DatabaseHistory h;
  h.logged_seconds = 1000;
  h.statistics = 1;
  FamilyHistory f{.name = "default", .options = options};
  f.stalls[stops ? 1 : 0][static_cast<size_t>(limit)] = {.lines = 3, .seconds = 100};
  f.flushes = 10;
  f.flushed_bytes = 640e6;
  f.compacted_bytes = 5e9;
  f.busy_seconds = 900;
  h.families = {f};
  (stops ? h.stopped_seconds : h.delayed_seconds) = 100;
  return h;
}

const OptionAdvice* Find(const std::vector<OptionAdvice>& all, std::string_view option) {
  for (const OptionAdvice& a : all)
    if (a.option == option) return &a;
  return nullptr;
}

void ExpectAdvice(const std::vector<OptionAdvice>& all, std::string_view option, std::string_view from,
                  std::string_view to) {
  const OptionAdvice* const found = Find(all, option);
  ASSERT_NE(found, nullptr) << option;
  EXPECT_EQ(found->from, from);
  EXPECT_EQ(found->to, to);
  EXPECT_FALSE(found->why.empty()) << option;
}

TEST(OptionAdvice, WithoutStallsThereIsNone) {
  DatabaseHistory h = Stalled(StallLimit::kL0Files, false);
  h.families[0].stalls = {};
  EXPECT_TRUE(AdviseOptions(h).empty());
  EXPECT_TRUE(AdviseOptions({}).empty());
}

TEST(OptionAdvice, FullMemtablesWantMoreOfThem) {
  const auto all = AdviseOptions(Stalled(StallLimit::kMemtables, true));
  ExpectAdvice(all, "max_write_buffer_number", "2", "4");
  ExpectAdvice(all, "max_background_jobs", "2", "4");
  EXPECT_NE(Find(all, "max_write_buffer_number")->why.find("stopped 3 times"), std::string::npos);
  EXPECT_EQ(Find(all, "level0_slowdown_writes_trigger"), nullptr);
}

TEST(OptionAdvice, AFullL0WantsToMatchL1) {
  const auto all = AdviseOptions(Stalled(StallLimit::kL0Files, false, {.write_buffer_size = 16 << 20}));
  ExpectAdvice(all, "write_buffer_size", "16777216 (16 MiB)", "67108864 (64 MiB)");
  ExpectAdvice(all, "max_subcompactions", "1", "4");
  ExpectAdvice(all, "level0_slowdown_writes_trigger", "20", "20");
  EXPECT_EQ(Find(AdviseOptions(Stalled(StallLimit::kL0Files, false)), "write_buffer_size"), nullptr)
      << "RocksDB's defaults match";
}

TEST(OptionAdvice, DebtWantsHigherLimits) {
  const auto all = AdviseOptions(Stalled(StallLimit::kPendingBytes, false));
  ExpectAdvice(all, "soft_pending_compaction_bytes_limit", "68719476736 (64 GiB)", "274877906944 (256 GiB)");
  ExpectAdvice(all, "hard_pending_compaction_bytes_limit", "274877906944 (256 GiB)", "1099511627776 (1024 GiB)");
}

TEST(OptionAdvice, ASlowDelayedRateIsNamed) {
  DatabaseHistory h = Stalled(StallLimit::kL0Files, false);
  EXPECT_EQ(Find(AdviseOptions(h), "delayed_write_rate"), nullptr);
  h.families[0].busy_seconds = 20;  // the background sustains 32 MB/s
  ExpectAdvice(AdviseOptions(h), "delayed_write_rate", "0 (16 MiB/s)", "31457280 (30 MiB)");
}

TEST(OptionAdvice, CountsOfTheStatisticsStandForHiddenLines) {
  DatabaseHistory h = Stalled(StallLimit::kMemtables, false);
  h.families[0].stalls = {};
  h.families[0].stall_counts = {{"memtable_compaction", 17}};
  EXPECT_EQ(CountOf(h.families[0], StallLimit::kMemtables, true), 17U);
  EXPECT_NE(Find(AdviseOptions(h), "max_write_buffer_number"), nullptr);
}

TEST(OptionAdvice, NamesWhatWeirChanges) {
  const auto all = OptionsWithWeir(
      {.name = "default", .options = {.level0_slowdown_writes_trigger = 12, .level0_stop_writes_trigger = 20}});
  ASSERT_NE(Find(all, "level0_slowdown_writes_trigger"), nullptr);
  EXPECT_EQ(Find(all, "level0_slowdown_writes_trigger")->to, "28");
  EXPECT_EQ(Find(all, "level0_stop_writes_trigger")->to, "36");
  EXPECT_EQ(Find(all, "max_write_buffer_number")->to, "4");
  EXPECT_TRUE(OptionsWithWeir({.options = {.compaction_style = CompactionStyle::kFifo}}).empty());
}

TEST(OptionAdvice, TakesAnyOptions) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1} << 63, ~uint64_t{0}}) {
    for (const int number : {-2147483647, 0, 2147483647}) {
      const LsmOptions options{.write_buffer_size = size,
                               .max_write_buffer_number = number,
                               .min_write_buffer_number_to_merge = number,
                               .level0_file_num_compaction_trigger = number,
                               .level0_slowdown_writes_trigger = number,
                               .level0_stop_writes_trigger = number,
                               .soft_pending_compaction_bytes_limit = size,
                               .hard_pending_compaction_bytes_limit = size,
                               .max_bytes_for_level_base = size};
      for (const StallLimit limit : {StallLimit::kMemtables, StallLimit::kL0Files, StallLimit::kPendingBytes})
        EXPECT_FALSE(AdviseOptions(Stalled(limit, true, options)).empty());
      OptionsWithWeir({.options = options});
    }
  }
}

}  // namespace
}  // namespace weir
