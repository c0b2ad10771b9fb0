// ReportReader: reads the newest reports (kind 1984, NIP-56) from the store for administrators, with what they report
// and the decisions that answer them. A page has at most kMostReports rows of a few kilobytes, and ends early when
// it has cost kMostReportWork. It is read in slices, so that the thread can serve others between two of them:
//
//   ReportReader reader(store, verdicts, question, now_seconds);
//   while (reader.Next({}) … == Progress::kMore) …  // a task of the worker pool each
//   reply(ToJson(reader.page()));
//
// Any client can write a report, and put any key into its "p" tag. So if the reported event is stored, the row has the
// key that signed the event, and not the key that the report names.
//
// Threads: only one thread at a time may use a ReportReader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/account/work.h"
#include "relay/nostr/event.h"
#include "relay/store/event_store.h"

namespace weir {

inline constexpr uint16_t kReportKind = 1984;
inline constexpr size_t kMostReports = 100;             // rows of a page
inline constexpr size_t kReportCharacters = 500;        // longer texts of reports and contents of events are cut
inline constexpr Work kMostReportWork = 4 * kTurnWork;  // for finding the reports of a page; some 2,000 small ones

// The administrators' decision about an author or an event.
enum class Verdict : uint8_t { kNone, kAllowed, kBanned };

// Look up decisions. The functions must not block.
struct Verdicts {
  std::function<Verdict(const PublicKey& author)> of_author;
  std::function<Verdict(const EventId& event)> of_event;
};

struct ReportQuestion {
  bool only_open = true;            // leave out reports that are answered
  size_t most = 20;                 // rows, at most kMostReports
  std::optional<EventPlace> after;  // the page begins behind this report; nullopt: with the newest report
};
// Reads the parameters of the method `listreports`; each may be empty. `which` is "open" (the default) or "all", and
// `after` is ReportPage::after of the page before.
Result<ReportQuestion> ReadReportQuestion(std::string_view which, std::string_view after);

// An event that is reported.
struct ReportedEvent {
  EventId id{};
  Verdict verdict = Verdict::kNone;
  bool is_stored = false;  // if false, the next three members are unknown
  uint16_t kind = 0;
  uint64_t created_at = 0;
  std::string content;  // its beginning
};

struct ReportRow {
  EventPlace place;  // the report's place
  PublicKey reporter{};
  std::string type;                    // "spam", "nudity" or another word of the reporter's, may be empty
  std::string text;                    // its beginning
  std::optional<ReportedEvent> event;  // nullopt if the report is about an author
  std::optional<PublicKey> author;     // the event's author, or the reported author
  bool author_is_claim = false;        // only the report says that the event is by `author`
  Verdict author_verdict = Verdict::kNone;

  // Returns true if administrators have decided about the event, or about the author if the report is about an author.
  // A ban of the author also answers reports about events.
  bool is_answered() const;
};

struct ReportPage {
  std::vector<ReportRow> rows;  // newest first
  std::string after;            // the parameter for the next page; empty if there is none
};
// Returns the result of the method `listreports`, without a newline: [{"id","created_at","reporter","type","text",
// "answered","event":{"id","verdict","stored","kind","created_at","content"},"author":{"pubkey","verdict","claimed"}}].
// "event" or "author" may be missing, as may the last three members of "event".
std::string ToJson(const ReportPage& page);
// Returns the result of NIP-86's `listeventsneedingmoderation`: each event in `page` that has a report without an
// answer, once, with the type and text of its newest report as the reason.
std::string EventsNeedingModeration(const ReportPage& page);

class ReportReader {
 public:
  // The store must outlive this object.
  ReportReader(const EventStore& store, Verdicts verdicts, const ReportQuestion& question, uint64_t now_seconds);

  // Reads on within the limits of `slice`. Returns kDone when the page is complete, or an error if the store cannot be
  // read.
  Result<Progress> Next(const Slice& slice);
  // Returns the work that was done so far.
  Work work() const { return work_before_ + query_->work(); }
  // Valid after Next has returned kDone.
  const ReportPage& page() const { return page_; }

 private:
  void TakeReport(EventView report);
  void TakeTarget(EventView event);
  bool BeginTargets();
  Progress Finish();

  const EventStore& store_;
  const Verdicts verdicts_;
  const ReportQuestion question_;
  const uint64_t now_seconds_;
  std::unique_ptr<Query> query_;  // reads the reports, then the events that they report
  bool reads_targets_ = false;
  Work work_before_ = 0;            // the work of the first query
  std::optional<EventPlace> last_;  // the last report that was looked at
  ReportPage page_;
};

}  // namespace weir
