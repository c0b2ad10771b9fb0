// An event and its deletion at two relays at once, each stopped at the point where the other could pass it: nothing is
// left of the event.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "tests/fixtures/eventually.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {
namespace {

// Keeps a process stopped as long as this lives.
class Paused {
 public:
  explicit Paused(pid_t process) : process_(process) { EXPECT_EQ(kill(process, SIGSTOP), 0); }
  ~Paused() { kill(process_, SIGCONT); }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;

 private:
  const pid_t process_;
};

class PostgresRaceTest : public testing::Test {
 protected:
  static SaveOutcome Save(EventStore& store, const Event& event) {
    SaveResult result;
    const auto saved = store.SaveSome({&event, 1}, 0, kTurnWork, {&result, 1});
    EXPECT_TRUE(saved.ok()) << saved.status().message();
    return result.outcome;
  }
  // Opens a relay's store, and saves with it once.
  std::unique_ptr<PostgresStore> OpenUsed(const std::string& name) const {
    auto store = MustOpen(database_.Options(name));
    EXPECT_EQ(Save(*store, ToEvent(Plain(Author(9), 1, 1, {}, name))), SaveOutcome::kSaved);
    return store;
  }
  // Makes a save of the event wait until this transaction has ended.
  void HoldUp(const Event& event, PostgresClient* transaction) const {
    transaction->Ask("BEGIN");
    transaction->Ask("INSERT INTO weir_events SELECT '\\x" + ToHex(event.view().id()) +
                     "', 99, 7, pubkey, kind, created_at, expiration, record FROM weir_events LIMIT 1");
  }
  std::string Waiting(const std::string& more = "") const {
    return database_.Ask(
        "SELECT count(*) FROM pg_stat_activity a WHERE datname = current_database() AND wait_event_type = 'Lock'" +
        more);
  }
  // Returns the sessions that wait for one which waits itself.
  std::string WaitingInLine() const {
    return Waiting(
        " AND EXISTS (SELECT FROM pg_stat_activity b WHERE b.pid = ANY(pg_blocking_pids(a.pid))"
        " AND b.wait_event_type = 'Lock')");
  }

  PostgresDatabase database_;
  const Event note_ = ToEvent(Plain(Author(1), 1000, 1));
  const Event deletion_ = ToEvent(Plain(Author(1), 1001, 5, {{"e", ToHex(note_.view().id())}}));
};

// The query would find neither version, if it left out the new one for its serial.
TEST_F(PostgresRaceTest, AQueryHandsOutTheVersionThatReplacedOneSinceItsMoment) {
  const auto here = OpenUsed("here");
  const auto there = OpenUsed("there");
  const Event old = ToEvent(Plain(Author(1), 1000, 0)), young = ToEvent(Plain(Author(1), 1001, 0));
  ASSERT_EQ(Save(*here, old), SaveOutcome::kSaved);
  const auto query = here->Find({Filter{.kinds = {{0}}}}, {});
  std::vector<uint64_t> dates;
  const auto take = [&](EventView event) { dates.push_back(event.created_at()); };
  Result<Progress> progress = query->Next({.max_work = 1}, take);
  ASSERT_TRUE(progress.ok() && progress.value() == Progress::kMore) << "the moment is read";
  query->Suspend();
  SaveResult result;
  ASSERT_TRUE(there->SaveSome({&young, 1}, 0, kTurnWork, {&result, 1}).ok());
  const Event note = ToEvent(Plain(Author(1), 1002, 1));
  ASSERT_EQ(Save(*there, note), SaveOutcome::kSaved);
  while (progress.ok() && progress.value() == Progress::kMore) progress = query->Next({}, take);
  EXPECT_EQ(dates, (std::vector<uint64_t>{1001}));
  EXPECT_TRUE(query->moment().Has(result.serial)) << "it does not come as a live event, too";
}

// The live delivery brings a version for which the answer has no room.
TEST_F(PostgresRaceTest, AVersionBeyondTheLimitStaysOutOfTheMoment) {
  const auto here = OpenUsed("here");
  const auto there = OpenUsed("there");
  ASSERT_EQ(Save(*here, ToEvent(Plain(Author(2), 3000, 0))), SaveOutcome::kSaved);
  const auto query = here->Find({Filter{.kinds = {{0}}, .limit = 1}}, {});
  Result<Progress> progress = query->Next({.max_work = 1}, [](EventView) {});
  ASSERT_TRUE(progress.ok() && progress.value() == Progress::kMore);
  query->Suspend();
  const Event young = ToEvent(Plain(Author(1), 1001, 0));
  SaveResult result;
  ASSERT_TRUE(there->SaveSome({&young, 1}, 0, kTurnWork, {&result, 1}).ok());
  while (progress.ok() && progress.value() == Progress::kMore)
    progress = query->Next({}, [](EventView event) { EXPECT_EQ(event.created_at(), 3000U); });
  EXPECT_FALSE(query->moment().Has(result.serial));
}

TEST_F(PostgresRaceTest, TheFirstSaveOfANewRelayWaitsForADeletionThatDidNotKnowIt) {
  const auto here = OpenUsed("here");
  PostgresClient holds_deletion(database_.conninfo());
  HoldUp(deletion_, &holds_deletion);
  auto deletes = std::async(std::launch::async, [&] { return Save(*here, deletion_); });
  ASSERT_TRUE(Eventually([&] { return Waiting() == "1"; }));
  const auto there = MustOpen(database_.Options("there"));
  std::atomic<bool> is_saved = false;
  auto saves = std::async(std::launch::async, [&] {
    const SaveOutcome outcome = Save(*there, note_);
    is_saved = true;
    return outcome;
  });
  ASSERT_TRUE(Eventually([&] { return is_saved || WaitingInLine() == "1"; }));
  holds_deletion.Ask("ROLLBACK");
  EXPECT_EQ(deletes.get(), SaveOutcome::kSaved);
  EXPECT_EQ(saves.get(), SaveOutcome::kDeleted);
  EXPECT_FALSE(here->Has(note_.view().id()).value());
}

// PostgreSQL gives a lock to a newcomer that sees the row as it is, before it wakes up one that waits for it as it was.
TEST_F(PostgresRaceTest, ADeletionWaitsForARelayThatCameWhileItWaitedForOthers) {
  const auto first = OpenUsed("first");
  const auto here = OpenUsed("here");
  PostgresClient holds_origin(database_.conninfo());
  holds_origin.Ask("BEGIN");
  holds_origin.Ask("UPDATE weir_origins SET serial = serial + 1 WHERE name = 'first'");
  std::atomic<bool> is_deleted = false;
  auto deletes = std::async(std::launch::async, [&] {
    const SaveOutcome outcome = Save(*here, deletion_);
    is_deleted = true;
    return outcome;
  });
  ASSERT_TRUE(Eventually([&] { return Waiting() == "1"; }));
  const pid_t backend = std::stoi(database_.Ask(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"));
  auto paused = std::make_unique<Paused>(backend);
  holds_origin.Ask("COMMIT");
  const auto there = OpenUsed("there");
  PostgresClient holds_note(database_.conninfo());
  HoldUp(note_, &holds_note);
  auto saves = std::async(std::launch::async, [&] { return Save(*there, note_); });
  EXPECT_TRUE(Eventually([&] { return Waiting() == "2"; }));
  paused.reset();
  EXPECT_TRUE(Eventually([&] { return is_deleted || WaitingInLine() == "1"; }));
  holds_note.Ask("ROLLBACK");
  EXPECT_EQ(deletes.get(), SaveOutcome::kSaved);
  EXPECT_EQ(saves.get(), SaveOutcome::kSaved);
  EXPECT_FALSE(here->Has(note_.view().id()).value());
}

}  // namespace
}  // namespace weir
