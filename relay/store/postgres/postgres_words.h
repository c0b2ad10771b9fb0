// PostgresWords: the words of events as PostgreSQL's full text search keeps them, which are the lexemes of a tsvector,
// with a GIN index. The lexemes are not those of a dictionary of PostgreSQL but the words of relay/search, so that both
// stores find the same events.
//
//   lexeme                 position    of an event
//   0123456789abcdef       density     a word of its content (search_words.h), and its density (search_score.h)
//   a0123456789abcdef      none        the first eight bytes of its author
//   t265d1                 none        the span of time of level 2 in which it was created
//
// The spans are why a search is bounded. A GIN index gives the matches of a word in no order and all of them, however
// many there are. With the lexeme of a span beside the word, the index reads no more than the events of that span. So a
// search goes through spans from the newest on, and takes longer ones as long as they have few matches. A span of level
// 0 has four minutes, one of each further level 16 times as much.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/wire/postgres/postgres_values.h"
#include "relay/nostr/event.h"
#include "relay/store/postgres/postgres_columns.h"
#include "relay/store/search/searched_events.h"

namespace weir {

inline constexpr int kSpanLevels = 6;

// Returns the first second of the span of this level that has the time; 0 at kSpanLevels, which is all time.
uint64_t SpanBegin(uint64_t seconds, int level);
// Returns the text of a tsquery for events that have all of the words, are of one of the authors if there are any, and
// were created in the span of this level that has the time `seconds`.
std::string WordsQuery(std::span<const uint64_t> words, std::span<const PublicKey> authors, uint64_t seconds,
                       int level);
// Returns the same for events with one word, from the span that has the time or from the one before it. So there is at
// least the time of a whole span before `seconds`, also if spans of all levels have just begun.
std::string RecentQuery(uint64_t word, uint64_t seconds, int level);
// Returns the lexeme of a word.
std::string WordLexeme(uint64_t word);

// The kinds that are searched, with the version of the words, as the table weir_searched has them: "1:1,30023".
struct SearchedState {
  int64_t version = 0;
  std::vector<uint16_t> kinds;
};
std::string SearchedText(const std::vector<uint16_t>& kinds);
// Returns nullopt if the text is no such text.
std::optional<SearchedState> ReadSearched(std::string_view text);

// Returns the text of the tsvector of an event whose kind is searched.
std::string WordsText(const SearchedEvents& searched, EventView event);

// Rows of the table weir_words, with an array for each column.
struct WordRows {
  PostgresArray ids{PostgresArray::Type::kBytes};
  PostgresArray kinds{PostgresArray::Type::kInt32};
  PostgresArray times{PostgresArray::Type::kInt64};
  PostgresArray words{PostgresArray::Type::kText};
  TimeSpan span;  // the first and the last of `times`

  // Adds the row of the event, if its kind is searched.
  void Add(const SearchedEvents& searched, EventView event);
  PostgresValues Values() const {
    return PostgresValues().Array(ids).Array(kinds).Array(times).Array(words).Int64(span.first).Int64(span.last);
  }
};

}  // namespace weir
