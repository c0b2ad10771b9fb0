// PageWalk: compares the own set of events with that of another relay that does not know NIP-77. It reads all events
// that match the filter, newest first, in pages of a REQ each, and so finds the events that one side lacks.
//
// If more events than a page has are of one second, the relay gives only some of them; the walk then goes on with the
// second before, and cut_seconds counts it. Events that do not match the filter are ignored.
//
// Each page begins with the events that the last one ended with. If it does not, the relay takes `until` for a date
// that is not in the page any more; the walk then asks for each page from the next second on.
//
// Threads: only one thread at a time may use a PageWalk.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/negentropy/sync_set.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"
#include "relay/nostr/relay_message.h"

namespace weir {

class PageWalk {
 public:
  using Say = std::function<Status(std::string_view message)>;
  using Take = std::function<Status(std::string_view json)>;

  static constexpr std::string_view kPage = "page-";  // the begin of the names of the subscriptions
  // The usual limit of a relay.
  static constexpr uint64_t kEventsOfPage = 500;
  // A relay that gives more for a REQ does not heed limits, and may not end at all.
  static constexpr uint64_t kMostOfPage = 100'000;

  // The set must be sealed, and must outlive the object.
  PageWalk(SyncPart set, Filter filter, const EventLimits& limits);

  Status Begin(const Say& say) { return AskNext(say); }
  // Returns true if the message belongs to the walk. Passes each event that is not in the set to `take`. Returns an
  // error if the relay refuses to be read, or does not give pages.
  Result<bool> OnMessage(const RelayMessage& message, const Say& say, const Take& take);

  bool is_done() const { return done_; }
  uint64_t pages() const { return pages_; }
  uint64_t found() const { return found_; }  // events that were passed to `take`
  uint64_t cut_seconds() const { return cut_seconds_; }
  // Returns the ids of the set that the relay has not given. Call it when the walk is done.
  std::vector<EventId> Unseen() const;

 private:
  Status AskNext(const Say& say);
  Status AskAgain(const Say& say);
  Status TakeEvent(std::string_view json, const Say& say, const Take& take);
  Status Close(const Say& say) const;
  Status EndPage(const Say& say);
  std::string Subscription() const { return std::string(kPage) + std::to_string(pages_); }

  const SyncPart set_;
  Filter filter_;
  EventParser parser_;
  std::vector<bool> seen_;              // by the index in the set
  std::set<EventId> of_oldest_second_;  // events of the last pages at the second where the next one begins
  bool awaits_known_ = false;           // the page must begin with one of these
  bool until_excludes_ = false;         // events at the date `until` are not in the relay's answer
  uint64_t oldest_ = UINT64_MAX;        // the oldest date on the pages so far
  uint64_t new_on_page_ = 0;
  uint64_t on_page_ = 0;
  uint64_t beyond_page_ = 0;  // events that are younger than the page, or not valid
  uint64_t largest_page_ = 0;
  uint64_t pages_ = 0;
  uint64_t found_ = 0;
  uint64_t cut_seconds_ = 0;
  bool done_ = false;
};

}  // namespace weir
