// Faults of a server: the error says what to do, and nothing acknowledged is lost.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {
namespace {

Event NumberedNote(uint64_t number) { return ToEvent(Plain(Author(1), RandomNostr::kStart + number, 1)); }

Status SaveOne(EventStore& store, const Event& event) {
  SaveResult result;
  return store.SaveSome({&event, 1}, 0, kTurnWork, {&result, 1}).status();
}

// Saves the event. When its COMMIT waits for a standby, calls a function of the server, such as pg_cancel_backend, with
// the session that waits.
Status SaveWithoutStandby(const PostgresProcess& primary, const std::string& function, EventStore& store,
                          const Event& event) {
  Status saved;
  std::atomic<bool> is_over = false;
  std::thread saves([&] {
    saved = SaveOne(store, event);
    is_over = true;
  });
  EXPECT_TRUE(Eventually([&] { return is_over || store.in_doubt(); })) << "the COMMIT takes long";
  EXPECT_TRUE(Eventually([&] {
    return is_over ||
           primary.Ask("SELECT " + function + "(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "t";
  }));
  saves.join();
  return saved;
}

// Opens a store whose time-out may be too short for making the tables.
std::unique_ptr<PostgresStore> MustOpenImpatient(const PostgresStoreOptions& options) {
  PostgresStoreOptions patient = options;
  patient.settings.timeout = PostgresStoreSettings().timeout;
  EXPECT_NE(MustOpen(patient), nullptr);
  std::unique_ptr<PostgresStore> store;
  EXPECT_TRUE(Eventually([&] {
    auto opened = PostgresStore::Open(options);
    if (opened.ok()) store = std::move(opened).value();
    return store != nullptr;
  }));
  return store;
}

std::string WhyNot(const PostgresStoreOptions& options) {
  const auto opened = PostgresStore::Open(options);
  EXPECT_FALSE(opened.ok());
  return opened.status().message();
}

void ExpectIn(const std::string& words, const std::string& text) { EXPECT_TRUE(Has(text, words)) << text; }

class PostgresFaultTest : public testing::Test {
 protected:
  PostgresStoreOptions Options(const std::string& more = "") const {
    PostgresStoreOptions options = database_.Options();
    options.conninfo += more;
    return options;
  }
  PostgresDatabase database_;
};

TEST_F(PostgresFaultTest, ErrorsAtOpeningSayWhatHelps) {
  const std::string server = "host=127.0.0.1 user=weir port=" + std::to_string(SharedPostgres().port());
  ExpectIn("create it: createdb", WhyNot({.conninfo = server + " dbname=nothing", .settings = {.origin = "here"}}));
  ExpectIn("Connection refused", WhyNot({.conninfo = "host=127.0.0.1 port=1", .settings = {.origin = "here"}}));
  ExpectIn("name the primary as well", WhyNot(Options(" options='-c default_transaction_read_only=on'")));
  ExpectIn("weir relay or weir import makes it", WhyNot([this] {
             PostgresStoreOptions options = Options();
             options.create = false;
             return options;
           }()));
  database_.Ask("CREATE ROLE stranger LOGIN");
  PostgresStoreOptions stranger = Options();
  stranger.conninfo.replace(stranger.conninfo.find("user=weir"), 9, "user=stranger");
  ExpectIn("CREATE on the schema", WhyNot(stranger));
  database_.Ask("DROP ROLE stranger");
}

TEST_F(PostgresFaultTest, TablesOfANewerWeirOrOfAnotherProgramAreLeftAlone) {
  MustOpen(Options());
  database_.Ask("UPDATE weir_meta SET value = '2' WHERE key = 'format'");
  ExpectIn("have format 2 and this weir knows 1; it was written by a newer one: update this program",
           WhyNot(Options()));
  database_.Ask("UPDATE weir_meta SET value = 'x' WHERE key = 'format'");
  ExpectIn("that is not weir's; name another database", WhyNot(Options()));
  database_.Ask("DROP TABLE weir_meta");
  ExpectIn("it is another program's; name another database", WhyNot(Options()));
  database_.Ask("CREATE TABLE weir_meta (number int)");
  ExpectIn("that is not weir's; name another database", WhyNot(Options()));
}

TEST_F(PostgresFaultTest, APasswordIsAskedForInWordsThatHelp) {
  PostgresProcess server({"fsync=off", "synchronous_commit=off"});
  server.Ask("CREATE ROLE guarded LOGIN PASSWORD 'right'");
  server.Ask("GRANT CREATE ON SCHEMA public TO guarded");
  const std::string file = server.Ask("SHOW hba_file");
  server.Ask(
      "COPY (SELECT 'host all guarded 127.0.0.1/32 scram-sha-256' UNION ALL SELECT 'host all all 127.0.0.1/32"
      " trust') TO '" +
      file + "'");
  server.Ask("SELECT pg_reload_conf()");
  const auto options = [&](const std::string& password) {
    PostgresStoreOptions o{.conninfo = "host=127.0.0.1 user=guarded dbname=postgres port=" +
                                       std::to_string(server.port()) + " password=" + password};
    o.settings.origin = "here";
    return o;
  };
  ASSERT_TRUE(Eventually([&] { return !PostgresStore::Open(options("wrong")).ok(); }));
  ExpectIn("PGPASSWORD", WhyNot(options("wrong")));
  EXPECT_FALSE(Has(WhyNot(options("wrong")), "wrong")) << "the password is nobody's business";
  EXPECT_NE(MustOpen(options("right")), nullptr);
}

// After any fault of a server that is asked, the store is there again when the server is.
TEST_F(PostgresFaultTest, AServerThatStandsStillFailsInTimeAndIsUsedAgain) {
  PostgresProcess server({"fsync=off"});
  PostgresStoreOptions options{.conninfo = server.conninfo(), .settings = {.origin = "here"}};
  options.settings.timeout = std::chrono::milliseconds(300);
  const auto store = MustOpenImpatient(options);
  ASSERT_TRUE(store && Eventually([&] { return SaveOne(*store, NumberedNote(1)).ok(); }));
  server.Pause();
  ExpectIn("no answer in time", SaveOne(*store, NumberedNote(2)).message());
  ExpectIn("PostgreSQL: ", store->Has(NumberedNote(1).view().id()).status().message());
  server.Resume();
  EXPECT_TRUE(Eventually([&] { return SaveOne(*store, NumberedNote(3)).ok(); }));
  EXPECT_TRUE(Eventually([&] {
    const auto has = store->Has(NumberedNote(1).view().id());
    return has.ok() && has.value();
  }));
}

// The server may have been started again since the last write.
TEST_F(PostgresFaultTest, TheFirstWriteOfAnyKindAfterAnIdleConnectionWasLostSucceeds) {
  const std::string others = " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
  const Event event = NumberedNote(1);
  const struct {
    const char* name;
    std::function<Status(PostgresStore&)> write;
  } cases[] = {
      {"SaveSome", [&](PostgresStore& store) { return SaveOne(store, event); }},
      {"SaveSomeHistory",
       [&](PostgresStore& store) {
         SaveResult result;
         return store.SaveSomeHistory({&event, 1}, 0, kTurnWork, {&result, 1}).status();
       }},
      {"RemoveVanished", [](PostgresStore& store) { return store.RemoveVanished(kTurnWork).status(); }},
      {"RemoveExpired", [](PostgresStore& store) { return store.RemoveExpired(1, kTurnWork).status(); }},
      {"Delete", [&](PostgresStore& store) { return store.Delete(std::vector{event.view().id()}).status(); }},
      {"SetNote", [](PostgresStore& store) { return store.SetNote("name", "text"); }},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto store = MustOpen(Options());
    ASSERT_NE(store, nullptr);
    database_.Ask("SELECT count(pg_terminate_backend(pid))" + others);
    ASSERT_TRUE(Eventually([&] { return database_.Ask("SELECT count(*)" + others) == "0"; }));
    const Status written = c.write(*store);
    EXPECT_TRUE(written.ok()) << written.message();
  }
}

TEST_F(PostgresFaultTest, AServerThatIsKilledAndStartedAgainHasWhatWasAcknowledged) {
  PostgresProcess server;
  PostgresStoreOptions options{.conninfo = server.conninfo(), .settings = {.origin = "here"}};
  const auto store = MustOpen(options);
  uint64_t next = 0;
  std::vector<EventId> acknowledged;
  const auto save_next = [&] {
    std::vector<Event> events;
    for (int i = 0; i < 100; ++i) events.push_back(NumberedNote(next++));
    std::vector<SaveResult> results(events.size());
    const Status saved = store->Save(events, 0, results);
    for (const Event& event : events)
      if (saved.ok()) acknowledged.push_back(event.view().id());
    return saved.ok();
  };
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(save_next());
  std::thread kills([&] { server.Kill(); });
  for (int i = 0; i < 1000 && save_next(); ++i) {
  }
  kills.join();
  server.Restart();
  EXPECT_TRUE(Eventually(save_next));
  const auto stored = store->Stored(acknowledged);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  EXPECT_EQ(std::ranges::count(stored.value(), false), 0);
}

TEST_F(PostgresFaultTest, AReaderOfAStandbyIsTold) {
  PostgresProcess primary({"fsync=off"});
  PostgresProcess standby({"fsync=off"}, &primary);
  primary.AwaitStandbys();
  ASSERT_TRUE(
      SaveOne(*MustOpen({.conninfo = primary.conninfo(), .settings = {.origin = "here"}}), NumberedNote(1)).ok());
  // A commit waits until the standby has it, and not until it can be read there.
  ASSERT_TRUE(Eventually([&] {
    return standby.Ask("SELECT to_regclass('weir_events')") == "weir_events" &&
           standby.Ask("SELECT count(*) FROM weir_events") == "1";
  }));
  PostgresStoreOptions options{.conninfo = standby.conninfo(), .read_only = true, .create = false};
  ExpectIn("is a standby: events that have not reached it yet are missing", LogOfOpening(options));
  options.conninfo = primary.conninfo();
  EXPECT_EQ(LogOfOpening(options), "");
}

// A COMMIT that no standby has is not acknowledged.
TEST_F(PostgresFaultTest, WithoutTheStandbyThatHasToHaveItNothingIsAcknowledged) {
  PostgresProcess primary({"fsync=off"});
  PostgresProcess standby({"fsync=off"}, &primary);
  primary.AwaitStandbys();
  PostgresStoreOptions options{.conninfo = primary.conninfo(), .settings = {.origin = "here"}};
  options.settings.timeout = std::chrono::milliseconds(700);
  const auto store = MustOpenImpatient(options);
  ASSERT_TRUE(store && Eventually([&] { return SaveOne(*store, NumberedNote(1)).ok(); }));
  standby.Pause();
  ExpectIn("no answer in time", SaveOne(*store, NumberedNote(2)).message());
  standby.Resume();
  EXPECT_TRUE(Eventually([&] { return SaveOne(*store, NumberedNote(3)).ok(); }));
}

// An operator may end that waiting: the server then commits, and says so in a warning alone.
TEST_F(PostgresFaultTest, ACommitWhoseWaitForTheStandbyWasCancelledIsNoOk) {
  PostgresProcess primary({"fsync=off"});
  PostgresProcess standby({"fsync=off"}, &primary);
  primary.AwaitStandbys();
  const auto store = MustOpen({.conninfo = primary.conninfo(), .settings = {.origin = "here"}});
  ASSERT_TRUE(SaveOne(*store, NumberedNote(1)).ok());
  standby.Pause();
  const Status saved = SaveWithoutStandby(primary, "pg_cancel_backend", *store, NumberedNote(2));
  ExpectIn("on the primary alone", saved.message());
  standby.Resume();
}

TEST_F(PostgresFaultTest, ADuplicateThatNoStandbyHasIsNoOk) {
  PostgresProcess primary({"fsync=off"});
  PostgresProcess standby({"fsync=off"}, &primary);
  primary.AwaitStandbys();
  const auto store = MustOpen({.conninfo = primary.conninfo(), .settings = {.origin = "here"}});
  EXPECT_TRUE(store->in_doubt()) << "an earlier process may have left some";
  ASSERT_TRUE(SaveOne(*store, NumberedNote(1)).ok());
  EXPECT_FALSE(store->in_doubt());
  standby.Pause();
  const Event note = NumberedNote(2);
  for (int i = 0; i < 2; ++i) {
    const Status saved = SaveWithoutStandby(primary, "pg_cancel_backend", *store, note);
    ExpectIn("on the primary alone", saved.message());
    EXPECT_TRUE(store->in_doubt());
    EXPECT_TRUE(store->Has(note.view().id()).value());
  }
  standby.Resume();
  SaveResult result;
  EXPECT_TRUE(Eventually([&] { return store->SaveSome({&note, 1}, 0, kTurnWork, {&result, 1}).ok(); }));
  EXPECT_EQ(result.outcome, SaveOutcome::kDuplicate);
  EXPECT_FALSE(store->in_doubt());
}

// The server warns before it ends the connection; the warning does not concern the COMMIT of the next one.
TEST_F(PostgresFaultTest, AfterACommitWhoseSessionWasEndedTheNextIsAnOk) {
  PostgresProcess primary({"fsync=off"});
  PostgresProcess standby({"fsync=off"}, &primary);
  primary.AwaitStandbys();
  const auto store = MustOpen({.conninfo = primary.conninfo(), .settings = {.origin = "here"}});
  ASSERT_TRUE(SaveOne(*store, NumberedNote(1)).ok());
  standby.Pause();
  EXPECT_FALSE(SaveWithoutStandby(primary, "pg_terminate_backend", *store, NumberedNote(2)).ok());
  EXPECT_TRUE(store->in_doubt());
  standby.Resume();
  const Status next = SaveOne(*store, NumberedNote(3));
  EXPECT_FALSE(Has(next.message(), "on the primary alone")) << next.message();
  EXPECT_TRUE(Eventually([&] { return SaveOne(*store, NumberedNote(4)).ok(); }));
  EXPECT_FALSE(store->in_doubt());
}

// A machine that is gone refuses nothing: it does not answer.
TEST_F(PostgresFaultTest, AHostThatDoesNotAnswerLeavesTimeForTheNext) {
  PostgresProcess silent({"fsync=off"});
  silent.Pause();
  const std::string ports = std::to_string(silent.port()) + "," + std::to_string(SharedPostgres().port());
  PostgresStoreOptions options = Options(" port=" + ports);
  options.conninfo.replace(options.conninfo.find("host=127.0.0.1"), 14, "host=127.0.0.1,127.0.0.1");
  options.settings.timeout = std::chrono::milliseconds(2000);
  const auto store = MustOpen(options);
  EXPECT_TRUE(SaveOne(*store, NumberedNote(1)).ok());
  silent.Resume();
}

// kill -9 ends the primary while events come in, and a standby is promoted.
TEST_F(PostgresFaultTest, AfterAFailoverNothingThatWasAcknowledgedIsMissing) {
  PostgresProcess primary;
  PostgresProcess standby({}, &primary);
  primary.AwaitStandbys();
  const std::string ports = std::to_string(primary.port()) + "," + std::to_string(standby.port());
  PostgresStoreOptions options{.conninfo = "postgres://weir@127.0.0.1:" + std::to_string(primary.port()) +
                                           ",127.0.0.1:" + std::to_string(standby.port()) + "/postgres"};
  options.settings.origin = "here";
  options.settings.timeout = std::chrono::milliseconds(2000);
  const auto store = MustOpen(options);
  uint64_t next = 0;
  std::vector<EventId> acknowledged;
  const auto save_next = [&] {
    const Event event = NumberedNote(next++);
    const bool saved = SaveOne(*store, event).ok();
    if (saved) acknowledged.push_back(event.view().id());
    return saved;
  };
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(save_next());
  std::thread kills([&] { primary.Kill(); });
  while (save_next()) {
  }
  kills.join();
  EXPECT_FALSE(save_next()) << "nobody takes writes";
  standby.Ask("SELECT pg_promote()");
  standby.Ask("ALTER SYSTEM SET synchronous_standby_names = ''");
  standby.Ask("SELECT pg_reload_conf()");
  EXPECT_TRUE(Eventually(save_next));
  const auto stored = store->Stored(acknowledged);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  EXPECT_EQ(std::ranges::count(stored.value(), false), 0);
}

// Another program, or an operator at psql, may hold rows that have to be written. The server ends one of two
// transactions that wait for each other; the work of that one is done again.
TEST_F(PostgresFaultTest, ATransactionThatADeadlockEndedIsDoneAgain) {
  const auto store = MustOpen(Options());
  ASSERT_TRUE(SaveOne(*store, NumberedNote(0)).ok());
  std::vector<Event> events = {NumberedNote(1), NumberedNote(2)};
  std::ranges::sort(events, {}, [](const Event& event) { return event.view().id(); });
  const auto copy_as = [](const Event& event) {
    return "INSERT INTO weir_events SELECT '\\x" + ToHex(event.view().id()) +
           "', 99, created_at, pubkey, kind, created_at, expiration, record FROM weir_events LIMIT 1";
  };
  PostgresClient other(database_.conninfo());
  other.Ask("BEGIN");
  other.Ask("SET LOCAL deadlock_timeout = '1min'");
  other.Ask(copy_as(events[1]));
  std::vector<SaveResult> results(events.size());
  Status saved;
  std::thread saves([&] { saved = store->Save(events, 0, results); });
  EXPECT_TRUE(Eventually([&] {
    return database_.Ask(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
               " AND wait_event_type = 'Lock'") == "1";
  }));
  other.Ask("INSERT INTO weir_events SELECT '\\x" + ToHex(events[0].view().id()) +
            "', 99, 5, pubkey, kind, created_at, expiration, record FROM weir_events LIMIT 1");
  other.Ask("ROLLBACK");
  saves.join();
  EXPECT_TRUE(saved.ok()) << saved.message();
  EXPECT_EQ(results[0].outcome, SaveOutcome::kSaved);
  EXPECT_EQ(results[1].outcome, SaveOutcome::kSaved);
  EXPECT_EQ(database_.Ask("SELECT deadlocks > 0 FROM pg_stat_database WHERE datname = current_database()"), "t");
}

// Long questions of one client leave the connection to others between their slices.
TEST_F(PostgresFaultTest, NoConnectionIsHeldBetweenSlices) {
  PostgresStoreOptions options = Options();
  options.settings.connections = 1;
  const auto store = MustOpen(options);
  for (uint64_t i = 0; i < 20; ++i) ASSERT_TRUE(SaveOne(*store, NumberedNote(i)).ok());
  const Filter filter{.kinds = {{1}}};
  const auto one = store->Find({filter}, {});
  const auto other = store->Find({filter}, {});
  size_t found = 0;
  const auto count = [&found](EventView) { ++found; };
  bool more = true;
  while (more) {
    more = false;
    for (Query* const query : {one.get(), other.get()}) {
      const Result<Progress> progress = query->Next({.max_work = 1}, count);
      ASSERT_TRUE(progress.ok()) << progress.status().message();
      more = more || progress.value() == Progress::kMore;
    }
  }
  EXPECT_EQ(found, 40U);
}

TEST_F(PostgresFaultTest, ATimeOutAndAReadOnlyServerFailAndPass) {
  PostgresStoreOptions options = Options();
  options.settings.timeout = std::chrono::milliseconds(700);
  const auto store = MustOpenImpatient(options);
  ASSERT_TRUE(store && Eventually([&] { return SaveOne(*store, NumberedNote(1)).ok(); }));
  {
    PostgresClient other(database_.conninfo());
    other.Ask("BEGIN");
    other.Ask("LOCK TABLE weir_events IN ACCESS EXCLUSIVE MODE");
    ExpectIn("PostgreSQL: ", SaveOne(*store, NumberedNote(2)).message());
    other.Ask("ROLLBACK");
  }
  EXPECT_TRUE(Eventually([&] { return SaveOne(*store, NumberedNote(3)).ok(); }));
  database_.Ask("ALTER DATABASE " + database_.Ask("SELECT current_database()") +
                " SET default_transaction_read_only = on");
  database_.Ask(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
      " AND pid <> pg_backend_pid()");
  ExpectIn("read-only", SaveOne(*store, NumberedNote(4)).message());
  PostgresClient other(database_.conninfo() + " options='-c default_transaction_read_only=off'");
  other.Ask("ALTER DATABASE " + database_.Ask("SELECT current_database()") + " RESET default_transaction_read_only");
  EXPECT_TRUE(Eventually([&] { return SaveOne(*store, NumberedNote(5)).ok(); }));
}

// A machine whose clock is ahead removes nothing before its time.
TEST_F(PostgresFaultTest, NoEventExpiresBeforeTheServersClockSaysSo) {
  const auto store = MustOpen(Options());
  const uint64_t now = WallClock::System().NowSeconds();
  const Event later =
      ToEvent(Plain(Author(1), now, 1, {{"expiration", std::to_string(now + 1800)}}, "for half an hour"));
  const Event over = ToEvent(Plain(Author(1), now, 1, {{"expiration", std::to_string(now - 10)}}, "over"));
  ASSERT_TRUE(SaveOne(*store, later).ok());
  ASSERT_TRUE(SaveOne(*store, over).ok());
  EXPECT_EQ(store->RemoveExpired(now + 3600, kTurnWork).value().removed, 1U);
  EXPECT_TRUE(store->Has(later.view().id()).value());
}

}  // namespace
}  // namespace weir
