#include "relay/operator/html.h"

namespace weir {

std::string HtmlEscaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string FilledHtml(std::string_view page, const HtmlWords& words) {
  std::string out;
  while (!page.empty()) {
    const size_t brace = page.find('{');
    out += page.substr(0, brace);
    if (brace == page.npos) break;
    page.remove_prefix(brace);
    size_t taken = 1;
    for (const auto& [word, text] : words) {
      if (page.substr(1, word.size()) != word || page.substr(word.size() + 1, 1) != "}") continue;
      out += text;
      taken = word.size() + 2;
      break;
    }
    if (taken == 1) out += '{';
    page.remove_prefix(taken);
  }
  return out;
}

}  // namespace weir
