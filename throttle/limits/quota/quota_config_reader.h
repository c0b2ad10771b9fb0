// The quotas' part of weir.yaml (WEIR_CONFIG):
//
//   quota:
//     providers: [openai, anthropic]        # their profiles apply; absent: the program's default; []: none
//     unknown_models: allow                 # or refuse
//     when_store_away: refuse               # or allow
//     reservation_ttl: 600                  # seconds
//     shadow: false
//     time_zone: Europe/Berlin              # for calendar days and months; absent: UTC
//     models:
//       gpt-4o: {max_rpm: 500, max_tpm: 30000, max_rpd: 0}   # a limit that is not stated is 0, no limit
//       gpt-4-turbo: {max_rpm: 500, also: ["gpt-4-turbo-2*", gpt-4-1106-preview]}   # counted together, as gpt-4-turbo
//       "o3*": {max_rpm: 100}                 # names that begin with o3 and have no entry, counted together
//       o1-pro: {deny: true}                  # denied to all; a pattern too: "gpt-3*": {deny: true}
//     prices:                                 # per million tokens; "*": all other models; no price: free
//       gpt-4o: {input: 2.50, output: 10.00}
//     tiers:
//       default: &limits
//         user_model: [{requests: 100, per: 3600}, {tokens: 50000, per: 3600}]
//         model:      [{requests: 10000, per: 3600}]
//         instance:   [{requests: 5, per: 60}]
//       classes:
//         - {name: large, models: [gpt-4o, o1], user_model: [{requests: 100, per: 3600}]}   # or deny: true
//       qos:
//         - {name: premium, priority: 1, limits: [{requests: 500, per: 3600}]}              # or deny: true
//       tenants:
//         acme: {gpt-4o: [{requests: 500, per: 3600}], "*": [{requests: 50, per: 3600}]}   # for each user and model
//         corp: {"*": [{tokens: 1000000, per: 86400, total: true}], o1: {deny: true}}      # for all users and models
//         labs: {users: {"*": [{tokens: 50000, per: 1d}], bob: [{tokens: 9000, per: 1d}]}} # each user, all models
//         "*": {"*": [{requests: 9, per: 3600, total: true}]}                              # each of the other tenants
//       users:                                # each over all models, unless its tenant says otherwise
//         "*": [{tokens: 100000, per: day}, {money: 5.00, per: month}, {in_flight: 2}]
//         alice: [{tokens: 900000, per: 1d}]
//       api_keys:
//         sk-abc123: {tenant: acme, gpt-4o: [{requests: 50, per: 3600, total: true}]}      # for all users, on gpt-4o
//         sk-stolen: {deny: true}
//         "*": {"o1*": {deny: true}}                                                       # each of the other keys
//
// A limit is {requests: N, per: SECONDS}, or the same with `tokens` or `money` instead of `requests`. {in_flight: N}
// limits how many calls may be reserved but not settled at the same time. Money is in the currency of the prices, with
// up to six decimals. `per` may have a unit (90s, 5m, 1h, 7d). `per: day` and `per: month` are calendar days and
// months. With `burst: M` the limit is a bucket: it starts full, gains N in every `per`, and holds at most M.
//
// A limit of a tenant or an API key applies to each of its users and each model separately. With `total: true`, which
// no other limits may have, it has one counter for all users: for the model under whose name the limit is stated or,
// under "*", for all models together. Under `tenants` or `api_keys`, the name "*" stands for each tenant or key that is
// not named there. A request with an API key that has a tenant belongs to that tenant. Such a request is denied if it
// names another tenant.
//
// A limit under `users` has one counter for each user, over all models. The first of these lists that exists applies:
// the list that the user's tenant has for the user's name; the tenant's list for "*"; the list under the top-level
// `users` for the user's name, if the user has no tenant; the top-level list for "*".
//
// A model name with a `*` is a pattern. An exact name takes precedence over patterns; of several patterns that fit, the
// pattern with the most characters besides the `*` takes precedence. Denials take precedence over all of these rules: a
// request is denied if the model name in it, or the name under which it is counted, is denied or fits a denied pattern.
// Limits, prices, and classes that do not deny must use the names under which requests are counted (model_names.h).
// They are an error under any other name. A name under `also` that has limits of its own is an error, too.
//
// Other code reads the other sections of the file. ReadQuotaConfig reads only `quota`; a section that is neither
// `quota` nor in `other_sections` is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "config/yaml_reader.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

// Reads the file into `config`. A value that the file does not have stays as it was in `config`. If anything in the
// file is wrong, returns an error and leaves `config` unchanged. Gives no warnings.
Status ReadQuotaConfig(const std::string& path, QuotaConfig* config,
                       const std::vector<std::string_view>& other_sections = {});
// Reads the section `quota` for a caller that reads the whole file. Reports errors through YamlValue::Error; if there
// are any, the caller must not use `config`. Appends warnings for the log to `warnings`, unless it is null: if a quota
// does not state a limit that a profile has for the model, and if money is limited but some models may have no price.
void ReadQuotaSection(const YamlValue& section, QuotaConfig* config, std::vector<std::string>* warnings = nullptr);

}  // namespace weir
