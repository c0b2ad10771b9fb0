// Siblings: the other relays on one PostgreSQL. This relay's subscribers get the events that the others save and the
// ephemeral events that come to them, and the others' subscribers get what comes here.
//
//   auto siblings = Siblings::Find(store, settings, listener);
//   siblings.value()->Share(event);  // ephemeral events only; the store announces saved ones by itself
//
// Stored events are read from the store, so none is missed: at once when the bus announces some, and every quarter of a
// second. Ephemeral events go over the bus alone.
//
// Threads: Share and Stats may be called from any thread. The listener is called on a thread of this object.
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
  EventLimits limits;  // for ephemeral events
  std::function<bool()> has_subscribers;
  // Delivers the events. Calls `done` once, from any thread, when it can take more; does not call it if the relay ends.
  std::function<void(std::vector<SharedEvent> events, std::function<void()> done)> deliver;
};

struct SiblingsStats {
  BusStats bus;
  uint64_t events = 0;  // stored events that were delivered
  bool reads = true;    // the last read of the store succeeded
};

class Siblings {
 public:
  // Delivers events that the others save from now on. The store must outlive the result, and nothing may be saved
  // during the call.
  static Result<std::unique_ptr<Siblings>> Find(PostgresStore& store, const SiblingsSettings& settings,
                                                SiblingsListener listener);
  // Stops, and no longer listens to the store.
  ~Siblings();

  void Share(EventView event) { bus_->Share(event.json()); }
  // Ends the delivery.
  void Stop();
  SiblingsStats Stats() const;

 private:
  // Outlives this object if a delivery has not called `done` yet.
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

  // Throws like the constructor of EventBus.
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
  PostgresNews news_;  // this and the members down to said_name_is_taken_: used on thread_ only
  EventParser parser_;
  TimePoint sized_at_{};
  bool failed_ = false;
  bool said_name_is_taken_ = false;
  std::unique_ptr<EventBus> bus_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace weir
