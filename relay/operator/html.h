// Makes HTML pages from templates.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// Returns the text with HTML escapes, for use as text or as the value of a quoted attribute.
std::string HtmlEscaped(std::string_view text);

// FilledHtml returns the page with each {word} replaced by the HTML of the word, which it does not escape. Other text
// in braces stays.
using HtmlWords = std::vector<std::pair<std::string_view, std::string>>;
std::string FilledHtml(std::string_view page, const HtmlWords& words);

}  // namespace weir
