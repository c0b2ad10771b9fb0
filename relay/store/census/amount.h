// Amount: how much some stored events need: how many they are, and estimates of their bytes and index entries, with the
// variances of the estimates. Sample: the sizes of a few of these events, from which the estimates are made. Price:
// what a byte of a record and an index entry take on the disk.
//
// Amounts can be added, so sums over kinds, months or days have an error, too.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace weir {

inline constexpr uint64_t kDaySeconds = 86'400;

struct Amount {
  uint64_t events = 0;  // counted
  double record_bytes = 0;
  double entries = 0;
  double record_variance = 0;
  double entry_variance = 0;
  double covariance = 0;

  Amount& operator+=(const Amount& other) {
    events += other.events;
    record_bytes += other.record_bytes;
    entries += other.entries;
    record_variance += other.record_variance;
    entry_variance += other.entry_variance;
    covariance += other.covariance;
    return *this;
  }
};

class Sample {
 public:
  void Add(double record_bytes, double entries) {
    ++size_;
    records_ += record_bytes;
    entries_ += entries;
    record_squares_ += record_bytes * record_bytes;
    entry_squares_ += entries * entries;
    products_ += record_bytes * entries;
  }
  Sample& operator+=(const Sample& other) {
    size_ += other.size_;
    records_ += other.records_;
    entries_ += other.entries_;
    record_squares_ += other.record_squares_;
    entry_squares_ += other.entry_squares_;
    products_ += other.products_;
    return *this;
  }
  uint64_t size() const { return size_; }

  // Returns the amount of `events` events that are like those of the sample. `population` is the number of events from
  // which the sample was drawn; if the sample has all of them, the amount has no error. A sample of one event says
  // nothing about how sizes differ; its error is then as large as the amount. Without a sample the sizes are 0.
  Amount Of(uint64_t events, uint64_t population) const {
    Amount amount{.events = events};
    if (size_ == 0) return amount;
    const auto size = static_cast<double>(size_);
    const auto many = static_cast<double>(events);
    amount.record_bytes = many * records_ / size;
    amount.entries = many * entries_ / size;
    if (size_ >= population) return amount;
    const double unseen = 1 - size / static_cast<double>(population);
    const auto variance = [&](double products, double sum, double other) {
      const double around_mean = size_ == 1 ? products : std::max(0.0, products - sum * other / size) / (size - 1);
      return many * many * around_mean / size * unseen;
    };
    amount.record_variance = variance(record_squares_, records_, records_);
    amount.entry_variance = variance(entry_squares_, entries_, entries_);
    amount.covariance = variance(products_, records_, entries_);
    return amount;
  }

 private:
  uint64_t size_ = 0;
  double records_ = 0;
  double entries_ = 0;
  double record_squares_ = 0;
  double entry_squares_ = 0;
  double products_ = 0;
};

struct Price {
  double record_byte = 0;  // bytes on the disk
  double entry = 0;

  // Returns the price at which `all` takes so many bytes for its records and for its entries.
  static Price Of(const Amount& all, uint64_t events_bytes, uint64_t index_bytes) {
    return {.record_byte = all.record_bytes > 0 ? static_cast<double>(events_bytes) / all.record_bytes : 0,
            .entry = all.entries > 0 ? static_cast<double>(index_bytes) / all.entries : 0};
  }
  double DiskBytes(const Amount& amount) const { return amount.record_bytes * record_byte + amount.entries * entry; }
  // Returns the error of DiskBytes in bytes: two standard deviations, within which 19 of 20 estimates are.
  double ErrorBytes(const Amount& amount) const {
    return 2 * std::sqrt(std::max(0.0, amount.record_variance * record_byte * record_byte +
                                           amount.entry_variance * entry * entry +
                                           2 * amount.covariance * record_byte * entry));
  }
};

}  // namespace weir
