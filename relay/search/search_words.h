// SearchWords: the words by which a search finds a text. The words of stored events and those of a search are made in
// the same way, so that both agree. Each word is a 64-bit hash of its folded form.
//
//   text                              words
//   Grüße, World! STRASSE             grusse, world, strasse: no case, no accents, ligatures and wide forms as plain
//   ones 東京都                            東京, 京都, and 東, 京, 都: scripts without spaces give each two neighbours;
//   Chinese
//                                     characters also count alone, because one may be a word. A search leaves them out
//                                     if they have a neighbour.
//   https://example.com/a/b?c         example, com: only the host of a link counts
//   nostr:npub1…, 64 hex digits       none: a name of more than 40 characters, or behind "nostr:", is no word
//   a, 7, !, 🔥                       none: a word has two letters or digits, or is in a script without spaces
//
// Word forms are not reduced: "notes" does not find "note". A change of any of this needs a new kWordsVersion, because
// the index of a database has the words of the version that made it.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weir {

inline constexpr uint8_t kWordsVersion = 1;

// The bounds of one text. What is behind them is not found.
inline constexpr size_t kMostTextBytes = 64 << 10;    // the bytes of a text that are read
inline constexpr size_t kMostTextLetters = 64 << 10;  // the characters of its folded form: some become eighteen others
inline constexpr size_t kMostPlaces = 10'000;         // the words of a text, with repeated ones
inline constexpr size_t kMostWords = 500;             // the different words of a text; the first ones count
inline constexpr size_t kFewestWordLetters = 2;       // the letters of a word in a script with spaces
inline constexpr size_t kMostWordLetters = 40;        // the characters of a word; a longer one does not count

struct WordCount {
  uint64_t word = 0;
  uint32_t times = 0;  // how often the word comes in the text

  bool operator==(const WordCount&) const = default;
};

struct SearchWords {
  std::vector<WordCount> words;  // sorted by word, each once
  uint32_t length = 0;           // the number of words of the text, with repeated ones
};

enum class WordsFor : uint8_t { kIndex, kSearch };

// Returns the words of `text`, which is UTF-8; passes over bytes that are not.
SearchWords WordsOf(std::string_view text, WordsFor use = WordsFor::kIndex);

}  // namespace weir
