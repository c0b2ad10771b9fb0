// TiKV's flow controller as of 2021 (src/storage/txn/flow_controller.rs): all writes in one queue, whose rate is set
// when flushes and compactions end and at no other time.
//
//  * When an L0 compaction ends with more files than the threshold, throttling begins at the 90th percentile of the
//    recent write flow, and the flush flow of that moment becomes the target.
//  * Flush events, at most every 5 s: PD on target flow − flush flow, kp 0.15, kd 5, a step of at most −2 … +2 % down
//  and
//    −12 … +100 % up. What is controlled is the flow; the level enters by the threshold alone.
//  * Below the threshold the rate rises by 4 % an L0 compaction, or by 20 % after 10 s without any event.
//
// Left out: the controller's counting of memtables, and its dropping of requests by debt.
#pragma once

#include <deque>

#include "bench/simulator/paced_queue.h"

namespace weir {

class PdLaw final : public Law {
 public:
  explicit PdLaw(const LawContext& context);

  void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) override;
  void Tick(const PlantView& plant) override;
  TimePoint Pump() override { return queue_.Pump(clock_.Now()); }
  LawView View() const override;

 private:
  // The last few records; the slope is of the halves' means over half the span.
  class Window {
   public:
    explicit Window(size_t capacity) : capacity_(capacity) {}
    void Observe(TimePoint now, double value);
    double Mean() const;
    double Slope() const;
    double Percentile90() const;
    double Last() const { return records_.empty() ? 0 : records_.back().value; }

   private:
    struct Record {
      TimePoint time;
      double value;
    };
    size_t capacity_;
    std::deque<Record> records_;
  };

  void OnFlush(TimePoint now, double bytes);
  void OnL0Compaction(double bytes);
  void UpFlow();
  void DownFlow();
  void SetRate(double bytes_per_second);
  bool throttled() const { return rate_ < kUnlimited; }
  static constexpr double kUnlimited = 1e18;

  const Clock& clock_;
  const double l0_threshold_;
  PacedQueue queue_;
  double rate_ = kUnlimited;

  double l0_files_ = 0;
  double l0_files_after_flush_ = 0;
  double seen_flushed_ = 0;
  double seen_drained_ = 0;
  TimePoint last_event_{};
  TimePoint last_flow_{};
  TimePoint last_record_{};
  double flush_bytes_ = 0;
  double l0_bytes_ = 0;
  double written_bytes_ = 0;
  Window l0_files_window_{20};
  Window short_flush_flow_{10};
  Window long_flush_flow_{60};
  Window short_l0_flow_{3};
  Window write_flow_{30};
  double target_flow_ = 0;
  double target_files_ = -1;  // files when the target was last set; below 0: no target
};

}  // namespace weir
