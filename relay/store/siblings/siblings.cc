#include "relay/store/siblings/siblings.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "config/settings.h"
#include "relay/nostr/signature.h"
#include "relay/store/siblings/notify_wire.h"
#include "relay/store/siblings/redis_wire.h"

namespace weir {
namespace {

constexpr std::string_view kByDatabase = "notify";
// The time between two reads of the store if the bus announces no events.
constexpr std::chrono::milliseconds kLookEvery{250};
constexpr std::chrono::seconds kSizesLast{10};
constexpr size_t kEphemeralAtOnce = 256;
constexpr uint64_t kEphemeralBytesAtOnce = uint64_t{1} << 20;
constexpr std::chrono::seconds kBusPatience{3};

std::unique_ptr<BusWire> MakeWire(const PostgresStore& store, const SiblingsSettings& settings) {
  if (settings.bus == kByDatabase) return std::make_unique<NotifyWire>(store.NewSession());
  return std::make_unique<RedisWire>(RedisWire::ParseUrl(settings.bus).value(), "weir:" + store.database());
}

}  // namespace

void Declare(SettingTable& table, SiblingsSettings& s) {
  table.AddSecret("BUS", &s.bus,
                  "how relays that share a PostgreSQL reach each other at once: notify (through the database; "
                  "ephemeral events of up to 8 KB) or redis://user:password@host:port",
                  WithoutPassword);
}

Status Check(const SiblingsSettings& s) {
  if (s.bus == kByDatabase) return {};
  const Result<RedisEndpoint> endpoint = RedisWire::ParseUrl(s.bus);
  return endpoint.ok() ? Status() : Status::Error("WEIR_BUS: " + endpoint.status().message());
}

Result<std::unique_ptr<Siblings>> Siblings::Find(PostgresStore& store, const SiblingsSettings& settings,
                                                 SiblingsListener listener) {
  Result<Moment> now = store.Now();
  if (!now.ok()) return now.status();
  return FaultsAsErrors<std::unique_ptr<Siblings>>([&]() -> Result<std::unique_ptr<Siblings>> {
    return std::unique_ptr<Siblings>(new Siblings(store, std::move(now).value(), settings, std::move(listener)));
  });
}

Siblings::Siblings(PostgresStore& store, Moment since, const SiblingsSettings& settings, SiblingsListener listener)
    : store_(store), listener_(std::move(listener)), news_(store, std::move(since)), parser_(listener_.limits) {
  BusListener from_bus;
  from_bus.on_wake = [this] {
    const MutexLock lock(inbox_->mutex);
    inbox_->is_woken = true;
    inbox_->changed.notify_all();
  };
  from_bus.on_event = [this](std::string_view json) { OnEvent(json); };
  bus_ = std::make_unique<EventBus>(MakeWire(store, settings), std::move(from_bus),
                                    std::min<Duration>(store.options().settings.timeout, kBusPatience));
  store_.OnSaved([this] { bus_->Wake(); });
  thread_ = std::thread([this] { Run(); });
}

Siblings::~Siblings() {
  Stop();
  store_.OnSaved({});
}

void Siblings::Stop() {
  {
    const MutexLock lock(inbox_->mutex);
    inbox_->stopping = true;
    inbox_->changed.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

SiblingsStats Siblings::Stats() const {
  const BusStats bus = bus_->Stats();
  const MutexLock lock(inbox_->mutex);
  SiblingsStats stats = inbox_->stats;
  stats.bus.is_up = bus.is_up;
  stats.bus.sent = bus.sent;
  stats.bus.received = bus.received;
  stats.bus.too_large = bus.too_large;
  stats.bus.lost += bus.lost;
  return stats;
}

void Siblings::OnEvent(std::string_view json) {
  const MutexLock lock(inbox_->mutex);
  if (inbox_->ephemeral_bytes + json.size() > EventBus::kMostWaitingBytes) {
    ++inbox_->stats.bus.lost;
    return;
  }
  inbox_->ephemeral_bytes += json.size();
  inbox_->ephemeral.emplace_back(json);
  inbox_->changed.notify_all();
}

void Siblings::Run() {
  while (SleepUntilThereIsNews()) {
    const Status read = FaultsAsStatus([this] {
      Deliver(ReadEphemeral(TakeEphemeral()));
      return ReadStored();
    });
    NoteStatus(read);
    if (read.ok()) ReadSizes();
  }
}

// Waits until there are new events or kLookEvery has passed. Returns false if the thread has to stop.
bool Siblings::SleepUntilThereIsNews() {
  MutexLock lock(inbox_->mutex);
  inbox_->changed.wait_for(lock, news_.more() ? std::chrono::milliseconds(0) : kLookEvery,
                           [this]() WEIR_REQUIRES(inbox_->mutex) {
                             return inbox_->stopping || inbox_->is_woken || !inbox_->ephemeral.empty();
                           });
  inbox_->is_woken = false;
  return !inbox_->stopping;
}

// Takes only some of the events, so that stored events do not wait until the signatures of all ephemeral events are
// verified.
std::vector<std::string> Siblings::TakeEphemeral() {
  const MutexLock lock(inbox_->mutex);
  std::vector<std::string> taken;
  uint64_t bytes = 0;
  while (!inbox_->ephemeral.empty() && taken.size() < kEphemeralAtOnce && bytes < kEphemeralBytesAtOnce) {
    bytes += inbox_->ephemeral.front().size();
    taken.push_back(std::move(inbox_->ephemeral.front()));
    inbox_->ephemeral.pop_front();
  }
  inbox_->ephemeral_bytes -= bytes;
  return taken;
}

// Verifies each event, because a program that can write to the bus need not be a relay.
std::vector<SharedEvent> Siblings::ReadEphemeral(const std::vector<std::string>& jsons) {
  std::vector<SharedEvent> events;
  if (!listener_.has_subscribers()) return events;
  for (const std::string& json : jsons) {
    const Result<Event> event = parser_.Parse(json);
    if (event.ok() && ClassOf(event.value().view().kind()) == KindClass::kEphemeral &&
        VerifySignature(event.value().view()))
      events.push_back({event.value(), Serial()});
  }
  return events;
}

Status Siblings::ReadStored() {
  Result<std::vector<SharedEvent>> events = news_.Read(listener_.has_subscribers);
  if (!events.ok()) return events.status();
  if (news_.name_is_taken() && !std::exchange(said_name_is_taken_, true))
    spdlog::error(
        "another process has taken the name \"{}\"; this relay no longer saves anything; give every relay and import a "
        "WEIR_ORIGIN of its own, and start this one again",
        store_.origin().name);
  const size_t count = events.value().size();
  Deliver(std::move(events).value());
  const MutexLock lock(inbox_->mutex);
  inbox_->stats.events += count;
  return {};
}

void Siblings::Deliver(std::vector<SharedEvent> events) {
  if (events.empty()) return;
  {
    const MutexLock lock(inbox_->mutex);
    inbox_->delivers = true;
  }
  listener_.deliver(std::move(events), [inbox = inbox_] {
    const MutexLock lock(inbox->mutex);
    inbox->delivers = false;
    inbox->changed.notify_all();
  });
  MutexLock lock(inbox_->mutex);
  inbox_->changed.wait(lock, [this]() WEIR_REQUIRES(inbox_->mutex) { return inbox_->stopping || !inbox_->delivers; });
}

void Siblings::ReadSizes() {
  const TimePoint now = Clock::System().Now();
  if (now - sized_at_ < kSizesLast) return;
  sized_at_ = now;
  // If this fails, the next read of events finds the connection lost and logs that.
  (void)news_.ReadSizes();
  store_.CloseIdleReaders();
}

void Siblings::NoteStatus(const Status& status) {
  if (!status.ok() && !failed_)
    spdlog::warn("what other relays save cannot be read: {}; tried again until it can, and nothing is missed",
                 status.message());
  if (status.ok() && failed_) spdlog::info("what other relays save is read again");
  failed_ = !status.ok();
  const MutexLock lock(inbox_->mutex);
  inbox_->stats.read = status;
  if (status.ok()) inbox_->stats.read_only = news_.is_read_only();
}

}  // namespace weir
