// Text, and a search in the line before it: the words keep their bounds, the folded text gives the same words, and a
// search for a part of the text finds it.
#include <algorithm>

#include "relay/search/search_text.h"
#include "relay/search/search_words.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

void CheckWords(std::string_view text) {
  for (const WordsFor use : {WordsFor::kIndex, WordsFor::kSearch}) {
    const SearchWords found = WordsOf(text, use);
    Must(found.words.size() <= kMostWords, "few words");
    uint64_t times = 0;
    for (const WordCount& each : found.words) times += each.times;
    Must(times <= found.length && found.length <= kMostPlaces, "counts");
    Must(std::is_sorted(found.words.begin(), found.words.end(),
                        [](const WordCount& a, const WordCount& b) { return a.word < b.word; }),
         "order");
    Must(WordsOf(text, use).words == found.words, "the same again");
  }
}

// Words of a search that is the whole text are all in the text.
void CheckFound(std::string_view text) {
  const SearchWords all = WordsOf(text);
  if (all.words.size() == kMostWords || all.length == kMostPlaces) return;
  const auto by_word = [](const WordCount& a, const WordCount& b) { return a.word < b.word; };
  const SearchWords wanted = WordsOf(text, WordsFor::kSearch);
  Must(std::includes(all.words.begin(), all.words.end(), wanted.words.begin(), wanted.words.end(), by_word), "found");
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = weir::Text(data, size);
  const std::string_view search = text.substr(0, text.find('\n'));
  if (const auto words = weir::ParseSearch(search); words.ok()) {
    weir::Must(!words.value().empty() && words.value().size() <= weir::kMostSearchWords, "words of a search");
    weir::Must(std::is_sorted(words.value().begin(), words.value().end()), "order of a search");
  }
  weir::CheckWords(text);
  weir::CheckFound(text);
  return 0;
}
