#include "relay/limiters/envoy/envoy_request.h"

#include <simdjson.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "config/text/parse.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;

// A text that says what is wrong; empty if all is right.
using Fault = std::string;

struct Member {
  std::string_view name;          // in JSON
  std::string_view name_in_file;  // in the .proto file; the same as `name` if that is a single word
  std::function<Fault(const dom::element& value)> read;
};

Fault At(const std::string& place, std::string_view what) {
  return (place.empty() ? "" : place + ": ") + std::string(what);
}

std::string_view Found(const dom::element& value) {
  switch (value.type()) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a text";
    case dom::element_type::BOOL:
      return "true or false";
    default:
      return "a number";
  }
}

Fault Expected(const std::string& place, const dom::element& value, std::string_view expected) {
  return At(place, "found " + std::string(Found(value)) + ", expected " + std::string(expected));
}

// Reads an object. A member that is null counts as missing.
Fault ReadObject(const std::string& place, const dom::element& value, const std::vector<Member>& members) {
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return Expected(place, value, "an object");
  std::vector<uint8_t> seen(members.size());
  for (const auto& [key, member_value] : object) {
    const auto known = std::ranges::find_if(
        members, [key = key](const Member& member) { return key == member.name || key == member.name_in_file; });
    if (known == members.end()) {
      std::vector<std::string_view> names;
      for (const Member& member : members) names.push_back(member.name);
      const std::string_view nearest = NearestName(key, names);
      return At(place, "found the member \"" + Printable(key) + "\", expected one of " +
                           Join({names.begin(), names.end()}, ", ") +
                           (nearest.empty() ? "" : "; did you mean \"" + std::string(nearest) + "\"?"));
    }
    if (std::exchange(seen[static_cast<size_t>(known - members.begin())], 1) != 0)
      return At(place, "found the member \"" + Printable(key) + "\" again, expected it once");
    if (member_value.is_null()) continue;
    if (Fault fault = known->read(member_value); !fault.empty()) return fault;
  }
  return "";
}

Fault ReadArray(const std::string& place, const dom::element& value,
                const std::function<Fault(const std::string& place, const dom::element& item)>& read) {
  dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return Expected(place, value, "an array");
  size_t number = 0;
  for (const dom::element& item : array)
    if (Fault fault = read(place + "[" + std::to_string(number++) + "]", item); !fault.empty()) return fault;
  return "";
}

Fault ReadText(const std::string& place, const dom::element& value, std::string_view* text) {
  return value.get(*text) == simdjson::SUCCESS ? "" : Expected(place, value, "a text");
}

Fault ReadNumber(const std::string& place, const dom::element& value, uint64_t most, uint64_t* number) {
  std::string_view text;
  bool good = value.get(*number) == simdjson::SUCCESS;
  // protobuf allows a number as a string of digits, without white space.
  if (!good && value.get(text) == simdjson::SUCCESS && text.find_first_not_of("0123456789") == text.npos) {
    const Result<uint64_t> parsed = ParseUnsigned(text, {.min = 0, .max = static_cast<double>(most)});
    good = parsed.ok();
    if (good) *number = parsed.value();
  }
  return good && *number <= most ? "" : At(place, "expected a whole number of at most " + std::to_string(most));
}

Fault ReadUnit(const std::string& place, const dom::element& value, LimitUnit* unit) {
  uint64_t number = 0;
  std::string_view name;
  if (value.get(name) == simdjson::SUCCESS)
    number = static_cast<uint64_t>(std::ranges::find(kLimitUnits, name, &LimitUnitRow::name) - kLimitUnits.begin());
  else if (Fault fault = ReadNumber(place, value, kLimitUnits.size(), &number); !fault.empty())
    return fault;
  const Result<LimitUnit> read = UnitOfNumber(number);
  if (read.ok()) *unit = read.value();
  return read.ok() ? "" : At(place, read.status().message());
}

Fault ReadLimit(const std::string& place, const dom::element& value, UnitLimit* limit) {
  bool has_unit = false;
  Fault fault = ReadObject(place, value,
                           {{"requestsPerUnit", "requests_per_unit",
                             [&](const dom::element& member) {
                               uint64_t requests = 0;
                               Fault wrong = ReadNumber(place + ".requestsPerUnit", member,
                                                        std::numeric_limits<uint32_t>::max(), &requests);
                               limit->requests_per_unit = static_cast<uint32_t>(requests);
                               return wrong;
                             }},
                            {"unit", "unit", [&](const dom::element& member) {
                               has_unit = true;
                               return ReadUnit(place + ".unit", member, &limit->unit);
                             }}});
  return !fault.empty() || has_unit ? fault : At(place, "found no unit, expected one");
}

Fault ReadHits(const std::string& place, const dom::element& value, std::optional<uint64_t>* hits) {
  return ReadNumber(place, value, std::numeric_limits<uint64_t>::max(), &hits->emplace());
}

Fault ReadEntry(const std::string& place, const dom::element& value, DescriptorEntry* entry) {
  return ReadObject(
      place, value,
      {{"key", "key", [&](const dom::element& member) { return ReadText(place + ".key", member, &entry->key); }},
       {"value", "value",
        [&](const dom::element& member) { return ReadText(place + ".value", member, &entry->value); }}});
}

Fault ReadDescriptor(const std::string& place, const dom::element& value, EnvoyRequest::Descriptor* descriptor) {
  return ReadObject(
      place, value,
      {{"entries", "entries",
        [&](const dom::element& member) {
          return ReadArray(place + ".entries", member, [&](const std::string& at, const dom::element& item) {
            return ReadEntry(at, item, &descriptor->entries.emplace_back());
          });
        }},
       {"limit", "limit",
        [&](const dom::element& member) { return ReadLimit(place + ".limit", member, &descriptor->limit.emplace()); }},
       {"hitsAddend", "hits_addend",
        [&](const dom::element& member) { return ReadHits(place + ".hitsAddend", member, &descriptor->hits); }}});
}

}  // namespace

void EnvoyRequest::Ask(DescriptorLimiter& limiter, DescriptorLimiter::Done done) const {
  std::vector<AskedDescriptor> asked;
  asked.reserve(descriptors.size());
  for (const Descriptor& descriptor : descriptors)
    asked.push_back({.entries = descriptor.entries, .limit = descriptor.limit, .hits = descriptor.hits});
  limiter.Ask({.domain = domain, .descriptors = asked, .hits = hits}, std::move(done));
}

Result<LimitUnit> UnitOfNumber(uint64_t number) {
  if (number >= 1 && number < kLimitUnits.size()) return static_cast<LimitUnit>(number);
  std::vector<std::string> names;
  for (const LimitUnitRow& row : kLimitUnits)
    if (row.seconds > 0) names.emplace_back(row.name);
  return Status::Error("found a unit that is none, expected one of " + Join(names, ", "));
}

Status ReadEnvoyRequest(std::string_view json, EnvoyRequest* request) {
  thread_local dom::parser parser;
  dom::element root;
  if (const auto fault = parser.parse(json.data(), json.size()).get(root); fault != simdjson::SUCCESS)
    return Status::Error("the body is not JSON: " + std::string(simdjson::error_message(fault)));
  const Fault fault = ReadObject(
      "", root,
      {{"domain", "domain", [&](const dom::element& member) { return ReadText("domain", member, &request->domain); }},
       {"descriptors", "descriptors",
        [&](const dom::element& member) {
          return ReadArray("descriptors", member, [&](const std::string& at, const dom::element& item) {
            return ReadDescriptor(at, item, &request->descriptors.emplace_back());
          });
        }},
       {"hitsAddend", "hits_addend", [&](const dom::element& member) {
          uint64_t hits = 0;
          Fault wrong = ReadNumber("hitsAddend", member, std::numeric_limits<uint32_t>::max(), &hits);
          request->hits = static_cast<uint32_t>(hits);
          return wrong;
        }}});
  return fault.empty() ? Status() : Status::Error(fault);
}

}  // namespace weir
