#include "import/links/router_plugin.h"

#include <simdjson.h>

#include <map>
#include <string_view>
#include <vector>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/limiters/followed_rules.h"

namespace weir {
namespace {

using Type = ManagementParameter::Type;

constexpr std::chrono::milliseconds kLookAtFileEvery{900};

ManagementResult ResultOf(const LinkState& state) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  WriteState(state, json);
  return {.json = std::move(json).Value()};
}

// Reads a list of filters.
Result<std::vector<Filter>> ReadFilters(const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  if (parser.parse(text).get(list) != simdjson::SUCCESS) return Status::Error("the filters are no list");
  std::vector<Filter> filters;
  for (const simdjson::dom::element item : list) {
    Result<Filter> filter = ParseFilter(simdjson::minify(item), {.max_values = SIZE_MAX});
    if (!filter.ok()) return Status::Error("a filter is wrong: " + filter.status().message());
    filters.push_back(std::move(filter).value());
  }
  return filters;
}

// Reads the parameters of openlink. A missing one is empty.
Result<LinkOrder> OrderOf(const ManagementCall& call) {
  LinkOrder order{.url = call.values[0], .ca_file = call.values[4]};
  const std::string& direction = call.values[1];
  const std::optional<SyncDirection> named = SyncDirectionNamed(direction.empty() ? "both" : direction);
  if (!named) return Status::Error("\"" + Printable(direction) + "\" is no direction; expected both, down or up");
  order.direction = *named;
  if (!call.values[2].empty()) {
    Result<std::vector<Filter>> filters = ReadFilters(call.values[2]);
    if (!filters.ok()) return filters.status();
    order.filters = std::move(filters).value();
  }
  if (!call.values[3].empty()) {
    const Result<std::optional<uint64_t>> age = ParseCatchUp(call.values[3]);
    if (!age.ok()) return Status::Error("\"" + Printable(call.values[3]) + "\" is " + age.status().message());
    order.catch_up_s = age.value();
  }
  return order;
}

void AddMethods(ManagementMethods& methods, Router& router) {
  methods.Add({.name = "openlink",
               .right = AdminRight::kAll,
               .parameters = {{.name = "URL"},
                              {.name = "direction", .optional = true},
                              {.name = "filters", .type = Type::kJson, .optional = true},
                              {.name = "catch-up", .optional = true},
                              {.name = "file of certificates", .optional = true}},
               .run = [&router](const ManagementCall& call) -> Result<ManagementResult> {
                 Result<LinkOrder> order = OrderOf(call);
                 if (!order.ok()) return order.status();
                 const Result<uint64_t> id = router.Open(std::move(order).value());
                 if (!id.ok()) return id.status();
                 return ManagementResult{.json = std::to_string(id.value())};
               },
               .takes_document = true});
  const auto no_link = [](const std::string& id) {
    return Status::Error(std::string(kNoLink) + id + " was opened, or it was not renewed in time; listlinks lists all");
  };
  const auto id_of = [](const ManagementCall& call) {
    return ParseUnsigned(call.values[0], {.min = 0, .max = 1e18}).value();
  };
  // Calls that need more rights are logged, and this one comes each second.
  methods.Add({.name = "renewlink",
               .right = AdminRight::kRead,
               .parameters = {{.name = "id of a link", .type = Type::kNumber}},
               .run = [&router, no_link, id_of](const ManagementCall& call) -> Result<ManagementResult> {
                 const std::optional<LinkState> state = router.Renew(id_of(call));
                 return state ? Result<ManagementResult>(ResultOf(*state)) : no_link(call.values[0]);
               }});
  methods.Add({.name = "closelink",
               .right = AdminRight::kAll,
               .parameters = {{.name = "id of a link", .type = Type::kNumber}},
               .run = [&router, no_link, id_of](const ManagementCall& call) -> Result<ManagementResult> {
                 return router.Close(id_of(call)) ? Result<ManagementResult>(ManagementResult())
                                                  : no_link(call.values[0]);
               }});
  methods.Add({.name = "listlinks",
               .right = AdminRight::kRead,
               .run = [&router](const ManagementCall&) -> Result<ManagementResult> {
                 JsonWriter json(JsonWriter::Layout::kCompact);
                 json.Open('[');
                 for (const LinkState& state : router.List()) WriteState(state, json);
                 json.Close(']');
                 return ManagementResult{.json = std::move(json).Value()};
               }});
}

}  // namespace

RouterPlugin::RouterPlugin(ManagementMethods& methods, std::function<std::string()> config_file)
    : methods_(methods), config_file_(std::move(config_file)) {}

RouterPlugin::~RouterPlugin() { Stop(); }

Status RouterPlugin::Start(const RelayServices& services) {
  router_ = std::make_unique<Router>(services);
  const std::string path = config_file_();
  if (!path.empty()) {
    followed_ = std::make_unique<FollowedRules<RouterRead>>(
        FileWatch(path), kLookAtFileEvery,
        FollowedRules<RouterRead>::Steps{.limiter = "router",
                                         .path = path,
                                         .read = [path](const RouterRead*) { return ReadRouter(path); },
                                         .use = [this](const RouterRead& read) { return router_->Use(read.orders); },
                                         .note_again = [this](bool good) { reads_.Note(good); }});
    if (Status opened = followed_->Open(); !opened.ok()) return opened;
  }
  AddMethods(methods_, *router_);
  open_ = true;
  return {};
}

void RouterPlugin::Stop() {
  if (followed_) followed_->Stop();
  if (router_) router_->Stop();
}

void RouterPlugin::HangUp() {
  if (open_ && followed_) followed_->ReadSoon();
}

void RouterPlugin::AppendMetrics(MetricFamilies& families) const {
  if (!open_) return;
  std::map<std::pair<std::string, std::string>, bool> is_live;  // all links with a relay, of one group
  for (const LinkState& link : router_->List()) {
    const bool live = link.phase == LinkPhase::kLive && link.trouble.empty();
    const auto [known, is_new] = is_live.try_emplace({link.order.url, link.order.group}, live);
    known->second = known->second && live;
  }
  families.Gauge("weir_link_live",
                 "1 while all links with the relay are live, 0 while one connects, compares or waits");
  for (const auto& [link, live] : is_live)
    families.Add(live ? 1.0 : 0.0, {{"relay", link.first}, {"group", link.second}});
  const Router::AllTotals all = router_->Totals();
  families.Counter("weir_link_connections_total", "Connections that links have made, by the other relay");
  for (const auto& [link, totals] : all)
    families.Add(totals.connections, {{"relay", link.first}, {"group", link.second}});
  families.Counter("weir_link_events_total",
                   "Events of links: received from the other relay and saved here; accepted and refused by it");
  for (const auto& [link, totals] : all) {
    for (const auto& [what, count] : {std::pair{"received", totals.received},
                                      {"saved", totals.saved},
                                      {"accepted", totals.accepted},
                                      {"refused", totals.refused}})
      families.Add(count, {{"relay", link.first}, {"group", link.second}, {"what", what}});
  }
  if (followed_) reads_.AppendTo(families, "weir_router");
}

void RouterPlugin::AppendLive(LiveTables& tables) const {
  if (!open_) return;
  LiveTable& table = tables.Add("links", "Other relays",
                                {{"relay"},
                                 {"group"},
                                 {"dir"},
                                 {"state"},
                                 {"for", true},
                                 {"came", true},
                                 {"a second", true},
                                 {"saved", true},
                                 {"sent", true},
                                 {"refused", true},
                                 {"trouble"}});
  for (const LinkState& link : router_->List()) {
    const double rate = tables.PerSecond("link." + std::to_string(link.id), static_cast<double>(link.counts.received));
    table.AddRow({Printable(link.order.url), Printable(link.order.group), std::string(NameOf(link.order.direction)),
                  std::string(NameOf(link.phase)), ClockTime(link.lasts), ShortNumber(link.counts.received),
                  ShortNumber(RoundedCount(rate)), ShortNumber(link.came.saved[LineOutcome::kImported]),
                  ShortNumber(link.counts.accepted), ShortNumber(link.counts.refused.sum()), Printable(link.trouble)});
  }
}

}  // namespace weir
