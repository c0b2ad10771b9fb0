#include "import/links/router_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/text/hex.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "import/links/router.h"
#include "relay/limiters/config_file.h"
#include "relay/nostr/npub.h"

namespace weir {
namespace {

constexpr NumberRange kAnyKind{.min = 0, .max = 65535};
constexpr NumberRange kAnyTime{.min = 0, .max = 1e15};

void WriteTexts(const YamlValue& list, JsonWriter& json) {
  json.Open('[');
  list.List([&](const YamlValue& item) {
    std::string text;
    item.Read(&text);
    if (!text.starts_with("npub1")) return json.String(text);
    const Result<PublicKey> key = ParsePublicKey(text);
    if (!key.ok()) item.Error(PrintableKey(text) + " " + key.status().message());
    json.String(key.ok() ? ToHex(key.value().data(), key.value().size()) : text);
  });
  json.Close(']');
}

// Writes the filter as the JSON of a REQ.
std::string JsonOf(const YamlValue& value) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  value.Entries([&](std::string_view name, const YamlValue& field) {
    json.Member(name);
    uint64_t number = 0;
    if (name == "kinds") {
      json.Open('[');
      field.List([&](const YamlValue& kind) {
        kind.Read(&number, kAnyKind);
        json.Number(number);
      });
      json.Close(']');
    } else if (name == "since" || name == "until" || name == "limit") {
      field.Read(&number, kAnyTime);
      json.Number(number);
    } else {
      WriteTexts(field, json);
    }
  });
  json.Close('}');
  return std::move(json).Value();
}

void ReadFilters(const YamlValue& list, std::vector<Filter>* filters) {
  if (!list) return;
  filters->clear();
  list.List([&](const YamlValue& item) {
    if (!item.is_map()) return item.Map([](YamlMap&) {});  // reports what was found
    Result<Filter> filter = ParseFilter(JsonOf(item), {.max_values = SIZE_MAX});
    if (filter.ok()) {
      filters->push_back(std::move(filter).value());
    } else {
      item.Error("is no filter: " + filter.status().message());
    }
  });
}

void ReadGroup(YamlMap& map, const std::string& name, std::vector<LinkOrder>* orders) {
  LinkOrder order{.group = name};
  const YamlValue relays = map.Required("relays");
  map.Optional("dir").Read(
      &order.direction, {{"both", SyncDirection::kBoth}, {"down", SyncDirection::kDown}, {"up", SyncDirection::kUp}});
  const YamlValue filters = map.Optional("filters");
  ReadFilters(filters, &order.filters);
  const YamlValue catch_up = map.Optional("catch_up");
  std::string text;
  catch_up.Read(&text);
  if (!text.empty()) {
    Result<std::optional<uint64_t>> age = ParseCatchUp(text);
    if (age.ok()) {
      order.catch_up_s = age.value();
    } else {
      catch_up.Error("found \"" + Printable(text) + "\", which is " + age.status().message());
    }
  }
  map.Optional("plugin").Read(&order.plugin);
  map.Optional("ca").Read(&order.ca_file);
  size_t read = 0;
  relays.List([&](const YamlValue& relay) {
    ++read;
    order.url.clear();
    relay.Read(&order.url);
    if (order.url.empty()) return;
    const auto same = [&](const LinkOrder& other) { return other.url == order.url; };
    if (std::ranges::any_of(*orders, same)) return relay.Error("is in the router already");
    const Status checked = Check(order);
    if (!checked.ok()) relay.Error(checked.message());
    orders->push_back(order);
    if (orders->size() > Router::kMostLinks)
      relay.Error("is more than the " + std::to_string(Router::kMostLinks) + " relays that a router may have");
  });
  if (relays.is_list() && read == 0) relays.Error("found an empty list, expected at least one relay");
}

}  // namespace

Result<RouterRead> ReadRouter(const std::string& path) {
  RouterRead read;
  if (path.empty()) return read;
  Status status = ReadConfigSection(path, "router", [&](const YamlValue& section) {
    section.Entries([&](std::string_view name, const YamlValue& group) {
      group.Map([&](YamlMap& map) { ReadGroup(map, std::string(name), &read.orders); });
    });
  });
  if (!status.ok()) return status;
  if (!read.orders.empty())
    read.summary = std::to_string(read.orders.size()) + (read.orders.size() == 1 ? " link" : " links");
  return read;
}

}  // namespace weir
