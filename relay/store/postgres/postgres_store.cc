#include "relay/store/postgres/postgres_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

#include "config/settings.h"
#include "relay/nostr/vanish.h"
#include "relay/store/postgres/postgres_edit.h"
#include "relay/store/postgres/postgres_edit_statements.h"
#include "relay/store/postgres/postgres_query.h"
#include "relay/store/postgres/postgres_search_query.h"
#include "relay/store/postgres/postgres_word_build.h"
#include "relay/store/save_plan.h"

namespace weir {
namespace {

constexpr PostgresStatement kNow{"now", "SELECT origin, serial FROM weir_origins ORDER BY origin"};
constexpr PostgresStatement kIsStandby{"is_standby", "SELECT pg_is_in_recovery()::int"};
constexpr PostgresStatement kArrivals{
    "arrivals",
    "SELECT serial, record FROM weir_events WHERE origin = $1::int AND serial > $2::bigint"
    " AND serial <= $3::bigint ORDER BY serial LIMIT $4::bigint"};
constexpr PostgresStatement kEvents{"events", "SELECT coalesce(sum(events), 0)::bigint FROM weir_origins"};
constexpr PostgresStatement kDiskBytes{
    "disk_bytes",
    "SELECT sum(pg_total_relation_size(t.oid))::bigint FROM (SELECT 'weir_events'::regclass::oid UNION ALL"
    " SELECT 'weir_tags'::regclass::oid UNION ALL SELECT inhrelid FROM pg_inherits"
    " WHERE inhparent IN ('weir_events'::regclass, 'weir_tags'::regclass)) AS t (oid)"};
constexpr PostgresStatement kNote{"note", "SELECT value FROM weir_meta WHERE key = $1::text"};

constexpr PostgresStatement kMemos{
    "memos", "SELECT name, text, revision FROM weir_memos WHERE revision > $1::bigint ORDER BY revision"};

constexpr int kMostTries = 20;
constexpr int64_t kFirstArrivals = 16;  // doubled for each further read
constexpr int64_t kMostArrivals = 256;

// Returns true for an event that removes other events, and that must not miss those which other relays are saving at
// the same time.
bool DeletesOrVanishes(const Event& event) {
  return event.view().kind() == kDeletionKind || event.view().kind() == kVanishKind;
}

struct Hint {
  const char* words;  // in an error of the server or of libpq
  const char* what_to_do;
};
constexpr std::array<Hint, 5> kHints{{
    {"session is read-only",
     "this is a standby, or takes no writes; name the primary as well: postgres://user@host1,host2/database"},
    {"password", "put the password in the address, in PGPASSWORD or in ~/.pgpass"},
    {"permission denied", "this user must own the tables weir_…, or, if there are none yet, have CREATE on the schema"},
    {"database \"", "create it: createdb, or CREATE DATABASE"},
    {"\" already exists", "it is another program's; name another database"},
}};

// Adds a hint to the error, if one is known.
Status WithHint(const Status& status) {
  for (const Hint& hint : kHints)
    if (!status.ok() && status.message().find(hint.words) != std::string::npos)
      return Status::Error(status.message() + "; " + hint.what_to_do);
  return status;
}

}  // namespace

std::string WithWritableHost(const std::string& conninfo) {
  if (conninfo.find("target_session_attrs") != conninfo.npos) return conninfo;
  if (conninfo.find("://") == conninfo.npos) return conninfo + " target_session_attrs=read-write";
  return conninfo + (conninfo.find('?') == conninfo.npos ? "?" : "&") + "target_session_attrs=read-write";
}

void Declare(SettingTable& table, PostgresStoreSettings& s) {
  table.Add("ORIGIN", &s.origin,
            "the name under which this relay saves in a shared PostgreSQL; every relay needs a different name, and "
            "must keep it; empty: the machine's name and the port");
  table.Add(
      "POSTGRES_CONNECTIONS", &s.connections, {.min = 1, .max = 1000, .unit = "connections"},
      "the most connections that read from PostgreSQL; the relay uses as many of them as help, and has five more: "
      "for saving, for the other relays' events, for messages to those relays, for the administrators' decisions, "
      "and for the throttle");
  table.Add(
      "POSTGRES_LEAST_CONNECTIONS", &s.least_connections, {.min = 1, .max = 1000, .unit = "connections"},
      "the connections that read from PostgreSQL at first, and after idle time; if this is POSTGRES_CONNECTIONS or "
      "more, the number is fixed");
  table.Add("POSTGRES_TIMEOUT_MS", &s.timeout, {.min = 100, .max = 600'000},
            "a read or write fails if PostgreSQL does not answer within this time");
}

PostgresStore::PostgresStore(const PostgresStoreOptions& options)
    : options_(options),
      readers_(conninfo(), {.least = options.settings.least_connections, .most = options.settings.connections},
               options.settings.timeout),
      memo_reader_(conninfo(), {.least = 1, .most = 1}, options.settings.timeout),
      writer_(conninfo()) {}

PostgresStore::~PostgresStore() = default;

std::string PostgresStore::conninfo() const {
  return options_.read_only ? options_.conninfo : WithWritableHost(options_.conninfo);
}

Result<std::unique_ptr<PostgresStore>> PostgresStore::Open(const PostgresStoreOptions& options) {
  std::unique_ptr<PostgresStore> store(new PostgresStore(options));
  if (Status opened = store->OpenAll(); !opened.ok()) return WithHint(opened);
  return store;
}

Status PostgresStore::OpenAll() {
  const Duration patience = options_.settings.timeout;
  if (Status connected = Connect(writer_); !connected.ok()) return connected;
  if (Status opened = OpenSchema(writer_, options_.create && !options_.read_only, patience); !opened.ok())
    return opened;
  Result<std::string> database = DatabaseToken(writer_, patience);
  if (!database.ok()) return database.status();
  database_ = std::move(database).value();
  if (Status opened = OpenSearch(patience); !opened.ok()) return opened;
  if (options_.read_only) {
    writer_.Queue(kIsStandby);
    const Result<std::vector<PostgresRows>> answers = writer_.Run(patience);
    if (!answers.ok()) return answers.status();
    if (answers.value()[0].Int(0, 0) != 0)
      spdlog::warn("this PostgreSQL is a standby: events that have not reached it yet are missing");
  } else {
    Result<PostgresOrigin> origin = TakeOrigin(writer_, options_.settings.origin, !options_.is_history, patience);
    if (!origin.ok()) return origin.status();
    origin_ = std::move(origin).value();
  }
  if (searched_ != nullptr && !options_.read_only)
    if (Status begun = BeginWords(writer_, *searched_, patience); !begun.ok()) return begun;
  return ReadSizes(writer_, patience);
}

std::unique_ptr<PostgresSession> PostgresStore::NewSession() const {
  return std::make_unique<PostgresSession>(conninfo());
}

Status PostgresStore::Connect(PostgresSession& session, Duration patience) const {
  if (Status connected = session.Connect(patience); !connected.ok()) return connected;
  return Tune(session, patience);
}

// Connects again and repeats the work if the connection was lost while it was idle.
Result<uint64_t> PostgresStore::Write(PostgresOrigin& origin, bool alone,
                                      const std::function<Status(PostgresEdit& edit)>& work) {
  if (options_.read_only) return Status::Error("this database was opened for reading only");
  lacks_place_ = false;
  bool was_idle = writer_.connected();
  for (int tries = 1;; ++tries) {
    if (!writer_.connected())
      if (Status connected = Connect(writer_); !connected.ok()) return connected;
    PostgresEdit edit(writer_, origin, alone || in_doubt_, options_.settings.timeout, searched_.get());
    Status done;
    try {
      done = work(edit);
      if (done.ok()) {
        committing_since_ = Clock::System().Now();
        done = edit.Commit();
      }
    } catch (...) {
      if (edit.has_written()) in_doubt_ = true;
      writer_.Close();  // answers to this edit may still come
      throw;
    }
    committing_since_ = TimePoint();
    if (edit.has_written()) in_doubt_ = !done.ok();
    if (&origin == &origin_ && (done.ok() || edit.name_is_taken())) {
      const MutexLock lock(mutex_);
      stuck_ = done;
    }
    if (done.ok()) {
      Count(edit);
      Confirm(origin, edit);
      return edit.removed();
    }
    lacks_place_ = edit.lacks_place();
    const bool may_try_again = edit.MayTryAgain() && tries < kMostTries;
    edit.Rollback();
    if (may_try_again) continue;
    const bool was_lost = !writer_.connected() && !writer_.timed_out();
    if (!std::exchange(was_idle, false) || edit.has_written() || !was_lost) return done;
  }
}

bool PostgresStore::in_doubt() const {
  const TimePoint since = committing_since_;
  return in_doubt_ || (since != TimePoint() && Clock::System().Now() - since > kUsualCommit);
}

Status PostgresStore::Stuck() const {
  const MutexLock lock(mutex_);
  return stuck_;
}

void PostgresStore::Count(const PostgresEdit& edit) {
  const uint64_t before = events_;
  events_ = before + edit.added() - std::min(before + edit.added(), edit.removed());
}

// If the database has a larger serial than the last confirmed one, an earlier COMMIT has succeeded although its answer
// was lost.
void PostgresStore::Confirm(PostgresOrigin& origin, const PostgresEdit& edit) {
  if (edit.serial_before() > origin.serial && &origin == &origin_) {
    const MutexLock lock(mutex_);
    unknown_news_.emplace_back(origin.serial, edit.serial_before());
  }
  origin.serial = std::max(origin.serial, edit.last_serial());
}

Result<size_t> PostgresStore::SaveSome(std::span<const Event> events, uint64_t now_seconds, Work most,
                                       std::span<SaveResult> results) {
  return SaveAs(origin_, events, now_seconds, most, results);
}

Result<size_t> PostgresStore::SaveSomeHistory(std::span<const Event> events, uint64_t now_seconds, Work most,
                                              std::span<SaveResult> results) {
  if (options_.is_history) return SaveAs(origin_, events, now_seconds, most, results);
  if (history_.name.empty())
    if (Status taken = TakeHistory(); !taken.ok()) return taken;
  return SaveAs(history_, events, now_seconds, most, results);
}

// Connects again and tries again if the connection was lost while it was idle, as Write does.
Status PostgresStore::TakeHistory() {
  for (bool was_idle = writer_.connected();;) {
    if (!writer_.connected())
      if (Status connected = Connect(writer_); !connected.ok()) return connected;
    Result<PostgresOrigin> taken = TakeOrigin(writer_, origin_.name + " (history)", false, options_.settings.timeout);
    if (taken.ok()) {
      history_ = std::move(taken).value();
      has_saved_ = false;
      return {};
    }
    const bool was_lost = !writer_.connected() && !writer_.timed_out();
    if (!std::exchange(was_idle, false) || !was_lost) return taken.status();
  }
}

Result<size_t> PostgresStore::SaveAs(PostgresOrigin& origin, std::span<const Event> events, uint64_t now_seconds,
                                     Work most, std::span<SaveResult> results) {
  std::vector<SaveResult> planned;
  size_t settled = 0;
  bool is_news = false;
  // An edit of another relay that locked all origins may not have seen an origin that was added meanwhile. So the first
  // save after TakeOrigin locks all origins, too.
  const bool alone = !has_saved_ || std::ranges::any_of(events, DeletesOrVanishes);
  const auto plan = [&](PostgresEdit& edit) -> Status {
    // Copied to `results` only after the edit is written.
    planned.assign(results.begin(), results.end());
    Result<size_t> some = SavePlan(edit, options_.own_urls, now_seconds, most).Add(events, planned);
    if (!some.ok()) return some.status();
    settled = some.value();
    is_news = edit.added() > 0;
    return {};
  };
  Result<uint64_t> written = Write(origin, alone, plan);
  // An event for which the database has no partition must not make those of others fail.
  for (; !written.ok() && lacks_place_; written = Write(origin, alone, plan)) {
    if (std::min(events.size(), settled) == 1) {
      results.front().outcome = SaveOutcome::kNoPlace;
      return size_t{1};
    }
    // The failed edit had `settled` events at most.
    events = events.first(std::max<size_t>(std::min(events.size(), settled) / 2, 1));
    results = results.first(events.size());
  }
  if (!written.ok()) return written.status();
  has_saved_ = true;
  for (SaveResult& result : planned)
    if (result.serial.number != 0) result.serial.origin = origin.number;
  if (std::ranges::any_of(planned, &SaveResult::vanishes)) owes_vanishing_ = true;
  std::ranges::copy(planned, results.begin());
  if (is_news && tell_ && &origin == &origin_) tell_();
  return settled;
}

Result<std::vector<bool>> PostgresStore::Stored(std::span<const EventId> ids) const {
  return FindStored(ids, kFindIds, PostgresValues().Array(IdArray(ids)));
}

Result<std::vector<bool>> PostgresStore::StoredEvents(std::span<const EventView> events) const {
  std::vector<EventId> ids;
  for (const EventView event : events) ids.push_back(event.id());
  return FindStored(ids, kFindEvents, EventKeys(events).Values());
}

// The rows of the statement have the ids of those that are stored.
Result<std::vector<bool>> PostgresStore::FindStored(std::span<const EventId> ids, const PostgresStatement& statement,
                                                    const PostgresValues& values) const {
  return readers_.With<std::vector<bool>>([&](PostgresSession& session) -> Result<std::vector<bool>> {
    session.Queue(statement, values);
    const Result<std::vector<PostgresRows>> answers = session.Run(options_.settings.timeout);
    if (!answers.ok()) return answers.status();
    const PostgresRows& rows = answers.value()[0];
    std::vector<EventId> found;
    for (size_t i = 0; i < rows.size(); ++i) found.push_back(AsBytes(rows.Bytes(i, 0)));
    std::ranges::sort(found);
    std::vector<bool> stored;
    for (const EventId& id : ids) stored.push_back(std::ranges::binary_search(found, id));
    return stored;
  });
}

Result<std::vector<bool>> PostgresStore::StoredSigned(std::span<const EventView> events) const {
  return readers_.With<std::vector<bool>>([&](PostgresSession& session) -> Result<std::vector<bool>> {
    session.Queue(kReadEvents, EventKeys(events).Values());
    const Result<std::vector<PostgresRows>> answers = session.Run(options_.settings.timeout);
    if (!answers.ok()) return answers.status();
    const PostgresRows& rows = answers.value()[0];
    std::unordered_map<std::string_view, std::string_view> records;
    for (size_t i = 0; i < rows.size(); ++i) records.emplace(rows.Bytes(i, 0), rows.Bytes(i, 1));
    std::vector<bool> stored;
    for (const EventView event : events) {
      const auto found = records.find(AsText(event.id()));
      stored.push_back(found != records.end() && EventView::WellFormed(found->second) &&
                       EventView(found->second).signature() == event.signature());
    }
    return stored;
  });
}

std::unique_ptr<Query> PostgresStore::Find(std::vector<Filter> filters, const QueryOptions& options) const {
  if (std::ranges::any_of(filters, [](const Filter& filter) { return filter.search.has_value(); }))
    return std::make_unique<PostgresSearchQuery>(readers_, options_.settings.timeout, searched_.get(), filters,
                                                 options);
  return std::make_unique<PostgresQuery>(readers_, options_.settings.timeout, std::move(filters), options);
}

Result<SaveOutcome> PostgresStore::Judge(const Event& event, uint64_t now_seconds) {
  return readers_.With<SaveOutcome>([&](PostgresSession& session) -> Result<SaveOutcome> {
    PostgresEdit edit(session, origin_, false, options_.settings.timeout);
    SaveResult result;
    const Result<size_t> planned =
        SavePlan(edit, options_.own_urls, now_seconds, kTurnWork).Add({&event, 1}, {&result, 1});
    edit.Rollback();
    if (!planned.ok()) return planned.status();
    return result.outcome;
  });
}

Status PostgresStore::CopyMarks(Shelf shelf, std::span<const ShelfEntry> marks) {
  const Result<uint64_t> written = Write(origin_, true, [&](PostgresEdit& edit) -> Status {
    for (const ShelfEntry& mark : marks) edit.Copy(shelf, mark);
    return {};
  });
  if (!written.ok()) return written.status();
  if (shelf != Shelf::kVanished) return RemoveMarked(shelf, marks);
  owes_vanishing_ = true;
  return {};
}

Result<std::string> PostgresStore::Note(const std::string& name) const {
  return readers_.With<std::string>([&](PostgresSession& session) -> Result<std::string> {
    session.Queue(kNote, PostgresValues().Bytes(name));
    const Result<std::vector<PostgresRows>> answers = session.Run(options_.settings.timeout);
    if (!answers.ok()) return answers.status();
    const PostgresRows& rows = answers.value()[0];
    return std::string(rows.size() > 0 ? rows.Bytes(0, 0) : "");
  });
}

Status PostgresStore::SetNote(const std::string& name, const std::string& text) {
  const auto set = [&](PostgresEdit& edit) -> Status {
    edit.SetNote(name, text);
    return {};
  };
  return Write(origin_, false, set).status();
}

Status PostgresStore::WriteMemos(std::span<const Memo> changes) {
  const auto write = [&](PostgresEdit& edit) -> Status {
    edit.WriteMemos(changes);
    return {};
  };
  return Write(origin_, false, write).status();
}

Result<uint64_t> PostgresStore::ReadMemos(uint64_t after, const std::function<void(const Memo& memo)>& visit) const {
  return memo_reader_.With<uint64_t>([&](PostgresSession& session) -> Result<uint64_t> {
    session.Queue(kMemos, PostgresValues().Int64(static_cast<int64_t>(after)));
    const Result<std::vector<PostgresRows>> answers = session.Run(options_.settings.timeout);
    if (!answers.ok()) return answers.status();
    const PostgresRows& rows = answers.value()[0];
    for (size_t i = 0; i < rows.size(); ++i) {
      Memo memo{.name = std::string(rows.Bytes(i, 0)), .text = std::nullopt};
      if (!rows.IsNull(i, 1)) memo.text = rows.Bytes(i, 1);
      if (!memo.name.empty()) visit(memo);
    }
    return rows.size() == 0 ? after : static_cast<uint64_t>(rows.Int(rows.size() - 1, 2));
  });
}

// ANALYZE may take long, so it has a connection and a time limit of its own.
Status PostgresStore::Analyze() {
  PostgresSession session(conninfo());
  if (Status connected = session.Connect(options_.settings.timeout); !connected.ok()) return connected;
  return session.Ask("ANALYZE weir_events, weir_tags", std::chrono::minutes(10)).status();
}

Result<Moment> PostgresStore::Now() const {
  return readers_.With<Moment>([&](PostgresSession& session) -> Result<Moment> {
    session.Queue(kNow);
    const Result<std::vector<PostgresRows>> answers = session.Run(options_.settings.timeout);
    if (!answers.ok()) return answers.status();
    Moment now;
    const PostgresRows& rows = answers.value()[0];
    for (size_t i = 0; i < rows.size(); ++i)
      now.Advance({static_cast<uint32_t>(rows.Int(i, 0)), static_cast<uint64_t>(rows.Int(i, 1))});
    return now;
  });
}

// Holds no connection while `visit` runs.
Status PostgresStore::ScanAll(const Moment& after, const Moment& until,
                              const std::function<bool(Serial serial, EventView event)>& visit) const {
  for (const Serial& last : until.last()) {
    int64_t from = static_cast<int64_t>(after.NumberOf(last.origin));
    int64_t at_once = kFirstArrivals;
    for (bool more = static_cast<uint64_t>(from) < last.number; more; at_once = std::min(2 * at_once, kMostArrivals)) {
      Result<std::vector<PostgresRows>> answers =
          readers_.With<std::vector<PostgresRows>>([&](PostgresSession& session) {
            session.Queue(kArrivals, PostgresValues()
                                         .Int32(static_cast<int32_t>(last.origin))
                                         .Int64(from)
                                         .Int64(static_cast<int64_t>(last.number))
                                         .Int64(at_once));
            return session.Run(options_.settings.timeout);
          });
      if (!answers.ok()) return answers.status();
      const PostgresRows& rows = answers.value()[0];
      for (size_t i = 0; i < rows.size(); ++i) {
        from = rows.Int(i, 0);
        const std::string_view record = rows.Bytes(i, 1);
        if (!EventView::WellFormed(record)) return Status::Error("PostgreSQL: a stored event is damaged");
        if (!visit({last.origin, static_cast<uint64_t>(from)}, EventView(record))) return {};
      }
      more = rows.size() == static_cast<size_t>(at_once) && static_cast<uint64_t>(from) < last.number;
    }
  }
  return {};
}

std::optional<PostgresStore::Range> PostgresStore::UnknownNews() const {
  const MutexLock lock(mutex_);
  if (unknown_news_.empty()) return {};
  return unknown_news_.front();
}

void PostgresStore::LetGoOfUnknownNews(uint64_t until) {
  const MutexLock lock(mutex_);
  Range& oldest = unknown_news_.front();
  oldest.first = until;
  if (until >= oldest.second) unknown_news_.pop_front();
}

Status PostgresStore::ReadSizes(PostgresSession& session, Duration patience) {
  session.Queue(kEvents);
  const Result<std::vector<PostgresRows>> events = session.Run(patience);
  if (!events.ok()) return events.status();
  events_ = static_cast<uint64_t>(events.value()[0].Int(0, 0));
  // Other databases with PostgreSQL's protocol lack this function.
  session.Queue(kDiskBytes);
  const Result<std::vector<PostgresRows>> bytes = session.Run(patience);
  if (bytes.ok()) disk_bytes_ = static_cast<uint64_t>(bytes.value()[0].Int(0, 0));
  if (!session.connected()) return bytes.status();
  return searched_ == nullptr ? Status() : ReadWordSizes(session, patience);
}

}  // namespace weir
