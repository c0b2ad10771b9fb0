#include "relay/standing/stranger_share.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace weir {
namespace {

// The relay is under pressure from this part of a setpoint on: a controller holds the level near the setpoint,
// sometimes below it.
constexpr double kNearSetpoint = 0.9;
// The lowest rate of all strangers together, some notes a second; also the rate while it is not known what the engine
// carries.
constexpr double kLeastRate = 4 << 10;
// The depth of the bucket, as a time: strangers may write so much at once.
constexpr double kBurstSeconds = 0.5;
constexpr uint64_t kGroups = 2;  // strangers and newcomers

bool IsNearSetpoint(const LimiterView::Write& write) {
  return !write.open && write.setpoint > 0 && write.level >= kNearSetpoint * write.setpoint;
}

bool IsUnderPressure(const LimiterView& view) {
  return view.emergency || IsNearSetpoint(view[WorkClass::kInteractive]) || IsNearSetpoint(view[WorkClass::kBulk]);
}

// Returns what the engine carries by the less limited class; 0 if no limit is known. Below the setpoint a limit is
// above the drain, so that the engine fills; it cannot carry that for long.
double CarriedBytesPerSecond(const LimiterView& view) {
  double carried = 0;
  for (const LimiterView::Write& write : view.writes) {
    const double drain = write.drain_bytes_per_second;
    carried = std::max(carried, drain > 0 ? std::min(drain, write.bytes_per_second) : write.bytes_per_second);
  }
  return carried;
}

}  // namespace

StrangerShare::StrangerShare(std::function<LimiterView()> look, uint64_t most_bytes, const Clock& clock)
    : look_(std::move(look)),
      most_bytes_(most_bytes),
      clock_(clock),
      ticker_([this] { return GoOn(); }),
      gate_(clock, [this](TimePoint) { ticker_.Wake(); }) {}

StrangerShare::~StrangerShare() { Stop(); }

void StrangerShare::Start() { ticker_.Start(); }

void StrangerShare::Stop() {
  ticker_.Stop();
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    share_ = 1;
    gate_.SetLimits(Limits());
  }
  gate_.TellSettled();
}

TimePoint StrangerShare::GoOn() {
  const TimePoint now = clock_.Now();
  Look(now);
  return std::min(gate_.Pump(), now + kTick);
}

void StrangerShare::Look(TimePoint now) {
  const MutexLock lock(mutex_);
  if (stopped_ || (looked_at_ && now - *looked_at_ < kTick)) return;
  const double passed_s = looked_at_ ? ToSeconds(now - *looked_at_) : 0;
  looked_at_ = now;
  const LimiterView view = look_();
  if (const double carried = CarriedBytesPerSecond(view); carried > 0) engine_bytes_per_second_ = carried;
  const bool strangers_wait = gate_.TakePressed(WorkClass::kInteractive);
  if (IsUnderPressure(view)) {
    if (share_ == 1) ++pressures_;
    share_ = kLeast;
    pressed_at_ = now;
  } else if (share_ < 1 && (!strangers_wait || now - pressed_at_ >= kLongestHold)) {
    share_ = std::min(1.0, share_ * std::exp2(passed_s / ToSeconds(kDoubling)));
  }
  gate_.SetLimits(Limits());
}

// If events may wait, none is refused before it has waited, because a client that is answered at once sends the next
// one at once, and each costs a signature.
WriteLimits StrangerShare::Limits() const {
  const bool may_wait = most_bytes_ > 0;
  WriteLimits limits;
  limits.open = share_ == 1;
  if (limits.open) return limits;
  const double rate = std::max(kLeastRate, share_ * engine_bytes_per_second_);
  limits.burst_bytes = kBurstSeconds * rate;
  limits[WorkClass::kInteractive] = {.bytes_per_second = rate,
                                     .mean_bytes_per_second = may_wait ? std::numeric_limits<double>::infinity() : rate,
                                     .longest_wait = may_wait ? kLongestWait : Duration::zero(),
                                     .reason = "strangers"};
  return limits;
}

Admission StrangerShare::Admit(Cost cost, Party party) {
  party.work_class = WorkClass::kInteractive;
  return gate_.PassOpen(cost, party.work_class) ? Admission() : gate_.Admit(cost, party);
}

StrangerShare::Room StrangerShare::TakeRoom(uint64_t bytes, const Party& party) {
  const MutexLock lock(held_mutex_);
  Held& held = held_[party.group];
  const uint64_t free = most_bytes_ / kGroups - held.bytes;
  const auto own = held.of.find(party.id);
  if (bytes + (own == held.of.end() ? 0 : own->second) > free) return nullptr;
  held.of[party.id] += bytes;
  held.bytes += bytes;
  return Room(this, GivesBack{bytes, party});
}

void StrangerShare::GiveBack(uint64_t bytes, const Party& party) {
  const MutexLock lock(held_mutex_);
  Held& held = held_.at(party.group);
  held.bytes -= bytes;
  const auto own = held.of.find(party.id);
  own->second -= bytes;
  if (own->second == 0) held.of.erase(own);
}

StrangerShare::State StrangerShare::Now() const {
  uint64_t held_bytes = 0;
  {
    const MutexLock lock(held_mutex_);
    for (const auto& [group, held] : held_) held_bytes += held.bytes;
  }
  const MutexLock lock(mutex_);
  return {.share = share_,
          .bytes_per_second = share_ == 1 ? 0 : Limits()[WorkClass::kInteractive].bytes_per_second,
          .waiting = gate_.Stats().waiting,
          .held_bytes = held_bytes,
          .admitted_bytes = gate_.Admitted(WorkClass::kInteractive).bytes,
          .pressures = pressures_};
}

}  // namespace weir
