#include "throttle/rocksdb/throttled_asker.h"

#include <utility>

namespace weir {
namespace {

// Stops at the first record of a family that is not among the bulk ones.
class OnlyBulkFamilies final : public rocksdb::WriteBatch::Handler {
 public:
  explicit OnlyBulkFamilies(const std::set<uint32_t>& ids) : ids_(ids) {}
  bool only() const { return only_; }

 private:
  rocksdb::Status Has(uint32_t id) {
    only_ = only_ && ids_.contains(id);
    return rocksdb::Status::OK();
  }
  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice&, const rocksdb::Slice&) override { return Has(id); }
  rocksdb::Status PutEntityCF(uint32_t id, const rocksdb::Slice&, const rocksdb::Slice&) override { return Has(id); }
  rocksdb::Status MergeCF(uint32_t id, const rocksdb::Slice&, const rocksdb::Slice&) override { return Has(id); }
  rocksdb::Status DeleteCF(uint32_t id, const rocksdb::Slice&) override { return Has(id); }
  rocksdb::Status SingleDeleteCF(uint32_t id, const rocksdb::Slice&) override { return Has(id); }
  rocksdb::Status DeleteRangeCF(uint32_t id, const rocksdb::Slice&, const rocksdb::Slice&) override { return Has(id); }
  rocksdb::Status MarkNoop(bool) override { return rocksdb::Status::OK(); }
  void LogData(const rocksdb::Slice&) override {}
  bool Continue() override { return only_; }

  const std::set<uint32_t>& ids_;
  bool only_ = true;
};

// Names a family by its id, which is all that a record of a batch tells. A batch asks the handle for no more. (With a
// comparator it would add room for a timestamp to the key, but the key of a record has its timestamp already.)
class FamilyOfRecord final : public rocksdb::ColumnFamilyHandle {
 public:
  explicit FamilyOfRecord(uint32_t id) : id_(id) {}
  const std::string& GetName() const override { return name_; }
  uint32_t GetID() const override { return id_; }
  rocksdb::Status GetDescriptor(rocksdb::ColumnFamilyDescriptor*) override { return rocksdb::Status::NotSupported(); }
  const rocksdb::Comparator* GetComparator() const override { return nullptr; }

 private:
  const uint32_t id_;
  const std::string name_;
};

// Copies the records of a batch into pieces, in their order. A record that is not repeated here (a marker of a
// transaction, an entity, whose columns are encoded already) ends the copying with an error.
class Pieces final : public rocksdb::WriteBatch::Handler {
 public:
  explicit Pieces(uint64_t piece_bytes) : piece_bytes_(piece_bytes) {}
  std::vector<rocksdb::WriteBatch> Take() { return std::move(pieces_); }

 private:
  // The last piece, or a new one if that is full.
  rocksdb::WriteBatch& Piece() {
    if (pieces_.empty() || pieces_.back().GetDataSize() >= piece_bytes_) pieces_.emplace_back();
    return pieces_.back();
  }
  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    FamilyOfRecord family(id);
    return Piece().Put(&family, key, value);
  }
  rocksdb::Status MergeCF(uint32_t id, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    FamilyOfRecord family(id);
    return Piece().Merge(&family, key, value);
  }
  rocksdb::Status DeleteCF(uint32_t id, const rocksdb::Slice& key) override {
    FamilyOfRecord family(id);
    return Piece().Delete(&family, key);
  }
  rocksdb::Status SingleDeleteCF(uint32_t id, const rocksdb::Slice& key) override {
    FamilyOfRecord family(id);
    return Piece().SingleDelete(&family, key);
  }
  rocksdb::Status DeleteRangeCF(uint32_t id, const rocksdb::Slice& begin, const rocksdb::Slice& end) override {
    FamilyOfRecord family(id);
    return Piece().DeleteRange(&family, begin, end);
  }
  void LogData(const rocksdb::Slice& blob) override { Piece().PutLogData(blob).PermitUncheckedError(); }

  const uint64_t piece_bytes_;
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
  Pieces handler(rules_.split_bulk_batches_over_bytes);
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
  const Party party = PartyOfThread(work_class);
  if (options.no_slowdown) {
    (void)limiter_.Admit(Operation::kWrite, {bytes}, party);
  } else {
    limiter_.ThrottleOne(Operation::kWrite, {bytes}, party);
  }
}

rocksdb::Status WriteAsker::Settle(Admission admission, const rocksdb::WriteOptions& options) {
  if (options.no_slowdown) return rocksdb::Status::Incomplete("weir: the write would have to wait", admission.reason());
  if (admission.Wait() == Admission::State::kAdmitted) return rocksdb::Status::OK();
  const auto retry_ms = std::chrono::ceil<std::chrono::milliseconds>(admission.retry_after()).count();
  return rocksdb::Status::Busy("weir refused the write: " + std::string(admission.reason()),
                               retry_ms > 0 ? "try again in " + std::to_string(retry_ms) + " ms" : std::string());
}

}  // namespace weir
