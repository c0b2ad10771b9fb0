#include <array>

#include "config/text/parse.h"
#include "relay/doctor/check_words.h"
#include "relay/net/host_names.h"

namespace weir {
namespace {

constexpr double kDay = 86400;

std::optional<Finding> SettingsWrong(const Facts& facts) {
  if (facts.settings.wrong.empty()) return std::nullopt;
  std::string saw;
  for (const Status& wrong : facts.settings.wrong) saw += (saw.empty() ? "" : "\n") + wrong.message();
  return Finding{.severity = Severity::kBroken,
                 .saw = std::move(saw),
                 .why = "A relay or gate that needs them refuses to start, or goes on without what was changed.",
                 .act =
                     "Correct what is named, or take it out of the environment; `weir config` prints the allowed "
                     "values."};
}

std::optional<Finding> SettingUnknown(const Facts& facts) {
  if (facts.settings.unknown.empty()) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = Join(facts.settings.unknown, "\n"),
                 .why = "A setting that weir does not read has no effect: the default applies.",
                 .act = "Correct the name, set what the line says instead, or take it out of the environment."};
}

std::optional<Finding> SettingsDiffer(const Facts& facts) {
  if (!facts.process || facts.process->other_settings.empty()) return std::nullopt;
  const std::string process = std::to_string(facts.process->process);
  return Finding{.severity = Severity::kAdvice,
                 .saw = "The relay that runs, process " + process + ", was started with another value of " +
                        Join(facts.process->other_settings, ", ") + " than this environment has.",
                 .why = "The findings about settings are for this environment, not for the running relay.",
                 .act = "Restart the relay to apply this environment, or check the settings that it runs with:",
                 .commands = {"weir doctor --as-running --data-dir " + Quoted(facts.settings.relay.data_dir)}};
}

std::optional<Finding> SyncOff(const Facts& facts) {
  const StorageSettings& storage = facts.settings.relay.storage;
  if (!facts.has_relay || !IsEmbedded(storage) || storage.rocksdb.sync == SyncMode::kBatch) return std::nullopt;
  const bool off = storage.rocksdb.sync == SyncMode::kOff;
  return Finding{
      .severity = Severity::kAdvice,
      .saw = std::string("WEIR_DB_SYNC=") + (off ? "off" : "interval") + ": an OK is sent before the event " +
             "is on disk" +
             (off ? "." : ", up to " + std::to_string(storage.rocksdb.sync_interval.count()) + " ms before."),
      .why = "A power cut loses events that were acknowledged.",
      .act = "Unless that is intended:",
      .commands = {"WEIR_DB_SYNC=batch"}};
}

std::optional<Finding> ThrottleOff(const Facts& facts) {
  if (!facts.has_relay || facts.settings.relay.storage.limiter.enabled) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "WEIR_RATE_LIMIT_ENABLED=false: nothing is throttled.",
                 .why = "Under load the engine brakes by itself, and then all clients wait, for seconds.",
                 .act = "Let weir throttle before that happens:",
                 .commands = {"WEIR_RATE_LIMIT_ENABLED=true"}};
}

std::optional<Finding> RelayUrlMissing(const Facts& facts) {
  const RelayConfiguration& c = facts.settings.relay;
  if (!facts.has_relay || !c.relay.auth || !c.relay.url.empty() || IsNearby(c.server.listen)) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "WEIR_RELAY_URL is not set, and the relay listens on " + c.server.listen + ".",
                 .why =
                     "Clients that use a public name cannot AUTH, so they get no direct messages, and requests to "
                     "vanish that name this relay are not accepted.",
                 .act = "Set the address that clients use:",
                 .commands = {"WEIR_RELAY_URL=wss://relay.example"}};
}

// Finds a relay behind a proxy: it has a public name, and listens only at an address that is not public.
std::optional<Finding> ProxyNotTrusted(const Facts& facts) {
  const RelayConfiguration& c = facts.settings.relay;
  if (!facts.has_relay || !c.server.trusted_proxies.empty()) return std::nullopt;
  if (c.relay.url.empty() || IsNearby(HostOf(c.relay.url)) || !IsNearby(c.server.listen)) return std::nullopt;
  return Finding{.severity = Severity::kWarning,
                 .saw = "WEIR_RELAY_URL is public and WEIR_LISTEN=" + c.server.listen +
                        " is not, so a proxy stands before it; WEIR_TRUSTED_PROXIES is not set.",
                 .why = "All clients count as one address: they share its limits, " +
                        std::to_string(c.server.max_connections_per_address) +
                        " connections and a place in every queue.",
                 .act = "Trust the proxy's X-Forwarded-For header, if it sets one, as nginx and Caddy do:",
                 .commands = {"WEIR_TRUSTED_PROXIES=127.0.0.1,::1"}};
}

std::optional<Finding> CertificateExpires(const Facts& facts) {
  if (!facts.settings.certificate_expires_at) return std::nullopt;
  const double left = static_cast<double>(*facts.settings.certificate_expires_at) - facts.now_seconds;
  if (left > 14 * kDay) return std::nullopt;
  const std::string& file = facts.settings.relay.server.tls.certificate;
  return Finding{.severity = left <= 0 ? Severity::kBroken : Severity::kWarning,
                 .saw = "The certificate in " + file +
                        (left <= 0 ? " expired " + InWords(-left) + " ago." : " expires in " + InWords(left) + "."),
                 .why = "Clients refuse to connect once it has expired.",
                 .act = "Renew it. Relay and gate read the new one by themselves, without a restart."};
}

}  // namespace

std::span<const DoctorCheck> SettingsChecks() {
  static constexpr std::array<DoctorCheck, 8> kChecks = {{
      {"settings-wrong", SettingsWrong},
      {"setting-unknown", SettingUnknown},
      {"settings-differ", SettingsDiffer},
      {"sync-off", SyncOff},
      {"throttle-off", ThrottleOff},
      {"relay-url-missing", RelayUrlMissing},
      {"proxy-not-trusted", ProxyNotTrusted},
      {"certificate-expires", CertificateExpires},
  }};
  return kChecks;
}

}  // namespace weir
