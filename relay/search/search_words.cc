#include "relay/search/search_words.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace weir {
namespace {

using Letter = utf8proc_int32_t;
using Letters = std::span<const Letter>;

constexpr Letter kSpace = ' ';

// Accents and the points of Hebrew and Arabic have these combining classes. Other marks, such as the vowels of Indian
// and of Thai script, belong to their letters.
constexpr int kLeastPoint = 10;
constexpr int kLastPoint = 36;
constexpr int kLeastAccent = 200;

// The blocks of scripts that are written without spaces between words, in the order of their numbers, and of Korean,
// which appends its particles to its words.
struct Block {
  Letter first;
  Letter last;
  bool is_chinese;
};
constexpr std::array kUnspaced{
    Block{0x0e00, 0x0eff, false},   // Thai, Lao
    Block{0x0f00, 0x0fff, false},   // Tibetan
    Block{0x1000, 0x109f, false},   // Myanmar
    Block{0x1100, 0x11ff, false},   // Korean letters that are not composed
    Block{0x1780, 0x17ff, false},   // Khmer
    Block{0x2e80, 0x2fdf, true},    // radicals
    Block{0x3005, 0x3007, true},    // iteration mark, zero
    Block{0x3041, 0x30ff, false},   // Hiragana, Katakana
    Block{0x3100, 0x31bf, false},   // Bopomofo
    Block{0x31f0, 0x31ff, false},   // small Katakana
    Block{0x3400, 0x4dbf, true},    // Chinese, extension A
    Block{0x4e00, 0x9fff, true},    // Chinese
    Block{0xac00, 0xd7a3, false},   // Korean syllables
    Block{0xf900, 0xfaff, true},    // compatible forms
    Block{0x20000, 0x3ffff, true},  // further extensions
};

const Block* UnspacedBlock(Letter letter) {
  if (letter < kUnspaced.front().first) return nullptr;
  const auto block =
      std::find_if(kUnspaced.begin(), kUnspaced.end(), [letter](const Block& b) { return letter <= b.last; });
  return block != kUnspaced.end() && letter >= block->first ? &*block : nullptr;
}

bool IsMark(Letter letter) {
  if (letter < 0x300) return false;
  const utf8proc_category_t category = utf8proc_category(letter);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC;
}

bool IsWordLetter(Letter letter) {
  if (letter < 0x80) return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
  const utf8proc_category_t category = utf8proc_category(letter);
  const bool is_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
  const bool is_number = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
  return is_letter || is_number || IsMark(letter);
}

bool IsAccent(Letter letter) {
  if (letter < 0x300) return false;
  const int combining = utf8proc_get_property(letter)->combining_class;
  return (combining >= kLeastPoint && combining <= kLastPoint) || combining >= kLeastAccent;
}

// Returns the letters of the text in their folded form: lower case, compatible forms as plain ones, no accents,
// composed.
std::vector<Letter> Fold(std::string_view text) {
  constexpr auto kOptions = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD |
                                                           UTF8PROC_IGNORE | UTF8PROC_STABLE);
  std::vector<Letter> letters;
  letters.reserve(text.size());
  bool is_ascii = true;
  std::array<Letter, 32> folded{};  // the longest decomposition has 18 letters
  for (size_t at = 0; at < text.size() && letters.size() < kMostTextLetters;) {
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte < 0x80) {
      letters.push_back(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
      ++at;
      continue;
    }
    Letter letter = 0;
    const utf8proc_ssize_t size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                                   static_cast<utf8proc_ssize_t>(text.size() - at), &letter);
    if (size <= 0) {
      letters.push_back(kSpace);
      ++at;
      continue;
    }
    at += static_cast<size_t>(size);
    is_ascii = false;
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(letter, folded.data(), folded.size(), kOptions, &boundary);
    for (utf8proc_ssize_t i = 0; i < std::min<utf8proc_ssize_t>(count, folded.size()); ++i)
      if (!IsAccent(folded[static_cast<size_t>(i)])) letters.push_back(folded[static_cast<size_t>(i)]);
  }
  if (is_ascii) return letters;
  const utf8proc_ssize_t size =
      utf8proc_normalize_utf32(letters.data(), static_cast<utf8proc_ssize_t>(letters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  if (size >= 0) letters.resize(static_cast<size_t>(size));
  return letters;
}

// FNV-1a over the letters, with a final mix, because all bits of a word have to differ. An author who makes two words
// of one hash wins nothing: the other word could as well stand in the text.
uint64_t HashOf(Letters letters) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const Letter letter : letters) hash = (hash ^ static_cast<uint64_t>(letter)) * 0x100000001b3;
  hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

class Splitter {
 public:
  Splitter(Letters letters, WordsFor use) : letters_(letters), use_(use) {}

  std::vector<uint64_t> Words() && {
    while (at_ < letters_.size() && !is_full()) Step(letters_.size());
    words_.resize(std::min(words_.size(), kMostPlaces));
    return std::move(words_);
  }

 private:
  // Takes the word at at_, or passes over a letter that is in no word.
  void Step(size_t end) {
    const Letter letter = letters_[at_];
    if (UnspacedBlock(letter) != nullptr && IsWordLetter(letter)) {
      TakeUnspaced(end);
    } else if (IsWordLetter(letter)) {
      TakeWord(end);
    } else {
      ++at_;
    }
  }

  void TakeWord(size_t end) {
    const size_t begin = at_;
    size_t count = 0;
    for (; at_ < end && IsWordLetter(letters_[at_]) && UnspacedBlock(letters_[at_]) == nullptr; ++at_)
      if (!IsMark(letters_[at_])) ++count;
    const Letters word = letters_.subspan(begin, at_ - begin);
    if (Follows("://") && (Is(word, "http") || Is(word, "https") || Is(word, "ws") || Is(word, "wss")))
      return TakeLink(end);
    if (Follows(":") && Is(word, "nostr") && at_ + 1 < end && IsWordLetter(letters_[at_ + 1])) return SkipName(end);
    if (count >= kFewestWordLetters && word.size() <= kMostWordLetters) words_.push_back(HashOf(word));
  }

  // Takes the words of a link's host, and passes over the rest.
  void TakeLink(size_t end) {
    at_ += 3;
    size_t host_end = at_;
    while (host_end < end && !IsBlank(letters_[host_end]) && !IsOneOf(letters_[host_end], "/?#")) ++host_end;
    while (at_ < host_end) Step(host_end);
    while (at_ < end && !IsBlank(letters_[at_])) ++at_;
  }

  void SkipName(size_t end) {
    ++at_;
    while (at_ < end && IsWordLetter(letters_[at_])) ++at_;
  }

  // Takes a run of a script without spaces. A unit is a letter with its marks.
  void TakeUnspaced(size_t end) {
    size_t before = SIZE_MAX;  // the begin of the unit before
    const size_t first = at_;
    while (at_ < end && !is_full()) {
      const size_t begin = at_;
      const Block* const block = UnspacedBlock(letters_[begin]);
      if (block == nullptr || !IsWordLetter(letters_[begin])) break;
      for (++at_; at_ < end && IsMark(letters_[at_]);) ++at_;
      if (before != SIZE_MAX) words_.push_back(HashOf(letters_.subspan(before, at_ - before)));
      if (block->is_chinese && use_ == WordsFor::kIndex) words_.push_back(HashOf(letters_.subspan(begin, at_ - begin)));
      if (before == SIZE_MAX) first_end_ = at_;
      before = begin;
    }
    const bool is_alone = before == first;
    const bool is_taken = use_ == WordsFor::kIndex && UnspacedBlock(letters_[first])->is_chinese;
    if (is_alone && !is_taken) words_.push_back(HashOf(letters_.subspan(first, first_end_ - first)));
  }

  bool is_full() const { return words_.size() >= kMostPlaces; }
  bool Follows(std::string_view text) const {
    return letters_.size() - at_ >= text.size() && Is(letters_.subspan(at_, text.size()), text);
  }
  static bool Is(Letters letters, std::string_view text) {
    return std::equal(letters.begin(), letters.end(), text.begin(), text.end(),
                      [](Letter letter, char c) { return letter == c; });
  }
  static bool IsBlank(Letter letter) { return letter <= kSpace || utf8proc_category(letter) == UTF8PROC_CATEGORY_ZS; }
  static bool IsOneOf(Letter letter, std::string_view set) {
    return letter < 0x80 && set.find(static_cast<char>(letter)) != std::string_view::npos;
  }

  const Letters letters_;
  const WordsFor use_;
  size_t at_ = 0;
  size_t first_end_ = 0;
  std::vector<uint64_t> words_;  // in the order of the text
};

// Cuts the text between two characters.
std::string_view Bounded(std::string_view text) {
  if (text.size() <= kMostTextBytes) return text;
  size_t size = kMostTextBytes;
  while (size > 0 && (static_cast<uint8_t>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

SearchWords WordsOf(std::string_view text, WordsFor use) {
  const std::vector<Letter> letters = Fold(Bounded(text));
  const std::vector<uint64_t> words = Splitter(letters, use).Words();
  std::vector<std::pair<uint64_t, uint32_t>> places(words.size());
  for (uint32_t i = 0; i < words.size(); ++i) places[i] = {words[i], i};
  std::sort(places.begin(), places.end());
  SearchWords found;
  found.length = static_cast<uint32_t>(words.size());
  std::vector<uint32_t> firsts;  // the first place of each word
  for (const auto& [word, place] : places) {
    if (found.words.empty() || found.words.back().word != word) {
      found.words.push_back({word, 0});
      firsts.push_back(place);
    }
    ++found.words.back().times;
  }
  if (found.words.size() <= kMostWords) return found;
  std::vector<uint32_t> sorted = firsts;
  std::nth_element(sorted.begin(), sorted.begin() + kMostWords, sorted.end());
  const uint32_t bound = sorted[kMostWords];
  size_t kept = 0;
  for (size_t i = 0; i < found.words.size(); ++i)
    if (firsts[i] < bound) found.words[kept++] = found.words[i];
  found.words.resize(kept);
  return found;
}

}  // namespace weir
