// A store with a Standings, whose clocks a test moves.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/standing/standings.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {

inline constexpr uint64_t kDaySeconds = 86'400;

class StandingsFixture : public testing::Test {
 protected:
  StandingsFixture() { Restart(); }

  // Ends the Standings and makes a new one, as a restart of the relay does.
  void Restart(const Standings::Admit& admit = nullptr) {
    standings_.reset();
    standings_ = std::make_unique<Standings>(settings_, *store_, path_, admit, clock_, wall_);
    standings_->Open();
  }
  void Pass(Duration time) {
    clock_.Advance(time);
    wall_.Advance(time);
  }
  void PassDays(uint64_t days) { Pass(std::chrono::hours(24 * days)); }

  void Store(const PlainEvent& event) {
    EXPECT_EQ(SaveAll(*store_, {event}, wall_.NowSeconds()).front(), SaveOutcome::kSaved);
  }
  void Note(const PlainEvent& event, uint64_t address = 1) {
    standings_->NoteAccepted(ToEvent(event).view(), address, false);
  }
  void StoreAndNote(const PlainEvent& event, uint64_t address = 1) {
    Store(event);
    Note(event, address);
  }
  PlainEvent Note1(uint64_t author) { return Plain(Author(author), wall_.NowSeconds(), 1); }
  PlainEvent Follows(uint64_t author, const std::vector<uint64_t>& followed) {
    return Plain(Author(author), wall_.NowSeconds(), 3, TagsFor(followed));
  }
  PlainEvent Report(uint64_t reporter, uint64_t author, const std::string& text = "") {
    return Plain(Author(reporter), wall_.NowSeconds(), 1984, TagsFor({author}), text);
  }
  Rung RungOf(uint64_t author) { return standings_->RungOf(ToBytes(Author(author))); }
  AuthorRecord Record(uint64_t author) { return standings_->Find(ToBytes(Author(author))).value_or(AuthorRecord{}); }
  void Trust(const std::vector<uint64_t>& authors) {
    std::vector<PublicKey> keys;
    for (const uint64_t author : authors) keys.push_back(ToBytes(Author(author)));
    standings_->SetOwnList(std::move(keys));
  }

  const TempDirectory directory_;
  const std::string path_ = directory_ / "standing";
  ManualClock clock_;
  ManualWallClock wall_{uint64_t{20'000 * kDaySeconds}};
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "db"));
  StandingSettings settings_;
  std::unique_ptr<Standings> standings_;

 private:
  static std::vector<Tag> TagsFor(const std::vector<uint64_t>& authors) {
    std::vector<Tag> tags;
    for (const uint64_t author : authors) tags.push_back({"p", Author(author)});
    return tags;
  }
};

}  // namespace weir
