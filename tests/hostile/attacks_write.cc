// Work that strangers can give the commit thread: deletions, requests to vanish, expiry, events with many tags.
#include <algorithm>
#include <ctime>

#include "relay/nostr/signature.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"
#include "tests/hostile/quiet_client.h"

namespace weir {
namespace {

using Store = std::function<void(const std::string& json)>;
using namespace std::chrono_literals;

constexpr uint64_t kVictim = 0x766963;  // the author of the victim's events
constexpr size_t kMostTags = 2000;

// Events of 2,000 tags by one author. They are always the same, so that their ids can be named later.
std::vector<std::string> TaggedEvents(size_t count) {
  const Signer signer(kVictim);
  std::vector<std::string> events;
  for (size_t n = 0; n < count; ++n) {
    const std::string tags = ManyTags('t', "e" + std::to_string(n) + "_", kMostTags);
    events.push_back(signer.SignedEvent(1'700'000'000 + n, 1, tags, "tagged"));
  }
  return events;
}

void StoreNotes(size_t count, const Store& store) {
  const Signer signer(kVictim);
  for (size_t n = 0; n < count; ++n) store(signer.SignedEvent(Now() - 1 - n, 1, "[]", "note " + std::to_string(n)));
}

// A single kind 5 of at most 128 KB that names as many events as fit.
std::string Deletion(Arena& arena, double scale) {
  std::string tags = "[";
  for (const std::string& event : TaggedEvents(Scaled(1750, scale)))
    tags += std::string(tags.size() > 1 ? "," : "") + "[\"e\",\"" + IdOf(event) + "\"]";
  Crowd crowd(arena.port(), AttackerAddress(), 1);
  const std::string deletion = Signer(kVictim).SignedEvent(Now(), 5, tags + "]", "");
  crowd.SendOnce([&](size_t) { return EventFrame(deletion); }, Scaled(30s, scale), Reads::kAll);
  return crowd.Heard();
}

std::string Vanish(uint64_t seed, uint64_t until) {
  return EventFrame(Signer(seed).SignedEvent(until, 62, R"([["relay","ALL_RELAYS"]])", ""));
}

std::string VanishOnce(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 1);
  crowd.SendOnce([&](size_t) { return Vanish(kVictim, Now()); }, Scaled(15s, scale), Reads::kAll);
  return crowd.Heard();
}

// An administrator bans the author. The answer to a further event of the author shows whether the ban holds.
std::string BanOnce(Arena& arena, double scale) {
  std::string call =
      Post("/api/moderation", R"({"method":"banpubkey","params":[")" + ToHex(Signer(kVictim).pubkey()) + "\"]}");
  call.insert(call.find("\r\n") + 2, Authorization(arena));
  Crowd administrator = Crowd::Plain(arena.port(), AttackerAddress(), 1);
  administrator.SendOnce([&](size_t) { return call; }, 1000ms, Reads::kNothing);
  Crowd crowd(arena.port(), AttackerAddress(), 1);
  const std::string event = Signer(kVictim).SignedEvent(Now(), 1, "[]", "after the ban");
  crowd.SendOnce([&](size_t) { return EventFrame(event); }, Scaled(60s, scale), Reads::kAll);
  return crowd.Heard();
}

std::string VanishOfNothing(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 1);
  for (uint64_t n = 1; n <= Scaled(10, scale); ++n)
    crowd.SendOnce([&](size_t) { return Vanish(kVictim, n); }, 1000ms, Reads::kAll);
  return crowd.Heard();
}

// Each request has to pass everything that was removed before.
std::string VanishAgain(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 1);
  const uint64_t first = Now() - 1000;
  std::string frames;
  for (uint64_t n = 0; n < Scaled(500, scale); ++n) frames += Vanish(kVictim, first + n);
  crowd.SendOnce([&](size_t) { return frames; }, Scaled(20s, scale), Reads::kAll);
  return crowd.Heard();
}

// Each query has to pass everything that was removed.
std::string AskForTheVanished(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 8);
  const std::string author = ToHex(Signer(kVictim).pubkey());
  Crowd(arena.port(), AttackerAddress(), 1)
      .SendOnce([](size_t) { return Vanish(kVictim, Now()); }, Scaled(5s, scale), Reads::kAll);
  size_t asked = 0;
  crowd.Run(Scaled(10s, scale), Reads::kAll, [&](size_t) {
    return TextFrame("[\"REQ\",\"r" + std::to_string(++asked % 4) + R"(",{"authors":[")" + author +
                     R"("],"kinds":[1]}])");
  });
  return crowd.Heard();
}

std::string VanishByThrowaways(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 4);
  const size_t requests = Scaled(256, scale);
  std::vector<std::string> frames(crowd.size());
  for (size_t n = 0; n < requests; ++n) frames[n % crowd.size()] += Vanish(1000 + n, Now());
  crowd.SendOnce([&](size_t i) { return frames[i]; }, Scaled(15s, scale), Reads::kAll);
  return crowd.Heard();
}

// Gift wraps for the throwaway keys in turn.
void StoreGiftWraps(double scale, const Store& store) {
  const Signer wrapper(7);
  for (size_t n = 0; n < Scaled(600, scale); ++n) {
    const std::string to = ToHex(Signer(1000 + n % 256).pubkey());
    store(wrapper.SignedEvent(Now() - 100 - n, 1059, R"([["p",")" + to + "\"]]", "wrapped"));
  }
}

// The events arrive together and expire at the same moment. The attack lasts until well after it.
std::string ExpireTogether(Arena& arena, double scale) {
  const auto lifetime = Scaled(30s, scale);
  const uint64_t at = Now() + static_cast<uint64_t>(lifetime / 1s);
  const Signer signer(kVictim);
  const size_t count = Scaled(800, scale);
  std::vector<std::string> frames(4);
  for (size_t n = 0; n < count; ++n) {
    std::string tags = ManyTags('t', "x" + std::to_string(n) + "_", kMostTags - 1);
    tags.insert(1, "[\"expiration\",\"" + std::to_string(at) + "\"],");
    frames[n % 4] += EventFrame(signer.SignedEvent(Now(), 1, tags, "gone soon"));
  }
  Crowd crowd(arena.port(), AttackerAddress(), 4);
  // The sweep runs at most once a minute.
  crowd.SendOnce([&](size_t i) { return frames[i]; }, lifetime + 75s, Reads::kAll);
  return crowd.Heard();
}

std::string TagFlood(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 4);
  const Signer signer(kVictim + 1);
  size_t made = 0;
  std::vector<std::string> ready;
  for (size_t n = 0; n < 64; ++n) ready.push_back(ManyTags('t', "f" + std::to_string(n) + "_", kMostTags));
  crowd.Run(Scaled(10s, scale), Reads::kAll, [&](size_t) {
    ++made;
    return EventFrame(signer.SignedEvent(Now(), 1, ready[made % ready.size()], "flood " + std::to_string(made)));
  });
  return crowd.Heard();
}

// Each deletion leaves a mark for every id, whether or not such an event existed.
std::string DeletionsOfNothing(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 4);
  const Signer signer(kVictim + 3);
  uint64_t made = 0;
  crowd.Run(Scaled(10s, scale), Reads::kAll, [&](size_t) {
    ++made;
    std::string tags = "[";
    for (size_t n = 0; n < 1700; ++n) {
      char id[65];
      std::snprintf(id, sizeof id, "%032lx%032zx", made, n);
      tags += std::string(n == 0 ? "" : ",") + "[\"e\",\"" + id + "\"]";
    }
    return EventFrame(signer.SignedEvent(Now(), 5, tags + "]", ""));
  });
  return crowd.Heard();
}

std::string Duplicates(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 8);
  const std::string frame = EventFrame(TaggedEvents(1)[0]);
  crowd.Run(Scaled(8s, scale), Reads::kAll, [&](size_t) { return std::string(frame); });
  return crowd.Heard();
}

// Each event replaces the one before it, and all of its index entries.
std::string ReplaceFlood(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 4);
  const Signer signer(kVictim + 2);
  uint64_t made = 0;
  crowd.Run(Scaled(10s, scale), Reads::kAll, [&](size_t) {
    ++made;
    const std::string tags = ManyTags('p', std::to_string(made % 2) + "_", kMostTags);
    return EventFrame(signer.SignedEvent(Now() - 100'000 + made, 3, tags, ""));
  });
  return crowd.Heard();
}

}  // namespace

std::vector<Attack> WriteAttacks() {
  const auto tagged = [](size_t count) {
    return [count](double scale, const Store& store) {
      for (const std::string& event : TaggedEvents(Scaled(count, scale))) store(event);
    };
  };
  const auto notes = [](double scale, const Store& store) { StoreNotes(Scaled(100'000, scale), store); };
  return {
      {"deletion", "one kind 5 names 1,750 events of 2,000 tags", {}, tagged(1750), Deletion},
      {"vanish_of_nothing", "kind 62 once a second by an author of 100,000 newer events", {}, notes, VanishOfNothing},
      {"vanish_many", "an author of 100,000 events vanishes", {}, notes, VanishOnce},
      {"ban_many",
       "an administrator bans an author of 1,000,000 events",
       {},
       [](double scale, const Store& store) { StoreNotes(Scaled(1'000'000, scale), store); },
       BanOnce},
      {"vanish_tagged", "an author of 500 events of 2,000 tags vanishes", {}, tagged(500), VanishOnce},
      {"vanish_again", "an author of 100,000 events vanishes 500 times", {}, notes, VanishAgain},
      {"vanished_asked_for",
       "8 connections ask for what an author of 100,000 events had",
       {},
       notes,
       AskForTheVanished},
      {"vanish_throwaways", "256 keys vanish, 600 gift wraps are stored", {}, StoreGiftWraps, VanishByThrowaways},
      {"expire_together",
       "800 events of 2,000 tags expire in one second",
       {},
       nullptr,
       ExpireTogether,
       kMostOfOneMb,
       false},
      {"tag_flood", "4 connections bring events of 2,000 tags as fast as they can", {}, nullptr, TagFlood},
      {"replace_flood",
       "4 connections replace a follow list of 2,000 tags as fast as they can",
       {},
       nullptr,
       ReplaceFlood},
      {"deletions_of_nothing", "4 connections delete 1,700 unknown ids at a time", {}, nullptr, DeletionsOfNothing},
      {"duplicates", "8 connections bring one event of 2,000 tags again and again", {}, tagged(1), Duplicates},
  };
}

}  // namespace weir
