// What the quota API says, as people read it: models in an aligned table, a decision in sentences.
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

// Of GET /v1/models, or of one model. The error says that it is something else.
Result<AllModelStats> ReadModelsPage(std::string_view json);
Result<std::vector<ModelStats>> ReadModelsJson(std::string_view json);

// A head and one line each: requests and tokens of the last minute, requests of the day, reservations, and when the day
// ends. With bars how much of a limit is used, where there is one. Where it is wider than there is room, first the bars
// go, then the ends of long names.
std::string UsageTable(const std::vector<ModelStats>& models, WallTime now, bool bars,
                       size_t columns = std::numeric_limits<size_t>::max());
// What is in use before the others, of it what has most of a limit used first; else as they were.
void SortFullestFirst(std::vector<ModelStats>& models);
// Model, and what it may use.
std::string QuotaTable(const std::vector<ModelStats>& models);

// An answer of decide, reserve, record or explain; `yes` is the word for one that is allowed ("reserved"). Nothing
// where it is none.
std::optional<std::string> DecisionWords(std::string_view json, std::string_view yes);
// An answer of commit or refund.
std::optional<std::string> SettledWords(std::string_view json, std::string_view done);
// Nothing where the answer does not say it.
std::optional<bool> IsAllowed(std::string_view json);
// A decision that is none: refused because the store is away.
bool StoreIsAway(std::string_view json);
// The message of an error, as a terminal can be shown it; empty where there is none.
std::string ErrorMessage(std::string_view json);

// Columns as wide as their widest cell, two blanks between them; all but the first to the right where `numbers`.
std::string Aligned(const std::vector<std::vector<std::string>>& rows, bool numbers);

}  // namespace weir
