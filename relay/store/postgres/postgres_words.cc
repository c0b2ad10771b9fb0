#include "relay/store/postgres/postgres_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/text/hex.h"
#include "config/text/parse.h"
#include "relay/search/searched_kinds.h"

namespace weir {
namespace {

constexpr std::array<int, kSpanLevels> kSpanBits{8, 12, 16, 20, 24, 28};
// Later times share the last spans.
constexpr uint64_t kLastTime = (uint64_t{1} << 36) - 1;

std::string Hex(uint64_t number) { return ToHex(Key::Of("").Number(number, 8).view()); }

std::string SpanLexeme(uint64_t seconds, int level) {
  const std::string number = Hex(std::min(seconds, kLastTime) >> kSpanBits[static_cast<size_t>(level)]);
  return "t" + std::to_string(level) + number.substr(std::min(number.find_first_not_of('0'), number.size() - 1));
}

std::string AuthorLexeme(const PublicKey& author) { return "a" + ToHex(author.data(), 8); }

}  // namespace

std::string WordLexeme(uint64_t word) { return Hex(word); }

uint64_t SpanBegin(uint64_t seconds, int level) {
  if (level == kSpanLevels) return 0;
  const int bits = kSpanBits[static_cast<size_t>(level)];
  return std::min(seconds, kLastTime) >> bits << bits;
}

std::string WordsQuery(std::span<const uint64_t> words, std::span<const PublicKey> authors, uint64_t seconds,
                       int level) {
  std::string query;
  for (const uint64_t word : words) query += (query.empty() ? "" : " & ") + WordLexeme(word);
  std::string any;
  for (const PublicKey& author : authors) any += (any.empty() ? "" : " | ") + AuthorLexeme(author);
  if (!any.empty()) query += " & (" + any + ")";
  if (level < kSpanLevels) query += " & " + SpanLexeme(seconds, level);
  return query;
}

std::string RecentQuery(uint64_t word, uint64_t seconds, int level) {
  const uint64_t begin = SpanBegin(seconds, level);
  if (begin == 0) return WordsQuery({&word, 1}, {}, seconds, level);
  return WordLexeme(word) + " & (" + SpanLexeme(seconds, level) + " | " + SpanLexeme(begin - 1, level) + ")";
}

std::string SearchedText(const std::vector<uint16_t>& kinds) {
  return std::to_string(kWordsVersion) + ":" + ToText(kinds);
}

std::optional<SearchedState> ReadSearched(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const Result<int64_t> version = ParseInteger(text.substr(0, colon), {.min = 0, .max = 255});
  Result<std::vector<uint16_t>> kinds = ParseSearchedKinds(text.substr(colon + 1));
  if (!version.ok() || !kinds.ok()) return std::nullopt;
  return SearchedState{version.value(), std::move(kinds).value()};
}

std::string WordsText(const SearchedEvents& searched, EventView event) {
  std::string text = AuthorLexeme(event.pubkey());
  for (int level = 0; level < kSpanLevels; ++level) text += " " + SpanLexeme(event.created_at(), level);
  searched.ForEachWord(event, [&text](uint64_t word, uint8_t density) {
    text += " " + WordLexeme(word) + ":" + std::to_string(density);
  });
  return text;
}

void WordRows::Add(const SearchedEvents& searched, EventView event) {
  if (!searched.Searches(event.kind())) return;
  ids.Add(AsText(event.id()));
  kinds.Add(int64_t{event.kind()});
  times.Add(SqlTime(event.created_at()));
  span.Add(SqlTime(event.created_at()));
  words.Add(WordsText(searched, event));
}

}  // namespace weir
