#include "relay/watch/live/words.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace weir {
namespace {

RocksDbDetails Engine() {
  RocksDbDetails d;
  d.l0_files = 17;
  d.l0_files_at_one = 20;
  d.immutable_memtables = 2;
  d.debt_bytes = 3'000'000'000;
  d.score = 1.34;
  d.own_bytes = 50'000'000;
  return d;
}

LimiterView View() {
  LimiterView view;
  for (const Signal& signal : {Signal{.name = "l0", .level = 0.85}, Signal{.name = "memory", .level = 0.5}})
    view.sample.Add(signal);
  view.sample.memory_bytes = 700'000'000;
  view.sample.memory_pressure = 0.5;
  return view;
}

TEST(Words, SayEachSignalWithItsFigures) {
  const RocksDbDetails rocksdb = Engine();
  PostgresDetails postgres;
  postgres.wal_bytes = 800'000'000;
  postgres.replica_lag_bytes = 10'000'000;
  postgres.standby_wait = std::chrono::milliseconds(700);
  postgres.lock_waits = 3;
  postgres.standby_waits = 1;
  const LimiterView view = View();
  const struct {
    const char* signal;
    double level;
    const char* words;
  } cases[] = {
      {"l0", 0.85, "L0 files 17 of 20"},
      {"memtables", 0.75, "memtables 75 % full, 2 wait for their flush"},
      {"debt", 0.5, "compaction debt 3.00 GB of 6.00 GB"},
      {"score", 0.9, "the fullest level is 1.3 times its size"},
      {"own", 0.25, "the relay's own buffers 50.0 MB of 200 MB"},
      {"memory", 0.5, "memory 700 MB of 1.40 GB"},
      {"wal", 0.5, "PostgreSQL's log 800 MB of 1.60 GB"},
      {"replica", 0.5, "a standby behind by 10.0 MB of 20.0 MB"},
      {"standby", 0.7, "a commit has waited for a standby for 700 ms"},
      {"waiting", 0.25, "4 sessions of PostgreSQL wait"},
      {"weighted", 0.4, "memory and load, weighted, 40 %"},
      {"of another engine", 0.4, "of another engine 40 %"},
  };
  for (const auto& [signal, level, words] : cases) {
    EXPECT_EQ(SignalInWords({.name = signal, .level = level}, view.sample, {&rocksdb, &postgres}), words);
    EXPECT_NE(SignalInWords({.name = signal, .level = level}, view.sample, {}), "") << "without an engine's details";
  }
}

TEST(Words, SayWhatLimitsAClassOfWritesAndWhy) {
  const RocksDbDetails rocksdb = Engine();
  LimiterView view = View();
  LimiterView::Write& bulk = view.writes[WorkClass::kBulk];
  EXPECT_EQ(WriteInWords(view, WorkClass::kBulk, false, {&rocksdb}), "nothing limits");
  bulk.reason = "l0";
  EXPECT_EQ(WriteInWords(view, WorkClass::kBulk, false, {&rocksdb}), "nothing limits; nearest: L0 files 17 of 20");
  bulk.open = false;
  bulk.bytes_per_second = 3.1e6;
  bulk.setpoint = 0.7;
  bulk.level = 0.1;
  EXPECT_EQ(WriteInWords(view, WorkClass::kBulk, true, {&rocksdb}),
            "held to 3.10 MB/s (paced below its setpoint: L0 files 17 of 20)")
      << "far below the setpoint nothing is behind";
  bulk.level = 0.85;
  EXPECT_EQ(WriteInWords(view, WorkClass::kBulk, true, {&rocksdb}),
            "held to 3.10 MB/s (L0 files 17 of 20: compaction is behind)");
  EXPECT_EQ(WriteInWords(view, WorkClass::kBulk, false, {&rocksdb}),
            "up to 3.10 MB/s pass; nearest: L0 files 17 of 20");
  bulk.bytes_per_second = 0;
  bulk.reason = "emergency";
  EXPECT_EQ(WriteInWords(view, WorkClass::kBulk, true, {&rocksdb}),
            "held until there is room (memory 700 MB of 1.40 GB, an emergency)");
  bulk.level = 0.1;
  bulk.bytes_per_second = 1e3;
  EXPECT_EQ(WriteInWords(view, WorkClass::kBulk, true, {&rocksdb}),
            "held to 1.00 kB/s (memory 700 MB of 1.40 GB, an emergency)")
      << "which is no level";
  bulk.reason = "sensor lost";
  bulk.bytes_per_second = 1e6;
  EXPECT_EQ(WriteInWords(view, WorkClass::kBulk, true, {&rocksdb}),
            "held to 1.00 MB/s (the engine cannot be measured)");
}

TEST(Words, SayWhatLimitsReads) {
  LimiterView view = View();
  view.read_reason = "memory";
  EXPECT_EQ(ReadInWords(view, {}), "nothing limits; nearest: memory 700 MB of 1.40 GB");
  view.scans_at_once = 3;
  EXPECT_EQ(ReadInWords(view, {}), "at most 3 scans at once (memory 700 MB of 1.40 GB: memory is short)");
  view.scans_at_once = 1;
  EXPECT_TRUE(ReadInWords(view, {}).starts_with("at most 1 scan at once"));
  view.emergency = view.emergency_holds = true;
  EXPECT_EQ(ReadInWords(view, {}), "scans are refused (memory 700 MB of 1.40 GB, an emergency)");
  view.emergency_holds = false;
  view.read_reason = "emergency";
  EXPECT_EQ(ReadInWords(view, {}), "at most 1 scan at once (memory 700 MB of 1.40 GB, an emergency)");
}

}  // namespace
}  // namespace weir
