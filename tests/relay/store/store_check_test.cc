// Damage that is planted is found, and named.
#include "relay/store/store_check.h"

#include <gtest/gtest.h>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/store/keys.h"
#include "rocksdb/db.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class StoreCheckTest : public testing::Test {
 protected:
  StoreCheckTest() {
    RandomNostr random(1, 500);
    SaveAll(*store_, random.events(), RandomNostr::kStart);
    for (rocksdb::ColumnFamilyHandle* family : store_->families()) {
      if (family->GetName() == kEventsFamily) events_ = family;
      if (family->GetName() == kIndexFamily) index_ = family;
    }
    SaveAll(*store_, {target_}, RandomNostr::kStart);
  }

  CheckReport Check(bool signatures = false) {
    const Result<CheckReport> report = CheckStore(*store_, {.signatures = signatures, .examples = 2});
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report.value() : CheckReport();
  }
  // Returns "what: count" of all findings.
  std::string Findings(bool signatures = false) {
    std::string text;
    for (const CheckReport::Finding& finding : Check(signatures).findings)
      text += (text.empty() ? "" : ", ") + finding.what + ": " + std::to_string(finding.count);
    return text;
  }

  void Put(rocksdb::ColumnFamilyHandle* family, std::string_view key, std::string_view value) {
    ASSERT_TRUE(store_->db()->Put({}, family, key, value).ok());
  }
  void Remove(rocksdb::ColumnFamilyHandle* family, std::string_view key) {
    ASSERT_TRUE(store_->db()->Delete({}, family, key).ok());
  }
  std::string Get(rocksdb::ColumnFamilyHandle* family, std::string_view key) {
    std::string value;
    EXPECT_TRUE(store_->db()->Get({}, family, key, &value).ok());
    return value;
  }
  // Returns the target's entry under a letter.
  std::string EntryOf(char letter) {
    std::string found;
    ForEachEntry(ToEvent(target_).view(), Serial(), [&](std::string_view key, std::string_view) {
      if (key[0] == letter) found = key;
    });
    EXPECT_FALSE(found.empty()) << letter;
    return found;
  }
  uint64_t Serial() { return store_->Now().value().NumberOf(0); }

  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
  rocksdb::ColumnFamilyHandle* events_ = nullptr;
  rocksdb::ColumnFamilyHandle* index_ = nullptr;
  // Has an entry of every kind, one of them twice.
  const PlainEvent target_ =
      Plain(Author(50), RandomNostr::kStart, 30001, {{"d", "x"}, {"t", "a"}, {"t", "a"}, {"expiration", "1800000000"}});
};

TEST_F(StoreCheckTest, AGoodStoreIsClean) {
  const CheckReport report = Check();
  EXPECT_TRUE(report.clean()) << ToText(report);
  EXPECT_EQ(report.events, store_->Sizes().events);
  EXPECT_GT(report.entries, report.events * 4);
  EXPECT_GT(report.marks, 0U);
  EXPECT_TRUE(Has(ToText(report), "nothing wrong"));
}

TEST_F(StoreCheckTest, AnEmptyStoreIsClean) {
  const auto store = MustOpen(SmallStore(directory_ / "empty"));
  EXPECT_TRUE(CheckStore(*store).value().clean());
}

TEST_F(StoreCheckTest, EveryMissingEntryIsFound) {
  for (const char letter : std::string("iatkcdx")) {
    const std::string key = EntryOf(letter);
    const std::string value = Get(index_, key);
    Remove(index_, key);
    EXPECT_EQ(Findings(), std::string("missing index entry ") + letter + ": 1");
    EXPECT_TRUE(Has(ToText(Check()), target_.id));
    Put(index_, key, value);
  }
  EXPECT_EQ(Findings(), "");
}

TEST_F(StoreCheckTest, EveryStrayEntryIsFound) {
  for (const char letter : std::string("atkcx")) {
    // The key of an event that does not exist, and of one that does.
    std::string key = EntryOf(letter);
    key[key.size() - 5] ^= 1;
    Put(index_, key, "");
    EXPECT_EQ(Findings(), std::string("stray index entry ") + letter + ": 1");
    Remove(index_, key);
    key = EntryOf(letter);
    key[2] ^= 1;
    Put(index_, key, "");
    EXPECT_EQ(Findings(), std::string("stray index entry ") + letter + ": 1");
    Remove(index_, key);
  }
  EXPECT_EQ(Findings(), "");
}

TEST_F(StoreCheckTest, AnEntryThatLeadsElsewhereIsFound) {
  std::string value = Get(index_, EntryOf('i'));
  value.back() ^= 1;
  Put(index_, EntryOf('i'), value);
  const std::string findings = Findings();
  EXPECT_TRUE(Has(findings, "index entry i that leads elsewhere: 1")) << findings;
}

TEST_F(StoreCheckTest, SwappedValuesAreFound) {
  const PlainEvent other = Plain(Author(51), RandomNostr::kStart, 1);
  const std::string first_key = EntryOf('i');
  SaveAll(*store_, {other}, RandomNostr::kStart);
  const std::string second_key(IdKey(ToBytes(other.id)).view());
  const std::string first = Get(index_, first_key);
  Put(index_, first_key, Get(index_, second_key));
  Put(index_, second_key, first);
  EXPECT_TRUE(Has(Findings(), "index entry i that leads elsewhere: 2"));
}

TEST_F(StoreCheckTest, AGarbledRecordIsFound) {
  const std::string key(EventKey(Serial()).view());
  const std::string record = Get(events_, key);
  Put(events_, key, record.substr(0, 50));
  EXPECT_TRUE(Has(Findings(), "record that is no event: 1")) << Findings();
  EXPECT_FALSE(Has(Findings(), "stray")) << Findings();
}

TEST_F(StoreCheckTest, ARecordUnderNoSerialIsFound) {
  Put(events_, "key", "value");
  EXPECT_TRUE(Has(Findings(), "record that is no event: 1")) << Findings();
}

TEST_F(StoreCheckTest, ALostRecordIsFound) {
  Remove(events_, EventKey(Serial()).view());
  const std::string findings = Findings();
  EXPECT_TRUE(Has(findings, "stray index entry i: 1")) << findings;
  EXPECT_TRUE(Has(findings, "wrong count of events: 1")) << findings;
}

TEST_F(StoreCheckTest, WrongCountersAreFound) {
  const std::string right = Get(index_, CountersKey().view());
  Counters counters;
  ASSERT_TRUE(ReadCounters(right, &counters));
  Put(index_, CountersKey().view(), WriteCounters({counters.events + 1, counters.last_serial}));
  EXPECT_EQ(Findings(), "wrong count of events: 1");
  Put(index_, CountersKey().view(), WriteCounters({counters.events, counters.last_serial - 1}));
  EXPECT_EQ(Findings(), "event that is newer than the last serial: 1");
  Put(index_, CountersKey().view(), "short");
  EXPECT_EQ(Findings(), "counters that cannot be read: 1");
}

TEST_F(StoreCheckTest, FindsDeletedEventsThatAreStillThere) {
  const std::string author(target_.pubkey);
  const std::string mark(DeletionMarkKey(ToBytes(target_.id), ToBytes(author)).view());
  Put(index_, mark, "");
  EXPECT_EQ(Findings(), "event that its author deleted: 1");
  Remove(index_, mark);

  Key until('\0');
  until.Number(target_.created_at, 8);
  const std::string address(AddressMarkKey(AddressOf(ToEvent(target_).view())).view());
  Put(index_, address, until.view().substr(1));
  EXPECT_EQ(Findings(), "event that its author deleted: 1");
  Remove(index_, address);

  Put(index_, VanishMarkKey(ToBytes(author)).view(), until.view().substr(1));
  EXPECT_EQ(Findings(), "event of an author who vanished: 1");
}

TEST_F(StoreCheckTest, MarksAndKeysOfNoKnownShapeAreFound) {
  Put(index_, "e", "");
  Put(index_, "rest", "");
  Put(index_, "vain", "12345678");
  Put(index_, "?", "");
  EXPECT_EQ(Findings(), "index entry of no known kind: 1, mark that cannot be read: 3");
}

TEST_F(StoreCheckTest, ExamplesAreFew) {
  for (int i = 0; i < 10; ++i) Put(index_, "?" + std::to_string(i), "");
  const CheckReport report = Check();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].count, 10U);
  EXPECT_EQ(report.findings[0].examples.size(), 2U);
  EXPECT_TRUE(Has(ToText(report), "and 8 more"));
}

TEST_F(StoreCheckTest, SignaturesAreCheckedOnRequest) {
  EXPECT_EQ(Findings(true), "wrong signature: " + std::to_string(store_->Sizes().events));

  const auto store = MustOpen(SmallStore(directory_ / "signed"));
  const Signer signer(1);
  EventParser parser;
  std::vector<Event> events;
  for (uint64_t i = 0; i < 20; ++i)
    events.push_back(parser.Parse(signer.SignedEvent(i, 1, R"([["t","a"]])", "a note")).value());
  std::vector<SaveResult> results(events.size());
  ASSERT_TRUE(store->Save(events, 0, results).ok());
  const CheckReport report = CheckStore(*store, {.signatures = true}).value();
  EXPECT_TRUE(report.clean()) << ToText(report);
}

// A head that differs from its JSON is well-formed, and only a second look at the JSON tells.
TEST_F(StoreCheckTest, ARecordThatDiffersFromItsEventIsFoundWithTheSignatures) {
  const std::string key(EventKey(Serial()).view());
  std::string record = Get(events_, key);
  record[RecordLayout::kFlags] ^= 1;
  Put(events_, key, record);
  EXPECT_EQ(Findings(), "");
  EXPECT_TRUE(Has(Findings(true), "record that differs from its event: 1"));
}

}  // namespace
}  // namespace weir
