// Turns answers of the quota API into text for people: models into an aligned table, a decision into a few lines.
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
// open reservations, and the time until the day ends. If `bars` is true, bars show how much is used of the limits
// per minute; the requests of the day have no bar. `columns` is the width of the terminal in characters. If a line is
// longer, the table gets no bars; if a line is still longer, long names of models are cut, but not below 8 characters.
std::string UsageTable(const std::vector<ModelStats>& models, WallTime now, bool bars,
                       size_t columns = std::numeric_limits<size_t>::max());
// Sorts the models: those with usage come before the others. Within both groups, a model comes earlier if it has used a
// larger share of one of its limits. Equal models keep their order.
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
// Returns the message of an error; empty if there is none. Characters that are unsafe for a terminal are replaced.
std::string ErrorMessage(std::string_view json);

// Returns the rows as lines with aligned cells. A column of cells is as wide as its widest cell, and two spaces
// separate columns. If `numbers` is true, all columns except the first are aligned to the right.
std::string Aligned(const std::vector<std::vector<std::string>>& rows, bool numbers);

}  // namespace weir
