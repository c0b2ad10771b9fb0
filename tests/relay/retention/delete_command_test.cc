// weir delete, through a relay and on a database: what it removes, what it prints, and how it ends.
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "relay/management/removal_methods.h"
#include "relay/management_plugin.h"
#include "relay/removal_plugin.h"
#include "relay/store/storage/storage.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/relay_server_fixture.h"
#include "tests/relay/retention/delete_child.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

const std::string kKindOne = R"({"kinds":[1]})";

class DeleteCommandTest : public RelayServerTest {
 protected:
  // Makes a database with events of kind 1 and of kind 7, at 1000 and later.
  void MakeDatabase(size_t notes, size_t reactions) {
    const std::unique_ptr<RocksDbStore> store = MustOpen(SmallStore(Made(configuration_.data_dir) + "/events"));
    for (size_t n = 0; n < notes; ++n) SaveAll(*store, {Plain(Author(1), 1000 + n, 1)});
    for (size_t n = 0; n < reactions; ++n) SaveAll(*store, {Plain(Author(1), 1000 + n, 7)});
  }
  uint64_t Stored() const {
    const auto store = OpenForReading(configuration_.storage, configuration_.data_dir);
    return store.ok() ? store.value()->Sizes().events : 0;
  }
  std::vector<std::string> Here(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--data-dir", configuration_.data_dir});
    return arguments;
  }
  Ran Delete(std::vector<std::string> arguments) const { return DeleteChild(Here(std::move(arguments))).Wait(); }

 private:
  static std::string Made(const std::string& directory) {
    std::filesystem::create_directories(directory + "/events");
    return directory;
  }
};

TEST_F(DeleteCommandTest, RemovesFromADatabaseThatNoRelayHasOpen) {
  MakeDatabase(3, 2);
  Ran ran = Delete({"--filter", kKindOne, "--dry-run"});
  EXPECT_EQ(ran.out, "3 events match; none is removed\n") << ran.err;
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(Stored(), 5U);
  ran = Delete({"--filter", kKindOne, "--yes"});
  EXPECT_EQ(ran.out, "3 events are removed\n") << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(Stored(), 2U);
  ran = Delete({"--filter", "{}", "--all", "--yes", "--json"});
  EXPECT_EQ(ran.out, R"({"state":"done","matched":2,"removed":2,"dry_run":false,"error":""})"
                     "\n");
  EXPECT_EQ(Stored(), 0U);
}

TEST_F(DeleteCommandTest, SaysWhatIsWrong) {
  MakeDatabase(1, 0);
  const struct {
    std::vector<std::string> arguments;
    int code;
    const char* part_of_error;
  } cases[] = {
      {{}, 2, "--filter is required"},
      {{"--filter", "{"}, 2, "the filter { is wrong"},
      {{"--filter", "{}", "--yes"}, 2, "matches every event; if all are meant, that must be said: add --all"},
      {{"--filter", kKindOne}, 2, "standard input is no terminal to ask on; --dry-run counts, and --yes removes"},
      {{"--filter", kKindOne, "--yes", "--age", "30"}, 2, "30 is not a time such as 30d"},
      {{"--filter", kKindOne, "--yes", "--age", "0d"}, 2, "an age of 0 has no effect"},
      {{"--filter", kKindOne, "--yes", "--dry-run"}, 2, "--dry-run"},
      {{"--filter", kKindOne, "--yes", "--url", "http://127.0.0.1:1"}, 1, "127.0.0.1:1"},
  };
  for (const auto& c : cases) {
    const Ran ran = Delete(c.arguments);
    EXPECT_EQ(ran.code, c.code) << ran.err;
    EXPECT_TRUE(Has(ran.err, c.part_of_error)) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  EXPECT_EQ(Stored(), 1U);
  const Ran none = DeleteChild({"--filter", kKindOne, "--yes", "--data-dir", directory_ / "none"}).Wait();
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(Has(none.err, "there is no database in")) << none.err;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "none"));
}

class DeleteFromRelayTest : public DeleteCommandTest {
 protected:
  ~DeleteFromRelayTest() override { relay_.reset(); }

  ManagementPlugin management_;
  RemovalPlugin removals_{management_.methods()};
};

TEST_F(DeleteFromRelayTest, RemovesThroughTheRelayThatRuns) {
  MakeDatabase(4, 2);
  Open({&management_, &removals_});
  Ran ran = Delete({"--filter", kKindOne, "--dry-run", "--json"});
  EXPECT_EQ(ran.out, R"({"state":"done","matched":4,"removed":0,"dry_run":true,"error":""})"
                     "\n")
      << ran.err;
  ran = Delete({"--filter", R"({"kinds":[7],"until":1000})", "--filter", kKindOne, "--yes", "--age", "1d"});
  EXPECT_EQ(ran.out, "5 events are removed\n") << ran.err;
  EXPECT_EQ(ran.code, 0);
  MetricFamilies families;
  removals_.AppendMetrics(families);
  const std::vector<prometheus::MetricFamily> figures = std::move(families).Take();
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].metric[0].gauge.value, 0) << figures[0].name;
  EXPECT_EQ(figures[1].metric[0].counter.value, 5) << figures[1].name;
  relay_.reset();
  EXPECT_EQ(Stored(), 1U);
}

// A relay whose removals wait until they are cancelled, after they have removed two events.
class HeldDeletionTest : public DeleteCommandTest {
 protected:
  HeldDeletionTest() {
    MakeDatabase(3, 0);
    AddRemovalMethods(management_.methods(), jobs_);
    Open({&management_});
  }
  ~HeldDeletionTest() override {
    jobs_.Stop();
    relay_.reset();
  }
  void WaitForTheRemoval() {
    EXPECT_TRUE(Eventually([this] { return waits_.load(); }));
  }

  const TempDirectory other_;
  const std::unique_ptr<RocksDbStore> store_ = [this] {
    auto store = MustOpen(SmallStore(other_ / "db"));
    for (uint64_t n = 0; n < 3; ++n) SaveAll(*store, {Plain(Author(1), 1000 + n, 1)});
    return store;
  }();
  std::atomic<bool> waits_{false};
  RemovalJobs jobs_{
      *store_, {}, [this](std::span<const EventId>, const std::atomic<bool>& cancelled) -> Result<uint64_t> {
        waits_ = true;
        EXPECT_TRUE(Eventually([&] { return cancelled.load(); }));
        return uint64_t{2};
      }};
  ManagementPlugin management_;
};

TEST_F(HeldDeletionTest, CtrlCEndsTheRemovalAndSaysHowManyAreGone) {
  DeleteChild child(Here({"--filter", kKindOne, "--yes"}));
  WaitForTheRemoval();
  child.Signal(SIGINT);
  const Ran ran = child.Wait();
  EXPECT_EQ(ran.out, "it was stopped; 2 of 3 events are removed; the same command goes on\n") << ran.err;
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(jobs_.List().front().phase, RemovalState::Phase::kStopped);
}

TEST_F(HeldDeletionTest, AnotherCommandIsRefusedMeanwhile) {
  DeleteChild child(Here({"--filter", kKindOne, "--yes"}));
  WaitForTheRemoval();
  const Ran ran = Delete({"--filter", kKindOne, "--dry-run"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(Has(ran.err, "of the token goes on; another one can begin")) << ran.err;
  EXPECT_TRUE(jobs_.Cancel(jobs_.List().front().id));
  EXPECT_EQ(child.Wait().code, 1);
}

TEST_F(HeldDeletionTest, ARelayThatEndsMeanwhileIsSaid) {
  DeleteChild child(Here({"--filter", kKindOne, "--yes"}));
  WaitForTheRemoval();
  relay_.reset();
  const Ran ran = child.Wait();
  EXPECT_EQ(ran.code, 1);
  // The relay may end before it has told the command that the removal has begun.
  EXPECT_TRUE(Has(ran.err, "of 3 events were removed by then; the same command goes on") ||
              Has(ran.err, "hung up without an answer"))
      << ran.err;
}

}  // namespace
}  // namespace weir
