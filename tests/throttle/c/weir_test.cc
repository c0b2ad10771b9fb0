// libweir.so by the functions of weir.h, as a program in another language sees it.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

constexpr std::string_view kOptions = R"([Version]
  rocksdb_version=9.10.0
[DBOptions]
  max_background_jobs=2
[CFOptions "default"]
  write_buffer_size=1048576
[CFOptions "tags"]
  write_buffer_size=2097152
)";

// A database that answers as the test says; an idle one until then.
class PlantedDb {
 public:
  static int64_t Read(void* context, const char* family, const char* property, char* buffer, size_t capacity) {
    auto& db = *static_cast<PlantedDb*>(context);
    const std::lock_guard lock(db.mutex_);
    ++db.calls_;
    const auto planted = db.answers_.find(std::string(family) + " " + property);
    std::string text = std::strstr(property, "stats") != nullptr ? "" : "0";
    if (planted != db.answers_.end()) text = planted->second;
    if (text == "none") return -1;
    if (text == "throw") throw std::runtime_error("the reader fails");
    text.copy(buffer, capacity);
    return static_cast<int64_t>(text.size());
  }
  void Plant(const std::string& family_and_property, const std::string& answer) {
    const std::lock_guard lock(mutex_);
    answers_[family_and_property] = answer;
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  int calls_ = 0;
};

class WeirLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    setup_ = weir_setup_create();
    ASSERT_EQ(weir_setup_options(setup_, kOptions.data(), kOptions.size()), WEIR_OK) << weir_error();
    ASSERT_EQ(Set("WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "100000"), WEIR_OK) << weir_error();
  }
  void TearDown() override {
    if (throttle_ != 0) weir_close(throttle_);
    weir_setup_destroy(setup_);
  }

  weir_code Set(const char* name, const char* value) const { return weir_setup_set(setup_, name, value); }
  void Attach() {
    throttle_ = weir_attach(setup_, PlantedDb::Read, &db_);
    ASSERT_NE(throttle_, 0U) << weir_error();
  }
  // The memory of this process, which the ballast makes large, is an emergency: bulk writes wait, and scans are
  // refused.
  void AttachInEmergency() {
    static const std::string held(8 << 20, 'x');  // a process of one test may have less than the target
    ASSERT_EQ(Set("WEIR_RATE_LIMIT_TARGET_MEMORY_MB", "1"), WEIR_OK) << weir_error();
    Attach();
    ASSERT_TRUE(Eventually([&] { return Has(View(), "\"emergency\":true"); })) << View();
  }
  std::string View() const {
    std::string text(weir_view(throttle_, nullptr, 0) + 1000, '\0');
    text.resize(std::min(weir_view(throttle_, text.data(), text.size()), text.size()));
    return text;
  }
  weir_code AdmitBulk(int64_t timeout_ms) const {
    return weir_admit(throttle_, WEIR_WRITE, WEIR_BULK, 1000, 1, timeout_ms);
  }
  static bool IsReadable(int descriptor, int timeout_ms) {
    pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
    return poll(&polled, 1, timeout_ms) == 1;
  }

  const std::string ballast_ = std::string(8 << 20, 'b');
  PlantedDb db_;
  weir_setup setup_ = 0;
  weir_throttle throttle_ = 0;
};

TEST_F(WeirLibraryTest, AdmitsAtOnceWhileTheDatabaseIsIdle) {
  Attach();
  for (const auto operation : {WEIR_READ, WEIR_WRITE})
    for (const auto work_class : {WEIR_INTERACTIVE, WEIR_BULK})
      for (const int64_t timeout : {int64_t{0}, int64_t{1000}, WEIR_PATIENT})
        EXPECT_EQ(weir_admit(throttle_, operation, work_class, 100, 1, timeout), WEIR_OK) << weir_error();
  const weir_ticket ticket = weir_ask(throttle_, WEIR_READ, WEIR_INTERACTIVE, 1 << 20, 1);
  EXPECT_EQ(weir_ticket_poll(ticket), WEIR_OK);
  EXPECT_TRUE(IsReadable(weir_ticket_fd(ticket), 0)) << "it was settled before it had a descriptor";
  EXPECT_EQ(weir_ticket_end(ticket), WEIR_OK);
}

TEST_F(WeirLibraryTest, TheViewHasTheLevelsOfTheDatabase) {
  db_.Plant("default rocksdb.num-files-at-level0", "20");
  Attach();
  EXPECT_TRUE(Eventually([&] { return Has(View(), "\"l0\":1,"); })) << View();
  EXPECT_TRUE(Has(View(), "\"memtables\":")) << View();
  char small[8];
  EXPECT_GT(weir_view(throttle_, small, sizeof small), sizeof small) << "it tells how many bytes are needed";
  EXPECT_EQ(std::string(small), "{\"signa");
}

TEST_F(WeirLibraryTest, RefusesWorkThatWouldWaitTooLong) {
  ASSERT_EQ(Set("WEIR_IMPORT_MAX_DELAY_MS", "200"), WEIR_OK) << weir_error();
  AttachInEmergency();
  EXPECT_EQ(AdmitBulk(0), WEIR_BUSY);
  EXPECT_STREQ(weir_error(), "emergency");
  EXPECT_GT(weir_retry_ms(), 0);
  EXPECT_EQ(AdmitBulk(10), WEIR_BUSY) << "the program's own time ends first";
  EXPECT_GT(weir_retry_ms(), 0);
  EXPECT_EQ(AdmitBulk(WEIR_PATIENT), WEIR_BUSY);
  EXPECT_GT(weir_retry_ms(), 0);
  EXPECT_EQ(weir_admit(throttle_, WEIR_READ, WEIR_INTERACTIVE, 10 << 20, 1, WEIR_PATIENT), WEIR_BUSY);
  EXPECT_EQ(weir_admit(throttle_, WEIR_WRITE, WEIR_INTERACTIVE, UINT64_MAX, 1, WEIR_PATIENT), WEIR_TOO_LARGE);
  EXPECT_EQ(weir_admit(throttle_, WEIR_WRITE, WEIR_INTERACTIVE, 100, 1, WEIR_PATIENT), WEIR_OK);
}

TEST_F(WeirLibraryTest, ATicketTellsWhenItIsSettled) {
  ASSERT_EQ(Set("WEIR_IMPORT_MAX_DELAY_MS", "300"), WEIR_OK) << weir_error();
  AttachInEmergency();
  const weir_ticket ticket = weir_ask(throttle_, WEIR_WRITE, WEIR_BULK, 1000, 1);
  ASSERT_NE(ticket, 0U) << weir_error();
  const int descriptor = weir_ticket_fd(ticket);
  EXPECT_EQ(weir_ticket_fd(ticket), descriptor);
  EXPECT_TRUE(IsReadable(descriptor, -1));
  EXPECT_EQ(weir_ticket_poll(ticket), WEIR_BUSY);
  EXPECT_EQ(weir_ticket_wait(ticket, WEIR_PATIENT), WEIR_BUSY);
  EXPECT_EQ(weir_ticket_end(ticket), WEIR_OK);
}

TEST_F(WeirLibraryTest, ATicketThatWaitsMayBeGivenUp) {
  AttachInEmergency();
  const weir_ticket ticket = weir_ask(throttle_, WEIR_WRITE, WEIR_BULK, 1000, 1);
  EXPECT_EQ(weir_ticket_poll(ticket), WEIR_WAITING);
  EXPECT_EQ(weir_ticket_wait(ticket, 1), WEIR_WAITING);
  EXPECT_GT(weir_retry_ms(), 0) << "a program may give the wait up";
  EXPECT_FALSE(IsReadable(weir_ticket_fd(ticket), 0));
  EXPECT_EQ(weir_ticket_end(ticket), WEIR_OK);
  EXPECT_TRUE(Has(View(), "\"emergency\":true"));
}

TEST_F(WeirLibraryTest, DetachEndsEachWait) {
  AttachInEmergency();
  std::atomic<int> others = 0;
  std::vector<std::thread> threads;
  for (int64_t timeout : {WEIR_PATIENT, int64_t{60'000}})
    threads.emplace_back([&, timeout] {
      const weir_code code = AdmitBulk(timeout);  // WEIR_OK if it asks after the detach
      if (code != WEIR_OK && (code != WEIR_BUSY || std::string(weir_error()) != "stopped")) ++others;
    });
  const weir_ticket ticket = weir_ask(throttle_, WEIR_WRITE, WEIR_BULK, 1000, 1);
  EXPECT_TRUE(Eventually([&] { return weir_ticket_poll(ticket) == WEIR_WAITING; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that the threads probably wait
  EXPECT_EQ(weir_detach(throttle_), WEIR_OK);
  const int calls = db_.calls();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(others, 0);
  EXPECT_EQ(weir_ticket_wait(ticket, WEIR_PATIENT), WEIR_BUSY);
  EXPECT_EQ(AdmitBulk(0), WEIR_OK) << "everything passes";
  EXPECT_EQ(weir_detach(throttle_), WEIR_OK);
  EXPECT_EQ(weir_sample(throttle_), WEIR_FAILED);
  EXPECT_EQ(db_.calls(), calls) << "the program's function is not called any more";
  EXPECT_EQ(weir_close(throttle_), WEIR_OK);
  EXPECT_EQ(weir_ticket_poll(ticket), WEIR_BUSY) << "a ticket outlives its throttle";
  EXPECT_EQ(weir_ticket_end(ticket), WEIR_OK);
}

TEST_F(WeirLibraryTest, IsSampledByTheProgramIfItSaysSo) {
  ASSERT_EQ(weir_setup_sampled_by_program(setup_), WEIR_OK);
  Attach();
  const int calls = db_.calls();
  db_.Plant("default rocksdb.num-files-at-level0", "20");
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_EQ(db_.calls(), calls);
  EXPECT_EQ(weir_sample(throttle_), WEIR_OK) << weir_error();
  EXPECT_TRUE(Eventually([&] { return Has(View(), "\"l0\":1,"); })) << View();
}

TEST_F(WeirLibraryTest, AReaderThatFailsLosesTheSensorAndNoMore) {
  db_.Plant("default rocksdb.dbstats", std::string(100'000, 'x'));  // it is called again with a larger buffer
  Attach();
  for (const char* answer : {"none", "soon", "throw"}) {
    db_.Plant("default rocksdb.is-write-stopped", answer);
    EXPECT_EQ(weir_sample(throttle_), WEIR_FAILED) << answer;
    EXPECT_FALSE(std::string(weir_error()).empty());
    EXPECT_EQ(weir_admit(throttle_, WEIR_WRITE, WEIR_INTERACTIVE, 100, 1, WEIR_PATIENT), WEIR_OK);
  }
  EXPECT_FALSE(Has(View(), "\"sensor_error\":\"\"")) << View();
  db_.Plant("default rocksdb.is-write-stopped", "0");
  EXPECT_EQ(weir_sample(throttle_), WEIR_OK) << weir_error();
}

TEST_F(WeirLibraryTest, TellsTheLogOfABrakeOfRocksDbs) {
  struct Heard {
    std::mutex mutex;
    std::string text;
  } heard;
  const auto log = [](void* context, const char* sentence) {
    auto& to = *static_cast<Heard*>(context);
    const std::lock_guard lock(to.mutex);
    to.text += sentence;
  };
  ASSERT_EQ(weir_setup_log(setup_, log, &heard), WEIR_OK);
  Attach();
  EXPECT_EQ(weir_sample(throttle_), WEIR_OK) << weir_error();
  db_.Plant("default rocksdb.is-write-stopped", "1");
  EXPECT_TRUE(Eventually([&] {
    const std::lock_guard lock(heard.mutex);
    return Has(heard.text, "RocksDB stops writes by itself although they are limited");
  }));
}

TEST_F(WeirLibraryTest, MovesTheBrakesWhileItIsAttached) {
  std::string set;
  const auto setter = [](void* context, const char* family, size_t count, const char* const* names,
                         const char* const* values) {
    auto& text = *static_cast<std::string*>(context);
    text += family;
    for (size_t n = 0; n < count; ++n) text += std::string(" ") + names[n] + "=" + values[n];
    text += "\n";
    return text.find("refuse") == std::string::npos ? 0 : 1;
  };
  ASSERT_EQ(weir_setup_set_options(setup_, setter, &set), WEIR_OK);
  Attach();
  EXPECT_EQ(set,
            "default max_write_buffer_number=4 level0_slowdown_writes_trigger=52 level0_stop_writes_trigger=68 "
            "soft_pending_compaction_bytes_limit=549755813888 hard_pending_compaction_bytes_limit=2199023255552\n");
  set.clear();
  EXPECT_EQ(weir_detach(throttle_), WEIR_OK);
  EXPECT_EQ(set,
            "default max_write_buffer_number=2 level0_slowdown_writes_trigger=20 level0_stop_writes_trigger=36 "
            "soft_pending_compaction_bytes_limit=68719476736 hard_pending_compaction_bytes_limit=274877906944\n");
  set = "refuse";
  EXPECT_EQ(weir_attach(setup_, PlantedDb::Read, &db_), 0U);
  EXPECT_TRUE(Has(weir_error(), "does not take the options of column family default")) << weir_error();
  ASSERT_EQ(Set("WEIR_RATE_LIMIT_ENABLED", "false"), WEIR_OK);
  EXPECT_EQ(weir_attach(setup_, PlantedDb::Read, &db_), 0U);
  EXPECT_TRUE(Has(weir_error(), "brakes cannot be moved")) << weir_error();
}

TEST_F(WeirLibraryTest, OneDatabaseHasOneThrottle) {
  const TempDirectory directory;
  WriteText(directory / "OPTIONS-000007", std::string(kOptions));
  const weir_setup other = weir_setup_create();
  for (const weir_setup setup : {setup_, other})
    ASSERT_EQ(weir_setup_directory(setup, directory.path().c_str()), WEIR_OK);
  Attach();
  EXPECT_EQ(weir_attach(other, PlantedDb::Read, &db_), 0U);
  EXPECT_TRUE(Has(weir_error(), "has a throttle already")) << weir_error();
  EXPECT_EQ(weir_detach(throttle_), WEIR_OK);
  const weir_throttle second = weir_attach(other, PlantedDb::Read, &db_);
  EXPECT_NE(second, 0U) << weir_error();
  EXPECT_EQ(weir_close(second), WEIR_OK);
  weir_setup_destroy(other);
}

TEST_F(WeirLibraryTest, ASettingOrAFamilyThatIsWrongIsNamed) {
  EXPECT_EQ(Set("WEIR_RATE_LIMIT_SETPONT", "0.5"), WEIR_INVALID);
  EXPECT_TRUE(Has(weir_error(), "did you mean WEIR_RATE_LIMIT_SETPOINT")) << weir_error();
  EXPECT_EQ(Set("WEIR_RATE_LIMIT_SETPOINT", "high"), WEIR_INVALID);
  EXPECT_TRUE(Has(weir_error(), "WEIR_RATE_LIMIT_SETPOINT")) << weir_error();
  EXPECT_EQ(Set("PATH", "/bin"), WEIR_INVALID);
  EXPECT_EQ(weir_setup_options(setup_, "hello", 5), WEIR_INVALID);
  EXPECT_EQ(weir_setup_family(setup_, "tags"), WEIR_OK);
  EXPECT_EQ(weir_setup_family(setup_, "tags"), WEIR_INVALID);
  EXPECT_EQ(weir_setup_family(setup_, "none"), WEIR_OK);
  EXPECT_EQ(weir_attach(setup_, PlantedDb::Read, &db_), 0U);
  EXPECT_TRUE(Has(weir_error(), "no column family none")) << weir_error();
  const weir_setup empty = weir_setup_create();
  EXPECT_EQ(weir_attach(empty, PlantedDb::Read, &db_), 0U);
  EXPECT_TRUE(Has(weir_error(), "neither the directory")) << weir_error();
  EXPECT_EQ(weir_setup_directory(empty, "/nowhere/at/all"), WEIR_OK);
  EXPECT_EQ(weir_attach(empty, PlantedDb::Read, &db_), 0U);
  EXPECT_TRUE(Has(weir_error(), "/nowhere/at/all")) << weir_error();
  weir_setup_destroy(empty);
}

// Handles that are none, were ended, or are of another kind; and null pointers.
TEST_F(WeirLibraryTest, EveryFunctionNoticesAMistake) {
  Attach();
  const weir_setup ended_setup = weir_setup_create();
  ASSERT_EQ(weir_setup_destroy(ended_setup), WEIR_OK);
  const auto log = [](void*, const char*) {};
  char buffer[10];
  for (const uint64_t handle : {uint64_t{0}, ended_setup, uint64_t{1} << 40, UINT64_MAX}) {
    const std::vector<std::function<int()>> calls{
        [&] { return weir_setup_destroy(handle); },
        [&] { return weir_setup_set(handle, "WEIR_RATE_LIMIT_SETPOINT", "0.5"); },
        [&] { return weir_setup_directory(handle, "/tmp"); },
        [&] { return weir_setup_options(handle, kOptions.data(), kOptions.size()); },
        [&] { return weir_setup_family(handle, "tags"); },
        [&] { return weir_setup_log(handle, log, nullptr); },
        [&] { return weir_setup_sampled_by_program(handle); },
        [&] {
          return weir_setup_set_options(
              handle, [](auto...) { return 0; }, nullptr);
        },
        [&] { return weir_attach(handle, PlantedDb::Read, &db_) == 0 ? WEIR_INVALID : WEIR_OK; },
        [&] { return weir_sample(handle); },
        [&] { return weir_detach(handle); },
        [&] { return weir_close(handle); },
        [&] { return weir_admit(handle, WEIR_WRITE, WEIR_BULK, 1, 1, 0); },
        [&] { return weir_ask(handle, WEIR_WRITE, WEIR_BULK, 1, 1) == 0 ? WEIR_INVALID : WEIR_OK; },
        [&] { return weir_ticket_poll(handle); },
        [&] { return weir_ticket_wait(handle, WEIR_PATIENT); },
        [&] { return weir_ticket_fd(handle) == -1 ? WEIR_INVALID : WEIR_OK; },
        [&] { return weir_ticket_end(handle); },
        [&] { return weir_view(handle, buffer, sizeof buffer) == 0 ? WEIR_INVALID : WEIR_OK; }};
    for (size_t n = 0; n < calls.size(); ++n) {
      EXPECT_EQ(calls[n](), WEIR_INVALID) << "call " << n << " of " << handle;
      EXPECT_TRUE(Has(weir_error(), "there is no such ")) << "call " << n << ": " << weir_error();
    }
  }
  EXPECT_EQ(weir_close(setup_), WEIR_INVALID) << "a handle of another kind";
  EXPECT_EQ(weir_ticket_end(throttle_), WEIR_INVALID);
  EXPECT_EQ(weir_setup_set(setup_, nullptr, "1"), WEIR_INVALID);
  EXPECT_EQ(weir_setup_set(setup_, "WEIR_RATE_LIMIT_SETPOINT", nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_setup_directory(setup_, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_setup_options(setup_, nullptr, 7), WEIR_INVALID);
  EXPECT_EQ(weir_setup_family(setup_, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_setup_log(setup_, nullptr, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_setup_set_options(setup_, nullptr, nullptr), WEIR_INVALID);
  EXPECT_EQ(weir_attach(setup_, nullptr, nullptr), 0U);
  EXPECT_EQ(weir_view(throttle_, nullptr, 10), 0U);
  EXPECT_EQ(weir_admit(throttle_, 1000, WEIR_BULK, 1, 1, 0), WEIR_INVALID);
  EXPECT_EQ(weir_admit(throttle_, WEIR_READ, -1, 1, 1, 0), WEIR_INVALID);
  EXPECT_EQ(weir_close(throttle_), WEIR_OK);
  EXPECT_EQ(weir_close(throttle_), WEIR_INVALID) << "twice";
  EXPECT_EQ(AdmitBulk(0), WEIR_INVALID) << "after the end";
  throttle_ = 0;
}

TEST_F(WeirLibraryTest, AChildOfForkPassesAndCallsNothing) {
  AttachInEmergency();
  const weir_ticket ticket = weir_ask(throttle_, WEIR_WRITE, WEIR_BULK, 1000, 1);
  ASSERT_EQ(weir_ticket_poll(ticket), WEIR_WAITING);
  const pid_t child = fork();
  if (child == 0) {
    bool good = AdmitBulk(WEIR_PATIENT) == WEIR_OK && AdmitBulk(1000) == WEIR_OK;
    good = good && weir_ticket_wait(ticket, WEIR_PATIENT) == WEIR_OK && weir_ticket_end(ticket) == WEIR_OK;
    const int calls = db_.calls();
    good = good && weir_sample(throttle_) == WEIR_FAILED && View() == "{}";
    good = good && weir_close(throttle_) == WEIR_OK && db_.calls() == calls;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(weir_ticket_poll(ticket), WEIR_WAITING) << "the parent is as it was";
  weir_ticket_end(ticket);
}

TEST_F(WeirLibraryTest, AThreadMayEndWithWhatItAskedFor) {
  AttachInEmergency();
  std::vector<weir_ticket> tickets(20);
  std::vector<std::thread> threads;
  for (weir_ticket& ticket : tickets)
    threads.emplace_back([&] { ticket = weir_ask(throttle_, WEIR_WRITE, WEIR_BULK, 1000, 1); });
  for (std::thread& thread : threads) thread.join();
  for (const weir_ticket ticket : tickets) EXPECT_EQ(weir_ticket_poll(ticket), WEIR_WAITING);
  EXPECT_EQ(weir_close(std::exchange(throttle_, 0)), WEIR_OK);
  for (const weir_ticket ticket : tickets) EXPECT_EQ(weir_ticket_wait(ticket, WEIR_PATIENT), WEIR_BUSY);
  for (const weir_ticket ticket : tickets) EXPECT_EQ(weir_ticket_end(ticket), WEIR_OK);
}

TEST_F(WeirLibraryTest, ManyThreadsMayAskWhileOthersClose) {
  std::vector<std::thread> threads;
  std::atomic<bool> over = false;
  std::atomic<weir_throttle> present = 0;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&] {
      while (!over) {
        const weir_throttle throttle = present;
        weir_admit(throttle, WEIR_WRITE, WEIR_BULK, 100, 1, 1);
        const weir_ticket ticket = weir_ask(throttle, WEIR_READ, WEIR_BULK, 1 << 20, 1);
        weir_ticket_fd(ticket);
        weir_ticket_end(ticket);
      }
    });
  for (int round = 0; round < 20; ++round) {
    present = weir_attach(setup_, PlantedDb::Read, &db_);
    EXPECT_NE(present, 0U) << weir_error();
    std::this_thread::yield();
    EXPECT_EQ(weir_close(present), WEIR_OK);
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir
