#include "bench/storm/content.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "bench/storm/relay_events.h"

namespace weir {
namespace {

constexpr size_t kKeyBytes = 16;
constexpr uint64_t kDeletedKeys = 20;

// Writes and reads random keys and values.
class RandomValues final : public StormContent {
 public:
  explicit RandomValues(const StormShape& shape) : shape_(shape) {
    constexpr size_t kDifferent = 256 << 10;  // more than a block of a table, in which repetitions would compress
    std::mt19937_64 random(1);
    bytes_.resize(kDifferent + std::max(shape.value_bytes, shape.interactive_value_bytes));
    const unsigned mask = shape.compress ? 0xf : 0xff;
    for (char& c : bytes_) c = static_cast<char>(random() & mask);
  }

  void AddInteractive(const StormDatabase& database, std::mt19937_64& random,
                      rocksdb::WriteBatch* batch) const override {
    AddPut(database, random, shape_.interactive_value_bytes, batch);
  }

  void AddBulk(const StormDatabase& database, std::mt19937_64& random, rocksdb::WriteBatch* batch) const override {
    if (std::bernoulli_distribution(shape_.delete_share)(random)) {
      batch->Delete(Family(database, random), Key(random));
    } else if (std::bernoulli_distribution(shape_.range_delete_share)(random)) {
      const uint64_t first = KeyNumber(random);
      batch->DeleteRange(Family(database, random), StormKey(first), StormKey(first + kDeletedKeys));
    } else {
      AddPut(database, random, shape_.value_bytes, batch);
    }
  }

  rocksdb::Status Get(const StormDatabase& database, std::mt19937_64& random) const override {
    std::string value;
    const rocksdb::Status status = database.db->Get({}, Family(database, random), Key(random), &value);
    return status.IsNotFound() ? rocksdb::Status() : status;
  }

  rocksdb::Status Scan(const StormDatabase& database, std::mt19937_64& random, int values) const override {
    const std::unique_ptr<rocksdb::Iterator> it(database.db->NewIterator({}, Family(database, random)));
    for (it->Seek(Key(random)); it->Valid() && values > 0; it->Next(), --values) static_cast<void>(it->value());
    return it->status();
  }

 private:
  void AddPut(const StormDatabase& database, std::mt19937_64& random, size_t bytes, rocksdb::WriteBatch* batch) const {
    if (shape_.counters) {
      batch->Merge(Family(database, random), Key(random), rocksdb::Slice("\1\0\0\0\0\0\0\0", 8));
      return;
    }
    const rocksdb::Slice value(bytes_.data() + random() % (bytes_.size() - bytes), bytes);
    batch->Put(Family(database, random), Key(random), value);
  }

  std::string Key(std::mt19937_64& random) const { return StormKey(KeyNumber(random)); }

  uint64_t KeyNumber(std::mt19937_64& random) const {
    if (shape_.skew == 1) return random() % shape_.keys;
    const double u = std::uniform_real_distribution<>()(random);
    return static_cast<uint64_t>(static_cast<double>(shape_.keys) * std::pow(u, shape_.skew));
  }

  rocksdb::ColumnFamilyHandle* Family(const StormDatabase& database, std::mt19937_64& random) const {
    double left = std::uniform_real_distribution<>()(random);
    size_t family = 0;
    while (family + 1 < shape_.families.size() && (left -= shape_.families[family]) >= 0) ++family;
    return database.families[family].get();
  }

  const StormShape shape_;
  std::string bytes_;  // values are cut from anywhere in it
};

}  // namespace

std::string StormKey(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kKeyBytes - std::min(kKeyBytes, digits.size()), '0') + digits;
}

std::unique_ptr<StormContent> MakeContent(const StormShape& shape, uint64_t stored) {
  if (shape.relay) return std::make_unique<RelayEvents>(stored);
  return std::make_unique<RandomValues>(shape);
}

}  // namespace weir
