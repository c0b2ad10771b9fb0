#include "bench/simulator/load.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace weir {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(100);
constexpr double kIdleRate = 1;  // bytes/s of a writer without work

double ToMs(Duration d) { return 1e3 * ToSeconds(d); }

}  // namespace

Load::Load(const Scenario& scenario, double sustained_bytes_per_second, uint64_t seed, const Clock& clock, Law& law,
           WritePath& path, Agenda& agenda)
    : scenario_(scenario),
      sustained_(sustained_bytes_per_second),
      clock_(clock),
      law_(law),
      path_(path),
      agenda_(agenda),
      start_(clock.Now()),
      random_(seed),
      next_interactive_(start_) {
  for (int party = 0; party < scenario.parties; ++party) {
    const int writers = party == 0 ? scenario.writers_of_first_party : 1;
    for (int i = 0; i < writers; ++i) writers_.push_back({.party = static_cast<uint64_t>(party) + 1});
  }
  StartCounting();
}

void Load::Start() {
  for (Writer& writer : writers_) StartWrite(writer);
  ScheduleNextInteractive();
}

void Load::StartCounting() {
  tally_ = {};
  tally_.bulk_bytes_by_party.resize(static_cast<size_t>(scenario_.parties));
  counting_since_ = clock_.Now();
}

double Load::OfferedBytesPerSecond(TimePoint now) const {
  const double t = ToSeconds(now - start_);
  const std::vector<Offer>& offers = scenario_.offers;
  const auto next = std::upper_bound(offers.begin(), offers.end(), t,
                                     [](double at, const Offer& offer) { return at < offer.from_s; });
  const Offer& current = next == offers.begin() ? offers.front() : *std::prev(next);
  double multiple = current.multiple;
  if (current.ramps && next != offers.end()) {
    multiple += (next->multiple - multiple) * (t - current.from_s) / (next->from_s - current.from_s);
  }
  return multiple * sustained_;
}

void Load::StartWrite(Writer& writer) {
  const TimePoint now = clock_.Now();
  const double batch = kRecordBytes * kRecordsPerBatch;
  const double own_rate = OfferedBytesPerSecond(now) / static_cast<double>(writers_.size());
  const TimePoint due = own_rate > kIdleRate ? writer.started + FromSeconds(batch / own_rate) : TimePoint::max();
  if (due > now) {
    // The offer may change meanwhile.
    agenda_.At(std::min(now + kLookAgain, due), [this, &writer] { StartWrite(writer); });
    return;
  }
  writer.started = now;
  writer.waits = true;
  law_.Admit({.bytes = static_cast<uint64_t>(batch), .party = writer.party}, [this, &writer](LawAnswer answer) {
    writer.waits = false;
    if (answer.admitted) {
      path_.Push(kRecordBytes * kRecordsPerBatch, [this, &writer] { EndWrite(writer); });
      return;
    }
    ++tally_.bulk_refused;
    agenda_.At(clock_.Now() + answer.retry_after, [this, &writer] { StartWrite(writer); });
  });
  if (writer.waits) tally_.first_bulk_wait = std::min(tally_.first_bulk_wait, now);
}

void Load::EndWrite(Writer& writer) {
  const double batch = kRecordBytes * kRecordsPerBatch;
  tally_.bulk_bytes_by_party[writer.party - 1] += batch;
  tally_.bulk_bytes += batch;
  written_bytes_ += batch;
  const TimePoint now = clock_.Now();
  const Duration pause = law_.AfterWrite({.bytes = static_cast<uint64_t>(batch), .party = writer.party});
  if (pause > Duration::zero()) tally_.first_bulk_wait = std::min(tally_.first_bulk_wait, now);
  agenda_.At(now + pause, [this, &writer] { StartWrite(writer); });
}

// The standard's distributions differ between libraries; this one is the same everywhere.
void Load::ScheduleNextInteractive() {
  const double uniform = static_cast<double>(random_() >> 11) * 0x1.0p-53;
  next_interactive_ += FromSeconds(-std::log1p(-uniform) / scenario_.interactive_per_second);
  const uint64_t slot = interactive_.size();
  interactive_.push_back(next_interactive_);
  agenda_.At(next_interactive_, [this, slot] {
    InteractiveWrite(slot);
    ScheduleNextInteractive();
  });
}

void Load::InteractiveWrite(uint64_t slot) {
  const WriteRequest request{
      .bytes = static_cast<uint64_t>(kRecordBytes), .work_class = WorkClass::kInteractive, .party = slot % 50};
  law_.Admit(request, [this, slot, request](LawAnswer answer) {
    if (!answer.admitted) {
      ++tally_.interactive_refused;
      interactive_[slot] = TimePoint::max();
      return;
    }
    path_.Push(kRecordBytes, [this, slot, request] {
      const Duration pause = law_.AfterWrite(request);
      if (pause == Duration::zero()) {
        EndInteractive(slot);
      } else {
        agenda_.At(clock_.Now() + pause, [this, slot] { EndInteractive(slot); });
      }
    });
  });
}

void Load::EndInteractive(uint64_t slot) {
  const TimePoint intended = std::exchange(interactive_[slot], TimePoint::max());
  written_bytes_ += kRecordBytes;
  if (intended < counting_since_) return;
  tally_.interactive_bytes += kRecordBytes;
  tally_.interactive_ms.push_back(ToMs(clock_.Now() - intended));
}

LoadTally Load::Finish() {
  for (const TimePoint intended : interactive_) {
    if (intended >= counting_since_ && intended < clock_.Now()) {
      tally_.interactive_ms.push_back(ToMs(clock_.Now() - intended));
    }
  }
  return std::move(tally_);
}

}  // namespace weir
