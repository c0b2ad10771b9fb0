// WhatIf: what would have happened to a RocksDB with weir, by the simulator (bench/simulator).
//
// The simulated engine has the sizes, the levels and the background speed of the family whose conditions held longest.
// Writers offer it what the LOG shows: what they wrote, in the time in which writes were not stalled. It runs twice,
// with RocksDB's own brakes and with weir. The first run is compared with the LOG: if it is far off, so is the second.
#pragma once

#include <string>
#include <vector>

#include "bench/advise/database_history.h"

namespace weir {

struct WhatIf {
  // The stalled time and the bytes of the run without weir may differ from the LOG by these factors.
  static constexpr double kMostStalledFactor = 2;
  static constexpr double kMostBytesFactor = 1.5;

  struct Run {
    double stalled_seconds = 0;
    double bulk_bytes = 0;           // bytes on disk after their flush
    std::vector<double> l0_files{};  // over time, evenly spaced
  };

  std::string why_not;  // the reason why nothing was simulated; empty: it was
  std::string family;
  LogTime begin{};  // the simulated part of the LOG
  double seconds = 0;
  double logged_stalled_seconds = 0;       // time in which conditions held in this part
  double logged_bytes = 0;                 // bytes written in this part, by their flushes
  double background_bytes_per_second = 0;  // speed of the simulated background, fitted to logged_bytes
  Run alone;
  Run with_weir;

  double StalledFactor() const;  // how far the run without weir is from the LOG, from 1 on
  double BytesFactor() const;
  double Misfit() const;  // the product of both
  bool Fits() const { return StalledFactor() <= kMostStalledFactor && BytesFactor() <= kMostBytesFactor; }
};

// Simulates at most so many seconds: those with the most stalled time. A day takes some ten seconds.
WhatIf Replay(const DatabaseHistory& history, double most_seconds = 24 * 3600);

// The background work of a family, in bytes on disk a second.
struct BackgroundSpeed {
  double bytes_per_second = 0;  // bytes that flushes and compactions wrote when they had enough to do; 0: not known
  double busy_share = 0;        // share of the logged time in which one of them ran
  double written_per_byte = 1;  // bytes that they wrote for each byte that was flushed

  // Returns the rate of flushed bytes that this speed can sustain.
  double SustainedBytesPerSecond() const { return bytes_per_second / written_per_byte; }
};
BackgroundSpeed SpeedOf(const DatabaseHistory& history, const FamilyHistory& family);
// Returns the highest rate of delayed writes, in bytes a second.
double DelayedRateOf(const OptionsText& options);

}  // namespace weir
