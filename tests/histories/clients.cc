#include "tests/histories/clients.h"

#include <algorithm>
#include <ctime>
#include <thread>
#include <utility>

#include "config/text/hex.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/relay_message.h"

namespace weir::histories {
namespace {

using namespace std::chrono_literals;

constexpr int kTopicsAtOnce = 6;
constexpr Time kTopicLife = 10s;
constexpr int kAddressesOfAuthor = 4;
constexpr size_t kMostRemoved = 200;
constexpr size_t kNewlyRemoved = 10;  // half of the removed events that are sent again are among these
constexpr size_t kMostAccepted = 200;
constexpr size_t kMostOpen = 60;              // subscriptions of a connection
constexpr auto kBetweenEvents = 50;           // ms, at most
constexpr auto kBetweenSubscriptions = 1400;  // ms, at most
constexpr auto kBeforeReconnect = 100ms;
constexpr int kSlowBuffer = 65536;

std::string TopicTag(int topic) { return "[\"t\",\"h" + std::to_string(topic) + "\"]"; }
int64_t WallSeconds() { return static_cast<int64_t>(std::time(nullptr)); }
std::string NameOf(size_t subscription) { return "s" + std::to_string(subscription); }

}  // namespace

Company::Company(Recorder& its_recorder, Plant& its_plant, std::vector<uint16_t> its_ports, uint64_t its_seed)
    : recorder(its_recorder), plant(its_plant), ports(std::move(its_ports)), seed(its_seed) {
  for (int n = 0; n < kCommonAuthors; ++n) common_.push_back(NewAuthor());
}

std::shared_ptr<const Company::Author> Company::NewAuthor() {
  const MutexLock lock(mutex_);
  const int number = static_cast<int>(keys_.size());
  auto author = std::make_shared<Author>(Author{number, Signer(seed * 1000003 + static_cast<uint64_t>(number))});
  keys_.push_back(ToHex(author->signer.pubkey()));
  newest_author = number;
  return author;
}

std::string Company::FilterOf(const Selection& selection) const {
  std::string filter = "{";
  if (selection.topic != kAny) filter += "\"#t\":[\"h" + std::to_string(selection.topic) + "\"],";
  if (selection.kind != kAny) filter += "\"kinds\":[" + std::to_string(selection.kind) + "],";
  const MutexLock lock(mutex_);
  if (selection.author != kAny) filter += "\"authors\":[\"" + keys_[static_cast<size_t>(selection.author)] + "\"],";
  return filter + "\"limit\":5000}";
}

int Company::Topic(std::mt19937_64& random) const {
  return static_cast<int>(recorder.Now() / kTopicLife) * kTopicsAtOnce + static_cast<int>(random() % kTopicsAtOnce);
}

std::vector<Selection> Company::FinalSelections() const {
  std::vector<Selection> all;
  const int topics = (static_cast<int>(recorder.Now() / kTopicLife) + 1) * kTopicsAtOnce;
  for (int topic = 0; topic < topics; ++topic) all.push_back({.topic = topic});
  for (int author = 0; author <= newest_author; ++author) all.push_back({.author = author});
  return all;
}

void Company::AddRemoved(Sendable event) {
  const MutexLock lock(mutex_);
  removed_.push_back(std::move(event));
  if (removed_.size() > kMostRemoved) removed_.pop_front();
}

Company::Sendable Company::AnyRemoved(std::mt19937_64& random) const {
  const MutexLock lock(mutex_);
  if (removed_.empty()) return {};
  const size_t among = random() % 2 == 0 ? std::min(removed_.size(), kNewlyRemoved) : removed_.size();
  return removed_[removed_.size() - 1 - random() % among];
}

Publisher::Publisher(Company& company, int relay, uint64_t number)
    : company_(company), relay_(relay), random_(company.seed * 1009 + number), author_(company.NewAuthor()) {}

void Publisher::Run() {
  while (company_.phase == Company::Phase::kLoad) {
    if (line_ == nullptr || !line_->is_open()) {
      if (line_ != nullptr) relay_ = static_cast<int>(Below(company_.ports.size()));
      line_ = std::make_unique<Line>(company_.ports[static_cast<size_t>(relay_)]);
      if (!line_->is_open()) std::this_thread::sleep_for(kBeforeReconnect);
      continue;
    }
    SendAny();
    std::this_thread::sleep_for(std::chrono::milliseconds(Below(kBetweenEvents)));
  }
}

void Publisher::SendAny() {
  if (!unanswered_.json.empty() && Below(2) == 0) Send(std::exchange(unanswered_, {}));
  const size_t choice = Below(1000);
  if (choice < 60) return PublishAddressable();
  if (choice < 120) return Delete();
  if (choice < 128) return Vanish();
  if (choice < 190) {
    if (const Sendable removed = company_.AnyRemoved(random_); !removed.json.empty()) Send(removed);
    return;
  }
  if (choice < 210 && !accepted_.empty()) {
    Send(accepted_[Below(accepted_.size())]);
    return;
  }
  const int topic = company_.Topic(random_);
  if (choice < 230) {
    Send(Make(*author_, {.id = {}, .kind = kEphemeral, .topic = topic, .deletes = {}}, TopicTag(topic)));
  } else if (choice < 245) {
    Send(Make(*author_, {.id = {}, .topic = topic, .deletes = {}}, TopicTag(topic), true));
  } else {
    PublishNote();
  }
}

// Registers the event before anyone can receive it.
Company::Sendable Publisher::Make(const Company::Author& author, Published event, const std::string& tags,
                                  bool forged) {
  event.author = author.number;
  event.created_at = WallSeconds();
  const std::string content = std::to_string(random_()) + std::string(Below(8) == 0 ? Below(6000) : 0, 'x');
  std::string json = author.signer.SignedEvent(static_cast<uint64_t>(event.created_at),
                                               static_cast<uint16_t>(event.kind), "[" + tags + "]", content);
  event.id = FindId(json);
  if (forged) {
    const size_t digit = json.find("\"sig\":\"") + 7;
    json[digit] = json[digit] == '0' ? '1' : '0';
  }
  return {.event = company_.recorder.Publish(std::move(event)), .json = std::move(json)};
}

void Publisher::PublishNote() {
  const int topic = company_.Topic(random_);
  Sendable note = Make(*author_, {.id = {}, .topic = topic, .deletes = {}}, TopicTag(topic));
  if (!Send(note)) return;
  accepted_.push_back(std::move(note));
  if (accepted_.size() > kMostAccepted) accepted_.pop_front();
}

void Publisher::PublishAddressable() {
  const auto author = company_.common(Below(Company::kCommonAuthors));
  const int name = static_cast<int>(Below(kAddressesOfAuthor));
  Send(Make(*author,
            {.id = {}, .kind = kAddressable, .address = author->number * kAddressesOfAuthor + name, .deletes = {}},
            "[\"d\",\"" + std::to_string(name) + "\"]"));
}

void Publisher::Delete() {
  const int topic = company_.Topic(random_);
  Published deletion{.id = {}, .kind = kDeletion, .topic = topic, .deletes = {}};
  std::string tags = TopicTag(topic);
  std::vector<Sendable> targets;
  for (size_t left = 1 + Below(3); left > 0 && !accepted_.empty(); --left) {
    const auto target = accepted_.begin() + static_cast<std::ptrdiff_t>(Below(accepted_.size()));
    tags += ",[\"e\",\"" + std::string(FindId(target->json)) + "\"]";
    deletion.deletes.push_back(target->event);
    targets.push_back(std::move(*target));
    accepted_.erase(target);
  }
  Send(Make(*author_, std::move(deletion), tags));
  for (Sendable& target : targets) company_.AddRemoved(std::move(target));
}

void Publisher::Vanish() {
  Send(Make(*author_, {.id = {}, .kind = kVanishing, .deletes = {}}, "[\"relay\",\"ALL_RELAYS\"]"));
  while (!accepted_.empty()) {
    company_.AddRemoved(std::move(accepted_.back()));
    accepted_.pop_back();
  }
  author_ = company_.NewAuthor();
}

bool Publisher::Send(const Sendable& event) {
  const size_t attempt = company_.recorder.Sent(event.event, relay_);
  if (company_.plant.Strikes(Planted::kForge)) {
    company_.recorder.Answered(attempt, true, "");
    return true;
  }
  line_->Send("[\"EVENT\"," + event.json + "]");
  while (line_->is_open() && company_.phase != Company::Phase::kOver) {
    const auto text = line_->Next(100ms);
    if (!text) continue;
    const auto message = ParseRelayMessage(*text);
    if (!message.ok() || message.value().kind != RelayMessage::Kind::kOk ||
        message.value().subject != FindId(event.json))
      continue;
    company_.recorder.Answered(attempt, message.value().accepted, message.value().text);
    return message.value().accepted;
  }
  unanswered_ = event;
  return false;
}

Subscriber::Subscriber(Company& company, int relay, bool slow, uint64_t number)
    : company_(company), relay_(relay), slow_(slow), random_(company.seed * 7919 + number + (slow ? 500 : 0)) {}

void Subscriber::Run() {
  auto next = std::chrono::steady_clock::now();
  while (company_.phase != Company::Phase::kOver) {
    if (line_ == nullptr || !line_->is_open()) {
      line_ = std::make_unique<Line>(company_.ports[static_cast<size_t>(relay_)], slow_ ? kSlowBuffer : 0);
      if (!line_->is_open()) std::this_thread::sleep_for(kBeforeReconnect);
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
    selection.kind = kAddressable;
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
