// Siblings: exchanges new events with the other relays that share a PostgreSQL database with this one. So a client gets
// the live events that come to any of these relays, whichever it is connected to.
//
//   auto siblings = Siblings::Find(store, settings, listener);
//   siblings.value()->Share(event);  // ephemeral events only; the store announces saved ones by itself
//
// Saved events are read from the store, so none is missed: at once when the bus (event_bus.h) announces some, and every
// quarter of a second. Ephemeral events come over the bus only, and are lost while it is down.
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
  std::string bus = "notify";  // WEIR_BUS: "notify" for the database itself, or redis://…
};
// Adds the settings to `table` (config/settings.h), which writes to `settings`.
void Declare(SettingTable& table, SiblingsSettings& settings);
// Returns an error that names the setting and says what is wrong with it.
Status Check(const SiblingsSettings& settings);

struct SiblingsListener {
  EventLimits limits;  // ephemeral events beyond these limits are dropped
  // Returns true if this relay has live subscribers. While it has none, events are skipped.
  std::function<bool()> has_subscribers;
  // Gets events of other relays, one or more at a time. It must call `done` when it can take more, during the call or
  // later, from any thread; until then it is not called again. It need not call `done` any more once the relay ends.
  std::function<void(std::vector<SharedEvent> events, std::function<void()> done)> deliver;
};

struct SiblingsStats {
  BusStats bus;
  uint64_t events = 0;  // number of saved events that were delivered
  bool reads = true;    // true if the last read of the store succeeded
};

class Siblings {
 public:
  // Begins to deliver the events that other relays save from now on. Returns an error if the store cannot be read or
  // the bus cannot be made; a bus that cannot be reached yet is no error. The store must outlive the result, and no
  // event may be saved during the call.
  static Result<std::unique_ptr<Siblings>> Find(PostgresStore& store, const SiblingsSettings& settings,
                                                SiblingsListener listener);
  // Calls Stop, and ends the announcing of saved events.
  ~Siblings();

  // Sends an ephemeral event to the other relays, if the bus takes it (EventBus::Share).
  void Share(EventView event) { bus_->Share(event.json()); }
  // Ends the delivery: when it returns, the listener is not called any more. May be called more than once, by one
  // thread.
  void Stop();
  SiblingsStats Stats() const;

 private:
  // Data that the threads share. It outlives this object if a delivery has not called `done` yet.
  struct Inbox {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;
    bool is_woken = false;              // the bus has announced saved events
    bool delivers = false;              // a delivery has not called `done` yet
    std::deque<std::string> ephemeral;  // JSON from the bus, not checked
    uint64_t ephemeral_bytes = 0;
    SiblingsStats stats;
  };

  // Throws if the constructor of EventBus does.
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
  PostgresNews news_;  // this and the members down to said_name_is_taken_ are used on thread_ only
  EventParser parser_;
  TimePoint sized_at_{};             // when the sizes of the store were read last
  bool failed_ = false;              // the last read of the store failed
  bool said_name_is_taken_ = false;  // the error was logged
  std::unique_ptr<EventBus> bus_;
  std::thread thread_;  // the last member, because it uses the others
};

}  // namespace weir
