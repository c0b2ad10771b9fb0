#include "bench/relay/event_maker.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "bench/relay/replies.h"
#include "relay/nostr/event.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr size_t kAuthors = 1000;
constexpr uint64_t kSecondsOfADay = 86'400;
constexpr uint64_t kDays = 30;
constexpr size_t kRecent = 2000;  // events that reactions and replies refer to

constexpr std::string_view kWords =
    "relay the a of river and to note is in it we freedom morning coffee signal you not this that with "
    "for block zap sats nostr client key people have just like open \"yes\" müde привет 日本語 🌊 🤙 "
    "good "
    "now "
    "what think about line\n network water gate level build never always https://example.com/a/b?c=1";
constexpr std::string_view kTopics[] = {"nostr", "bitcoin", "art",   "music", "coffee",
                                        "dev",   "weather", "river", "plebs", "grownostr"};
constexpr std::string_view kReactions[] = {"+", "🤙", "❤️", "🔥", "-"};

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1))
    words.push_back(text.substr(0, end = text.find(' ')));
  return words;
}

uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

struct Draft {
  uint16_t kind = 1;
  std::vector<std::vector<std::string>> tags;
  std::string content;
  std::optional<size_t> author;  // nullopt: chosen at random
};

// Strings that stand in tags need no escape.
std::string TagsJson(const std::vector<std::vector<std::string>>& tags) {
  std::string json = "[";
  for (const auto& tag : tags) {
    json += json.size() > 1 ? ",[" : "[";
    for (size_t i = 0; i < tag.size(); ++i) json += (i > 0 ? ",\"" : "\"") + tag[i] + "\"";
    json += "]";
  }
  return json + "]";
}

class Maker {
 public:
  explicit Maker(const EventRecipe& recipe)
      : recipe_(recipe), random_(HashOf(recipe.purpose) ^ (recipe.seed * 0x9e3779b97f4a7c15)) {
    const size_t own = recipe.one_author ? 1 : recipe.own_authors;
    const size_t authors = own > 0 ? own : kAuthors;
    const uint64_t first = own > 0 ? HashOf(recipe.purpose) + recipe.seed : 1'000'000;
    for (size_t i = 0; i < authors; ++i) authors_.emplace_back(first + i);
  }

  std::string Next() {
    const Draft draft = recipe_.one_author        ? Remark()
                        : recipe_.own_authors > 0 ? NoteInTurn()
                        : recipe_.lived_in        ? AnyOdd()
                                                  : Any();
    const uint64_t end = recipe_.day * kSecondsOfADay, span = kDays * kSecondsOfADay;
    const uint64_t passed = span * made_ / recipe_.count;
    const uint64_t created_at = end - span + passed - std::min(passed, recipe_.lived_in ? Lateness() : 0);
    const size_t author = draft.author ? *draft.author : recipe_.one_author ? 0 : Somebody();
    std::string json = authors_[author].SignedEvent(created_at, draft.kind, TagsJson(draft.tags), draft.content);
    Remember({std::string(IdOfEvent(json)), author});
    return json;
  }

 private:
  struct Written {
    std::string id;
    size_t author;
  };

  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }
  bool Chance(size_t percent) { return Below(100) < percent; }
  // Chooses an author. A few write most: the square of a uniform share.
  size_t Somebody() {
    const double share = static_cast<double>(random_() >> 11) * 0x1p-53;
    return static_cast<size_t>(share * share * static_cast<double>(authors_.size()));
  }
  std::string KeyOf(size_t author) const { return ToHex(authors_[author].pubkey()); }

  std::string Words(size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
      if (!text.empty()) text += ' ';
      text += words_[Below(words_.size())];
    }
    return text;
  }

  // Returns random letters, which compress badly.
  std::string Noise(size_t bytes) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text(bytes, ' ');
    uint64_t bits = 0;
    for (size_t i = 0; i < bytes; ++i) {
      bits = i % 10 == 0 ? random_() : bits >> 6;
      text[i] = kLetters[bits & 63];
    }
    return text;
  }

  Draft Any() {
    if (recipe_.content_bytes > 0) return {.content = Noise(recipe_.content_bytes)};
    const size_t share = Below(100);
    if (share < 57) return Note();
    if (share < 79) return Reaction(7, std::string(kReactions[Below(std::size(kReactions))]));
    if (share < 86) return Reaction(6, "");
    if (share < 90) return Zap();
    if (share < 94) return Profile();
    if (share < 97) return RelayList();
    if (share < 99) return FollowList();
    return Article();
  }

  // Makes an event of the mix or, seldom, a large one or a deletion: relays receive such events, but archives lack
  // them.
  Draft AnyOdd() {
    if (Chance(1)) return {.content = Noise(1000 + Below(30'000))};
    if (recent_.empty() || !Chance(3)) return Any();
    const Written& regretted = recent_[Below(recent_.size())];
    return {.kind = 5, .tags = {{"e", regretted.id}}, .content = "", .author = regretted.author};
  }
  // Returns the seconds by which an event is late: less than a minute for most, up to a day for some, and up to the age
  // of the oldest event for a few.
  uint64_t Lateness() {
    const size_t share = Below(100);
    return Below(share < 80 ? 60 : share < 95 ? kSecondsOfADay : kDays * kSecondsOfADay);
  }

  Draft NoteInTurn() { return {.content = Words(recipe_.content_bytes), .author = turn_++ % authors_.size()}; }
  Draft Remark() { return {.content = Words(320)}; }

  Draft Note() {
    Draft draft{.content = Words(Chance(10) ? 300 + Below(900) : 20 + Below(260))};
    if (!recent_.empty() && Chance(55)) {
      draft.tags.push_back({"e", SomeRecent(), "wss://relay.example.com", "root"});
      if (Chance(40)) draft.tags.push_back({"e", SomeRecent(), "", "reply"});
      for (size_t people = 1 + Below(2); people > 0; --people) draft.tags.push_back({"p", KeyOf(Somebody())});
    }
    if (Chance(20))
      for (size_t topics = 1 + Below(3), first = Below(std::size(kTopics)); topics > 0; --topics)
        draft.tags.push_back({"t", std::string(kTopics[(first + topics) % std::size(kTopics)])});
    return draft;
  }

  Draft Reaction(uint16_t kind, std::string content) {
    Draft draft{.kind = kind, .content = std::move(content)};
    if (recent_.empty()) return Note();
    draft.tags = {{"e", SomeRecent()}, {"p", KeyOf(Somebody())}};
    if (kind == 7) draft.tags.push_back({"k", "1"});
    return draft;
  }

  Draft Zap() {
    Draft draft{.kind = 9735};
    draft.tags = {{"p", KeyOf(Somebody())}, {"P", KeyOf(Somebody())}, {"bolt11", Invoice()}};
    if (!recent_.empty()) draft.tags.push_back({"e", SomeRecent()});
    return draft;
  }

  std::string Invoice() {
    constexpr std::string_view kLetters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    std::string text = "lnbc210n1";
    while (text.size() < 280) text += kLetters[Below(kLetters.size())];
    return text;
  }

  Draft Profile() {
    return {.kind = 0,
            .content = R"({"name":"user)" + std::to_string(Below(100'000)) +
                       R"(","about":"coffee and rivers","picture":"https://example.com/)" +
                       std::to_string(Below(1'000'000)) +
                       R"(.png","nip05":"me@example.com","lud16":"me@example.com"})"};
  }

  Draft RelayList() {
    Draft draft{.kind = 10002};
    for (size_t relays = 2 + Below(4); relays > 0; --relays)
      draft.tags.push_back({"r", "wss://relay" + std::to_string(Below(500)) + ".example.com"});
    return draft;
  }

  Draft FollowList() {
    Draft draft{.kind = 3};
    for (size_t people = 10 + Below(20); people > 0; --people) draft.tags.push_back({"p", KeyOf(Somebody())});
    return draft;
  }

  Draft Article() {
    Draft draft{.kind = 30023, .content = Words(2000 + Below(2000))};
    draft.tags = {{"d", "article-" + std::to_string(Below(50))}, {"title", "On rivers"}, {"t", "river"}};
    return draft;
  }

  const std::string& SomeRecent() { return recent_[Below(recent_.size())].id; }

  void Remember(Written written) {
    if (recent_.size() < kRecent) {
      recent_.push_back(std::move(written));
    } else {
      recent_[made_ % kRecent] = std::move(written);
    }
    ++made_;
  }

  const EventRecipe& recipe_;
  const std::vector<std::string_view> words_ = Split(kWords);
  std::mt19937_64 random_;
  std::vector<Signer> authors_;
  std::vector<Written> recent_;
  size_t made_ = 0;
  size_t turn_ = 0;
};

}  // namespace

uint64_t Today() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::days>(now).count());
}

void MakeEvents(const EventRecipe& recipe, const std::function<void(std::string json)>& take) {
  Maker maker(recipe);
  for (size_t i = 0; i < recipe.count; ++i) take(maker.Next());
}

}  // namespace weir
