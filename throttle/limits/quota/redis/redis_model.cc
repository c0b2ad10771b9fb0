#include <algorithm>
#include <array>
#include <map>

#include "throttle/limits/quota/redis/redis_messages.h"
#include "throttle/limits/quota/redis/redis_numbers.h"
#include "throttle/limits/quota/redis/redis_script.h"

namespace weir {
namespace {

using Field = RedisModelField;

constexpr size_t kFields = kRedisModelHeader / kRedisNumberBytes;
constexpr int64_t kMinuteMicros = std::chrono::duration_cast<std::chrono::microseconds>(kMinute).count();
constexpr int64_t kGranuleMicros = kMinuteMicros / kRedisExactEntries;

struct Entry {
  int64_t first = 0;
  int64_t last = 0;
  int64_t requests = 0;
  int64_t tokens = 0;
};

// Requests and tokens of the same time become one entry. Rounds microseconds up, so that an entry counts longer, never
// shorter.
std::map<int64_t, Entry> ByTime(const ModelState& state, int64_t now) {
  std::map<int64_t, Entry> by_time;
  const auto add = [&](const std::vector<ModelState::Entry>& entries, int64_t Entry::*amount) {
    for (const ModelState::Entry& entry : entries) {
      const int64_t micros = std::chrono::ceil<std::chrono::microseconds>(entry.time.time_since_epoch()).count();
      const int64_t time = std::clamp<int64_t>(micros, 0, now);
      if (time + kMinuteMicros <= now || entry.amount <= 0) continue;
      Entry& one = by_time[time];
      one.first = one.last = time;
      one.*amount = AddAmounts(one.*amount, std::min(kMostAmount, entry.amount));
    }
  };
  add(state.requests, &Entry::requests);
  add(state.tokens, &Entry::tokens);
  return by_time;
}

// Merges entries in the same way as the script.
std::vector<Entry> Merge(const std::map<int64_t, Entry>& by_time) {
  std::vector<Entry> merged;
  for (const auto& [time, entry] : by_time) {
    const bool full = merged.size() >= kRedisRing - 1;
    if (merged.size() < kRedisExactEntries || (!full && time - merged.back().first >= kGranuleMicros)) {
      merged.push_back(entry);
      continue;
    }
    Entry& newest = merged.back();
    newest.last = time;
    newest.requests = AddAmounts(newest.requests, entry.requests);
    newest.tokens = AddAmounts(newest.tokens, entry.tokens);
  }
  return merged;
}

}  // namespace

std::string WriteRedisModel(const ModelState& state, WallTime time) {
  const int64_t now = ToRedisTime(time);
  const std::vector<Entry> entries = Merge(ByTime(state, now));
  std::array<int64_t, kFields> header{};
  const auto field = [&header](Field name) -> int64_t& { return header[static_cast<size_t>(name)]; };
  std::string ring;
  for (const Entry& entry : entries) {
    for (const int64_t number : {entry.last, entry.requests, entry.tokens}) AppendRedisNumber(number, &ring);
    field(Field::kRequests) += entry.requests;
    field(Field::kTokens) += entry.tokens;
    field(Field::kFirst) = entry.first;
    field(Field::kLast) = entry.last;
    field(Field::kNewestRequests) = entry.requests;
    field(Field::kNewestTokens) = entry.tokens;
  }
  if (!entries.empty()) field(Field::kOldest) = entries.front().last;
  field(Field::kTail) = static_cast<int64_t>(entries.size());
  field(Field::kSeen) = now;
  const bool day_counts = state.day_count > 0 && time - state.day_start < kDay;
  if (day_counts) {
    field(Field::kDayStart) = std::clamp<int64_t>(ToRedisTime(state.day_start), 0, now);
    field(Field::kDayCount) = std::min(kMostAmount, state.day_count);
  }
  if (entries.empty() && !day_counts) return {};
  field(Field::kKeptUntil) = now + std::chrono::duration_cast<std::chrono::microseconds>(kDay).count();
  std::string text;
  for (const int64_t number : header) AppendRedisNumber(number, &text);
  return text + ring;
}

ModelState ReadRedisModel(std::string_view text, WallTime time) {
  ModelState state;
  if (text.size() < kRedisModelHeader) return state;
  const int64_t now = ToRedisTime(time);
  const auto field = [text](Field name) { return RedisIntegerAt(text, static_cast<size_t>(name)); };
  // A corrupt log counts as empty here, because the charge that precedes this read has reported it.
  const int64_t head = field(Field::kHead);
  const int64_t tail = field(Field::kTail);
  if (head < 0 || tail < head || tail - head > static_cast<int64_t>(kRedisRing)) return state;
  for (int64_t at = head; at < tail; ++at) {
    const size_t place = kFields + static_cast<size_t>(at) % kRedisRing * (kRedisEntryBytes / kRedisNumberBytes);
    const int64_t last = std::min(now, RedisIntegerAt(text, place));
    const int64_t requests = RedisIntegerAt(text, place + 1);
    const int64_t tokens = RedisIntegerAt(text, place + 2);
    if (last + kMinuteMicros <= now) continue;
    if (requests > 0) state.requests.push_back({FromRedisTime(last), requests});
    if (tokens > 0) state.tokens.push_back({FromRedisTime(last), tokens});
  }
  const WallTime day_start = FromRedisTime(std::min(now, field(Field::kDayStart)));
  if (field(Field::kDayCount) > 0 && FromRedisTime(now) - day_start < kDay) {
    state.day_start = day_start;
    state.day_count = field(Field::kDayCount);
  }
  return state;
}

}  // namespace weir
