// The quotas' part of weir.yaml (WEIR_CONFIG):
//
//   quota:
//     providers: [openai, anthropic]        # whose profiles hold; absent: as the program says; []: none
//     unknown_models: allow                 # or refuse
//     when_store_away: refuse               # or allow
//     reservation_ttl: 600                  # seconds
//     shadow: false
//     time_zone: Europe/Berlin              # of calendar days and months; absent: UTC
//     models:
//       gpt-4o: {max_rpm: 500, max_tpm: 30000, max_rpd: 0}   # what is not stated is 0, no limit
//       gpt-4-turbo: {max_rpm: 500, also: ["gpt-4-turbo-2*", gpt-4-1106-preview]}   # counted together, as gpt-4-turbo
//       "o3*": {max_rpm: 100}                 # whatever begins so and is not named: counted together, as "o3*"
//       o1-pro: {deny: true}                  # nobody may; a pattern too: "gpt-3*": {deny: true}
//     prices:                                 # of a million tokens; "*": of all other models; without one: nothing
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
//         acme: {gpt-4o: [{requests: 500, per: 3600}], "*": [{requests: 50, per: 3600}]}   # for each user, a model
//         corp: {"*": [{tokens: 1000000, per: 86400, total: true}], o1: {deny: true}}      # for all users and models
//         labs: {users: {"*": [{tokens: 50000, per: 1d}], bob: [{tokens: 9000, per: 1d}]}} # each user, all models
//         "*": {"*": [{requests: 9, per: 3600, total: true}]}                              # each of the other tenants
//       users:                                # each over all models, of whom no tenant says otherwise
//         "*": [{tokens: 100000, per: day}, {money: 5.00, per: month}, {in_flight: 2}]
//         alice: [{tokens: 900000, per: 1d}]
//       api_keys:
//         sk-abc123: {tenant: acme, gpt-4o: [{requests: 50, per: 3600, total: true}]}      # for all users, on gpt-4o
//         sk-stolen: {deny: true}
//         "*": {"o1*": {deny: true}}                                                       # each of the other keys
//
// A limit is {requests: N or tokens: N or money: N, per: seconds}, or {in_flight: N}: so many calls that are reserved
// and not settled. Money is in whatever the prices are in, down to millionths; `per` may have a unit (90s, 5m, 1h, 7d),
// or be a day or month of the calendar. With `burst: M` it is a bucket: begins full, gets N in every `per`, holds at
// most M. With `total: true`, of a tenant or an API key alone, it is one count for all its users: on the model under
// which it stands, or under "*" on all models together; without, each user has it for each model. Those of `users` are
// one count for a user over all models: its tenant's for its name, its tenant's for "*", those for its name where it
// has no tenant, those for "*", the first that there are. What is under `tenants` or `api_keys` for "*" holds for each
// that is not named there. A request with an API key that has a tenant is of that tenant, and denied where it names
// another.
//
// Names of models with a `*` are patterns: an exact name comes before them, and of several the one with most other
// characters. What is denied comes before both: a request is denied by its own name, by that as which it is counted and
// by every pattern that either fits. Limits, prices and classes are of models as they are counted: another name there
// is an error, as is one under `also` that has limits of its own. Other sections of the file are other rooms'
// (ReadQuotaConfig looks at `quota` alone and lets the names of `other_sections` pass).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "config/yaml_reader.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// Into `config`, whose values are the defaults. The file as a whole is refused where anything is wrong. The warnings
// are for the log: of limits that a profile has, and a model's quota does not state.
Status ReadQuotaConfig(const std::string& path, QuotaConfig* config,
                       const std::vector<std::string_view>& other_sections = {});  // without warnings
// The section itself, for who reads the whole file.
void ReadQuotaSection(const YamlValue& section, QuotaConfig* config, std::vector<std::string>* warnings = nullptr);

}  // namespace weir
