// Describes rules in words, for operators and clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relay/rules/rules.h"

namespace weir {

// Returns a line for each rule, "NAME: what it does"; none if there are no rules.
std::vector<std::string> DescribeRules(const RuleSet& set);
// Returns "at most 30 events of one author a minute, kinds 1, 7".
std::string RateInWords(const RateRule& rule);
// Returns a number of seconds as InWords (config/text/in_words.h) writes it.
std::string InWordsOf(uint64_t seconds);

}  // namespace weir
