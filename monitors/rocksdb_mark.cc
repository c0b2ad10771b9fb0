#include "monitors/rocksdb_mark.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace weir {
namespace {

using rocksdb::ColumnFamilyOptions;

// The mark begins with these numbers. As factors of a level's size they would make no sense. A mark of another layout
// must begin with others.
constexpr std::array<int, 2> kBegin{-0x77656972, -0x6d61726b};

// More levels than a program is likely to add before it prepares the options again.
constexpr size_t kLevels = 16;
constexpr int kNoFactor = 1;  // the value of a missing element

// The options that weir moves, as numbers.
using Values = std::array<uint64_t, 6>;
constexpr size_t kFirstLifted = 2;  // from here on, the brakes for L0 and debt
constexpr size_t kFirstDebt = 4;

Values ValuesOf(const ColumnFamilyOptions& o) {
  return {static_cast<uint64_t>(o.min_write_buffer_number_to_merge),
          static_cast<uint64_t>(o.max_write_buffer_number),
          static_cast<uint64_t>(o.level0_slowdown_writes_trigger),
          static_cast<uint64_t>(o.level0_stop_writes_trigger),
          o.soft_pending_compaction_bytes_limit,
          o.hard_pending_compaction_bytes_limit};
}

void Assign(const Values& values, ColumnFamilyOptions* o) {
  o->min_write_buffer_number_to_merge = static_cast<int>(values[0]);
  o->max_write_buffer_number = static_cast<int>(values[1]);
  o->level0_slowdown_writes_trigger = static_cast<int>(values[2]);
  o->level0_stop_writes_trigger = static_cast<int>(values[3]);
  o->soft_pending_compaction_bytes_limit = values[4];
  o->hard_pending_compaction_bytes_limit = values[5];
}

// Each number takes two elements of the list.
void Append(const Values& values, std::vector<int>* list) {
  for (const uint64_t value : values) {
    list->push_back(static_cast<int>(static_cast<uint32_t>(value >> 32)));
    list->push_back(static_cast<int>(static_cast<uint32_t>(value)));
  }
}

Values ValuesAt(const int* element) {
  const auto half = [&element] { return static_cast<uint64_t>(static_cast<uint32_t>(*element++)); };
  Values values;
  for (uint64_t& value : values) {
    value = half() << 32;
    value |= half();
  }
  return values;
}

// The contents of a mark.
struct Found {
  size_t own;  // length of the program's own list
  Values given;
  Values moved;
  Values resting;
};

std::optional<Found> FindMark(const ColumnFamilyOptions& options) {
  constexpr size_t kElementsOfValues = 2 * std::tuple_size_v<Values>;
  const std::vector<int>& list = options.max_bytes_for_level_multiplier_additional;
  const auto begin = std::search(list.begin(), list.end(), kBegin.begin(), kBegin.end());
  if (static_cast<size_t>(list.end() - begin) < kBegin.size() + 1 + 3 * kElementsOfValues) return std::nullopt;
  const int* const own = &*begin + kBegin.size();
  const int* const values = own + 1;
  return Found{.own = std::min(static_cast<size_t>(*own), static_cast<size_t>(begin - list.begin())),
               .given = ValuesAt(values),
               .moved = ValuesAt(values + kElementsOfValues),
               .resting = ValuesAt(values + 2 * kElementsOfValues)};
}

// Returns true if no brake for L0 or debt can be reached. A limit of 0 for the debt is none and stays 0.
bool AreBrakesLifted(const Values& now, const Values& moved) {
  for (size_t i = kFirstLifted; i < now.size(); ++i) {
    const uint64_t highest = i < kFirstDebt ? static_cast<uint64_t>(std::numeric_limits<int>::max()) : UINT64_MAX;
    if (now[i] != highest && !(i >= kFirstDebt && moved[i] == 0 && now[i] == 0)) return false;
  }
  return true;
}

}  // namespace

// After kBegin come the length of the program's own list, the program's values and weir's.
void MarkMoved(const ColumnFamilyOptions& given, const ColumnFamilyOptions& resting, ColumnFamilyOptions* moved) {
  std::vector<int>& list = moved->max_bytes_for_level_multiplier_additional;
  const size_t own = list.size();
  list.resize(std::max({own, kLevels, static_cast<size_t>(std::max(0, given.num_levels))}), kNoFactor);
  list.insert(list.end(), kBegin.begin(), kBegin.end());
  list.push_back(static_cast<int>(own));
  for (const ColumnFamilyOptions* options : {&given, &std::as_const(*moved), &resting})
    Append(ValuesOf(*options), &list);
}

bool IsMarked(const ColumnFamilyOptions& options) { return FindMark(options).has_value(); }

bool TakeBack(ColumnFamilyOptions* options) {
  const std::optional<Found> mark = FindMark(*options);
  if (!mark) return false;
  Values now = ValuesOf(*options);
  const bool lifted = AreBrakesLifted(now, mark->moved);
  for (size_t i = 0; i < now.size(); ++i) {
    const bool is_weirs = now[i] == mark->moved[i] || now[i] == mark->resting[i] || (lifted && i >= kFirstLifted);
    if (is_weirs) now[i] = mark->given[i];
  }
  Assign(now, options);
  options->max_bytes_for_level_multiplier_additional.resize(mark->own);
  return true;
}

}  // namespace weir
