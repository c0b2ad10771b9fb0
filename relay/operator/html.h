// Pages from templates.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// As text or as the value of an attribute.
std::string HtmlEscaped(std::string_view text);

// {words} of the page become HTML. What else stands in braces stays.
using HtmlWords = std::vector<std::pair<std::string_view, std::string>>;
std::string FilledHtml(std::string_view page, const HtmlWords& words);

}  // namespace weir
