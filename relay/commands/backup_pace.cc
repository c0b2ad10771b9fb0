#include "relay/commands/backup_pace.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "config/text/readable.h"
#include "relay/commands/progress_line.h"
#include "relay/running/running_relay.h"

namespace weir {
namespace {

// A question costs the relay less than a millisecond.
constexpr Duration kAskEvery = std::chrono::milliseconds(250);
// With pieces of a mebibyte, at most 4 MB a second.
constexpr Duration kRestWhileHeld = std::chrono::milliseconds(250);
constexpr Duration kLongestRest = std::chrono::seconds(2);

}  // namespace

BackupPace::BackupPace(const RelayConfiguration& configuration) : configuration_(configuration) {
  AskRelay();
  began_ = Clock::System().Now();
}

Status BackupPace::After(uint64_t bytes) {
  const Duration took = Clock::System().Now() - began_;
  copied_bytes_ += bytes;
  ShowProgress("copied " + ReadableBytes(copied_bytes_));
  if (Clock::System().Now() - asked_ >= kAskEvery) AskRelay();
  if (rests_) std::this_thread::sleep_for(std::min(std::max(took, held_ ? kRestWhileHeld : Duration{}), kLongestRest));
  began_ = Clock::System().Now();
  return {};
}

// Finds the relay each time, because it may have ended or begun since.
void BackupPace::AskRelay() {
  const Result<RunningRelay> relay = RunningRelay::Find(configuration_, {});
  rests_ = relay.ok();
  held_ = false;
  if (relay.ok()) {
    const Result<ManagementAnswer> answer = relay.value().Call("bulkwork", {});
    held_ = !answer.ok() || answer.value().result.find("true") != std::string::npos;
  }
  asked_ = Clock::System().Now();
}

}  // namespace weir
