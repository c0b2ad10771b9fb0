// Attacks by live subscribers: the work that they order, and the memory that is held for them.
#include "relay/nostr/signature.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// The letters by which a filter may ask for any value.
std::string Letters() {
  std::string letters;
  for (char letter = 'A'; letter <= 'Z'; ++letter) letters += letter;
  for (char letter = 'a'; letter < 'z'; ++letter)
    if (letter != 'e' && letter != 'p') letters += letter;
  return letters;
}

// The event meets all conditions but the last.
std::string DeepFilter(size_t n) {
  std::string filter = R"({"limit":0)";
  for (const char letter : Letters()) filter += std::string(",\"#") + letter + R"(":["x"])";
  return filter + R"(,"#z":["none)" + std::to_string(n) + "\"]}";
}

// An event with every letter, behind as many other tags as fit.
std::string DeepEvent(uint64_t n) {
  std::string tags = ManyTags('z', "z", 1900);
  tags.pop_back();
  for (const char letter : Letters()) tags += std::string(",[\"") + letter + "\",\"x\"]";
  return Signer(11).SignedEvent(Now(), 20'001, tags + "]", std::to_string(n));
}

std::string DeepMatching(Arena& arena, double scale) {
  Crowd subscribers(arena.port(), AttackerAddress(), 8);
  Crowd publisher(arena.port(), AttackerAddress(), 1);
  const size_t filters = 2820 / 8;
  std::string frames;
  for (size_t n = 0; n < filters;) {
    std::string request = "[\"REQ\",\"s" + std::to_string(n) + "\"";
    for (size_t k = 0; k < 20 && n < filters; ++k, ++n) request += "," + DeepFilter(n);
    frames += TextFrame(request + "]");
  }
  subscribers.SendOnce([&](size_t) { return frames; }, Scaled(5s, scale), Reads::kAll);
  const size_t seconds = Scaled(10, scale);
  for (size_t n = 0; n < 2 * seconds; ++n) {
    publisher.SendOnce([&](size_t) { return EventFrame(DeepEvent(n)); }, 250ms, Reads::kAll);
    subscribers.Run(250ms, Reads::kAll, [](size_t) { return std::string(); });
  }
  return "subscribers " + subscribers.Heard() + "; publisher " + publisher.Heard();
}

std::string LargeValues(Arena& arena, double scale) {
  const size_t connections = Scaled(50, scale);
  Crowd crowd(arena.port(), AttackerAddress(), connections);
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(20s, scale), Reads::kAll, [&](size_t i) {
    if (sent[i] >= 100) return std::string();
    ++sent[i];
    const std::string value = std::to_string(i * 100 + sent[i]) + std::string(250'000, 'v');
    return TextFrame("[\"REQ\",\"s" + std::to_string(sent[i]) + R"(",{"limit":0,"#t":[")" + value + "\"]}]");
  });
  return crowd.Heard();
}

// First scans that stand still because their client does not read, then events that its subscriptions wait for.
std::string HeldEvents(Arena& arena, double scale) {
  Crowd subscribers(arena.port(), AttackerAddress(), Scaled(100, scale), "", 4096);
  Crowd publisher(arena.port(), AttackerAddress(), 1);
  subscribers.SendOnce([](size_t) { return TextFrame(R"(["REQ","a",{"kinds":[1,20002],"limit":5000}])"); },
                       Scaled(4s, scale), Reads::kNothing);
  const Signer signer(12);
  size_t published = 0;
  publisher.Run(Scaled(8s, scale), Reads::kAll, [&](size_t) {
    if (published >= 28) return std::string();
    ++published;
    return EventFrame(
        signer.SignedEvent(Now(), 20'002, "[]", std::string(125'000, static_cast<char>('a' + published % 26))));
  });
  subscribers.Run(Scaled(4s, scale), Reads::kTrickle, [](size_t) { return std::string(); });
  return "subscribers " + subscribers.Heard() + "; publisher " + publisher.Heard();
}

// Many subscribers to one flood, none of which reads it.
std::string SilentSubscribers(Arena& arena, double scale) {
  Crowd subscribers(arena.port(), AttackerAddress(), Scaled(150, scale), "", 4096);
  Crowd publisher(arena.port(), AttackerAddress(1), 1);
  subscribers.SendOnce([](size_t) { return TextFrame(R"(["REQ","a",{"kinds":[20003],"limit":0}])"); }, 1000ms,
                       Reads::kAll);
  const Signer signer(13);
  size_t n = 0;
  publisher.Run(Scaled(10s, scale), Reads::kAll, [&](size_t) {
    return EventFrame(signer.SignedEvent(Now(), 20'003, "[]", std::to_string(++n) + std::string(20'000, 's')));
  });
  return "subscribers " + subscribers.Heard() + "; publisher " + publisher.Heard();
}

}  // namespace

std::vector<Attack> LiveAttacks() {
  const auto notes = [](double scale, const std::function<void(const std::string&)>& store) {
    const Signer signer(14);
    for (size_t n = 0; n < Scaled(20'000, scale); ++n)
      store(signer.SignedEvent(Now() - 1 - n, 1, "[]", std::string(600, 'n') + std::to_string(n)));
  };
  return {
      {"deep_matching",
       "2,820 filters of 50 conditions, two ephemeral events of 2,000 tags a second",
       {},
       nullptr,
       DeepMatching},
      {"large_values", "5,000 subscriptions to one value of 250 KB on 50 connections", {}, nullptr, LargeValues},
      {"held_events",
       "100 connections whose scan stands still, 28 ephemeral events of 125 KB for each",
       {},
       notes,
       HeldEvents},
      {"silent_subscribers",
       "150 subscribers that read nothing of a flood",
       {},
       nullptr,
       SilentSubscribers,
       kMostOfAllMb},
  };
}

}  // namespace weir
