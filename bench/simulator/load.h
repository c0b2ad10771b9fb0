// Load: the simulated clients. Bulk writers, each of which belongs to a party, write in a closed loop: a writer begins
// its next write when the last is done. Interactive writes come at random times.
//
// The latency of an interactive write counts from its intended start. So a stall counts for all writes that were to
// start during it. Not thread-safe.
#pragma once

#include <random>
#include <vector>

#include "bench/simulator/agenda.h"
#include "bench/simulator/law.h"
#include "bench/simulator/scenario.h"
#include "bench/simulator/write_path.h"

namespace weir {

inline constexpr double kRecordBytes = 1016;  // 1,000-byte values with 16-byte keys
inline constexpr int kRecordsPerBatch = 16;

// The counts since StartCounting.
struct LoadTally {
  std::vector<double> bulk_bytes_by_party;
  double bulk_bytes = 0;
  double interactive_bytes = 0;
  uint64_t bulk_refused = 0;
  uint64_t interactive_refused = 0;
  std::vector<double> interactive_ms;
  TimePoint first_bulk_wait = TimePoint::max();
};

class Load {
 public:
  // All arguments must outlive the load.
  Load(const Scenario& scenario, double sustained_bytes_per_second, uint64_t seed, const Clock& clock, Law& law,
       WritePath& path, Agenda& agenda);

  void Start();
  // Sets all counts to 0.
  void StartCounting();
  // Returns the counts. An interactive write that is not done yet counts with the time since its intended start.
  LoadTally Finish();

  double written_bytes() const { return written_bytes_; }  // bytes that all clients wrote since Start

 private:
  struct Writer {
    uint64_t party = 0;
    TimePoint started{};
    bool waits = false;
  };

  double OfferedBytesPerSecond(TimePoint now) const;
  void StartWrite(Writer& writer);
  void EndWrite(Writer& writer);
  void ScheduleNextInteractive();
  void InteractiveWrite(uint64_t slot);
  void EndInteractive(uint64_t slot);

  const Scenario& scenario_;
  const double sustained_;
  const Clock& clock_;
  Law& law_;
  WritePath& path_;
  Agenda& agenda_;
  const TimePoint start_;

  std::vector<Writer> writers_;
  std::mt19937_64 random_;
  TimePoint next_interactive_;
  std::vector<TimePoint> interactive_;  // intended starts; TimePoint::max() for a write that is done
  TimePoint counting_since_;
  LoadTally tally_;
  double written_bytes_ = 0;
};

}  // namespace weir
