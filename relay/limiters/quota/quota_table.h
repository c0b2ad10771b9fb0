// Turns answers of the quota API into text for people: models into an aligned table, a decision into sentences.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "throttle/limits/quota/quota.h"
#include "throttle/limits/quota/quota_limiter.h"

namespace weir {

// Reads an answer of GET /v1/models, or an answer of GET /v1/models/{model} as a page of one model. Returns an error if
// `json` is neither. ReadModelsJson returns only the models.
Result<AllModelStats> ReadModelsPage(std::string_view json);
Result<std::vector<ModelStats>> ReadModelsJson(std::string_view json);

// Returns a table with a head and a line for each model: requests and tokens of the last minute, requests of the day,
// open reservations, and when the day ends. If `bars` is true, bars show how much of the limits is used. If the table
// is wider than `columns`, it gets no bars; if it is still too wide, long names are cut, but not below 8 columns.
std::string UsageTable(const std::vector<ModelStats>& models, WallTime now, bool bars,
                       size_t columns = std::numeric_limits<size_t>::max());
// Sorts the models: those in use come before the others, and a model comes earlier if a larger share of its most used
// limit is used. Equal models keep their order.
void SortFullestFirst(std::vector<ModelStats>& models);
// Returns a table of the models and their quotas.
std::string QuotaTable(const std::vector<ModelStats>& models);

// Returns the text for an answer of decide, reserve, record or explain; nullopt if `json` is not such an answer. `yes`
// is the word for a request that is allowed, for example "reserved".
std::optional<std::string> DecisionWords(std::string_view json, std::string_view yes);
// Returns the text for a successful answer of commit, refund or extend; nullopt if `json` is not such an answer. `done`
// is the word for the call, for example "committed".
std::optional<std::string> SettledWords(std::string_view json, std::string_view done);
// Returns true if the decision allows its request; nullopt if `json` is not a decision.
std::optional<bool> IsAllowed(std::string_view json);
// Returns true if the decision refuses its request only because the store does not answer.
bool StoreIsAway(std::string_view json);
// Returns the message of an error, in which characters that are unsafe for a terminal are replaced; empty if there is
// none.
std::string ErrorMessage(std::string_view json);

// Returns the rows as lines with aligned columns. A column is as wide as its widest cell, and two spaces separate
// columns. If `numbers` is true, all columns except the first are aligned to the right.
std::string Aligned(const std::vector<std::vector<std::string>>& rows, bool numbers);

}  // namespace weir
