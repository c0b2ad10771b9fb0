// Turns answers of the quota API into text for people: models into an aligned table, a decision into sentences.
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

// Reads the answer of GET /v1/models, or of GET /v1/models/{model} as a page of one model. Returns an error if it is no
// such answer. ReadModelsJson returns only the models.
Result<AllModelStats> ReadModelsPage(std::string_view json);
Result<std::vector<ModelStats>> ReadModelsJson(std::string_view json);

// Returns a table with a head and a line for each model: requests and tokens of the last minute, requests of the day,
// reservations, and when the day ends. If `bars` is true, bars show how much of the limits is used. If the table would
// be wider than `columns`, it has no bars, and if that is not enough, long names are cut to at least 8 columns.
std::string UsageTable(const std::vector<ModelStats>& models, WallTime now, bool bars,
                       size_t columns = std::numeric_limits<size_t>::max());
// Sorts the models: those in use come first, and among these, the one whose fullest limit is used most. Models that are
// equal in this keep their order.
void SortFullestFirst(std::vector<ModelStats>& models);
// Returns a table of the models and their quotas.
std::string QuotaTable(const std::vector<ModelStats>& models);

// Returns an answer of decide, reserve, record or explain in words; nullopt if `json` is no such answer. `yes` is the
// word for a request that is allowed ("reserved").
std::optional<std::string> DecisionWords(std::string_view json, std::string_view yes);
// Returns a good answer of commit, refund or extend in words; nullopt if `json` is no such answer. `done` is the word
// for the call ("committed").
std::optional<std::string> SettledWords(std::string_view json, std::string_view done);
// Returns whether a decision allows its request; nullopt if `json` is no decision.
std::optional<bool> IsAllowed(std::string_view json);
// Returns true if a request is refused only because the store does not answer, so that nothing was decided.
bool StoreIsAway(std::string_view json);
// Returns the message of an error, with unsafe characters replaced for a terminal; empty if `json` has none.
std::string ErrorMessage(std::string_view json);

// Returns the rows as lines with aligned columns. A column is as wide as its widest cell, and two blanks separate
// columns. If `numbers` is true, all columns but the first are aligned to the right.
std::string Aligned(const std::vector<std::vector<std::string>>& rows, bool numbers);

}  // namespace weir
