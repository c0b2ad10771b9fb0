#include "tests/relay/store/postgres/postgres_fixture.h"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <set>
#include <sstream>
#include <tuple>

#include "config/manual_clock.h"
#include "config/wire/postgres/postgres_session.h"
#include "relay/store/postgres/postgres_edit.h"

namespace weir {
namespace {

std::string NextName() {
  static std::atomic<int> number = 0;
  return "events_" + std::to_string(++number);
}

constexpr PostgresStatement kEvents{
    "test_events", "SELECT id, pubkey, kind, created_at, coalesce(expiration, 0), record FROM weir_events"};
constexpr PostgresStatement kTags{"test_tags", "SELECT tag, kind, created_at, id FROM weir_tags"};
constexpr PostgresStatement kAddresses{"test_addresses", "SELECT address, id FROM weir_addresses"};

}  // namespace

PostgresProcess& SharedPostgres() {
  static PostgresProcess server({"fsync=off", "synchronous_commit=off", "max_connections=200"});
  return server;
}

PostgresDatabase::PostgresDatabase(PostgresProcess& server) : server_(server), name_(NextName()) {
  server_.Ask("CREATE DATABASE " + name_);
}

PostgresDatabase::~PostgresDatabase() { server_.Ask("DROP DATABASE " + name_ + " WITH (FORCE)"); }

std::string PostgresDatabase::conninfo() const {
  return "host=127.0.0.1 port=" + std::to_string(server_.port()) + " user=weir dbname=" + name_;
}

std::string PostgresDatabase::url() const {
  return "postgres://weir@127.0.0.1:" + std::to_string(server_.port()) + "/" + name_;
}

PostgresStoreOptions PostgresDatabase::Options(const std::string& origin) const {
  PostgresStoreOptions options;
  options.conninfo = conninfo();
  options.settings.origin = origin;
  options.own_urls = {"wss://weir.example"};
  return options;
}

std::unique_ptr<PostgresStore> MustOpen(const PostgresStoreOptions& options) {
  Result<std::unique_ptr<PostgresStore>> store = PostgresStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? std::move(store).value() : nullptr;
}

std::string LogOfOpening(const PostgresStoreOptions& options) {
  std::ostringstream log;
  const auto usual = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  EXPECT_TRUE(PostgresStore::Open(options).ok());
  spdlog::set_default_logger(usual);
  return log.str();
}

std::unique_ptr<EventStore> PostgresUnderTest::Open() {
  static const ManualClock still;  // the bounds of work do not depend on the server's speed
  PostgresStoreOptions options = database_.Options();
  options.clock = &still;
  options.own_urls = {own_url_};
  return MustOpen(options);
}

std::string PostgresUnderTest::Difference(EventStore& store) {
  PostgresSession session(database_.conninfo());
  if (Status connected = session.Connect(std::chrono::seconds(10)); !connected.ok()) return connected.message();
  for (const PostgresStatement* statement : {&kEvents, &kTags, &kAddresses}) session.Queue(*statement);
  const Result<std::vector<PostgresRows>> answers = session.Run(std::chrono::seconds(60));
  if (!answers.ok()) return answers.status().message();
  const PostgresRows& events = answers.value()[0];
  std::multiset<std::tuple<int64_t, int64_t, int64_t, std::string>> tags;
  std::set<std::pair<std::string, std::string>> addresses;
  if (events.size() != store.Sizes().events)
    return std::to_string(events.size()) + " events, " + std::to_string(store.Sizes().events) + " counted";
  for (size_t i = 0; i < events.size(); ++i) {
    const EventView event(events.Bytes(i, 5));
    const std::string id(events.Bytes(i, 0));
    if (id != AsText(event.id()) || events.Bytes(i, 1) != AsText(event.pubkey()) || events.Int(i, 2) != event.kind() ||
        events.Int(i, 3) != SqlTime(event.created_at()) || events.Int(i, 4) != SqlTime(event.expiration()))
      return "an event's columns are not its record's: " + ToHex(event.id());
    for (const TagView tag : event.tags())
      tags.emplace(TagNumber(tag.letter, tag.value), event.kind(), SqlTime(event.created_at()), id);
    if (!HasAddress(event.kind())) continue;
    const Address address = AddressOf(event);
    addresses.emplace(std::string(address.begin(), address.end()), id);
  }
  const PostgresRows& tag_rows = answers.value()[1];
  if (tag_rows.size() != tags.size())
    return std::to_string(tag_rows.size()) + " tags, expected " + std::to_string(tags.size());
  for (size_t i = 0; i < tag_rows.size(); ++i)
    if (!tags.contains({tag_rows.Int(i, 0), tag_rows.Int(i, 1), tag_rows.Int(i, 2), std::string(tag_rows.Bytes(i, 3))}))
      return "a tag of no event";
  const PostgresRows& address_rows = answers.value()[2];
  if (address_rows.size() != addresses.size())
    return std::to_string(address_rows.size()) + " addresses, expected " + std::to_string(addresses.size());
  for (size_t i = 0; i < address_rows.size(); ++i)
    if (!addresses.contains({std::string(address_rows.Bytes(i, 0)), std::string(address_rows.Bytes(i, 1))}))
      return "an address of no event";
  return "";
}

}  // namespace weir
