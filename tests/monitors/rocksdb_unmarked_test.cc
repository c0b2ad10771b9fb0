// Options that a weir without the mark prepared.
#include "monitors/rocksdb_unmarked.h"

#include <gtest/gtest.h>

#include <vector>

#include "monitors/rocksdb_options.h"
#include "tests/monitors/rocksdb_fixture.h"

namespace weir {
namespace {

using rocksdb::ColumnFamilyOptions;

// Does what that weir did at a start. `merges` is false with atomic_flush.
void PrepareAsBefore(bool merges, ColumnFamilyOptions* options) {
  const LsmGeometry given = GeometryAsSet(*options);
  const LsmGeometry prepared = merges ? PreparedGeometry(given) : PreparedGeometry(given, 1);
  const LsmBrakes brakes = BrakesOf(prepared);
  options->min_write_buffer_number_to_merge = prepared.buffers_per_flush;
  options->max_write_buffer_number = brakes.max_write_buffers;
  options->level0_slowdown_writes_trigger = brakes.l0_slowdown;
  options->level0_stop_writes_trigger = brakes.l0_stop;
  options->soft_pending_compaction_bytes_limit = brakes.soft_pending_bytes;
  options->hard_pending_compaction_bytes_limit = brakes.hard_pending_bytes;
}

// SmallEngine has RocksDB's limits of debt and a level 1 that flushes are merged for.
std::vector<ColumnFamilyOptions> Programs() {
  ColumnFamilyOptions universal = SmallEngine();
  universal.compaction_style = rocksdb::kCompactionStyleUniversal;
  ColumnFamilyOptions merges = SmallEngine();
  merges.min_write_buffer_number_to_merge = 3;
  merges.max_write_buffer_number = 9;
  ColumnFamilyOptions no_gap = SmallEngine();
  no_gap.level0_stop_writes_trigger = no_gap.level0_slowdown_writes_trigger;
  return {ColumnFamilyOptions(), SmallEngine(), universal, merges, no_gap};
}

TEST(RocksDbUnmarked, AreTakenBackHoweverOftenTheyWerePrepared) {
  for (size_t n = 0; n < Programs().size(); ++n) {
    for (const bool merges : {true, false}) {
      const ColumnFamilyOptions given = Programs()[n];
      ColumnFamilyOptions options = given;
      for (int times = 1; times <= 4; ++times) {
        PrepareAsBefore(merges, &options);
        ColumnFamilyOptions back = options;
        ASSERT_TRUE(TakeBackUnmarked(&back)) << n << ", " << times << " times";
        EXPECT_EQ(BrakesIn(back), BrakesIn(given)) << n << ", " << times << " times";
        EXPECT_EQ(back.min_write_buffer_number_to_merge, given.min_write_buffer_number_to_merge) << n;
      }
    }
  }
}

TEST(RocksDbUnmarked, ArePreparedAsTheProgramsOwn) {
  rocksdb::Options once = SmallEngine();
  const PreparedRocksDb first = PrepareRocksDb(512 * kMiB, &once).value();
  rocksdb::Options stored = SmallEngine();
  for (int starts = 0; starts < 3; ++starts) PrepareAsBefore(true, &stored);
  EXPECT_EQ(PrepareRocksDb(512 * kMiB, &stored).value().geometry, first.geometry);
  EXPECT_EQ(BrakesIn(stored), BrakesIn(once));
}

TEST(RocksDbUnmarked, OptionsOfAProgramStay) {
  std::vector<ColumnFamilyOptions> programs = Programs();
  rocksdb::Options marked = SmallEngine();
  ASSERT_TRUE(PrepareRocksDb(512 * kMiB, &marked).ok());
  programs.push_back(marked);
  ColumnFamilyOptions large_limits;
  large_limits.soft_pending_compaction_bytes_limit *= 8;
  large_limits.hard_pending_compaction_bytes_limit *= 8;
  programs.push_back(large_limits);
  ColumnFamilyOptions changed = SmallEngine();
  PrepareAsBefore(true, &changed);
  changed.level0_slowdown_writes_trigger = 29;
  programs.push_back(changed);
  ColumnFamilyOptions other_debt = SmallEngine();
  other_debt.soft_pending_compaction_bytes_limit = 1 << 30;
  PrepareAsBefore(true, &other_debt);
  programs.push_back(other_debt);
  for (size_t n = 0; n < programs.size(); ++n) {
    ColumnFamilyOptions options = programs[n];
    EXPECT_FALSE(TakeBackUnmarked(&options)) << n;
    EXPECT_EQ(BrakesIn(options), BrakesIn(programs[n])) << n;
  }
}

}  // namespace
}  // namespace weir
