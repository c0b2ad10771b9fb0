// Siblings: the other relays on one PostgreSQL. What they save, and the ephemeral events that come to them, is handed
// to this relay's subscribers, and theirs get what comes here.
//
//   auto siblings = Siblings::Find(store, settings, listener);
//   siblings.value()->Share(event);  // an ephemeral one; of what is saved the store tells by itself
//
// What is stored is read from the store, so none is missed: at once where the bus says that there is something, and
// every quarter of a second. What is ephemeral goes over the bus alone.
//
// Threads: Share and Stats from any thread. The listener is called on a thread of this one.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/siblings/event_bus.h"
#include "relay/store/postgres/postgres_news.h"

namespace weir {

class SettingTable;

struct SiblingsSettings {
  std::string bus = "notify";  // WEIR_BUS, or redis://…
};
void Declare(SettingTable& table, SiblingsSettings& settings);
Status Check(const SiblingsSettings& settings);

struct SiblingsListener {
  EventLimits limits;  // of ephemeral events
  std::function<bool()> has_subscribers;
  // Calls `done` once, from any thread, when it takes more; never: it ends.
  std::function<void(std::vector<SharedEvent> events, std::function<void()> done)> deliver;
};

struct SiblingsStats {
  BusStats bus;
  uint64_t events = 0;  // stored ones, that were delivered
  bool reads = true;    // the last time it went well
};

class Siblings {
 public:
  // From now on. The store outlives it; nobody saves meanwhile.
  static Result<std::unique_ptr<Siblings>> Find(PostgresStore& store, const SiblingsSettings& settings,
                                                SiblingsListener listener);
  // Stops, and lets go of the store.
  ~Siblings();

  void Share(EventView event) { bus_->Share(event.json()); }
  // Delivers no more.
  void Stop();
  SiblingsStats Stats() const;

 private:
  // Outlives this object where somebody has yet to say that he takes more.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;
    bool is_woken = false;
    bool delivers = false;
    std::deque<std::string> ephemeral;
    uint64_t ephemeral_bytes = 0;
    SiblingsStats stats;
  };

  // As EventBus.
  Siblings(PostgresStore& store, Moment since, const SiblingsSettings& settings, SiblingsListener listener);
  void Run();
  bool SleepUntilThereIsNews();
  std::vector<std::string> TakeEphemeral();
  std::vector<SharedEvent> ReadEphemeral(const std::vector<std::string>& jsons);
  Status ReadStored();
  void ReadSizes();
  void Deliver(std::vector<SharedEvent> events);
  void OnEvent(std::string_view json);
  void NoteStatus(const Status& status);

  PostgresStore& store_;
  const SiblingsListener listener_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  PostgresNews news_;  // the thread's, as those that follow
  EventParser parser_;
  TimePoint sized_at_{};
  bool failed_ = false;
  bool said_name_is_taken_ = false;
  std::unique_ptr<EventBus> bus_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace weir
