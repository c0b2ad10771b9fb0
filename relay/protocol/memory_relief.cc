#include "relay/protocol/memory_relief.h"

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

namespace weir {
namespace {

using Timer = boost::asio::steady_timer;

void Wait(std::shared_ptr<Timer> timer, std::function<void()> on_beat) {
  timer->expires_after(MemoryRelief::kBeat);
  Timer& waits = *timer;
  waits.async_wait([timer = std::move(timer), on_beat = std::move(on_beat)](boost::system::error_code error) {
    if (error) return;
    Wait(timer, on_beat);  // before on_beat, which may throw if memory runs out
    on_beat();
  });
}

}  // namespace

void MemoryRelief::Start(const boost::asio::any_io_executor& executor) {
  Wait(std::make_shared<Timer>(executor), [this] { OnBeat(); });
}

void MemoryRelief::OnBeat() {
  budget_.TellGranted();
  const bool emergency = limiter_.View().emergency;
  // Called first, so that the page that `tell` logs shows which addresses held most.
  NoteEmergency(emergency);
  if (!emergency || ledger_.heaviest_bytes() < kWorthwhile) return;
  ledger_.AskHeaviest(kAtOnce);
}

void MemoryRelief::NoteEmergency(bool emergency) {
  if (!emergency || std::exchange(was_emergency_, emergency)) {
    was_emergency_ = emergency;
    return;
  }
  ++untold_;
  const TimePoint now = clock_.Now();
  if (!tell_ || (told_at_ && now - *told_at_ < kQuiet)) return;
  told_at_ = now;
  tell_(std::exchange(untold_, 0));
}

}  // namespace weir
