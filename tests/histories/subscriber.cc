#include "tests/histories/subscriber.h"

#include <thread>

#include "relay/nostr/event_parser.h"

namespace weir::histories {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMostOpen = 60;              // subscriptions of a connection
constexpr auto kBetweenSubscriptions = 1400;  // ms, at most
constexpr auto kSubscriberReconnects = 100ms;
constexpr int kSlowBuffer = 65536;

std::string NameOf(size_t subscription) { return "s" + std::to_string(subscription); }

}  // namespace

Subscriber::Subscriber(Company& company, int relay, bool slow, uint64_t number)
    : company_(company), relay_(relay), slow_(slow), random_(company.seed * 7919 + number + (slow ? 500 : 0)) {}

void Subscriber::Run() {
  auto next = std::chrono::steady_clock::now();
  while (company_.phase != Company::Phase::kOver) {
    if (line_ == nullptr || !line_->is_open()) {
      line_ = std::make_unique<Line>(company_.ports[static_cast<size_t>(relay_)], slow_ ? kSlowBuffer : 0);
      if (!line_->is_open()) std::this_thread::sleep_for(kSubscriberReconnects);
      continue;
    }
    if (company_.phase == Company::Phase::kLoad && std::chrono::steady_clock::now() >= next) {
      Subscribe();
      if (open_.size() > kMostOpen) CloseOldest();
      next = std::chrono::steady_clock::now() + std::chrono::milliseconds(random_() % kBetweenSubscriptions);
    }
    Read();
    if (line_->is_open()) continue;
    for (const auto& [number, has_eose] : open_) company_.recorder.Ended(number, Subscription::End::kDisconnected);
    open_.clear();
  }
}

void Subscriber::Subscribe() {
  Selection selection;
  if (const size_t choice = random_() % 8; choice == 0) {
    selection.author = static_cast<int>(random_() % Company::kCommonAuthors);
    selection.kind = random_() % 4 == 0 ? kReplaceable : kAddressable;
  } else if (choice == 1) {
    selection.author = company_.newest_author - static_cast<int>(random_() % 4);
  } else {
    selection.topic = company_.Topic(random_);
  }
  const size_t number = company_.recorder.Asked(selection, relay_, slow_, false);
  open_.emplace(number, false);
  line_->Send("[\"REQ\",\"" + NameOf(number) + "\"," + company_.FilterOf(selection) + "]");
}

void Subscriber::CloseOldest() {
  const size_t number = open_.begin()->first;
  open_.erase(open_.begin());
  company_.recorder.Ended(number, Subscription::End::kByClient);
  line_->Send("[\"CLOSE\",\"" + NameOf(number) + "\"]");
}

void Subscriber::Read() {
  const bool is_slow = slow_ && company_.phase == Company::Phase::kLoad && company_.recorder.Now() % 20s < 8s;
  if (is_slow) std::this_thread::sleep_for(1s);
  const auto text = line_->Next(is_slow ? 0ms : 20ms, is_slow ? 1 : 65536);
  if (!text) return;
  const auto message = ParseRelayMessage(*text);
  if (!message.ok() || !message.value().subject.starts_with("s")) return;
  Take(message.value());
}

void Subscriber::Take(const RelayMessage& message) {
  using Kind = RelayMessage::Kind;
  const size_t number = std::stoul(message.subject.substr(1));
  const auto open = open_.find(number);
  const bool is_live = open != open_.end() && open->second;
  if (message.kind == Kind::kEvent) {
    if (is_live && company_.plant.Strikes(Planted::kDrop)) return;
    company_.recorder.Came(number, FindId(message.event));
    if (is_live && company_.plant.Strikes(Planted::kRepeat)) company_.recorder.Came(number, FindId(message.event));
  }
  if (open == open_.end()) return;
  if (message.kind == Kind::kEose && !company_.plant.Strikes(Planted::kSwallow)) {
    company_.recorder.Eose(number);
    open->second = true;
  }
  if (message.kind == Kind::kClosed) {
    company_.recorder.Ended(number, Subscription::End::kByRelay);
    open_.erase(open);
  }
}

void AskForAll(Company& company, int relay, Time patience) {
  Line line(company.ports[static_cast<size_t>(relay)]);
  for (const Selection& selection : company.FinalSelections()) {
    const size_t number = company.recorder.Asked(selection, relay, false, true);
    line.Send("[\"REQ\",\"" + NameOf(number) + "\"," + company.FilterOf(selection) + "]");
    const Time end = company.recorder.Now() + patience;
    bool is_over = false;
    while (!is_over && line.is_open() && company.recorder.Now() < end) {
      const auto text = line.Next(100ms);
      const auto message = text ? ParseRelayMessage(*text) : Result<RelayMessage>(RelayMessage());
      if (!message.ok() || message.value().subject != NameOf(number)) continue;
      const RelayMessage::Kind kind = message.value().kind;
      if (kind == RelayMessage::Kind::kEvent) company.recorder.Came(number, FindId(message.value().event));
      if (kind == RelayMessage::Kind::kEose) company.recorder.Eose(number);
      is_over = kind == RelayMessage::Kind::kEose || kind == RelayMessage::Kind::kClosed;
    }
    company.recorder.Ended(number, Subscription::End::kByClient);
    line.Send("[\"CLOSE\",\"" + NameOf(number) + "\"]");
  }
}

}  // namespace weir::histories
