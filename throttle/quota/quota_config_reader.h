// The quotas' part of weir.yaml (WEIR_CONFIG):
//
//   quota:
//     providers: [openai, anthropic]        # their profiles apply; absent: as the program says; []: none
//     unknown_models: allow                 # or refuse
//     when_store_away: refuse               # or allow
//     reservation_ttl: 600                  # seconds
//     shadow: false
//     time_zone: Europe/Berlin              # for calendar days and months; absent: UTC
//     models:
//       gpt-4o: {max_rpm: 500, max_tpm: 30000, max_rpd: 0}   # a limit that is not stated is 0, no limit
//       gpt-4-turbo: {max_rpm: 500, also: ["gpt-4-turbo-2*", gpt-4-1106-preview]}   # counted together, as gpt-4-turbo
//       "o3*": {max_rpm: 100}                 # names that begin so and have no entry: counted together, as "o3*"
//       o1-pro: {deny: true}                  # denied to all; a pattern too: "gpt-3*": {deny: true}
//     prices:                                 # of a million tokens; "*": all other models; a model without one is free
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
// A limit is {requests: N or tokens: N or money: N, per: seconds}, or {in_flight: N}: so many calls that are reserved
// and not settled. Money is in the unit of the prices, down to millionths; `per` may have a unit (90s, 5m, 1h, 7d), or
// be a calendar day or month. With `burst: M` the limit is a bucket: it begins full, gets N in every `per`, and holds
// at most M. With `total: true`, only for a tenant or an API key, it is one count for all its users: on the model under
// which it stands, or under "*" on all models together; without it, each user has the limit for each model. Limits
// under `users` are one count for a user over all models. The first that exists of these applies: its tenant's for its
// name, its tenant's for "*", those for its name if it has no tenant, those for "*". Limits under `tenants` or
// `api_keys` for "*" hold for each one that is not named there. A request with an API key that has a tenant belongs to
// that tenant, and is denied if it names another.
//
// Names of models with a `*` are patterns. An exact name comes before them; of several patterns, the one with most
// other characters comes first. Denials come before both: a request is denied by its own name, by the name as which it
// is counted, and by every pattern that fits either. Limits, prices and classes are for models as they are counted:
// another name there is an error, as is one under `also` that has limits of its own. Other sections of the file belong
// to other readers (ReadQuotaConfig looks at `quota` alone and accepts the names of `other_sections`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "config/yaml_reader.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// Reads into `config`, whose values are the defaults. The file as a whole is refused if anything is wrong. The warnings
// are for the log: a profile has a limit that a model's quota does not state, or money is limited and "*" has no price.
Status ReadQuotaConfig(const std::string& path, QuotaConfig* config,
                       const std::vector<std::string_view>& other_sections = {});  // gives no warnings
// Reads the section itself, for callers that read the whole file.
void ReadQuotaSection(const YamlValue& section, QuotaConfig* config, std::vector<std::string>* warnings = nullptr);

}  // namespace weir
