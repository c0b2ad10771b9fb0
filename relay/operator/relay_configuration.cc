#include "relay/operator/relay_configuration.h"

#include <string_view>
#include <vector>

#include "config/text/parse.h"
#include "relay/operator/admin_keys.h"
#include "relay/search/searched_kinds.h"

namespace weir {
namespace {

// The room in a message for everything but the event: ["EVENT",] and white space that the minimal form does not have.
constexpr uint64_t kLeastRoomAroundEvent = 512;

Status NoSmaller(std::string_view larger_name, uint64_t larger, std::string_view smaller_name, uint64_t smaller,
                 std::string_view why) {
  if (larger >= smaller) return Status();
  return Status::Error(std::string(larger_name) + "=" + std::to_string(larger) + " must be at least " +
                       std::string(smaller_name) + "=" + std::to_string(smaller) + ": " + std::string(why));
}

bool StartsWithAny(std::string_view text, const std::vector<std::string_view>& starts) {
  for (const std::string_view start : starts)
    if (text.starts_with(start)) return true;
  return false;
}

Status CheckIdentity(const RelaySettings& s) {
  if (const Result<std::vector<AdminKey>> keys = AdminKeysOf(s); !keys.ok()) return keys.status();
  if (!s.url.empty() && !StartsWithAny(s.url, {"ws://", "wss://"})) {
    return Status::Error("WEIR_RELAY_URL=" + Printable(s.url) + ": not an address that begins with wss:// or ws://");
  }
  if (!s.icon.empty() && !StartsWithAny(s.icon, {"https://", "http://"})) {
    return Status::Error("WEIR_RELAY_ICON=" + Printable(s.icon) + ": not an address that begins with https://");
  }
  return Status();
}

Status CheckLimits(const RelayConfiguration& c) {
  const RelaySettings& s = c.relay;
  const std::vector<Status> checks = {
      NoSmaller("WEIR_MAX_MESSAGE_BYTES", c.server.max_message_bytes, "WEIR_MAX_EVENT_BYTES plus room for its frame",
                s.max_event_bytes + kLeastRoomAroundEvent, "or the largest events could never arrive"),
      NoSmaller("WEIR_MAX_EVENT_BYTES", s.max_event_bytes, "WEIR_MAX_CONTENT_BYTES", s.max_content_bytes,
                "a content that size could never be in an event"),
      NoSmaller("WEIR_MAX_PENDING_BYTES", c.server.max_pending_bytes, "twice WEIR_MAX_EVENT_BYTES",
                2 * s.max_event_bytes, "or whoever asks for the largest events would be disconnected"),
      NoSmaller("WEIR_MAX_LIMIT", s.max_limit, "WEIR_DEFAULT_LIMIT", s.default_limit,
                "a filter that names no limit would exceed it"),
      NoSmaller("WEIR_MAX_BYTES_IN_FLIGHT_MB in bytes", s.max_bytes_in_flight_mb << 20, "WEIR_MAX_EVENT_BYTES",
                s.max_event_bytes, "or the largest events would wait for ever"),
  };
  for (const Status& check : checks)
    if (!check.ok()) return check;
  return Status();
}

Status CheckRetention(const RelayConfiguration& c) {
  if (Status status = Check(c.retention); !status.ok()) return status;
  if (c.retention.max_disk_gb == 0 || IsEmbedded(c.storage)) return Status();
  return Status::Error(
      "WEIR_MAX_DISK_GB is for the RocksDB in the data directory: the tables of " + StoreName(c.storage.store) +
      " do not get smaller when events are removed, so their size does not say how much has to go; bound the events by "
      "their age with relay.retention.remove in WEIR_CONFIG, and unset this");
}

Status CheckSearch(const RelayConfiguration& c) {
  const std::string& kinds = c.relay.search_kinds;
  const Result<std::vector<uint16_t>> read = ParseSearchedKinds(kinds);
  return read.ok() ? Status() : Status::Error("WEIR_SEARCH_KINDS=" + Printable(kinds) + ": " + read.status().message());
}

Status CheckLadder(const RelayConfiguration& c) {
  if (Status status = Check(c.standing); !status.ok()) return status;
  if (c.standing.mode != LadderMode::kOn || c.storage.limiter.enabled) return Status();
  return Status::Error(
      "WEIR_LADDER=on holds nobody back with WEIR_RATE_LIMIT_ENABLED=false: the throttle says when the relay is under "
      "pressure; set that, or WEIR_LADDER=observe");
}

}  // namespace

void Declare(SettingTable& table, RelayConfiguration& c) {
  table.Add("DATA_DIR", &c.data_dir, "where the events are kept; made if it is not there");
  Declare(table, c.log_level, c.log_format);
  Declare(table, c.server);
  Declare(table, c.relay);
  Declare(table, c.storage);
  Declare(table, c.trace);
  Declare(table, c.plugins);
  Declare(table, c.standing);
  Declare(table, c.retention);
}

Status Check(const RelayConfiguration& c) {
  if (c.data_dir.empty()) return Status::Error("WEIR_DATA_DIR must name a directory");
  for (const Status& status : {CheckIdentity(c.relay), CheckLimits(c), Check(c.storage), Check(c.trace),
                               Check(c.plugins), CheckLadder(c), CheckRetention(c), CheckSearch(c)})
    if (!status.ok()) return status;
  return Status();
}

Status LoadRelayConfiguration(SettingTable& table, const Environment& environment,
                              const std::vector<SettingFlag>& flags, RelayConfiguration* c) {
  Declare(table, *c);
  if (Status status = table.Load(environment, flags); !status.ok()) return status;
  if (Status status = Check(*c); !status.ok()) return status;
  const std::vector<AdminKey> operators = AdminKeysOf({.admin_pubkey = c->relay.admin_pubkey}).value();
  c->relay.admin_pubkey.clear();
  for (const AdminKey& key : operators) c->relay.admin_pubkey += (&key == operators.data() ? "" : ",") + key.hex;
  return Status();
}

}  // namespace weir
