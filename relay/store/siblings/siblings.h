// Siblings: exchanges new events with the other relays that share a PostgreSQL database with this relay. So a client of
// one of these relays gets live events from all of them.
//
//   auto siblings = Siblings::Find(store, settings, listener);
//   siblings.value()->Share(event);  // for ephemeral events only; saved events are announced automatically
//
// This relay reads saved events from the store, so it misses none while it has subscribers. It reads them at once when
// another relay announces new events over the bus (event_bus.h), and also every quarter of a second. Ephemeral events
// come only over the bus; they are lost while it is down.
//
// Threads: Share and Stats may be called from any thread. The listener is called on a thread of this object.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/mutex.h"
#include "relay/nostr/event_parser.h"
#include "relay/store/postgres/postgres_news.h"
#include "relay/store/siblings/event_bus.h"

namespace weir {

class SettingTable;

struct SiblingsSettings {
  std::string bus = "notify";  // WEIR_BUS: "notify" for the database itself, or redis://…
};
// Adds the settings to `table` (config/settings.h), which writes to `settings`.
void Declare(SettingTable& table, SiblingsSettings& settings);
// If a setting is wrong, returns an error that names it and says what is wrong.
Status Check(const SiblingsSettings& settings);

struct SiblingsListener {
  EventLimits limits;  // ephemeral events beyond these limits are dropped
  // Returns true if this relay has live subscribers. While it has none, events are skipped.
  std::function<bool()> has_subscribers;
  // Takes one or more events: saved and ephemeral ones of other relays, and those of this relay whose COMMIT was not
  // answered (postgres_news.h). It must call `done` when it can take more events, during the call or later, from any
  // thread. It is not called again before that. If the relay ends first, it need not call `done`.
  std::function<void(std::vector<SharedEvent> events, std::function<void()> done)> deliver;
};

struct SiblingsStats {
  BusStats bus;            // `lost` also counts received events that were dropped because too many waited here
  uint64_t events = 0;     // the number of saved events that were delivered
  Status read;             // the outcome of the last read of the store
  bool read_only = false;  // true if the last read found that the database takes no writes
};

class Siblings {
 public:
  // Begins to deliver the events that other relays save from now on. Returns an error if the store cannot be read, or
  // if file descriptors, threads or memory run out. If the bus cannot connect yet, this is no error; it tries again
  // every second. The store must outlive the result, and this relay must not save events during the call.
  static Result<std::unique_ptr<Siblings>> Find(PostgresStore& store, const SiblingsSettings& settings,
                                                SiblingsListener listener);
  // Calls Stop, and stops announcing saved events.
  ~Siblings();

  // Sends an ephemeral event to the other relays, if the bus accepts it (EventBus::Share).
  void Share(EventView event) { bus_->Share(event.json()); }
  // Ends the delivery. Once Stop has returned, the listener is not called any more. May be called more than once, but
  // not by two threads at a time.
  void Stop();
  SiblingsStats Stats() const;

 private:
  // The data that the threads share. It outlives this object if a delivery has not called `done` yet.
  struct Inbox {
    Mutex mutex;
    Condition changed;
    bool stopping WEIR_GUARDED_BY(mutex) = false;
    bool is_woken WEIR_GUARDED_BY(mutex) = false;              // true if the bus has announced saved events
    bool delivers WEIR_GUARDED_BY(mutex) = false;              // true if a delivery has not called `done` yet
    std::deque<std::string> ephemeral WEIR_GUARDED_BY(mutex);  // unchecked JSON from the bus
    uint64_t ephemeral_bytes WEIR_GUARDED_BY(mutex) = 0;
    SiblingsStats stats WEIR_GUARDED_BY(mutex);
  };

  // Throws if the constructor of EventBus throws.
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
  PostgresNews news_;  // only thread_ uses the members from here to said_name_is_taken_
  EventParser parser_;
  TimePoint sized_at_{};             // when the sizes of the store were last read
  bool failed_ = false;              // true if the last read of the store failed
  bool said_name_is_taken_ = false;  // true once the loss of this relay's name was logged
  std::unique_ptr<EventBus> bus_;
  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace weir
