// KeySet: a set of 32-byte keys, such as the public keys of authors. The set never changes after its construction, so
// any thread may use it, and copies share their memory: 46 to 92 bytes a key.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "relay/rules/key_table.h"

namespace weir {

class KeySet {
 public:
  KeySet() = default;
  // Repeated keys count once.
  explicit KeySet(const std::vector<Bytes32>& keys) {
    if (keys.empty()) return;
    const auto table = std::make_shared<KeyTable>(keys.size());
    for (const Bytes32& key : keys) table->Add(key);
    table_ = table;
  }

  bool Has(const Bytes32& key) const { return table_ && table_->Has(key); }
  bool empty() const { return !table_; }
  size_t size() const { return table_ ? table_->size() : 0; }
  // Returns the keys in ascending order.
  std::vector<Bytes32> keys() const {
    std::vector<Bytes32> keys;
    if (table_) table_->ForEach([&keys](const Bytes32& key) { keys.push_back(key); });
    std::ranges::sort(keys);
    return keys;
  }

 private:
  std::shared_ptr<const KeyTable> table_;
};

}  // namespace weir
