// SerialSet: a set of serials (serial.h) of a RocksDB database. It is a list at first. Once it has a sixteenth of all
// serials, it is a bitmap, which is then smaller.
//
// Threads: only one thread at a time may use a set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir {

class SerialSet {
 public:
  // Makes a set for serials up to `last`.
  explicit SerialSet(uint64_t last) : last_(last) {}

  // Adds a serial that the set does not have.
  void Add(uint64_t serial) {
    ++size_;
    if (is_dense()) {
      bits_[serial] = true;
      return;
    }
    list_.push_back(serial);
    if (list_.size() <= last_ / kSparse) return;
    bits_.resize(last_ + 1);
    for (const uint64_t listed : std::exchange(list_, {})) bits_[listed] = true;
  }
  size_t size() const { return size_; }
  // Returns true if the set is a bitmap.
  bool is_dense() const { return !bits_.empty(); }
  // Returns true if a set that is a bitmap has the serial.
  bool Has(uint64_t serial) const { return serial <= last_ && bits_[serial]; }
  // Takes all serials from a set that is no bitmap, in the order in which they were added.
  std::vector<uint64_t> TakeList() {
    size_ = 0;
    return std::exchange(list_, {});
  }
  uint64_t held_bytes() const { return list_.capacity() * sizeof(list_[0]) + bits_.capacity() / 8; }

 private:
  static constexpr uint64_t kSparse = 16;

  uint64_t last_;
  size_t size_ = 0;
  std::vector<uint64_t> list_;
  std::vector<bool> bits_;
};

}  // namespace weir
