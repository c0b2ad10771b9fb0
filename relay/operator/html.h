// Makes HTML pages from templates.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// Returns the text with HTML escapes, for use as text or as the value of a quoted attribute.
std::string HtmlEscaped(std::string_view text);

// Words of a page, each with the HTML that takes its place.
using HtmlWords = std::vector<std::pair<std::string_view, std::string>>;
// Returns the page with each {word} replaced by its HTML, which the caller has escaped. Other text in braces stays.
std::string FilledHtml(std::string_view page, const HtmlWords& words);

}  // namespace weir
