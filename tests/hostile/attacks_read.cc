// Attacks by requests: scans that stand still, endless values, counts, exports.
#include <cstdio>

#include "relay/negentropy/varint.h"
#include "relay/nostr/signature.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"

namespace weir {
namespace {

using Store = std::function<void(const std::string& json)>;
using namespace std::chrono_literals;

void StoreTopics(double scale, const Store& store) {
  const Signer signer(21);
  for (size_t n = 0; n < Scaled(60'000, scale); ++n)
    store(signer.SignedEvent(Now() - 1 - n, static_cast<uint16_t>(n % 32 == 0 ? 1 : 1000 + n % 32),
                             "[[\"t\",\"v" + std::to_string(n % 32) + "\"]]",
                             std::string(500, 'c') + std::to_string(n)));
}

void StoreTagged(double scale, const Store& store) {
  const Signer signer(22);
  for (size_t n = 0; n < Scaled(300, scale); ++n)
    store(signer.SignedEvent(Now() - 1 - n, 1, ManyTags('t', "w", 2000), std::to_string(n)));
}

// Notes that all have the same twenty words, and some of their own.
void StoreWords(double scale, const Store& store) {
  const Signer signer(23);
  std::string common;
  for (int n = 0; n < 20; ++n) common += "common" + std::to_string(n) + " ";
  for (size_t n = 0; n < Scaled(60'000, scale); ++n)
    store(signer.SignedEvent(Now() - 1 - n, 1, "[[\"t\",\"v" + std::to_string(n % 32) + "\"]]",
                             common + "own" + std::to_string(n)));
}

std::string Values(size_t first, size_t count, const std::string& prefix) {
  std::string values = "[";
  for (size_t n = 0; n < count; ++n) values += (n == 0 ? "\"" : ",\"") + prefix + std::to_string(first + n) + "\"";
  return values + "]";
}

std::string WideRequest(size_t n) {
  std::string request = "[\"REQ\",\"w" + std::to_string(n) + "\"";
  for (size_t filter = 0; filter < 20; ++filter) {
    request += R"(,{"kinds":[1)";
    for (size_t kind = 1; kind < 32; ++kind) request += "," + std::to_string(1000 + kind);
    request += R"(],"#t":)" + Values(0, 32, "v") + ",\"limit\":" + std::to_string(4000 + filter) + "}";
  }
  return TextFrame(request + "]");
}

std::string StandingScans(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), Scaled(40, scale), "", 4096);
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(20s, scale), Reads::kTrickle,
            [&](size_t i) { return sent[i] < 117 ? WideRequest(sent[i]++) : std::string(); });
  return crowd.Heard();
}

constexpr int kManyAddresses = 20;

std::string StandingScansOfMany(Arena& arena, double scale) {
  std::vector<Crowd> crowds;
  for (int n = 0; n < kManyAddresses; ++n)
    crowds.emplace_back(arena.port(), AttackerAddress(n), Scaled(20, scale), "", 4096);
  std::vector<std::vector<size_t>> sent(crowds.size(), std::vector<size_t>(Scaled(20, scale)));
  const auto end = std::chrono::steady_clock::now() + Scaled(20s, scale);
  // One thread drives them all, because the relay shares the processor.
  while (std::chrono::steady_clock::now() < end) {
    for (size_t n = 0; n < crowds.size(); ++n) {
      crowds[n].Run(2ms, Reads::kTrickle,
                    [&](size_t i) { return sent[n][i] < 117 ? WideRequest(sent[n][i]++) : std::string(); });
    }
  }
  return crowds[0].Heard();
}

// Each connection keeps asking, with four subscriptions at a time.
std::string Ask(Arena& arena, double scale, size_t connections, const std::function<std::string(size_t n)>& filter) {
  Crowd crowd(arena.port(), AttackerAddress(), connections);
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(10s, scale), Reads::kAll, [&](size_t i) {
    const size_t n = sent[i]++;
    return TextFrame("[\"REQ\",\"a" + std::to_string(n % 4) + "\"," + filter(i * 1'000 + n) + "]");
  });
  return crowd.Heard();
}

std::string Keys(size_t first, size_t count) {
  std::string keys = "[";
  for (size_t n = 0; n < count; ++n) {
    char key[67];
    std::snprintf(key, sizeof key, "\"%064zx\"", (first * 10'000 + n) * 0x9e3779b97f4a7c15);
    keys += (n == 0 ? "" : ",") + std::string(key);
  }
  return keys + "]";
}

std::string Products(Arena& arena, double scale) {
  std::string kinds = "[1";
  for (size_t kind = 1; kind < 2400; ++kind) kinds += "," + std::to_string(1000 + kind);
  return Ask(arena, scale, 8,
             [&](size_t n) { return R"({"authors":)" + Keys(n, 2500) + R"(,"kinds":)" + kinds + "]}"; });
}

std::string UnknownIds(Arena& arena, double scale) {
  return Ask(arena, scale, 8, [](size_t n) { return R"({"ids":)" + Keys(n, 3700) + "}"; });
}

// Searches for what every note has, with tags that no note has, for a letter, and for ten thousand words.
std::string Searches(Arena& arena, double scale) {
  std::string common;
  for (int word = 0; word < 20; ++word) common += "common" + std::to_string(word) + " ";
  std::string many;
  for (int word = 0; word < 10'000; ++word) many += "w" + std::to_string(word) + " ";
  return Ask(arena, scale, 20, [&](size_t n) -> std::string {
    const std::string search = R"({"search":")";
    switch (n % 5) {
      case 0:
        return search + common + "\"}";
      case 1:
        return search + R"(common1","limit":5000})";
      case 2:
        return search + R"(common1 common2","#t":["never"]},)" + search + common + R"(","authors":)" + Keys(n, 500) +
               "}";
      case 3:
        return search + "a\"}";
      default:
        return search + many + "\"}";
    }
  });
}

// Each connection opens sets of all events, as many as it may, and then sends messages of as many ranges as fit into a
// message: the question for all ids, ranges that differ and have to be split, and ranges that are skipped before one
// that differs.
std::string Syncs(Arena& arena, double scale) {
  constexpr size_t kSets = 8;
  std::string differing = "a";
  AppendVarint(Now() - 60'000, &differing);
  differing += std::string("\0\1", 2) + std::string(16, 'x');
  std::string skipped = "a";
  for (int n = 0; n < 6'000; ++n) differing += std::string("\x0b\0\1", 3) + std::string(16, 'x');
  for (int n = 0; n < 40'000; ++n) skipped += std::string("\2\0\0", 3);
  skipped += std::string("\0\0\1", 3) + std::string(16, 'x');
  const std::vector<std::string> messages = {"6100000200", ToHex(differing), ToHex(skipped)};
  Crowd crowd(arena.port(), AttackerAddress(), 20);
  struct Sender {
    size_t sent = 0;
    std::chrono::steady_clock::time_point next{};
  };
  std::vector<Sender> senders(crowd.size());
  crowd.Run(Scaled(20s, scale), Reads::kAll, [&](size_t i) {
    Sender& sender = senders[i];
    const size_t n = sender.sent;
    const bool opens = n % 400 < kSets;
    const auto now = std::chrono::steady_clock::now();
    if (!opens && now < sender.next) return std::string();  // a message before the answer would end the dialogue
    sender.next = now + 20ms;
    ++sender.sent;
    const std::string id = std::to_string(n % kSets);
    const std::string head = opens ? "[\"NEG-OPEN\",\"" + id + "\",{\"limit\":3000}" : "[\"NEG-MSG\",\"" + id + "\"";
    return TextFrame(head + ",\"" + messages[n / kSets % messages.size()] + "\"]");
  });
  return crowd.Heard();
}

std::string TricklingReaders(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), Scaled(50, scale), "", 4096);
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(20s, scale), Reads::kTrickle, [&](size_t i) {
    if (sent[i] >= 4) return std::string();
    return TextFrame("[\"REQ\",\"t" + std::to_string(sent[i]++) + R"(",{"limit":5000}])");
  });
  return crowd.Heard();
}

std::string ManyValues(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 7);
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(10s, scale), Reads::kAll, [&](size_t i) {
    const size_t n = sent[i]++;
    if (n >= Scaled(40, scale)) return std::string();
    return TextFrame("[\"REQ\",\"v" + std::to_string(n % 4) + R"(",{"#t":)" + Values(n % 7, 4990, n % 2 ? "w" : "no") +
                     R"(,"#x":["never"]}])");
  });
  return crowd.Heard();
}

std::string Counts(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), Scaled(40, scale));
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(20s, scale), Reads::kAll, [&](size_t i) {
    if (sent[i] >= 4) return std::string();
    return TextFrame("[\"COUNT\",\"c" + std::to_string(sent[i]++) + "\",{}]");
  });
  return crowd.Heard();
}

// Counts everything 200 times over, which is too much to be counted one by one, so the relay makes estimates.
std::string Estimates(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), Scaled(40, scale));
  std::string filters;
  for (size_t n = 0; n < 200; ++n) filters += ",{\"since\":" + std::to_string(n) + "}";
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(20s, scale), Reads::kAll, [&](size_t i) {
    if (sent[i] >= 4) return std::string();
    return TextFrame("[\"COUNT\",\"c" + std::to_string(sent[i]++) + "\"" + filters + "]");
  });
  return crowd.Heard();
}

std::string SlowExports(Arena& arena, double scale) {
  const std::string authorization = Authorization(arena);
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 4);
  crowd.SendOnce(
      [&](size_t i) {
        return std::string("GET /api/export?order=") + (i % 2 == 0 ? "oldest" : "newest") +
               " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + authorization + "\r\n";
      },
      Scaled(15s, scale), Reads::kTrickle);
  return std::to_string(crowd.open()) + " still open";
}

}  // namespace

std::vector<Attack> ReadAttacks() {
  return {
      {"standing_scans",
       "40 connections that trickle, 117 requests of 20 filters of 1,024 ranges",
       {},
       StoreTopics,
       StandingScans},
      {"standing_scans_of_many",
       "the same from 20 addresses with 20 connections each",
       {},
       StoreTopics,
       StandingScansOfMany,
       kMostOfAllMb},
      {"products", "requests of 2,500 authors and 2,400 kinds on 8 connections", {}, StoreTopics, Products},
      {"unknown_ids", "requests of 3,700 ids on 8 connections", {}, StoreTopics, UnknownIds},
      {"searches",
       "searches for words of every note, a letter and ten thousand words on 20 connections",
       {"WEIR_SEARCH_KINDS=1"},
       StoreWords,
       Searches},
      {"syncs",
       "8 NEG-OPENs of 3,000 events on each of 20 connections, then messages of up to 40,000 ranges",
       {},
       StoreTopics,
       Syncs},
      {"trickling_readers",
       "200 requests for everything on 50 connections that trickle",
       {},
       StoreTopics,
       TricklingReaders},
      {"many_values", "requests of 4,990 tag values over events of 2,000 tags", {}, StoreTagged, ManyValues},
      {"counts", "160 counts of everything at once", {}, StoreTopics, Counts},
      {"estimates",
       "160 counts of everything by 200 filters",
       {},
       [](double scale, const Store& store) { StoreTopics(1.5 * scale, store); },
       Estimates},
      {"slow_exports", "four exports that trickle", {}, StoreTopics, SlowExports},
  };
}

}  // namespace weir
