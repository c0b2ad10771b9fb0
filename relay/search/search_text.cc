#include "relay/search/search_text.h"

#include <algorithm>
#include <string>

namespace weir {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsOfKey(char c) { return IsLetter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; }

// Returns true for `key:value`; a link is no such pair.
bool IsExtension(std::string_view part) {
  const size_t colon = part.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == part.size()) return false;
  const std::string_view key = part.substr(0, colon);
  return IsLetter(key[0]) && std::all_of(key.begin(), key.end(), IsOfKey) && part.substr(colon + 1, 2) != "//";
}

std::string WithoutExtensions(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::string words;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(kBlanks), text.size());
    if (!IsExtension(text.substr(0, end))) words.append(text.substr(0, end)).push_back(' ');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

Result<std::vector<uint64_t>> ParseSearch(std::string_view text) {
  if (text.size() > kMostSearchBytes) {
    return Status::Error("the text of a search must have at most " + std::to_string(kMostSearchBytes) + " bytes, not " +
                         std::to_string(text.size()));
  }
  std::vector<uint64_t> words;
  for (const WordCount& each : WordsOf(WithoutExtensions(text), WordsFor::kSearch).words) words.push_back(each.word);
  if (words.empty())
    return Status::Error("a search needs at least one word of " + std::to_string(kFewestWordLetters) + " to " +
                         std::to_string(kMostWordLetters) + " letters");
  if (words.size() > kMostSearchWords)
    return Status::Error("a search must have at most " + std::to_string(kMostSearchWords) + " words, not more");
  return words;
}

}  // namespace weir
