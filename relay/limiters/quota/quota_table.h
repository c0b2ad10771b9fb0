// Answers of the quota API for people: models in an aligned table, a decision in sentences.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "throttle/quota/quota.h"
#include "throttle/quota/quota_limiter.h"

namespace weir {

// Reads the answer of GET /v1/models, or of one model. The error says that it is something else.
Result<AllModelStats> ReadModelsPage(std::string_view json);
Result<std::vector<ModelStats>> ReadModelsJson(std::string_view json);

// Returns a head and a line for each model: requests and tokens of the last minute, requests of the day, reservations,
// and when the day ends. With `bars`, a bar shows how much of a limit is used. If the table is wider than `columns`,
// first the bars go, then the ends of long names.
std::string UsageTable(const std::vector<ModelStats>& models, WallTime now, bool bars,
                       size_t columns = std::numeric_limits<size_t>::max());
// Puts models in use before the others, sorted by the largest share of a limit that is used. The order stays otherwise.
void SortFullestFirst(std::vector<ModelStats>& models);
// Returns a table of each model and its quota.
std::string QuotaTable(const std::vector<ModelStats>& models);

// Returns an answer of decide, reserve, record or explain in words; `yes` is the word for one that is allowed
// ("reserved"). Returns nullopt if it is no such answer.
std::optional<std::string> DecisionWords(std::string_view json, std::string_view yes);
// Returns an answer of commit, refund or extend in words.
std::optional<std::string> SettledWords(std::string_view json, std::string_view done);
// Returns nullopt if the answer does not say it.
std::optional<bool> IsAllowed(std::string_view json);
// True for a refusal because the store is away, which is no decision.
bool StoreIsAway(std::string_view json);
// Returns the message of an error, safe to show on a terminal; empty if there is none.
std::string ErrorMessage(std::string_view json);

// Aligns columns as wide as their widest cell, with two blanks between them; all but the first to the right if
// `numbers`.
std::string Aligned(const std::vector<std::vector<std::string>>& rows, bool numbers);

}  // namespace weir
