#include "relay/retention/removal_order.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "config/text/json_scanner.h"
#include "config/text/parse.h"
#include "config/text/utf8.h"
#include "relay/nostr/filter_reader.h"
#include "relay/retention/filtered_removal.h"

namespace weir {
namespace {

bool ReadTruth(JsonScanner& json, bool* value) {
  json.Peek();
  const char* const begin = json.at();
  if (!json.SkipValue()) return false;
  const std::string_view word(begin, static_cast<size_t>(json.at() - begin));
  *value = word == "true";
  return *value || word == "false" || json.Fail("must be true or false");
}

bool ReadWholeNumber(JsonScanner& json, uint64_t* number) {
  return json.ReadWhole(number) || json.Fail("must be a whole number, not " + json.Found());
}

bool ReadFilters(JsonScanner& json, std::vector<Filter>* filters) {
  const FilterLimits limits{.max_values = std::numeric_limits<size_t>::max()};
  if (!json.Expect('[')) return false;
  bool first = true;
  for (;;) {
    const JsonScanner::Step step = json.NextItem(']', &first);
    if (step != JsonScanner::Step::kItem) return step == JsonScanner::Step::kEnd;
    FilterReader reader(&json, limits);
    Filter filter;
    if (!reader.Read(&filter))
      return json.Fail("[" + std::to_string(filters->size()) + "] is wrong: " + reader.error());
    filters->push_back(std::move(filter));
  }
}

bool ReadField(JsonScanner& json, std::string_view name, RemovalOrder* order) {
  if (name == "filters") return ReadFilters(json, &order->filters);
  if (name == "older_than_s") return ReadWholeNumber(json, &order->older_than_seconds);
  if (name == "dry_run") return ReadTruth(json, &order->dry_run);
  if (name == "all") return ReadTruth(json, &order->all);
  if (name == "counted") return ReadWholeNumber(json, &order->counted.emplace());
  return json.Fail("is unknown; the fields are filters, older_than_s, dry_run, all and counted");
}

}  // namespace

Status RemovalOrder::Check() const {
  if (filters.empty()) return Status::Error("filters are missing; [{}] matches every event");
  if (counted && dry_run) return Status::Error("a dry run counts the events, so \"counted\" has no effect");
  if (all || std::ranges::none_of(filters, MatchesAll)) return {};
  return Status::Error(older_than_seconds > 0
                           ? "the filter {} matches every event of this age; if all are meant, that must be said"
                           : "the filter {} matches every event; if all are meant, that must be said");
}

std::vector<Filter> RemovalOrder::FiltersAt(uint64_t now_seconds) const {
  std::vector<Filter> bounded = filters;
  if (older_than_seconds > 0) MatchOnlyOlder(older_than_seconds, now_seconds, &bounded);
  return bounded;
}

Result<RemovalOrder> ReadRemovalOrder(std::string_view text) {
  const auto wrong = [](const std::string& why) { return Status::Error("the removal is wrong: " + why); };
  if (!IsUtf8(text)) return wrong("it is not UTF-8");
  RemovalOrder order;
  JsonScanner json(text);
  if (!json.Expect('{')) return wrong(json.error());
  bool first = true;
  JsonScanner::Step step = JsonScanner::Step::kItem;
  while ((step = json.NextItem('}', &first)) == JsonScanner::Step::kItem) {
    JsonString name;
    if (!json.ReadName(&name)) return wrong(json.error());
    if (!ReadField(json, name.raw, &order)) return wrong("\"" + Printable(name.raw) + "\" " + json.error());
  }
  if (step == JsonScanner::Step::kError) return wrong(json.error());
  if (!json.AtEnd()) return wrong("there is text behind it");
  if (Status checked = order.Check(); !checked.ok()) return checked;
  return order;
}

std::string ToJson(const RemovalOrder& order) {
  std::vector<std::string> filters;
  for (const Filter& filter : order.filters) filters.push_back(ToJson(filter));
  std::string json = "{\"filters\":[" + Join(filters, ",") + "]";
  if (order.older_than_seconds > 0) json += ",\"older_than_s\":" + std::to_string(order.older_than_seconds);
  if (order.dry_run) json += ",\"dry_run\":true";
  if (order.all) json += ",\"all\":true";
  if (order.counted) json += ",\"counted\":" + std::to_string(*order.counted);
  return json + "}";
}

}  // namespace weir
