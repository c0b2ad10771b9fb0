#include "import/serve/query_string.h"

#include <cstdint>
#include <optional>

#include "config/text/parse.h"
#include "config/text/url.h"
#include "relay/store/moment_text.h"

namespace weir {
namespace {

constexpr size_t kLongestRun = 64;

Status Bad(std::string_view name, std::string_view value, const std::string& why) {
  return Status::Error(std::string(name) + "=" + Printable(value) + ": " + why);
}

Status Unknown(std::string_view name, std::string_view known) {
  return Status::Error("unknown parameter " + Printable(name) + "; this takes " + std::string(known));
}

Status SetTime(const std::string& name, const std::string& value, std::optional<uint64_t>* time) {
  if (time->has_value()) return Bad(name, value, "given twice");
  const Result<uint64_t> seconds = ParseUnsigned(value, {.min = 0, .max = 9e15, .unit = "seconds since 1970"});
  if (!seconds.ok()) return Bad(name, value, seconds.status().message());
  *time = seconds.value();
  return Status();
}

Status SetExport(const std::string& name, const std::string& value, const FilterLimits& limits, ExportPlan* plan) {
  if (name == "since") return SetTime(name, value, &plan->since);
  if (name == "until") return SetTime(name, value, &plan->until);
  if (name == "filter") {
    Result<Filter> filter = ParseFilter(value, limits);
    if (!filter.ok()) return Bad(name, value, filter.status().message());
    plan->filters.push_back(std::move(filter).value());
    return Status();
  }
  if (name == "order") {
    const Result<ExportOrder> order = ParseExportOrder(value);
    if (!order.ok()) return Bad(name, value, order.status().message());
    plan->order = order.value();
    return Status();
  }
  if (name == "since_serial") {
    Result<Moment> after = ParseSerials(value);
    if (!after.ok()) return Bad(name, value, after.status().message());
    plan->after = std::move(after).value();
    return Status();
  }
  return Unknown(name, "filter, since, until, since_serial and order");
}

}  // namespace

Result<ImportQuery> ParseImportQuery(std::string_view query) {
  const auto parameters = ParseQuery(query);
  if (!parameters.ok()) return parameters.status();
  ImportQuery import;
  for (const auto& [name, value] : parameters.value()) {
    if (name == "verify") {
      if (value != "true" && value != "false") return Bad(name, value, "neither true nor false");
      import.verify = value == "true";
    } else if (name == "run") {
      if (value.empty() || value.size() > kLongestRun) return Bad(name, value, "1 to 64 characters name a run");
      import.run = value;
    } else if (name == "part") {
      const Result<uint64_t> part = ParseUnsigned(value, {.min = 0, .max = UINT32_MAX});
      if (!part.ok()) return Bad(name, value, part.status().message());
      import.part = static_cast<uint32_t>(part.value());
    } else {
      return Unknown(name, "verify, run and part");
    }
  }
  if (import.part > 0 && import.run.empty()) return Status::Error("part needs run: give run as well");
  return import;
}

Result<ExportPlan> ParseExportQuery(std::string_view query, const FilterLimits& limits) {
  const auto parameters = ParseQuery(query);
  if (!parameters.ok()) return parameters.status();
  ExportPlan plan;
  for (const auto& [name, value] : parameters.value()) {
    if (const Status status = SetExport(name, value, limits, &plan); !status.ok()) return status;
  }
  if (const Status status = Check(plan); !status.ok()) return status;
  return plan;
}

}  // namespace weir
