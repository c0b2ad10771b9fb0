#include "throttle/rocksdb/throttled_asker.h"

#include <utility>

namespace weir {
namespace {

// Calls Record for each record of a batch that writes to a column family. Most other records end Iterate with an error.
class Records : public rocksdb::WriteBatch::Handler {
 protected:
  using Slice = rocksdb::Slice;
  using Status = rocksdb::Status;

 private:
  // `last` is the last part of the record: it ends where the record ends in WriteBatch::Data().
  virtual void Record(uint32_t family, const Slice& last) = 0;

  Status Told(uint32_t family, const Slice& last) {
    Record(family, last);
    return Status::OK();
  }
  Status PutCF(uint32_t family, const Slice&, const Slice& value) final { return Told(family, value); }
  Status PutEntityCF(uint32_t family, const Slice&, const Slice& entity) final { return Told(family, entity); }
  Status MergeCF(uint32_t family, const Slice&, const Slice& value) final { return Told(family, value); }
  Status DeleteCF(uint32_t family, const Slice& key) final { return Told(family, key); }
  Status SingleDeleteCF(uint32_t family, const Slice& key) final { return Told(family, key); }
  Status DeleteRangeCF(uint32_t family, const Slice&, const Slice& end) final { return Told(family, end); }
  Status MarkNoop(bool) override { return Status::OK(); }
  void LogData(const Slice&) final {}
};

// Stops at the first record of a family that is not among the bulk ones.
class OnlyBulkFamilies final : public Records {
 public:
  explicit OnlyBulkFamilies(const std::set<uint32_t>& ids) : ids_(ids) {}
  bool only() const { return only_; }

 private:
  void Record(uint32_t family, const Slice&) override { only_ = only_ && ids_.contains(family); }
  bool Continue() override { return only_; }

  const std::set<uint32_t>& ids_;
  bool only_ = true;
};

// Cuts a batch between its records, by copying its bytes, in which each family is an id. The functions of WriteBatch
// would need a handle of the family: since version 10 they take only one that RocksDB made.
class Pieces final : public Records {
 public:
  // `batch` is WriteBatch::Data().
  Pieces(const std::string& batch, uint64_t piece_bytes) : batch_(batch), piece_bytes_(piece_bytes) {}

  // Returns no piece if the batch has a marker, which may belong to all of its records.
  std::vector<rocksdb::WriteBatch> Take() {
    if (begin_ < batch_.size()) EndPieceAt(batch_.size());
    return has_marker_ ? std::vector<rocksdb::WriteBatch>() : std::move(pieces_);
  }

 private:
  // A batch begins with its sequence number (8 bytes), which RocksDB sets, and with the number of its records (4 bytes,
  // the lowest first).
  static constexpr size_t kCountAt = 8;
  static constexpr size_t kHeaderBytes = 12;

  void Record(uint32_t, const Slice& last) override {
    ++records_;
    const auto end = static_cast<size_t>(last.data() + last.size() - batch_.data());
    if (kHeaderBytes + end - begin_ >= piece_bytes_) EndPieceAt(end);
  }
  Status MarkNoop(bool) override {
    has_marker_ = true;
    return Status::OK();
  }
  void EndPieceAt(size_t end) {
    std::string piece(batch_, 0, kHeaderBytes);
    for (size_t i = kCountAt; i < kHeaderBytes; ++i) piece[i] = static_cast<char>(records_ >> (8 * (i - kCountAt)));
    piece.append(batch_, begin_, end - begin_);
    pieces_.emplace_back(std::move(piece));
    begin_ = end;
    records_ = 0;
  }

  const std::string& batch_;
  const uint64_t piece_bytes_;
  size_t begin_ = kHeaderBytes;  // the next piece begins here
  uint32_t records_ = 0;         // the next piece has so many, so far
  bool has_marker_ = false;
  std::vector<rocksdb::WriteBatch> pieces_;
};

}  // namespace

void WriteAsker::Learn(rocksdb::ColumnFamilyHandle* family) {
  if (!rules_.bulk_families.contains(family->GetName())) return;
  const MutexLock lock(mutex_);
  auto ids = all_ids_.empty() ? std::make_unique<Ids>() : std::make_unique<Ids>(*all_ids_.back());
  if (!ids->insert(family->GetID()).second) return;
  ids_.store(ids.get(), std::memory_order_release);
  all_ids_.push_back(std::move(ids));
}

bool WriteAsker::HasOnlyBulkFamilies(const rocksdb::WriteBatch& batch) const {
  OnlyBulkFamilies handler(*ids_.load(std::memory_order_acquire));
  return batch.Count() > 0 && batch.Iterate(&handler).ok() && handler.only();
}

rocksdb::Status WriteAsker::WriteInPieces(const rocksdb::WriteOptions& options, rocksdb::WriteBatch* batch,
                                          const Writer& write) {
  Pieces handler(batch->Data(), rules_.split_bulk_batches_over_bytes);
  std::vector<rocksdb::WriteBatch> pieces;
  if (batch->Iterate(&handler).ok()) pieces = handler.Take();
  const bool whole = pieces.empty();
  rocksdb::WriteBatch* piece = whole ? batch : pieces.data();
  rocksdb::Status written = Ask(piece->GetDataSize(), WorkClass::kBulk, options);
  if (written.ok()) written = write(piece);
  for (size_t i = 1; i < pieces.size() && written.ok(); ++i) {
    Pay(pieces[i].GetDataSize(), WorkClass::kBulk, options);
    written = write(&pieces[i]);
  }
  return written;
}

void WriteAsker::Pay(uint64_t bytes, WorkClass work_class, const rocksdb::WriteOptions& options) {
  if (options.no_slowdown) {
    limiter_.Charge(Operation::kWrite, {bytes}, work_class);
  } else {
    limiter_.ThrottleOne(Operation::kWrite, {bytes}, PartyOfThread(work_class));
  }
}

rocksdb::Status WriteAsker::Settle(Admission admission, const rocksdb::WriteOptions& options) {
  if (admission.too_large()) return rocksdb::Status::InvalidArgument("weir refused the write", admission.reason());
  if (options.no_slowdown) return rocksdb::Status::Incomplete("weir: the write would have to wait", admission.reason());
  if (admission.Wait() == Admission::State::kAdmitted) return rocksdb::Status::OK();
  const auto retry_ms = std::chrono::ceil<std::chrono::milliseconds>(admission.retry_after()).count();
  return rocksdb::Status::Busy("weir refused the write: " + std::string(admission.reason()),
                               retry_ms > 0 ? "try again in " + std::to_string(retry_ms) + " ms" : std::string());
}

}  // namespace weir
