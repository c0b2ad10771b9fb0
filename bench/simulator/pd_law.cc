#include <algorithm>
#include <deque>
#include <limits>

#include "bench/simulator/paced_queue.h"

namespace weir {
namespace {

constexpr double kKp = 0.15;
constexpr double kKdSeconds = 5;
constexpr double kUp = 0.04;
constexpr double kDown = 0.02;
constexpr double kLowestRate = 16 << 10;
constexpr double kHighestRate = 200.0 * (1 << 20);
constexpr Duration kFlowInterval = std::chrono::seconds(5);
constexpr Duration kRecordInterval = std::chrono::seconds(1);
constexpr Duration kSpare = std::chrono::seconds(10);

// The last few records; the slope is the difference of the halves' means over half the span.
class Window {
 public:
  explicit Window(size_t capacity) : capacity_(capacity) {}

  void Observe(TimePoint now, double value) {
    if (records_.size() == capacity_) records_.pop_front();
    records_.push_back({now, value});
  }

  double Mean() const {
    double sum = 0;
    for (const Record& r : records_) sum += r.value;
    return records_.empty() ? 0 : sum / static_cast<double>(records_.size());
  }

  double Slope() const {
    if (records_.size() < 2) return 0;
    const size_t half = records_.size() / 2;
    double left = 0;
    double right = 0;
    for (size_t i = 0; i < half; ++i) {
      left += records_[i].value;
      right += records_[records_.size() - 1 - i].value;
    }
    const double span_s = ToSeconds(records_.back().time - records_.front().time);
    return span_s > 0 ? (right - left) / static_cast<double>(half) / (span_s / 2) : 0;
  }

  double Percentile90() const {
    if (records_.empty()) return 0;
    std::vector<double> values;
    for (const Record& r : records_) values.push_back(r.value);
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) * 9 / 10];
  }

  double Last() const { return records_.empty() ? 0 : records_.back().value; }

 private:
  struct Record {
    TimePoint time;
    double value;
  };
  const size_t capacity_;
  std::deque<Record> records_;
};

// TiKV's flow controller as of 2021 (src/storage/txn/flow_controller.rs): all writes in one queue, whose rate is set
// when flushes and compactions end and at no other time.
//
//  * When an L0 compaction ends with more files than the threshold, throttling begins at the 90th percentile of the
//    recent write flow, and the flush flow of that moment becomes the target.
//  * Flush events, at most every 5 s: PD on target flow − flush flow, kp 0.15, kd 5, a step of at most −2 … +2 %
//    down and −12 … +100 % up. The flow is controlled; the level enters by the threshold alone.
//  * Below the threshold the rate rises by 4 % an L0 compaction, or by 20 % after 10 s without any event.
//
// The controller's counting of memtables, and its dropping of requests by debt, are left out.
class PdLaw final : public Law {
 public:
  explicit PdLaw(const LawContext& context);

  void Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) override;
  void Tick(const PlantView& plant) override;
  TimePoint Pump() override { return queue_.Pump(clock_.Now()); }
  LawView View() const override;

 private:
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

PdLaw::PdLaw(const LawContext& context) : clock_(context.clock), l0_threshold_(context.l0_files_at_setpoint) {
  last_event_ = last_flow_ = last_record_ = clock_.Now();
  SetRate(kUnlimited);
}

void PdLaw::Admit(const WriteRequest& request, std::function<void(LawAnswer)> answer) {
  written_bytes_ += static_cast<double>(request.bytes);
  queue_.Admit(clock_.Now(), request, std::move(answer));
}

void PdLaw::Tick(const PlantView& plant) {
  const TimePoint now = clock_.Now();
  if (now - last_record_ >= kRecordInterval) {
    if (written_bytes_ > 0) write_flow_.Observe(now, written_bytes_ / ToSeconds(now - last_record_));
    written_bytes_ = 0;
    last_record_ = now;
  }
  l0_files_ = static_cast<double>(plant.l0_files);
  if (plant.total_drained_bytes > seen_drained_) {
    OnL0Compaction(plant.total_drained_bytes - seen_drained_);
    seen_drained_ = plant.total_drained_bytes;
    last_event_ = now;
  }
  if (plant.total_flushed_bytes > seen_flushed_) {
    OnFlush(now, plant.total_flushed_bytes - seen_flushed_);
    seen_flushed_ = plant.total_flushed_bytes;
    last_event_ = now;
  }
  if (now - last_event_ < kSpare) return;
  last_event_ = now;
  const bool high = std::max(l0_files_window_.Mean(), l0_files_window_.Last()) >= 0.5 * l0_threshold_ ||
                    l0_files_after_flush_ >= l0_threshold_;
  if (throttled() && l0_files_ <= l0_threshold_ && !high) SetRate(rate_ * (1 + 5 * kUp));
}

void PdLaw::OnL0Compaction(double bytes) {
  l0_bytes_ += bytes;
  l0_files_window_.Observe(clock_.Now(), l0_files_);
  const bool above = l0_files_ > l0_threshold_;
  if (!throttled() && above) {
    target_files_ = l0_files_;
    target_flow_ = short_flush_flow_.Mean();
    if (const double start = write_flow_.Percentile90(); start > 0) SetRate(start);
  } else if (throttled() && above) {
    const bool new_target = target_files_ < 0;
    const bool lower_target = l0_files_ > target_files_ + 3 && target_flow_ > short_l0_flow_.Mean();
    if (!new_target && !lower_target) return;
    target_flow_ = new_target ? short_flush_flow_.Mean() : short_l0_flow_.Mean();
    target_files_ = l0_files_;
  } else if (throttled() && l0_files_window_.Mean() < 0.5 * l0_threshold_ && l0_files_after_flush_ < l0_threshold_) {
    if (target_files_ >= 0) target_flow_ = std::max(target_flow_, (short_l0_flow_.Mean() + target_flow_) / 2);
    SetRate(rate_ * (1 + kUp));
  }
}

void PdLaw::OnFlush(TimePoint now, double bytes) {
  flush_bytes_ += bytes;
  l0_files_after_flush_ = l0_files_;
  const double elapsed_s = ToSeconds(now - last_flow_);
  if (now - last_flow_ <= kFlowInterval) return;
  short_flush_flow_.Observe(now, flush_bytes_ / elapsed_s);
  long_flush_flow_.Observe(now, flush_bytes_ / elapsed_s);
  if (l0_bytes_ > 0) short_l0_flow_.Observe(now, l0_bytes_ / elapsed_s);
  last_flow_ = now;
  flush_bytes_ = l0_bytes_ = 0;

  if (target_files_ < 0) return;
  const double recent = short_flush_flow_.Last();
  if (long_flush_flow_.Mean() > target_flow_ && recent > target_flow_) {
    DownFlow();
  } else if ((short_flush_flow_.Mean() < target_flow_ || recent < target_flow_) && write_flow_.Last() > 0.95 * rate_) {
    UpFlow();
  }
}

void PdLaw::UpFlow() {
  const double u = kKp * (target_flow_ - short_flush_flow_.Mean() - kKdSeconds * short_flush_flow_.Slope());
  SetRate(rate_ + std::clamp(u, -3 * kUp * rate_, rate_));
}

void PdLaw::DownFlow() {
  const double u = kKp * (target_flow_ - long_flush_flow_.Mean() - kKdSeconds * long_flush_flow_.Slope());
  SetRate(rate_ + std::clamp(u, -kDown * rate_, kDown * rate_));
}

void PdLaw::SetRate(double bytes_per_second) {
  rate_ = std::max(bytes_per_second, kLowestRate);
  if (rate_ > kHighestRate) {
    rate_ = kUnlimited;
    target_files_ = -1;
  }
  queue_.SetRate(clock_.Now(), throttled() ? rate_ : std::numeric_limits<double>::infinity());
}

LawView PdLaw::View() const {
  return {.open = !throttled(),
          .bytes_per_second = throttled() ? rate_ : 0,
          .drain_bytes_per_second = short_l0_flow_.Mean(),
          .reason = throttled() ? "flow" : ""};
}

}  // namespace

std::unique_ptr<Law> MakePdLaw(const LawContext& context) { return std::make_unique<PdLaw>(context); }

}  // namespace weir
