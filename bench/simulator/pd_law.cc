#include "bench/simulator/pd_law.h"

#include <algorithm>
#include <limits>

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

}  // namespace

void PdLaw::Window::Observe(TimePoint now, double value) {
  if (records_.size() == capacity_) records_.pop_front();
  records_.push_back({now, value});
}

double PdLaw::Window::Mean() const {
  double sum = 0;
  for (const Record& r : records_) sum += r.value;
  return records_.empty() ? 0 : sum / static_cast<double>(records_.size());
}

double PdLaw::Window::Slope() const {
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

double PdLaw::Window::Percentile90() const {
  if (records_.empty()) return 0;
  std::vector<double> values;
  for (const Record& r : records_) values.push_back(r.value);
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * 9 / 10];
}

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

}  // namespace weir
