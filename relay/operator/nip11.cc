#include "relay/operator/nip11.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "config/text/json_writer.h"
#include "relay/process/version.h"

namespace weir {
namespace {

void AppendIdentity(const RelaySettings& s, JsonWriter& json) {
  json.Member("name").String(s.name);
  json.Member("description").String(s.description);
  if (!s.icon.empty()) json.Member("icon").String(s.icon);
  if (!s.admin_pubkey.empty())
    json.Member("pubkey").String(std::string_view(s.admin_pubkey).substr(0, s.admin_pubkey.find(',')));
  if (!s.contact.empty()) json.Member("contact").String(s.contact);
}

void AppendLimitation(const RelayConfiguration& configuration, const RuleLimits& rules, JsonWriter& json) {
  const RelaySettings& s = configuration.relay;
  json.Member("limitation").Open('{');
  json.Member("max_message_length").Number(configuration.server.max_message_bytes);
  json.Member("max_subscriptions").Number(s.max_subscriptions);
  json.Member("max_filters").Number(s.max_filters);  // no longer in NIP-11, but clients still read it
  json.Member("max_limit").Number(s.max_limit);
  json.Member("default_limit").Number(s.default_limit);
  json.Member("max_subid_length").Number(s.max_subscription_id_bytes);
  if (s.max_sync_events > 0) json.Member("max_sync_events").Number(s.max_sync_events);  // not in NIP-11
  // NIP-11 gives this limit in characters, weir has it in bytes. The relay refuses content with more characters in any
  // case.
  json.Member("max_content_length").Number(s.max_content_bytes);
  json.Member("max_event_tags").Number(s.max_event_tags);
  json.Member("min_pow_difficulty").Number(std::max(s.min_pow_difficulty, rules.least_work_bits));
  json.Member("auth_required").Bool(s.auth_required || rules.readers_need_auth);
  json.Member("payment_required").Bool(false);
  json.Member("restricted_writes").Bool(s.auth_required || s.min_pow_difficulty > 0 || rules.restricts_writes);
  const uint64_t any_age = UINT64_MAX;
  const uint64_t oldest =
      std::min(s.created_at_past_s > 0 ? s.created_at_past_s : any_age, rules.oldest_s.value_or(any_age));
  if (oldest != any_age) json.Member("created_at_lower_limit").Number(oldest);
  json.Member("created_at_upper_limit").Number(std::min(s.created_at_future_s, rules.newest_s.value_or(any_age)));
  json.Close('}');
}

void AppendRetention(const std::vector<RetentionTerm>& terms, JsonWriter& json) {
  if (terms.empty()) return;
  json.Member("retention").Open('[');
  for (const RetentionTerm& term : terms) {
    json.Open('{');
    if (term.kinds != KindSet::All()) {
      json.Member("kinds").Open('[');
      term.kinds.ForEachRange([&json](uint16_t first, uint16_t last) {
        if (first == last) return json.Number(first);
        json.Open('[').Number(first);
        json.Number(last);
        json.Close(']');
      });
      json.Close(']');
    }
    json.Member("time");
    term.seconds ? json.Number(*term.seconds) : json.Number(std::nan(""));  // null
    json.Close('}');
  }
  json.Close(']');
}

}  // namespace

std::vector<int> SupportedNips(const RelaySettings& settings) {
  std::vector<int> nips = {1, 2, 4, 9, 11, 13, 17, 28, 40, 42, 45, 50, 59, 62, 65, 67, 70, 77, 86};
  if (!settings.eose_completeness) std::erase(nips, 67);
  if (settings.search_kinds.empty()) std::erase(nips, 50);
  if (settings.max_sync_events == 0) std::erase(nips, 77);
  // A request to vanish names the relay's URL, so the relay has to know its URL.
  if (settings.url.empty()) std::erase(nips, 62);
  // NIP-86 needs an administrator's key.
  if (settings.admin_pubkey.empty() && settings.admins.empty()) std::erase(nips, 86);
  return nips;
}

HttpResponse Nip11Document(const RelayConfiguration& configuration, const RuleLimits& rules) {
  JsonWriter json;
  json.Open('{');
  AppendIdentity(configuration.relay, json);
  json.Member("supported_nips").Open('[');
  for (const int nip : SupportedNips(configuration.relay)) json.Number(nip);
  json.Close(']');
  json.Member("software").String("weir");
  json.Member("version").String(Version());
  AppendLimitation(configuration, rules, json);
  AppendRetention(rules.retention, json);
  json.Close('}');
  return {.content_type = "application/nostr+json",
          .body = std::move(json).Text(),
          .headers = {{"Vary", "Accept"},
                      {"Access-Control-Allow-Origin", "*"},
                      {"Access-Control-Allow-Headers", "*"},
                      {"Access-Control-Allow-Methods", "GET, HEAD"}}};
}

}  // namespace weir
