// History: a record of what clients of one or more relays sent and received, and when. The recorder (recorder.h) writes
// it during a run, and the checker (checker.h) judges it.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace weir::histories {

using Time = std::chrono::microseconds;  // since the begin of the run
inline constexpr Time kNever = Time::max();
inline constexpr int kAny = -1;

// The kinds of events that the checker treats in a special way.
inline constexpr int kDeletion = 5;
inline constexpr int kVanishing = 62;       // the author asks to vanish: all events up to its time go
inline constexpr int kEphemeral = 20001;    // is never stored
inline constexpr int kReplaceable = 10003;  // replaces the author's older version
inline constexpr int kAddressable = 30078;  // has an address, and replaces the older version there

// An event that a client has sent at least once. Its number is its index in History::events.
struct Published {
  std::string id;  // in hexadecimal
  int author = 0;
  int kind = 1;
  int topic = kAny;               // the value of its tag "t"
  int64_t created_at = 0;         // seconds since 1970
  int address = kAny;             // the number of its address, if it is replaceable or addressable
  Time expires = kNever;          // by the right time, when it expires (NIP-40)
  std::vector<uint32_t> deletes;  // the events that a deletion names; their author is that of the deletion
  int deletes_address = kAny;     // the address whose versions a deletion removes up to its own time
};

// One sending of an event to a relay.
struct Attempt {
  uint32_t event = 0;
  int relay = 0;
  Time sent{};
  Time answered = kNever;  // kNever: no OK came
  bool accepted = false;   // the verdict of the OK
  bool in_doubt = false;   // a refusal by an error of the relay or of its store, after which the event may be stored
  std::string reason;      // the text of the OK
};

// The condition of a REQ with one filter, without a limit that its matches could reach.
struct Selection {
  int author = kAny;
  int kind = kAny;
  int topic = kAny;

  bool Matches(const Published& event) const {
    return (author == kAny || author == event.author) && (kind == kAny || kind == event.kind) &&
           (topic == kAny || topic == event.topic);
  }
  auto operator<=>(const Selection&) const = default;
};

struct Received {
  uint32_t event = 0;
  Time at{};
};

// A REQ, from its sending to the end of its subscription.
struct Subscription {
  enum class End : uint8_t { kOpen, kByClient, kByRelay, kDisconnected };

  Selection selection;
  int relay = 0;
  Time sent{};
  Time eose = kNever;
  size_t stored = 0;  // the first events of `received`, which came before EOSE; all of them if EOSE did not come
  std::vector<Received> received;
  Time ended = kNever;
  End end = End::kOpen;
  bool slow = false;   // its client did not read at full speed all the time
  bool final = false;  // it was sent when all work had ended, to compare the relays
};

// A time in which a relay could not work, because it was stopped or killed, or its database was. Faults do not overlap.
struct Fault {
  int relay = kAny;  // kAny: all relays
  Time begin{};
  Time end{};
};

// An administrator's ban of an event or of an author, which one relay is told.
struct Ban {
  std::optional<uint32_t> event;  // null: the ban is of the author
  int author = kAny;
  int relay = 0;
  Time sent{};
  Time confirmed = kNever;  // kNever: the relay did not confirm it, and it may hold, but need not
};

// A time in which a relay's clock was ahead of the right time, or behind it if `ahead` is negative.
struct MovedClock {
  int relay = 0;
  Time ahead{};
  Time begin{};
  Time end = kNever;
};

// A serial that an origin (a relay's name in the database) has given to an event.
struct Serial {
  int origin = 0;
  int64_t number = 0;
  std::string id;
};

struct History {
  std::vector<Published> events;
  std::vector<Attempt> attempts;
  std::vector<Subscription> subscriptions;
  std::vector<Fault> faults;
  std::vector<Ban> bans;
  std::vector<MovedClock> clocks;
  std::vector<Serial> serials;
  std::vector<std::string> strangers;  // ids of events that a relay sent and no client had published
  Time end{};
};

}  // namespace weir::histories
