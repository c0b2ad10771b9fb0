// Makes HTML pages from templates.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// Escapes a text, to be used as text or as the value of an attribute.
std::string HtmlEscaped(std::string_view text);

// FilledHtml replaces each {word} of the page with its HTML. Other text in braces stays.
using HtmlWords = std::vector<std::pair<std::string_view, std::string>>;
std::string FilledHtml(std::string_view page, const HtmlWords& words);

}  // namespace weir
