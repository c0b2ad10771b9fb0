#include "tests/hostile/quiet_client.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace weir {

std::string IdOf(const std::string& event) { return event.substr(event.find("\"id\":\"") + 6, 64); }

namespace {

constexpr auto kBeat = std::chrono::milliseconds(50);
constexpr auto kQuietPatience = std::chrono::minutes(1);
// A quiet client stays well below the 64 KiB that the relay always lets an address hold: a subscription takes 1.5 KB,
// and each gets all of its events.
constexpr size_t kMostOpen = 8;
constexpr size_t kMostDue = 4;  // answers that it waits for before it asks again

// Returns the n-th text between quotes, counted from zero.
std::string Quoted(const std::string& message, int n) {
  size_t at = 0;
  for (int quote = 0; quote < 2 * n + 1; ++quote) at = message.find('"', at) + 1;
  return message.substr(at, message.find('"', at) - at);
}

}  // namespace

double Latencies::Quantile(double share) const {
  if (ms.empty()) return 0;
  std::vector<double> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

QuietClient::QuietClient(uint16_t port) : client_(port, "127.0.0.200"), signer_(kQuietSeed) {
  if (!client_.connected() || !client_.Handshake()) figures_.trouble = "the relay does not take it";
  thread_ = std::thread([this] { Run(); });
}

QuietClient::~QuietClient() {
  stops_ = true;
  thread_.join();
}

QuietFigures QuietClient::Take() {
  pauses_ = true;
  const auto end = std::chrono::steady_clock::now() + kQuietPatience;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (due_.empty() || std::chrono::steady_clock::now() > end) {
        figures_.unanswered = due_.size();
        due_.clear();
        pauses_ = false;
        return std::exchange(figures_, {});
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void QuietClient::Run() {
  auto next = std::chrono::steady_clock::now();
  while (!stops_) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next) {
      if (!pauses_) Ask();
      next = std::max(next + kBeat, now - kBeat);
    }
    pollfd ready{.fd = client_.socket(), .events = POLLIN, .revents = 0};
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(next - now);
    if (poll(&ready, 1, static_cast<int>(std::clamp<int64_t>(wait.count(), 1, 50))) > 0) {
      do Read();
      while (client_.has_more());
    }
  }
}

void QuietClient::Ask() {
  {
    const std::lock_guard lock(mutex_);
    if (due_.size() > kMostDue) return;
  }
  ++asked_;
  const std::string event =
      signer_.SignedEvent(static_cast<uint64_t>(std::time(nullptr)), 1, "[]", "quiet " + std::to_string(asked_));
  const std::string subscription = "q" + std::to_string(asked_);
  const std::string filter = R"({"authors":[")" + ToHex(signer_.pubkey()) + R"("],"limit":3})";
  const TimePoint now = Clock::System().Now();
  std::string closes;
  {
    const std::lock_guard lock(mutex_);
    for (; open_.size() > kMostOpen; open_.pop_front())
      closes += ClientFrame(kText, "[\"CLOSE\",\"" + open_.front() + "\"]");
    figures_.asked += 2;
    due_[IdOf(event)] = now;
    due_[subscription] = now;
  }
  const std::string sent = ClientFrame(kText, "[\"EVENT\"," + event + "]") +
                           ClientFrame(kText, "[\"REQ\",\"" + subscription + "\"," + filter + "]") + closes;
  if (client_.Send(sent)) return;
  const std::lock_guard lock(mutex_);
  figures_.trouble = "the relay takes nothing more";
}

void QuietClient::Read() {
  const std::optional<std::string> message = client_.ReadText();
  const std::lock_guard lock(mutex_);
  if (!message) {
    figures_.trouble = "the relay has ended the connection";
    stops_ = true;
    return;
  }
  const std::string verb = Quoted(*message, 0);
  if (verb == "EVENT" || verb == "NOTICE" || verb == "AUTH") return;
  const bool refused = verb == "CLOSED" || (verb == "OK" && message->find(",true,") == std::string::npos);
  if (refused && figures_.refused++ == 0) figures_.trouble = *message;
  Settle(Quoted(*message, 1), verb == "OK" ? &figures_.ok : &figures_.eose);
}

void QuietClient::Settle(const std::string& key, Latencies* into) {
  const auto found = due_.find(key);
  if (found == due_.end()) return;
  into->ms.push_back(ToSeconds(Clock::System().Now() - found->second) * 1e3);
  if (into == &figures_.eose) open_.push_back(key);
  due_.erase(found);
}

}  // namespace weir
