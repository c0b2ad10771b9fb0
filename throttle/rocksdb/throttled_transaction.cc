#include "throttle/rocksdb/throttled_transaction.h"

#include <utility>

namespace weir {

void NamedTransactions::Add(ThrottledTransaction* transaction) {
  const MutexLock lock(mutex_);
  by_inner_[transaction->inner()] = transaction;
}

void NamedTransactions::Remove(ThrottledTransaction* transaction) {
  const MutexLock lock(mutex_);
  by_inner_.erase(transaction->inner());
}

ThrottledTransaction* NamedTransactions::Of(rocksdb::Transaction* inner) {
  const MutexLock lock(mutex_);
  ThrottledTransaction*& known = by_inner_[inner];
  if (known == nullptr) {
    known = new ThrottledTransaction(std::unique_ptr<rocksdb::Transaction>(inner), asker_, AskAt::kFirstLock, this);
  }
  return known;
}

std::vector<ThrottledTransaction*> NamedTransactions::Left() {
  const MutexLock lock(mutex_);
  std::vector<ThrottledTransaction*> left;
  for (const auto& [inner, transaction] : by_inner_) left.push_back(transaction);
  return left;
}

ThrottledTransaction::ThrottledTransaction(std::unique_ptr<rocksdb::Transaction> inner, WriteAsker& asker, AskAt ask_at,
                                           NamedTransactions* named)
    : inner_(std::move(inner)), asker_(asker), ask_at_(ask_at), named_(named) {
  CopyState();
  if (inner_->GetName().empty()) return;
  // RocksDB has recovered it with its locks.
  is_named_ = has_asked_ = true;
  class_ = ClassOfBatch();
}

ThrottledTransaction::~ThrottledTransaction() {
  if (is_named_) named_->Remove(this);
}

rocksdb::Status ThrottledTransaction::Commit() {
  const uint64_t bytes = BatchBytes();
  if (!has_asked_ && bytes > 0) {
    if (Status s = Ask(bytes, ClassOfBatch()); !s.ok()) return s;
  }
  const rocksdb::WriteOptions options = *inner_->GetWriteOptions();
  Status committed = Changed(inner_->Commit());
  if (!committed.ok()) return committed;
  if (bytes > asked_bytes_) asker_.Pay(bytes - asked_bytes_, class_, options);
  Ended();
  return committed;
}

rocksdb::Status ThrottledTransaction::Rollback() {
  Status rolled_back = Changed(inner_->Rollback());
  if (rolled_back.ok()) Ended();
  return rolled_back;
}

rocksdb::Status ThrottledTransaction::Ask(uint64_t bytes, WorkClass work_class) {
  Status asked = asker_.Ask(bytes, work_class, *inner_->GetWriteOptions());
  if (!asked.ok()) return asked;
  has_asked_ = true;
  asked_bytes_ = bytes;
  class_ = work_class;
  return asked;
}

WorkClass ThrottledTransaction::ClassOfBatch() const {
  return asker_.ClassOf(*inner_->GetWriteOptions(), *inner_->GetWriteBatch()->GetWriteBatch());
}

uint64_t ThrottledTransaction::BatchBytes() const {
  uint64_t bytes = 0;
  for (const rocksdb::WriteBatch* batch : {inner_->GetWriteBatch()->GetWriteBatch(), inner_->GetCommitTimeWriteBatch()})
    if (batch != nullptr && batch->Count() > 0) bytes += batch->GetDataSize();
  return bytes;
}

ThrottledTransaction::Statuses ThrottledTransaction::MultiGetForUpdate(const ReadOptions& o,
                                                                       const std::vector<Family*>& families,
                                                                       const std::vector<Slice>& keys,
                                                                       std::vector<std::string>* values) {
  Statuses statuses;
  const Status asked = Asked(families.empty() ? nullptr : families.front(), SizeOf(keys), [&] {
    statuses = inner_->MultiGetForUpdate(o, families, keys, values);
    return Status::OK();
  });
  return asked.ok() ? statuses : Statuses(keys.size(), asked);
}

ThrottledTransaction::Statuses ThrottledTransaction::MultiGetForUpdate(const ReadOptions& o,
                                                                       const std::vector<Slice>& keys,
                                                                       std::vector<std::string>* values) {
  Statuses statuses;
  const Status asked = Asked(nullptr, SizeOf(keys), [&] {
    statuses = inner_->MultiGetForUpdate(o, keys, values);
    return Status::OK();
  });
  return asked.ok() ? statuses : Statuses(keys.size(), asked);
}

rocksdb::Status ThrottledTransaction::SetName(const rocksdb::TransactionName& name) {
  // First, because another thread finds the transaction as soon as RocksDB knows its name.
  if (named_ != nullptr) {
    named_->Add(this);
    is_named_ = true;
  }
  return inner_->SetName(name);
}

uint64_t ThrottledTransaction::SizeOf(const SliceParts& parts) {
  uint64_t bytes = 0;
  for (int i = 0; i < parts.num_parts; ++i) bytes += parts.parts[i].size();
  return bytes;
}

uint64_t ThrottledTransaction::SizeOf(const std::vector<Slice>& keys) {
  uint64_t bytes = 0;
  for (const Slice& key : keys) bytes += key.size();
  return bytes;
}

}  // namespace weir
