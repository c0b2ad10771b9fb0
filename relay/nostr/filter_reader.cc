#include "relay/nostr/filter_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "config/text/json_unescape.h"

namespace weir {
namespace {

constexpr std::string_view kHexExpected = "64 lower-case hexadecimal digits";

bool IsTagField(std::string_view name) {
  return name.size() == 2 && name[0] == '#' &&
         ((name[1] >= 'a' && name[1] <= 'z') || (name[1] >= 'A' && name[1] <= 'Z'));
}

template <typename Value>
void SortUnique(std::vector<Value>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

}  // namespace

bool FilterReader::Fail(std::string error) {
  error_ = std::move(error);
  return false;
}

bool FilterReader::Read(Filter* filter) {
  *filter = {};
  values_ = 0;
  if (in_.Peek() != '{') return Fail("a filter must be a JSON object, not " + in_.Found());
  in_.Take('{');
  std::vector<std::string> seen;
  bool first = true;
  while (true) {
    const JsonScanner::Step step = in_.NextItem('}', &first);
    if (step == JsonScanner::Step::kEnd) break;
    JsonString name;
    if (step == JsonScanner::Step::kError || !in_.ReadName(&name)) return Fail(in_.error());
    std::string text;
    AppendUnescaped(name.raw, &text);
    if (std::find(seen.begin(), seen.end(), text) != seen.end()) {
      return Fail("the field " + Shown(text) + " must be there only once");
    }
    if (!ReadField(text, filter)) return false;
    seen.push_back(std::move(text));
  }
  std::sort(filter->tags.begin(), filter->tags.end(),
            [](const TagCondition& a, const TagCondition& b) { return a.letter < b.letter; });
  return true;
}

bool FilterReader::ReadField(std::string_view name, Filter* filter) {
  if (name == "ids") return ReadHashes(name, &filter->ids.emplace());
  if (name == "authors") return ReadHashes(name, &filter->authors.emplace());
  if (name == "kinds") return ReadKinds(&filter->kinds.emplace());
  if (name == "since") return ReadNumber(name, &filter->since);
  if (name == "until") return ReadNumber(name, &filter->until);
  if (name == "limit") return ReadNumber(name, &filter->limit.emplace());
  if (name == "search" && limits_.search) return ReadSearch(&filter->search.emplace());
  if (IsTagField(name)) return ReadTag(name, &filter->tags.emplace_back());
  unsupported_ = true;
  return Fail("unknown field \"" + Shown(name) + "\"");
}

bool FilterReader::ReadHashes(std::string_view name, std::vector<Bytes32>* list) {
  const bool good = ReadList(name, kHexExpected, [this, list] {
    JsonString string;
    Bytes32 bytes;
    if (!ReadText(&string) || !FromHex(string.raw, bytes.data(), bytes.size())) return false;
    list->push_back(bytes);
    return true;
  });
  SortUnique(list);
  return good;
}

bool FilterReader::ReadKinds(std::vector<uint16_t>* list) {
  const bool good = ReadList("kinds", "a whole number from 0 to 65535", [this, list] {
    uint64_t kind = 0;
    if (!in_.ReadWhole(&kind) || kind > UINT16_MAX) return false;
    list->push_back(static_cast<uint16_t>(kind));
    return true;
  });
  SortUnique(list);
  return good;
}

bool FilterReader::ReadSearch(std::string* text) {
  JsonString string;
  if (!ReadText(&string)) {
    return Fail(in_.error().empty() ? "search must be a string, not " + in_.Found() : in_.error());
  }
  AppendUnescaped(string.raw, text);
  return true;
}

bool FilterReader::ReadTag(std::string_view name, TagCondition* condition) {
  condition->letter = name[1];
  const bool hex = condition->letter == 'e' || condition->letter == 'p';
  const bool good = ReadList(name, hex ? kHexExpected : "a string", [this, condition, hex] {
    JsonString string;
    Bytes32 bytes;
    if (!ReadText(&string) || (hex && !FromHex(string.raw, bytes.data(), bytes.size()))) return false;
    AppendUnescaped(string.raw, &condition->values.emplace_back());
    return true;
  });
  SortUnique(&condition->values);
  return good;
}

template <typename ReadValue>
bool FilterReader::ReadList(std::string_view name, std::string_view expected, ReadValue read_value) {
  if (in_.Peek() != '[') return Fail(std::string(name) + " must be an array, not " + in_.Found());
  in_.Take('[');
  bool first = true;
  for (size_t index = 0;; ++index) {
    const JsonScanner::Step step = in_.NextItem(']', &first);
    if (step == JsonScanner::Step::kError) return Fail(in_.error());
    if (step == JsonScanner::Step::kEnd) return true;
    if (++values_ > limits_.max_values) {
      return Fail("the lists of a filter must have at most " + std::to_string(limits_.max_values) +
                  " values together, not more");
    }
    in_.Peek();
    const char* const begin = in_.at();
    if (read_value()) continue;
    const std::string place = std::string(name) + "[" + std::to_string(index) + "] ";
    if (!in_.error().empty()) return Fail(place + in_.error());
    in_.BackTo(begin);
    return Fail(place + "must be " + std::string(expected) + ", not " + in_.Found());
  }
}

// Numbers beyond 2^64-1 count as 2^64-1, because no event is that late, and no relay has that many events.
bool FilterReader::ReadNumber(std::string_view name, uint64_t* number) {
  return in_.ReadWhole(number) || Fail(std::string(name) + " must be a whole number, 0 or more, not " + in_.Found());
}

Result<Filter> ParseFilter(std::string_view json, const FilterLimits& limits) {
  if (!simdjson::validate_utf8(json.data(), json.size())) return Status::Error("a filter must be valid UTF-8");
  JsonScanner in(json);
  FilterReader reader(&in, limits);
  Filter filter;
  if (!reader.Read(&filter)) return Status::Error(reader.error());
  if (!in.AtEnd()) return Status::Error("nothing may follow the filter's object, but there is " + in.Found());
  return filter;
}

}  // namespace weir
