#include "relay/store/siblings/event_bus.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include "config/text/hex.h"
#include "relay/store/event_store.h"

namespace weir {
namespace {

// The letters that follow the sender's token in a message. The JSON of an event follows kIsEvent.
constexpr char kWakes = 'w';
constexpr char kIsEvent = 'e';
constexpr char kProbes = 'p';  // a message from a bus to itself; other relays ignore it
constexpr size_t kSenderBytes = 16;

constexpr std::chrono::milliseconds kConnectEvery{1000};  // the time between attempts to connect
constexpr std::chrono::seconds kLongestSilence{10};
constexpr size_t kSentAtOnce = 256;

std::string NewSender() {
  std::random_device random;
  const std::array<uint32_t, 2> words{random(), random()};
  return ToHex(reinterpret_cast<const uint8_t*>(words.data()), sizeof(words));
}

}  // namespace

EventBus::EventBus(std::unique_ptr<BusWire> wire, BusListener listener, Duration patience)
    : wire_(std::move(wire)),
      listener_(std::move(listener)),
      patience_(patience),
      sender_(NewSender()),
      wake_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_up_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::thread([this] { Run(); });
}

EventBus::~EventBus() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  Signal();
  thread_.join();
  close(wake_up_);
}

void EventBus::Signal() const {
  const uint64_t one = 1;
  (void)!write(wake_up_, &one, sizeof(one));  // if it fails, a signal is pending already
}

void EventBus::Wake() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(wakes_, true)) return;
  }
  Signal();
}

void EventBus::Share(std::string_view json) {
  {
    const MutexLock lock(mutex_);
    if (json.size() + kSenderBytes + 1 > wire_->max_message_bytes()) {
      ++stats_.too_large;
      if (!std::exchange(said_too_large_, true))
        spdlog::warn(
            "an ephemeral event of {} bytes is too large for {}, and other relays' subscribers do not get it; "
            "WEIR_BUS=redis://… takes larger ones",
            json.size(), wire_->name());
      return;
    }
    if (!stats_.is_up || waiting_bytes_ + json.size() > kMostWaitingBytes) {
      ++stats_.lost;
      return;
    }
    waiting_bytes_ += json.size();
    waiting_.push_back((sender_ + kIsEvent).append(json));
    if (waiting_.size() > 1) return;
  }
  Signal();
}

BusStats EventBus::Stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void EventBus::Run() {
  do {
    NoteStatus(FaultsAsStatus([this] { return Step(); }));
  } while (SleepUntilThereIsWork());
  if (!failed_) (void)SendAll();
}

Status EventBus::Step() {
  if (failed_ || wire_->socket() < 0) {
    if (Status connected = wire_->Connect(patience_); !connected.ok()) return connected;
    heard_at_ = Clock::System().Now();
    probed_at_.reset();
    // Other relays may have saved events while the bus was down; the store has them.
    listener_.on_wake();
  }
  if (Status sent = SendAll(); !sent.ok()) return sent;
  if (Status received = ReceiveAll(); !received.ok()) return received;
  const TimePoint now = Clock::System().Now();
  if (probed_at_ && now - *probed_at_ >= patience_) return Status::Error("what is sent does not come back");
  if (probed_at_ || now - heard_at_ < kLongestSilence) return {};
  probed_at_ = now;
  return wire_->Send(std::array{sender_ + kProbes}, patience_);
}

// Waits until there is work. Returns false if the bus has to stop.
bool EventBus::SleepUntilThereIsWork() {
  std::array<pollfd, 2> sockets{pollfd{.fd = wake_up_, .events = POLLIN, .revents = 0},
                                pollfd{.fd = failed_ ? -1 : wire_->socket(), .events = POLLIN, .revents = 0}};
  const TimePoint until = failed_      ? Clock::System().Now() + kConnectEvery
                          : probed_at_ ? *probed_at_ + patience_
                                       : heard_at_ + kLongestSilence;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::System().Now());
    (void)poll(sockets.data(), sockets.size(), std::max(0, static_cast<int>(left.count())));
    uint64_t count = 0;
    (void)!read(wake_up_, &count, sizeof(count));
    const MutexLock lock(mutex_);
    if (stopping_) return false;
    if (!failed_ || Clock::System().Now() >= until) return true;
  }
}

Status EventBus::SendAll() {
  for (;;) {
    std::vector<std::string> messages;
    size_t events = 0;
    {
      const MutexLock lock(mutex_);
      if (std::exchange(wakes_, false)) messages.push_back(sender_ + kWakes);
      events = std::min(waiting_.size(), kSentAtOnce);
      const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(events);
      for (auto at = waiting_.begin(); at != end; ++at) {
        waiting_bytes_ -= at->size() - kSenderBytes - 1;
        messages.push_back(std::move(*at));
      }
      waiting_.erase(waiting_.begin(), end);
    }
    if (messages.empty()) return {};
    Status sent = wire_->Send(messages, patience_);
    {
      const MutexLock lock(mutex_);
      (sent.ok() ? stats_.sent : stats_.lost) += events;
    }
    if (sent.ok()) continue;
    if (wire_->socket() < 0) return sent;
    if (!std::exchange(said_refused_, true))
      spdlog::warn("{} ephemeral events are not sent to other relays by {}: {}; this is said once, and counted", events,
                   wire_->name(), sent.message());
  }
}

Status EventBus::ReceiveAll() {
  bool wakes = false;
  uint64_t events = 0;
  Status received = wire_->Receive([&](std::string_view message) {
    heard_at_ = Clock::System().Now();
    probed_at_.reset();
    if (message.size() <= kSenderBytes || message.starts_with(sender_)) return;
    if (message[kSenderBytes] == kWakes) wakes = true;
    if (message[kSenderBytes] != kIsEvent) return;
    ++events;
    listener_.on_event(message.substr(kSenderBytes + 1));
  });
  if (wakes) listener_.on_wake();
  const MutexLock lock(mutex_);
  stats_.received += events;
  return received;
}

void EventBus::NoteStatus(const Status& status) {
  if (!status.ok() && !failed_)
    spdlog::warn(
        "relays that share the store are not reached by {}: {}; their events come a quarter of a second later, "
        "ephemeral ones not at all; tried again every second",
        wire_->name(), status.message());
  if (status.ok() && failed_) spdlog::info("relays that share the store are reached by {} again", wire_->name());
  failed_ = !status.ok();
  const MutexLock lock(mutex_);
  stats_.is_up = !failed_;
  if (!failed_) return;
  stats_.lost += waiting_.size();
  waiting_.clear();
  waiting_bytes_ = 0;
}

}  // namespace weir
