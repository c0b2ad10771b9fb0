#include "relay/protocol/relay_settings.h"

namespace weir {
namespace {

constexpr NumberRange kSeconds{.min = 0, .max = 10'000'000'000, .unit = "s"};

void DeclareIdentity(SettingTable& table, RelaySettings& s) {
  table.Add("RELAY_NAME", &s.name, "name that clients show");
  table.Add("RELAY_DESCRIPTION", &s.description, "purpose of this relay, in one or a few sentences");
  table.Add("RELAY_CONTACT", &s.contact, "how to reach the operator: mailto:… or https://…");
  table.Add("RELAY_ADMIN_PUBKEY", &s.admin_pubkey,
            "public keys of the operators (or ORLY_OWNERS), who may do everything: an npub or 64 hex digits each, with "
            "commas between them; NIP-11 shows the first");
  table.AlsoFrom("RELAY_ADMIN_PUBKEY", "ORLY_OWNERS");
  table.Add("RELAY_ADMINS", &s.admins,
            "public keys of other administrators, each with a colon and what it may do (read, moderate, settings, all, "
            "or several with + between them), with commas between them: npub1…:moderate,npub1…:read");
  Declare(table, s.admin_from_loopback);
  table.Add("RELAY_ICON", &s.icon, "address of a square picture");
  table.Add("RELAY_URL", &s.url,
            "this relay's address as clients know it, such as wss://relay.example; AUTH and requests to vanish need it "
            "if clients use a public name");
}

void DeclareEventLimits(SettingTable& table, RelaySettings& s) {
  table.Add("MAX_EVENT_BYTES", &s.max_event_bytes, {.min = 1024, .max = 1 << 26, .unit = "bytes"},
            "largest event, as JSON without white space");
  table.Add("MAX_EVENT_TAGS", &s.max_event_tags, {.min = 1, .max = 1'000'000, .unit = "tags"}, "most tags of an event");
  table.Add("MAX_CONTENT_BYTES", &s.max_content_bytes, {.min = 1, .max = 1 << 26, .unit = "bytes"},
            "largest content of an event");
  table.Add("CREATED_AT_PAST_S", &s.created_at_past_s, kSeconds, "events older than this are refused; 0: any age");
  table.Add("CREATED_AT_FUTURE_S", &s.created_at_future_s, kSeconds, "events dated further in the future are refused");
  table.Add("MIN_POW_DIFFICULTY", &s.min_pow_difficulty, {.min = 0, .max = 256, .unit = "bits"},
            "leading zero bits that an event's id must have (NIP-13)");
  table.Add("AUTH", &s.auth,
            "whether direct messages (kinds 4, 1059 and 21059) are served only to their parties, after AUTH");
  table.Add("AUTH_REQUIRED", &s.auth_required, "whether nothing is taken or served without AUTH (NIP-42)");
  table.Add(
      "SEARCH_KINDS", &s.search_kinds,
      "kinds of events whose content can be searched (NIP-50), with commas: 1,30023; empty: none, and the index of "
      "words in a RocksDB is removed; that in a PostgreSQL stays, for the other relays");
  table.Add(
      "EOSE_COMPLETENESS", &s.eose_completeness,
      "whether EOSE has a third element that says if all matches were sent (NIP-67); several clients reject an EOSE "
      "that has one");
}

void DeclareConnectionLimits(SettingTable& table, RelaySettings& s) {
  table.Add("MAX_EVENTS_IN_FLIGHT", &s.max_events_in_flight, {.min = 1, .max = 100'000, .unit = "events"},
            "events of one connection that are read but not yet answered with OK; at this number its socket is not "
            "read");
  table.Add("MAX_SUBSCRIPTIONS", &s.max_subscriptions, {.min = 1, .max = 100'000, .unit = "subscriptions"},
            "open subscriptions of a connection");
  table.Add("MAX_FILTERS", &s.max_filters, {.min = 1, .max = 10'000, .unit = "filters"}, "filters of a REQ or COUNT");
  table.Add("MAX_FILTER_VALUES", &s.max_filter_values, {.min = 1, .max = 1'000'000, .unit = "values"},
            "ids, authors, kinds and tag values of a filter together");
  table.Add("MAX_SUBSCRIPTION_ID_BYTES", &s.max_subscription_id_bytes, {.min = 1, .max = 1024, .unit = "bytes"},
            "longest name of a subscription");
  table.Add("DEFAULT_LIMIT", &s.default_limit, {.min = 1, .max = 1'000'000, .unit = "events"},
            "stored events for a filter that names no limit");
  table.Add("MAX_LIMIT", &s.max_limit, {.min = 1, .max = 1'000'000, .unit = "events"},
            "most stored events for a filter, whatever it asks for");
  table.Add("MAX_SYNC_EVENTS", &s.max_sync_events, {.min = 0, .max = 5'000'000, .unit = "events"},
            "most events that a NEG-OPEN compares (NIP-77); they take 41 bytes each, of MAX_ADDRESS_MB. 0: NEG-OPEN is "
            "refused");
}

}  // namespace

void Declare(SettingTable& table, RelaySettings& s) {
  DeclareIdentity(table, s);
  DeclareEventLimits(table, s);
  DeclareConnectionLimits(table, s);
  table.Add("WORKER_THREADS", &s.worker_threads, {.min = 0, .max = 1024, .unit = "threads"},
            "threads that verify signatures and scan; 0: one for each core, and with PostgreSQL another "
            "WEIR_POSTGRES_CONNECTIONS");
  table.Add("MAX_BYTES_IN_FLIGHT_MB", &s.max_bytes_in_flight_mb, {.min = 1, .max = 1 << 20, .unit = "MiB"},
            "bytes of events in flight from all connections together, at most a quarter of RATE_LIMIT_OWN_BUDGET_MB; "
            "at this limit, sockets that bring events are not read");
}

EventLimits EventLimitsOf(const RelaySettings& s) {
  EventLimits limits;
  limits.max_bytes = s.max_event_bytes;
  limits.max_tags = s.max_event_tags;
  limits.max_content_bytes = s.max_content_bytes;
  return limits;
}

MessageLimits MessageLimitsOf(const RelaySettings& s) {
  return {.max_subscription_id_bytes = s.max_subscription_id_bytes,
          .max_filters = s.max_filters,
          .filter = {.max_values = s.max_filter_values, .search = !s.search_kinds.empty()}};
}

}  // namespace weir
