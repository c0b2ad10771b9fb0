#include "relay/store/census/census.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "config/text/readable.h"
#include "relay/store/census/arrivals.h"
#include "relay/store/census/postgres_census.h"
#include "relay/store/census/rocksdb_census.h"

namespace weir {
namespace {

constexpr uint64_t kGrowthDays = 7;
constexpr uint64_t kLastDay = 2'932'896;  // 9999-12-31

}  // namespace

Result<Census> TakeCensus(const EventStore& store, const CensusOptions& options) {
  if (const auto* const rocksdb = dynamic_cast<const RocksDbStore*>(&store))
    return TakeRocksDbCensus(*rocksdb, options);
  if (const auto* const server = dynamic_cast<const PostgresStore*>(&store))
    return TakePostgresCensus(*server, options);
  return Status::Error("only a store on RocksDB or PostgreSQL has a census");
}

Month MonthOf(uint64_t created_at, uint64_t now_seconds) {
  const uint64_t day = created_at / kDaySeconds;
  if (day > now_seconds / kDaySeconds + 1 || day > kLastDay) return kFuture;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  const Month month = static_cast<Month>(static_cast<int>(date.year())) * 12 + static_cast<unsigned>(date.month()) - 1;
  return std::max(month, kBefore2020);
}

std::string DayName(uint64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(std::min(day, kLastDay)))};
  char text[16];
  std::snprintf(text, sizeof(text), "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text;
}

std::string MonthName(Month month) {
  if (month <= kBefore2020) return "before 2020";
  if (month >= kFuture) return "future";
  const std::string number = std::to_string(month % 12 + 1);
  return std::to_string(month / 12) + (number.size() < 2 ? "-0" : "-") + number;
}

uint64_t Census::DiskBytes(const Amount& amount) const { return RoundedCount(price.DiskBytes(amount)); }

Census::Growth Census::GrowthADay() const {
  if (days.empty()) return {};
  const uint64_t today = at_seconds / kDaySeconds;
  const uint64_t known = std::min(kGrowthDays, today - std::min(today, days.begin()->first));
  if (known == 0) return {};
  Amount grown;
  for (auto at = days.lower_bound(today - known); at != days.end() && at->first < today; ++at) grown += at->second;
  const auto divisor = static_cast<double>(known);
  return {.events = static_cast<double>(grown.events) / divisor, .bytes = price.DiskBytes(grown) / divisor};
}

std::optional<double> Census::DaysUntilFull() const {
  const double growth = GrowthADay().bytes;
  if (!disk.free_bytes || growth < 1) return std::nullopt;
  return static_cast<double>(*disk.free_bytes) / growth;
}

double EntriesOf(std::string_view record, std::map<char, double>* letters) {
  constexpr double kOfEveryEvent = 4;  // i, a, k and c (relay/store/keys.h)
  if (record.size() < RecordLayout::kTags) return kOfEveryEvent;
  const auto number = [record](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, record.data() + at, sizeof(value));
    return value;
  };
  const EventView event(record);
  const uint32_t tag_bytes = number(RecordLayout::kTagBytes);
  const std::string_view tags = record.substr(RecordLayout::kTags, tag_bytes);
  std::map<char, double> seen;
  size_t at = 0;
  while (at + RecordLayout::kTagHead <= tags.size()) {
    ++seen[tags[at]];
    at += RecordLayout::kTagHead + number(RecordLayout::kTags + at + 1);
  }
  // The last tag that was seen may reach beyond the part.
  const double scale = at < tag_bytes && at > 0 ? static_cast<double>(tag_bytes) / static_cast<double>(at) : 1;
  double all = 0;
  for (const auto& [letter, count] : seen) {
    all += count * scale;
    if (letters != nullptr) (*letters)[letter] += count * scale;
  }
  return kOfEveryEvent + all + (HasAddress(event.kind()) ? 1 : 0) + (event.expiration() != 0 ? 1 : 0);
}

}  // namespace weir
