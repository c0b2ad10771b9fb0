#include "tests/store/random_nostr.h"

#include <algorithm>
#include <set>

namespace weir {
namespace {

constexpr uint64_t kAuthors = 5;

const std::vector<uint16_t>& Kinds() {
  static const std::vector<uint16_t> kKinds = {1,     1,     1,     7, 0,    3,    10002, 10002,
                                               30023, 30023, 30000, 4, 1059, 9999, 65535};
  return kKinds;
}

// "" and values that share a beginning are where keys made of values go wrong.
const std::vector<std::string>& Words() {
  static const std::vector<std::string> kWords = {
      "", "a", "ab", "b", "a\nb", "\"quoted\"", "für", std::string(300, 'a'), std::string(301, 'a'), "wss://x/"};
  return kWords;
}

// Some keys begin as others do: indexes may keep only the beginning.
std::string AuthorOf(uint64_t number) {
  if (number == 1) return Author(0).substr(0, 8) + Author(1).substr(8);
  if (number == 3) return Author(2).substr(0, 16) + Author(3).substr(16);
  return Author(number);
}

template <typename T>
void SortUnique(std::vector<T>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

RandomNostr::RandomNostr(uint64_t seed, size_t events) : random_(seed) {
  const size_t ordinary = events * 8 / 10;
  while (events_.size() < ordinary) events_.push_back(Ordinary());
  while (events_.size() < events) events_.push_back(OneIn(10) ? Vanish() : Deletion());
  std::ranges::shuffle(events_, random_);
}

const PlainEvent& RandomNostr::Around(double progress) {
  const size_t window = events_.size() / 5;
  const auto begin = static_cast<size_t>(progress * static_cast<double>(events_.size() - window));
  return events_[begin + Below(window)];
}

uint64_t RandomNostr::Second() {
  if (OneIn(60)) return 0;
  if (OneIn(60)) return (uint64_t{1} << 32) + Below(2);
  return kStart - 8 + Below(16);
}

std::string RandomNostr::AnyAuthor() { return AuthorOf(Below(kAuthors)); }

std::string RandomNostr::AnyAddress() {
  static const std::vector<uint16_t> kAddressed = {0, 10002, 30023, 30000, 1};
  const uint16_t kind = Pick(kAddressed);
  return std::to_string(kind) + ":" + AnyAuthor() + ":" + (kind >= 30000 ? Pick(Words()) : "");
}

std::string RandomNostr::AnyTagValue(char letter) {
  if (letter == 'p') return AnyAuthor();
  if (letter == 'e') return events_.empty() || OneIn(10) ? Author(100 + Below(3)) : Pick(events_).id;
  if (letter == 'a') return AnyAddress();
  return Pick(Words());
}

Tag RandomNostr::AnyTag() {
  static const std::vector<std::string> kNames = {"e", "p", "p", "t", "t", "T", "a", "r", "alt", "relay"};
  const std::string name = Pick(kNames);
  if (OneIn(20)) return {name};
  Tag tag = {name, AnyTagValue(name[0])};
  if (OneIn(5)) tag.push_back("more");
  return tag;
}

PlainEvent RandomNostr::Ordinary() {
  const uint16_t kind = Pick(Kinds());
  std::vector<Tag> tags;
  if (kind >= 30000 && kind < 40000 && !OneIn(8)) tags.push_back({"d", Pick(Words())});
  if (kind >= 30000 && kind < 40000 && OneIn(8)) tags.push_back({"d", Pick(Words())});  // a second one
  for (uint64_t n = Below(4); n > 0; --n) tags.push_back(AnyTag());
  if (OneIn(8)) tags.push_back({"expiration", std::to_string(kStart - 5 + Below(200))});
  if (kind == 1059) tags.push_back({"p", AnyAuthor()});
  return Plain(AnyAuthor(), Second(), kind, std::move(tags), std::to_string(random_()));
}

PlainEvent RandomNostr::Deletion() {
  std::string author = AnyAuthor();
  std::vector<Tag> tags;
  for (uint64_t n = 1 + Below(3); n > 0; --n) {
    const PlainEvent& target = Pick(events_);
    if (!OneIn(5)) author = target.pubkey;
    tags.push_back({"e", target.id});
    if (OneIn(2)) {
      const std::string* d = target.FirstTag("d");
      tags.push_back({"a", std::to_string(target.kind) + ":" + target.pubkey + ":" + (d != nullptr ? *d : "")});
    }
  }
  return Plain(author, Second(), 5, std::move(tags), std::to_string(random_()));
}

PlainEvent RandomNostr::Vanish() {
  static const std::vector<std::string> kRelays = {"ALL_RELAYS", kOwnUrl, "wss://elsewhere.example"};
  std::vector<Tag> tags = {{"relay", Pick(kRelays)}};
  if (OneIn(3)) tags.push_back({"relay", Pick(kRelays)});
  // Mostly early ones: a late one leaves little of an author.
  return Plain(AnyAuthor(), kStart - 8 + Below(OneIn(5) ? 16 : 5), 62, std::move(tags), std::to_string(random_()));
}

void RandomNostr::NarrowTime(Filter& filter) {
  const uint64_t a = OneIn(3) ? Second() : Pick(events_).created_at;
  const uint64_t b = OneIn(2) ? a : Pick(events_).created_at;
  if (!OneIn(3)) filter.since = OneIn(10) ? a : std::min(a, b);
  if (!OneIn(3)) filter.until = OneIn(10) ? b : std::max(a, b);
}

TagCondition RandomNostr::AnyCondition(char letter) {
  TagCondition condition{letter, {}};
  for (uint64_t n = OneIn(30) ? 0 : 1 + Below(3); n > 0; --n) condition.values.push_back(AnyTagValue(letter));
  SortUnique(condition.values);
  return condition;
}

Filter RandomNostr::AnyFilter() {
  Filter filter;
  if (OneIn(8)) {
    filter.ids.emplace();
    for (uint64_t n = Below(30); n > 0; --n) filter.ids->push_back(ToBytes(Pick(events_).id));
    if (OneIn(4)) filter.ids->push_back(ToBytes(Author(100 + Below(3))));
    SortUnique(*filter.ids);
  }
  if (OneIn(3)) {
    filter.authors.emplace();
    for (uint64_t n = OneIn(30) ? 0 : 1 + Below(3); n > 0; --n)
      filter.authors->push_back(ToBytes(AuthorOf(Below(kAuthors + 1))));
    SortUnique(*filter.authors);
  }
  if (OneIn(3)) {
    filter.kinds.emplace();
    for (uint64_t n = OneIn(30) ? 0 : 1 + Below(4); n > 0; --n) filter.kinds->push_back(OneIn(6) ? 5 : Pick(Kinds()));
    SortUnique(*filter.kinds);
  }
  if (OneIn(2)) {
    std::set<char> letters;
    for (uint64_t n = 1 + Below(2); n > 0; --n)
      letters.insert(Pick(std::vector<char>{'e', 'p', 't', 'T', 'a', 'd', 'r', 'x'}));
    for (const char letter : letters) filter.tags.push_back(AnyCondition(letter));
  }
  if (OneIn(2)) NarrowTime(filter);
  if (OneIn(2)) filter.limit = OneIn(3) ? Below(3) : Below(60);
  return filter;
}

std::vector<Filter> RandomNostr::Filters() {
  std::vector<Filter> filters;
  for (uint64_t n = OneIn(2) ? 1 : 1 + Below(4); n > 0; --n) filters.push_back(AnyFilter());
  if (filters.size() > 1 && OneIn(10)) filters.back() = filters.front();
  return filters;
}

}  // namespace weir
