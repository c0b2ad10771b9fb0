// The report about a database, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/advise/database_history.h"
#include "bench/advise/option_advice.h"
#include "bench/advise/what_if.h"

namespace weir {

struct DatabaseReport {
  DatabaseHistory history;
  std::vector<OptionAdvice> advice;
  std::vector<OptionAdvice> with_weir;  // changes that weir makes to the family that stalled most
  WhatIf what_if;
};

// Makes the advice and runs the simulation.
DatabaseReport ReportOn(DatabaseHistory history);

// Returns the report as text of several lines.
std::string ReportText(const DatabaseReport& report);
// Returns a JSON object with the list `databases`.
std::string ReportJson(const std::vector<DatabaseReport>& reports);

}  // namespace weir
