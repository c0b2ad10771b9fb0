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
// limits how many calls may be reserved and not settled at the same time. Money is in the unit of the prices, with up
// to six decimals. `per` may have a unit (90s, 5m, 1h, 7d), or be `day` or `month`, for calendar days and months. With
// `burst: M` the limit is a bucket: it begins full, gains N in every `per`, and holds at most M.
//
// Limits of a tenant or an API key are for each of its users and each model. If such a limit has `total: true`, which
// only they may have, it is one counter for all users: on the model under whose name it is or, if it is under "*", on
// all models together. Limits under `tenants` or `api_keys` for "*" are for each tenant or key that is not named there.
// A request with an API key that has a tenant belongs to that tenant, and is denied if it names another.
//
// Limits under `users` are one counter for each user over all models. The first of these that exists applies: the
// limits that the user's tenant has for the user's name; those that it has for "*"; those under `users` for the user's
// name, if the user has no tenant; those under `users` for "*".
//
// A name of a model with a `*` is a pattern. An exact name comes before patterns; of several patterns, the one with
// most characters besides the `*` comes first. Denials come before all of this: a request is denied if its own name, or
// the name under which it is counted, is denied or fits a denied pattern. Limits, prices and classes (unless they deny)
// must use the names under which requests are counted (model_names.h). Another name there is an error, and so is a name
// under `also` that has limits of its own.
//
// The other sections of the file belong to other readers. ReadQuotaConfig reads only `quota`; a section that is neither
// `quota` nor in `other_sections` is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "config/yaml_reader.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// Reads the file into `config`, whose values are the defaults for values that the file does not have. If anything in
// the file is wrong, returns an error and leaves `config` as it was. Gives no warnings.
Status ReadQuotaConfig(const std::string& path, QuotaConfig* config,
                       const std::vector<std::string_view>& other_sections = {});
// Reads the section itself, for callers that read the whole file. Notes errors in the reader of the YAML
// (YamlValue::Error); if there are any, the caller must not use `config`. Unless `warnings` is null, appends warnings
// for the log: about a profile's limit that a model's quota does not state, or because money is limited and "*" has no
// price.
void ReadQuotaSection(const YamlValue& section, QuotaConfig* config, std::vector<std::string>* warnings = nullptr);

}  // namespace weir
