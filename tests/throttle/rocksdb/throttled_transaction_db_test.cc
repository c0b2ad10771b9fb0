#include "throttle/rocksdb/throttled_transaction_db.h"

#include "tests/throttle/rocksdb/throttled_fixture.h"

namespace weir {
namespace {

using rocksdb::Transaction;
using Transactions = std::unique_ptr<Transaction>;

rocksdb::WriteOptions LowPriority() {
  rocksdb::WriteOptions options;
  options.low_pri = true;
  return options;
}

class ThrottledTransactionDbTest : public ThrottledTest {
 protected:
  ThrottledTransactionDbTest() { Open(); }
  ~ThrottledTransactionDbTest() override { Close(); }

  void Open() {
    rocksdb::TransactionDB* opened = nullptr;
    const rocksdb::Status s =
        rocksdb::TransactionDB::Open(MergingEngine(), {}, directory_.path(), TwoFamilies(), &handles_, &opened);
    ASSERT_TRUE(s.ok()) << s.ToString();
    db_ = std::make_unique<ThrottledTransactionDb>(std::unique_ptr<rocksdb::TransactionDB>(opened), *limiter_,
                                                   WriteRules{.bulk_families = {"index"}}, handles_);
  }
  void Close() {
    for (Family* handle : handles_) EXPECT_TRUE(db_->DestroyColumnFamilyHandle(handle).ok());
    handles_.clear();
    db_.reset();
  }
  Transactions Begin(const rocksdb::WriteOptions& options = {}) { return Transactions(db_->BeginTransaction(options)); }
  Transactions BeginPrepared() {
    Transactions txn = Begin();
    EXPECT_TRUE(txn->SetName("name").ok() && txn->Put("key", "value").ok() && txn->Prepare().ok());
    return txn;
  }
  std::string Get(const std::string& key) {
    std::string value;
    const rocksdb::Status s = db_->Get({}, key, &value);
    return s.ok() ? value : s.ToString();
  }

  std::unique_ptr<ThrottledTransactionDb> db_;
  std::vector<Family*> handles_;
};

TEST_F(ThrottledTransactionDbTest, WritesOutsideOfATransactionAsk) {
  rocksdb::WriteBatch batch;
  ASSERT_TRUE(batch.Put("a", "1").ok());
  ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  EXPECT_EQ(Asked().bytes, 8u);
  ASSERT_TRUE(db_->Write(LowPriority(), &batch).ok());
  ASSERT_TRUE(db_->Write(LowPriority(), {.skip_concurrency_control = true}, &batch).ok());
  const Flow asked = AskedInBulk();
  EXPECT_EQ(asked.operations, 2u);
  EXPECT_EQ(asked.bytes, 2 * batch.GetDataSize());
}

TEST_F(ThrottledTransactionDbTest, EachOperationThatLocksAsksIfItIsTheFirst) {
  const rocksdb::Slice key("key");
  const rocksdb::Slice value("value");
  const rocksdb::SliceParts keys(&key, 1);
  const rocksdb::SliceParts values(&value, 1);
  std::string read;
  rocksdb::PinnableSlice pinned;
  std::vector<std::string> reads;
  Family* f = handles_[0];
  const std::vector<std::pair<uint64_t, std::function<void(Transaction&)>>> kFirst = {
      {8, [&](auto& t) { EXPECT_TRUE(t.Put(key, value).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.Put(f, key, value).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.Put(keys, values).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.Put(f, keys, values).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.Merge(key, value).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.Merge(f, key, value).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.Delete(key).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.Delete(f, key).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.Delete(keys).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.Delete(f, keys).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.SingleDelete(key).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.SingleDelete(f, key).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.SingleDelete(keys).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.SingleDelete(f, keys).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.PutUntracked(key, value).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.PutUntracked(f, key, value).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.PutUntracked(keys, values).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.PutUntracked(f, keys, values).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.MergeUntracked(key, value).ok()); }},
      {8, [&](auto& t) { EXPECT_TRUE(t.MergeUntracked(f, key, value).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.DeleteUntracked(key).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.DeleteUntracked(f, key).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.DeleteUntracked(keys).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.DeleteUntracked(f, keys).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.SingleDeleteUntracked(key).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.SingleDeleteUntracked(f, key).ok()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.GetForUpdate({}, key, &read).IsNotFound()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.GetForUpdate({}, f, key, &read).IsNotFound()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.GetForUpdate({}, f, key, &pinned).IsNotFound()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.MultiGetForUpdate({}, {key}, &reads)[0].IsNotFound()); }},
      {3, [&](auto& t) { EXPECT_TRUE(t.MultiGetForUpdate({}, {f}, {key}, &reads)[0].IsNotFound()); }},
  };
  for (size_t i = 0; i < kFirst.size(); ++i) {
    const Transactions txn = Begin();
    kFirst[i].second(*txn);
    EXPECT_EQ(Asked().bytes, kFirst[i].first) << i;
    EXPECT_TRUE(txn->Put("other", "value").ok());
    EXPECT_EQ(Asked().operations, 0u) << i;
    EXPECT_TRUE(txn->Rollback().ok());
  }
}

TEST_F(ThrottledTransactionDbTest, TheRestIsPaidAfterTheCommit) {
  const Transactions txn = Begin();
  ASSERT_TRUE(txn->Put("key", "value").ok() && txn->Put("long", std::string(1000, 'v')).ok());
  EXPECT_EQ(Asked().bytes, 8u);
  const uint64_t bytes = txn->GetWriteBatch()->GetWriteBatch()->GetDataSize();
  ASSERT_TRUE(txn->Commit().ok());
  const Flow rest = Asked();
  EXPECT_EQ(rest.operations, 1u);
  EXPECT_EQ(rest.bytes, bytes - 8);
  EXPECT_EQ(txn->GetState(), Transaction::COMMITTED);
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(ThrottledTransactionDbTest, ATransactionThatOnlyReadsDoesNotAsk) {
  const Transactions txn = Begin();
  std::string value;
  rocksdb::PinnableSlice pinned;
  rocksdb::Status status;
  const rocksdb::Slice key("key");
  EXPECT_TRUE(txn->Get({}, "key", &value).IsNotFound());
  EXPECT_TRUE(txn->Get({}, handles_[0], "key", &pinned).IsNotFound());
  txn->MultiGet({}, handles_[0], 1, &key, &pinned, &status);
  EXPECT_TRUE(status.IsNotFound());
  const std::unique_ptr<rocksdb::Iterator> all(txn->GetIterator({}));
  ASSERT_TRUE(txn->Commit().ok());
  EXPECT_EQ(Asked().operations, 0u);
}

TEST_F(ThrottledTransactionDbTest, ATransactionWaitsWithoutALock) {
  HoldBulkWork();
  const Transactions txn = Begin(LowPriority());
  const rocksdb::Status s = WhileItWaits([&] { return txn->Put("key", "bulk"); },
                                         [&] {
                                           const Transactions other = Begin();
                                           EXPECT_TRUE(other->Put("key", "interactive").ok());
                                           EXPECT_TRUE(other->Commit().ok());
                                           EndHold();
                                         });
  ASSERT_TRUE(s.ok()) << s.ToString();
  ASSERT_TRUE(txn->Commit().ok());
  EXPECT_EQ(Get("key"), "bulk");
}

TEST_F(ThrottledTransactionDbTest, ARefusedOperationHasLockedNothing) {
  HoldBulkWork();
  const Transactions txn = Begin(LowPriority());
  EXPECT_TRUE(WhileItWaits([&] { return txn->Put("key", "bulk"); }, [&] { LetWaitsExpire(); }).IsBusy());
  EXPECT_EQ(db_->GetLockStatusData().size(), 0u);
  const auto read = [&] {
    std::vector<std::string> values;
    const std::vector<rocksdb::Status> statuses = txn->MultiGetForUpdate({}, {"a", "b"}, &values);
    EXPECT_EQ(statuses.size(), 2u);
    return statuses[1];
  };
  EXPECT_TRUE(WhileItWaits(read, [&] { LetWaitsExpire(); }).IsBusy());
  EndHold();
  EXPECT_TRUE(txn->Put("key", "bulk").ok()) << "it asks again";
  EXPECT_EQ(db_->GetLockStatusData().size(), 1u);
}

TEST_F(ThrottledTransactionDbTest, ThePaymentAfterTheCommitHoldsNoLock) {
  const Transactions txn = Begin(LowPriority());
  ASSERT_TRUE(txn->Put("key", std::string(1000, 'v')).ok());
  HoldBulkWork();
  const rocksdb::Status s = WhileItWaits([&] { return txn->Commit(); },
                                         [&] {
                                           EXPECT_EQ(db_->GetLockStatusData().size(), 0u);
                                           EXPECT_EQ(Get("key").size(), 1000u);
                                           LetWaitsExpire();
                                         });
  EXPECT_TRUE(s.ok()) << "what is committed is not refused: " << s.ToString();
}

TEST_F(ThrottledTransactionDbTest, ATransactionWithoutSlowdownWaitsNeitherBeforeNorAfter) {
  rocksdb::WriteOptions at_once = LowPriority();
  at_once.no_slowdown = true;
  const Transactions txn = Begin(at_once);
  ASSERT_TRUE(txn->Put("key", "value").ok());
  HoldBulkWork();
  EXPECT_TRUE(Begin(at_once)->Put("other", "value").IsIncomplete());
  (void)AskedInBulk();
  EXPECT_TRUE(txn->Commit().ok());
  EXPECT_EQ(limiter_->Stats(Operation::kWrite).waiting, 0u);
  EXPECT_GT(AskedInBulk().bytes, 0u) << "the rest of it is charged";
}

TEST_F(ThrottledTransactionDbTest, TheFamilyOfTheFirstLockGivesTheClass) {
  const Transactions txn = Begin();
  ASSERT_TRUE(txn->Put(handles_[1], "key", "value").ok() && txn->Commit().ok());
  EXPECT_EQ(AskedInBulk().operations, 2u);
  EXPECT_EQ(Asked().operations, 0u);
}

TEST_F(ThrottledTransactionDbTest, ARolledBackTransactionAsksAnew) {
  const Transactions txn = Begin();
  ASSERT_TRUE(txn->Put("key", "value").ok() && txn->Rollback().ok() && txn->Put("key", "value").ok());
  EXPECT_EQ(Asked().operations, 2u);
}

TEST_F(ThrottledTransactionDbTest, AReusedTransactionAsksAnew) {
  Transaction* const txn = db_->BeginTransaction({});
  ASSERT_TRUE(txn->Put("key", "value").ok() && txn->Commit().ok());
  EXPECT_EQ(Asked().operations, 2u);
  const Transactions again(db_->BeginTransaction(LowPriority(), {}, txn));
  EXPECT_EQ(again.get(), txn);
  EXPECT_EQ(again->GetState(), Transaction::STARTED);
  ASSERT_TRUE(again->Put("key", "value").ok());
  EXPECT_EQ(AskedInBulk().operations, 1u);
}

TEST_F(ThrottledTransactionDbTest, PrepareDoesNotAsk) {
  const Transactions txn = BeginPrepared();
  EXPECT_EQ(txn->GetState(), Transaction::PREPARED);
  EXPECT_EQ(Asked().operations, 1u);
  ASSERT_TRUE(txn->Commit().ok());
  EXPECT_EQ(Asked().operations, 1u) << "the rest of the batch, after the commit";
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(ThrottledTransactionDbTest, ANamedTransactionIsFoundAgain) {
  Transactions txn = BeginPrepared();
  EXPECT_EQ(db_->GetTransactionByName("name"), txn.get());
  EXPECT_EQ(db_->GetTransactionByName("other"), nullptr);
  std::vector<Transaction*> prepared;
  db_->GetAllPreparedTransactions(&prepared);
  EXPECT_EQ(prepared, std::vector<Transaction*>{txn.get()});
  ASSERT_TRUE(txn->Commit().ok());
  EXPECT_EQ(db_->GetTransactionByName("name"), nullptr);
}

TEST_F(ThrottledTransactionDbTest, ATransactionIsFoundByAnotherThreadWhileItIsNamed) {
  constexpr int kNames = 1000;
  std::vector<Transactions> named;
  for (int i = 0; i < kNames; ++i) named.push_back(Begin());
  std::vector<Transaction*> found(kNames);
  std::thread finder([&] {
    for (int i = 0; i < kNames; ++i)
      while (found[i] == nullptr) found[i] = db_->GetTransactionByName(std::to_string(i));
  });
  for (int i = 0; i < kNames; ++i) EXPECT_TRUE(named[i]->SetName(std::to_string(i)).ok());
  finder.join();
  for (int i = 0; i < kNames; ++i) ASSERT_EQ(found[i], named[i].get()) << i;
}

TEST_F(ThrottledTransactionDbTest, ARefusedNameIsThatOfNoTransaction) {
  const Transactions txn = Begin();
  EXPECT_FALSE(txn->SetName("").ok());
  EXPECT_EQ(db_->GetTransactionByName(""), nullptr);
  EXPECT_TRUE(txn->SetName("name").ok());
  const Transactions other = Begin();
  EXPECT_FALSE(other->SetName("name").ok());
  EXPECT_EQ(db_->GetTransactionByName("name"), txn.get());
}

TEST_F(ThrottledTransactionDbTest, ARecoveredTransactionCommitsWithoutAsking) {
  (void)BeginPrepared().release();  // the database deletes it
  (void)Asked();
  Close();
  Open();
  EXPECT_EQ(Get("key"), "NotFound: ");
  const Transactions txn(db_->GetTransactionByName("name"));
  ASSERT_NE(txn, nullptr);
  EXPECT_EQ(db_->GetTransactionByName("name"), txn.get());
  EXPECT_EQ(txn->GetState(), Transaction::PREPARED);
  const rocksdb::Status s = txn->Commit();
  EXPECT_TRUE(s.ok()) << s.ToString();
  EXPECT_EQ(Get("key"), "value");
  EXPECT_EQ(Asked().operations, 1u) << "the payment after the commit";
}

TEST_F(ThrottledTransactionDbTest, ARecoveredTransactionHasTheClassOfItsFamilies) {
  Transactions txn = Begin();
  ASSERT_TRUE(txn->SetName("name").ok() && txn->Put(handles_[1], "key", "value").ok() && txn->Prepare().ok());
  (void)txn.release();  // the database deletes it
  (void)AskedInBulk();
  Close();
  Open();
  EXPECT_TRUE(Transactions(db_->GetTransactionByName("name"))->Commit().ok());
  EXPECT_EQ(AskedInBulk().operations, 1u);
  EXPECT_EQ(Asked().operations, 0u);
}

class ThrottledOptimisticTest : public ThrottledTest {
 protected:
  ThrottledOptimisticTest() {
    rocksdb::OptimisticTransactionDB* opened = nullptr;
    const rocksdb::Status s = rocksdb::OptimisticTransactionDB::Open(SmallEngine(), directory_.path(), &opened);
    EXPECT_TRUE(s.ok()) << s.ToString();
    db_ = std::make_unique<ThrottledOptimisticTransactionDb>(std::unique_ptr<rocksdb::OptimisticTransactionDB>(opened),
                                                             *limiter_);
  }
  Transactions Begin(const rocksdb::WriteOptions& options = {}) { return Transactions(db_->BeginTransaction(options)); }

  std::unique_ptr<ThrottledOptimisticTransactionDb> db_;
};

TEST_F(ThrottledOptimisticTest, ACommitAsksOnceForItsBatch) {
  const Transactions txn = Begin();
  ASSERT_TRUE(txn->Put("key", "value").ok());
  EXPECT_EQ(Asked().operations, 0u);
  const uint64_t bytes = txn->GetWriteBatch()->GetWriteBatch()->GetDataSize();
  ASSERT_TRUE(txn->Commit().ok());
  const Flow asked = Asked();
  EXPECT_EQ(asked.operations, 1u);
  EXPECT_EQ(asked.bytes, bytes);
}

TEST_F(ThrottledOptimisticTest, ACommitWaitsBeforeItValidates) {
  HoldBulkWork();
  const Transactions txn = Begin(LowPriority());
  ASSERT_TRUE(txn->Put("key", "bulk").ok());
  const rocksdb::Status s = WhileItWaits([&] { return txn->Commit(); },
                                         [&] {
                                           EXPECT_TRUE(db_->Put({}, "key", "interactive").ok());
                                           EndHold();
                                         });
  EXPECT_TRUE(s.IsBusy()) << "a conflict with the write in between: " << s.ToString();
  EXPECT_EQ(s.ToString().find("weir"), std::string::npos) << s.ToString();
}

TEST_F(ThrottledOptimisticTest, ARefusedCommitMayBeTriedAgain) {
  HoldBulkWork();
  const Transactions txn = Begin(LowPriority());
  ASSERT_TRUE(txn->Put("key", "bulk").ok());
  const rocksdb::Status refused = WhileItWaits([&] { return txn->Commit(); }, [&] { LetWaitsExpire(); });
  EXPECT_TRUE(refused.IsBusy());
  EXPECT_NE(refused.ToString().find("weir refused the write"), std::string::npos) << refused.ToString();
  EndHold();
  EXPECT_TRUE(txn->Commit().ok());
}

TEST_F(ThrottledOptimisticTest, WritesOutsideOfATransactionAsk) {
  ASSERT_TRUE(db_->Put({}, "key", "value").ok());
  EXPECT_EQ(Asked().bytes, 8u);
}

TEST_F(ThrottledOptimisticTest, AReusedTransactionAsksAnew) {
  Transaction* const txn = db_->BeginTransaction({});
  ASSERT_TRUE(txn->Put("key", "value").ok() && txn->Commit().ok());
  const Transactions again(db_->BeginTransaction({}, {}, txn));
  EXPECT_EQ(again.get(), txn);
  ASSERT_TRUE(again->Put("key", "value").ok() && again->Commit().ok());
  EXPECT_EQ(Asked().operations, 2u);
}

}  // namespace
}  // namespace weir
