#include "tests/histories/publisher.h"

#include <algorithm>
#include <ctime>
#include <thread>
#include <utility>

#include "config/text/hex.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/relay_message.h"
#include "tests/fixtures/raw_client.h"

namespace weir::histories {
namespace {

using namespace std::chrono_literals;

constexpr int kAddressesOfAuthor = 4;  // the first is that of its replaceable events
constexpr size_t kMostAccepted = 200;
constexpr auto kBetweenEvents = 50;  // ms, at most
constexpr auto kPublisherReconnects = 100ms;
constexpr size_t kShortLife = 4, kLongLife = 40;  // seconds, at most, until an event expires

std::string TopicTag(int topic) { return "[\"t\",\"h" + std::to_string(topic) + "\"]"; }
int KindAt(int address) { return address % kAddressesOfAuthor == 0 ? kReplaceable : kAddressable; }
std::string NameAt(int address) {
  return KindAt(address) == kReplaceable ? "" : std::to_string(address % kAddressesOfAuthor);
}
int64_t WallSeconds() { return static_cast<int64_t>(std::time(nullptr)); }

}  // namespace

Publisher::Publisher(Company& company, int relay, uint64_t number)
    : company_(company), relay_(relay), random_(company.seed * 1009 + number), author_(company.NewAuthor()) {}

void Publisher::Run() {
  while (company_.phase == Company::Phase::kLoad) {
    if (line_ == nullptr || !line_->is_open()) {
      if (line_ != nullptr) relay_ = static_cast<int>(Below(company_.ports.size()));
      line_ = std::make_unique<Line>(company_.ports[static_cast<size_t>(relay_)]);
      if (!line_->is_open()) std::this_thread::sleep_for(kPublisherReconnects);
      continue;
    }
    if (!unanswered_.json.empty() && Below(2) == 0) Send(std::exchange(unanswered_, {}));
    SendAny();
    std::this_thread::sleep_for(std::chrono::milliseconds(Below(kBetweenEvents)));
  }
}

void Publisher::SendAny() {
  struct Act {
    size_t share;  // thousandths of all events
    void (Publisher::*act)();
  };
  static constexpr Act kActs[] = {
      {60, &Publisher::PublishAddressable},
      {60, &Publisher::Delete},
      {12, &Publisher::DeleteAddress},
      {8, &Publisher::Vanish},
      {8, &Publisher::BanEvent},
      {4, &Publisher::BanAuthor},
      {90, &Publisher::SendRemoved},
      {20, &Publisher::SendAccepted},
      {40, &Publisher::PublishExpiring},
      {20, &Publisher::PublishEphemeral},
      {15, &Publisher::PublishForged},
      {15, &Publisher::PublishOfBanned},
  };
  size_t choice = Below(1000);
  for (const Act& act : kActs) {
    if (choice < act.share) return (this->*act.act)();
    choice -= act.share;
  }
  PublishNote();
}

void Publisher::SendRemoved() {
  if (const Sendable removed = company_.AnyRemoved(random_); !removed.json.empty()) Send(removed);
}

void Publisher::SendAccepted() {
  if (!accepted_.empty()) Send(Sendable(accepted_[Below(accepted_.size())]));
}

// Registers the event before anyone can receive it.
Company::Sendable Publisher::Make(const Company::Author& author, Published event, const std::string& tags,
                                  bool forged) {
  event.author = author.number;
  if (event.created_at == 0) event.created_at = WallSeconds();
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

// Half of these notes expire while clients still subscribe to their topic.
void Publisher::PublishExpiring() {
  const int topic = company_.Topic(random_);
  const auto life = std::chrono::seconds(1 + Below(Below(2) == 0 ? kShortLife : kLongLife));
  const auto now = std::chrono::system_clock::now();
  const auto end = std::chrono::floor<std::chrono::seconds>(now + life);
  const Time expires = company_.recorder.Now() + std::chrono::duration_cast<Time>(end - now);
  Sendable note = Make(*author_, {.id = {}, .topic = topic, .expires = expires, .deletes = {}},
                       TopicTag(topic) + ",[\"expiration\",\"" + std::to_string(end.time_since_epoch() / 1s) + "\"]");
  if (Send(note)) company_.AddRemoved(std::move(note));
}

void Publisher::PublishEphemeral() {
  const int topic = company_.Topic(random_);
  Send(Make(*author_, {.id = {}, .kind = kEphemeral, .topic = topic, .deletes = {}}, TopicTag(topic)));
}

void Publisher::PublishForged() {
  const int topic = company_.Topic(random_);
  Send(Make(*author_, {.id = {}, .topic = topic, .deletes = {}}, TopicTag(topic), true));
}

void Publisher::PublishOfBanned() {
  if (banned_author_ == nullptr) return;
  const int topic = company_.Topic(random_);
  Send(Make(*banned_author_, {.id = {}, .topic = topic, .deletes = {}}, TopicTag(topic)));
}

// A fourth of the versions is some seconds old, so that deletions and newer versions come before them.
void Publisher::PublishAddressable() {
  const auto author = company_.common(Below(Company::kCommonAuthors));
  const int address = author->number * kAddressesOfAuthor + static_cast<int>(Below(kAddressesOfAuthor));
  Sendable version = Make(*author,
                          {.id = {},
                           .kind = KindAt(address),
                           .created_at = WallSeconds() - static_cast<int64_t>(Below(4) == 0 ? Below(4) : 0),
                           .address = address,
                           .deletes = {}},
                          "[\"d\",\"" + NameAt(address) + "\"]");
  Send(version);
  company_.AddVersion(address, std::move(version));
}

// Deletes the versions up to now, or those that are some seconds old.
void Publisher::DeleteAddress() {
  const auto author = company_.common(Below(Company::kCommonAuthors));
  const int address = author->number * kAddressesOfAuthor + static_cast<int>(Below(kAddressesOfAuthor));
  const int topic = company_.Topic(random_);
  Send(Make(*author,
            {.id = {},
             .kind = kDeletion,
             .topic = topic,
             .created_at = WallSeconds() - static_cast<int64_t>(Below(3)),
             .deletes = {},
             .deletes_address = address},
            TopicTag(topic) + ",[\"a\",\"" + std::to_string(KindAt(address)) + ":" + ToHex(author->signer.pubkey()) +
                ":" + NameAt(address) + "\"]"));
  company_.RemoveVersions(address);
}

Company::Sendable Publisher::TakeAccepted() {
  if (accepted_.empty()) return {};
  const auto taken = accepted_.begin() + static_cast<std::ptrdiff_t>(Below(accepted_.size()));
  Sendable event = std::move(*taken);
  accepted_.erase(taken);
  return event;
}

void Publisher::Delete() {
  const int topic = company_.Topic(random_);
  Published deletion{.id = {}, .kind = kDeletion, .topic = topic, .deletes = {}};
  std::string tags = TopicTag(topic);
  std::vector<Sendable> targets;
  for (size_t left = 1 + Below(3); left > 0 && !accepted_.empty(); --left) {
    targets.push_back(TakeAccepted());
    tags += ",[\"e\",\"" + std::string(FindId(targets.back().json)) + "\"]";
    deletion.deletes.push_back(targets.back().event);
  }
  Send(Make(*author_, std::move(deletion), tags));
  for (Sendable& target : targets) company_.AddRemoved(std::move(target));
}

void Publisher::Vanish() {
  Send(Make(*author_, {.id = {}, .kind = kVanishing, .deletes = {}}, "[\"relay\",\"ALL_RELAYS\"]"));
  LeaveAuthor();
}

void Publisher::LeaveAuthor() {
  for (Sendable& event : accepted_) company_.AddRemoved(std::move(event));
  accepted_.clear();
  author_ = company_.NewAuthor();
}

void Publisher::BanEvent() {
  Sendable event = TakeAccepted();
  if (event.json.empty()) return;
  Ban(event.event, std::string(FindId(event.json)));
  company_.AddRemoved(std::move(event));
}

void Publisher::BanAuthor() {
  Ban(std::nullopt, ToHex(author_->signer.pubkey()));
  banned_author_ = author_;
  LeaveAuthor();
}

void Publisher::Ban(std::optional<uint32_t> event, const std::string& subject) {
  const size_t relay = Below(company_.ports.size());
  const std::string call =
      std::string(R"({"method":")") + (event ? "banevent" : "banpubkey") + R"(","params":[")" + subject + "\"]}";
  const size_t ban = company_.recorder.Banned(event, event ? kAny : author_->number, static_cast<int>(relay));
  RawClient client(company_.ports[relay]);
  if (!client.connected() || !client.Send("POST /api/moderation HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " +
                                          std::to_string(call.size()) + "\r\n\r\n" + call))
    return;
  const auto answer = client.ReadAnswer(false);
  const std::string body = answer && answer->status == 200 ? client.ReadChunks().value_or("") : "";
  if (body.find(R"("result":true)") != std::string::npos) company_.recorder.Confirmed(ban);
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

}  // namespace weir::histories
