#include "relay/watch/live/words.h"

#include <cmath>

#include "config/clock.h"
#include "config/text/readable.h"

namespace weir {
namespace {

constexpr double kHighShare = 0.75;

struct Facts {
  const Signal& signal;
  const LoadSample& sample;
  const EngineDetails& engine;
};

std::string ShareInWords(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// Describes the bytes of a signal whose level is their share of a maximum.
std::string BytesOf(double bytes, double level) {
  return level > 0 ? Bytes(bytes) + " of " + Bytes(bytes / level) : Bytes(bytes);
}

std::string L0Files(const Facts& f) {
  if (f.engine.rocksdb == nullptr) return "L0 " + ShareInWords(f.signal.level);
  return "L0 files " + std::to_string(f.engine.rocksdb->l0_files) + " of " +
         std::to_string(std::lround(f.engine.rocksdb->l0_files_at_one));
}

std::string Memtables(const Facts& f) {
  std::string text = "memtables " + ShareInWords(f.signal.level) + " full";
  if (f.engine.rocksdb == nullptr || f.engine.rocksdb->immutable_memtables == 0) return text;
  return text + ", " + std::to_string(f.engine.rocksdb->immutable_memtables) + " wait for their flush";
}

std::string Debt(const Facts& f) {
  if (f.engine.rocksdb == nullptr) return "compaction debt " + ShareInWords(f.signal.level);
  return "compaction debt " + BytesOf(static_cast<double>(f.engine.rocksdb->debt_bytes), f.signal.level);
}

std::string Score(const Facts& f) {
  return "the fullest level is " + Fixed(f.engine.rocksdb != nullptr ? f.engine.rocksdb->score : f.signal.level, 1) +
         " times its size";
}

std::string Own(const Facts& f) {
  const double bytes = f.engine.rocksdb != nullptr    ? static_cast<double>(f.engine.rocksdb->own_bytes)
                       : f.engine.postgres != nullptr ? static_cast<double>(f.engine.postgres->own_bytes)
                                                      : 0;
  return "the relay's own buffers " + BytesOf(bytes, f.signal.level);
}

std::string Memory(const Facts& f) {
  return "memory " + BytesOf(static_cast<double>(f.sample.memory_bytes), f.sample.memory_pressure);
}

std::string Wal(const Facts& f) {
  const double bytes = f.engine.postgres != nullptr ? static_cast<double>(f.engine.postgres->wal_bytes) : 0;
  return "PostgreSQL's log " + BytesOf(bytes, f.signal.level);
}

std::string Replica(const Facts& f) {
  const double bytes = f.engine.postgres != nullptr ? static_cast<double>(f.engine.postgres->replica_lag_bytes) : 0;
  return "a standby behind by " + BytesOf(bytes, f.signal.level);
}

std::string Standby(const Facts& f) {
  if (f.engine.postgres == nullptr) return "waits for a standby " + ShareInWords(f.signal.level);
  return "a commit has waited for a standby for " +
         std::to_string(std::llround(1e3 * ToSeconds(f.engine.postgres->standby_wait))) + " ms";
}

std::string Waiting(const Facts& f) {
  if (f.engine.postgres == nullptr) return "sessions that wait " + ShareInWords(f.signal.level);
  return std::to_string(f.engine.postgres->lock_waits + f.engine.postgres->standby_waits) +
         " sessions of PostgreSQL wait";
}

std::string Weighted(const Facts& f) { return "memory and load, weighted, " + ShareInWords(f.signal.level); }

struct Wording {
  std::string_view signal;
  std::string (*figures)(const Facts& facts);
  std::string_view why_high;
};
constexpr Wording kWordings[] = {
    {"memtables", Memtables, "flushes are behind"},
    {"l0", L0Files, "compaction is behind"},
    {"debt", Debt, "compaction is behind"},
    {"score", Score, "compaction is behind"},
    {"own", Own, "much is under way, or clients read slowly"},
    {"memory", Memory, "memory is short"},
    {"wal", Wal, "a checkpoint is behind"},
    {"replica", Replica, "a standby cannot keep up"},
    {"standby", Standby, "no standby answers"},
    {"waiting", Waiting, "they wait for locks or for a standby"},
    {"weighted", Weighted, "memory or the engine is loaded"},
};

const Wording* WordingOf(std::string_view signal) {
  for (const Wording& wording : kWordings)
    if (wording.signal == signal) return &wording;
  return nullptr;
}

// Describes a reason of LimiterView: the name of a signal or, if no signal limits, a word such as "emergency".
std::string ReasonInWords(std::string_view reason, const LoadSample& sample, const EngineDetails& engine) {
  if (const Signal* signal = sample.Find(reason)) return SignalInWords(*signal, sample, engine);
  if (WordingOf(reason) != nullptr) return SignalInWords({.name = reason}, sample, engine);
  if (reason == "emergency") return SignalInWords({.name = "memory"}, sample, engine) + ", an emergency";
  if (reason == HeldLimits::kReason) return "the engine cannot be measured";
  return std::string(reason);
}

std::string WithWhy(std::string_view reason, const LoadSample& sample, const EngineDetails& engine) {
  const Wording* wording = WordingOf(reason);
  const std::string_view why = wording != nullptr ? wording->why_high : std::string_view();
  return ReasonInWords(reason, sample, engine) + (why.empty() ? "" : ": " + std::string(why));
}

std::string Nearest(std::string_view reason, const LoadSample& sample, const EngineDetails& engine) {
  return reason.empty() ? "nothing limits" : "nothing limits; nearest: " + ReasonInWords(reason, sample, engine);
}

}  // namespace

std::string Bytes(double bytes) { return ReadableBytes(AsCount(bytes)); }

std::string SignalInWords(const Signal& signal, const LoadSample& sample, const EngineDetails& engine) {
  const Wording* wording = WordingOf(signal.name);
  if (wording != nullptr) return wording->figures({signal, sample, engine});
  return std::string(signal.name) + " " + ShareInWords(signal.level);
}

std::string WriteInWords(const LimiterView& view, WorkClass work_class, bool felt, const EngineDetails& engine) {
  const LimiterView::Write& write = view[work_class];
  if (write.open) return Nearest(write.reason, view.sample, engine);
  if (!felt && write.bytes_per_second > 0)
    return "up to " + Bytes(write.bytes_per_second) +
           "/s pass; nearest: " + ReasonInWords(write.reason, view.sample, engine);
  // Far below the setpoint the engine is not behind yet: the limit only keeps the level from rising faster than the
  // engine can react.
  const bool only_paced = WordingOf(write.reason) != nullptr && write.level < kHighShare * write.setpoint;
  const std::string reason = only_paced
                                 ? "paced below its setpoint: " + ReasonInWords(write.reason, view.sample, engine)
                                 : WithWhy(write.reason, view.sample, engine);
  if (write.bytes_per_second <= 0) return "held until there is room (" + reason + ")";
  return "held to " + Bytes(write.bytes_per_second) + "/s (" + reason + ")";
}

std::string ReadInWords(const LimiterView& view, const EngineDetails& engine) {
  if (view.emergency_holds) return "scans are refused (" + ReasonInWords("emergency", view.sample, engine) + ")";
  if (view.scans_at_once == 0) return Nearest(view.read_reason, view.sample, engine);
  return "at most " + std::to_string(view.scans_at_once) + (view.scans_at_once == 1 ? " scan" : " scans") +
         " at once (" + WithWhy(view.read_reason, view.sample, engine) + ")";
}

}  // namespace weir
