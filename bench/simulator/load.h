// The work that comes: bulk writers in a closed loop, each of a party, and interactive writes at random times.
//
// Latency of interactive writes counts from their intended start, so that a stall counts for all writes that would have
// come during it. Not thread-safe.
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
inline constexpr double kInteractivePerSecond = 200;

// The outcome of the load since counting began.
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
  // Forgets all counts so far.
  void StartCounting();
  // Returns the counts, with interactive writes that are still under way at their present age.
  LoadTally Finish();

  double written_bytes() const { return written_bytes_; }  // since the start, by all

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
  std::vector<TimePoint> interactive_;  // intended starts; TimePoint::max() once ended
  TimePoint counting_since_;
  LoadTally tally_;
  double written_bytes_ = 0;
};

}  // namespace weir
