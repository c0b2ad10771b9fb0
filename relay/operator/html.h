// Makes HTML pages from templates.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// Returns the text escaped for HTML, for use as text or as the value of a quoted attribute.
std::string HtmlEscaped(std::string_view text);

// The placeholders of a template, without their braces, each with the HTML that replaces it.
using HtmlWords = std::vector<std::pair<std::string_view, std::string>>;
// Returns the template `page` with each placeholder {word} replaced by its HTML. The caller must have escaped all texts
// in this HTML. Other text in braces stays.
std::string FilledHtml(std::string_view page, const HtmlWords& words);

}  // namespace weir
