// Tests that the memory of a relay has after a start what it had before.
#include "relay/upkeep/warm_up.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "relay/store/keys.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

using Serials = std::vector<uint64_t>;

constexpr std::string_view kFirst = "weir records in memory, 1\n";

std::string NoteOf(std::initializer_list<uint64_t> serials) { return weir::NoteOf(Serials(serials)); }

TEST(NoteOfRecords, KeepsAllSerials) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    Serials serials;
    uint64_t serial = 0;
    while (serials.size() < random() % 300) serials.push_back(serial += 1 + random() % (uint64_t{1} << random() % 30));
    EXPECT_EQ(SerialsIn(weir::NoteOf(serials)), serials);
  }
  EXPECT_EQ(SerialsIn(NoteOf({kLastSerial})), Serials{kLastSerial});
}

TEST(NoteOfRecords, OfADamagedNoteTheSoundBeginningIsUsed) {
  const Serials serials = {7, 19, 20, 400};
  const std::string note = weir::NoteOf(serials);
  for (size_t length = 0; length < note.size(); ++length) {
    const Serials found = SerialsIn(note.substr(0, length));
    ASSERT_LE(found.size(), serials.size());
    EXPECT_EQ(found, Serials(serials.begin(), serials.begin() + static_cast<ptrdiff_t>(found.size()))) << length;
  }
  const std::string first(kFirst);
  for (const char* bad : {"0\n", "-3\n", "x\n", "\n", "3 \n", " 3\n", "281474976710655\n", "99999999999999999999999\n"})
    EXPECT_EQ(SerialsIn(first + "5\n" + bad + "1\n"), Serials{5}) << bad;
  EXPECT_TRUE(SerialsIn("weir records in memory, 2\n5\n").empty());
  EXPECT_TRUE(SerialsIn("").empty());
}

class WarmUpTest : public testing::Test {
 protected:
  WarmUpTest() {
    std::vector<PlainEvent> events;
    for (uint64_t n = 1; n <= 400; ++n) events.push_back(Plain(Author(n % 7 + 1), n, 1));
    SaveAll(*store_, events);
    Reopen();
  }

  void Reopen() {
    store_.reset();
    store_ = MustOpen(SmallStore(directory_ / "events"));
  }
  std::unique_ptr<WarmUp> Start(Duration note_every = WarmUp::kNoteEvery, BulkReads::Admit admit = nullptr) {
    return std::make_unique<WarmUp>(*store_, file_, std::move(admit), Clock::System(), note_every);
  }
  void Await(const WarmUp& warm_up) const {
    ASSERT_TRUE(Eventually([&] { return !warm_up.state().runs; }));
  }
  void Ask(uint64_t author) const {
    const auto query = store_->Find({Filter{.authors = std::vector<PublicKey>{ToBytes(Author(author))}}}, {});
    EXPECT_GT(Drain(*query).size(), 50U);
  }
  std::string Noted() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TempDirectory directory_;
  const std::string file_ = directory_ / "recently-read";
  std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
};

TEST_F(WarmUpTest, RecordsThatWereReadBeforeTheStartAreInMemoryAgain) {
  {
    const auto warm_up = Start();
    Await(*warm_up);
    EXPECT_EQ(warm_up->state().records, 0U);
    Ask(1);
    Ask(3);
  }
  const Serials before = store_->CachedRecords();
  EXPECT_GT(before.size(), 100U);
  EXPECT_EQ(SerialsIn(Noted()), before);
  Reopen();
  EXPECT_TRUE(store_->CachedRecords().empty());
  const auto warm_up = Start();
  Await(*warm_up);
  EXPECT_EQ(store_->CachedRecords(), before);
  EXPECT_EQ(warm_up->state().records, before.size());
  EXPECT_EQ(warm_up->state().done, 1);
}

TEST_F(WarmUpTest, TheNoteIsWrittenWhileTheRelayRuns) {
  const auto warm_up = Start(std::chrono::milliseconds(1));
  Ask(2);
  EXPECT_TRUE(Eventually([&] { return SerialsIn(Noted()) == store_->CachedRecords(); }));
}

TEST_F(WarmUpTest, OneThatDoesNotEndKeepsTheNoteAsItIs) {
  const std::string note = NoteOf({1, 2, 3});
  std::ofstream(file_) << note;
  const auto never = [](Cost) { return Admission({.state = Admission::State::kRefused}); };
  auto warm_up = Start(std::chrono::milliseconds(1), never);
  Ask(2);
  EXPECT_TRUE(warm_up->state().runs);
  warm_up.reset();
  EXPECT_EQ(Noted(), note);
}

TEST_F(WarmUpTest, ARelayFromWhichNothingWasReadKeepsTheNote) {
  const std::string note = NoteOf({1'000'000});
  std::ofstream(file_) << note;
  Await(*Start());
  EXPECT_EQ(Noted(), note);
}

TEST_F(WarmUpTest, AFileThatIsNotANoteIsLeftOut) {
  std::filesystem::create_directories(file_);
  Await(*Start());
  std::filesystem::remove(file_);
  std::ofstream(file_) << std::string(100, 'x');
  std::filesystem::resize_file(file_, 1ull << 40);
  const auto warm_up = Start();
  Await(*warm_up);
  EXPECT_EQ(warm_up->state().records, 0U);
}

}  // namespace
}  // namespace weir
