// Measures what the operator's rules cost: ten rules about an event, one of the rates; a look-up among 100,000 keys,
// and among as many banned ones, also by two threads at once; the reading of as many keys, from a file of keys and from
// weir.yaml itself.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/rules/rules.h"
#include "relay/rules/rules_reader.h"
#include "relay/rules/shared_key_set.h"

namespace weir {
namespace {

// A note of 0.68 KB with two references and 180 characters of content, as most of the network's are.
Event TypicalNote() {
  const std::string id(64, 'a');
  std::string content;
  while (content.size() < 180) content += "plain text ";
  const std::string tags = R"([["e",")" + id + R"(","","root"],["p",")" + id + "\"]]";
  return EventParser().Parse(Signer(1).SignedEvent(1'700'000'000, 1, tags, content)).value();
}

std::vector<Bytes32> Keys(size_t count) {
  std::vector<Bytes32> keys;
  for (size_t n = 0; n < count; ++n) keys.push_back(Sha256(std::to_string(n)));
  return keys;
}

RuleSet TenRules() {
  RuleSet set;
  set.allow_write.authors = KeySet({Signer(1).pubkey()});
  set.allow_write.kinds.Add(0, 9999);
  set.deny_write.authors = KeySet(Keys(100'000));
  set.deny_write.kinds.Add(4, 4);
  set.deny_write.addresses = AddressSet({ParseNetwork("10.0.0.0/8").value()});
  set.deny_write.tags.Add('t', "casino");
  set.deny_write.words = std::make_shared<WordSet>(std::vector<std::string>{"(?i)free bitcoin", "casino"});
  set.ages.push_back({.oldest_s = 86'400, .newest_s = 900});
  set.ages.push_back({.oldest_s = 2 * 86'400});
  set.rates.push_back({.by = RateBy::kAuthor, .rate = {.events = Rate::kMostEvents, .per = std::chrono::seconds(1)}});
  return set;
}

void JudgeByTenRules(benchmark::State& state) {
  const Rules rules(TenRules());
  const Event event = TypicalNote();
  const RuleClient sender{.proved = {}, .address = ParseAddressBytes("192.0.2.1")};
  TimePoint now{};
  for (auto _ : state) {
    const Ruling ruling = rules.JudgeEvent(event.view(), sender, 1'700'000'000);
    const std::unique_ptr<WordSearch> search = rules.SearchWords(event.view(), sender);
    while (search->Step()) continue;
    const Ruling rates = rules.TakeRates(event.view(), sender, now += std::chrono::microseconds(1));
    if (ruling.refused() || Rules::JudgeWords(*search).refused() || rates.refused())
      state.SkipWithError("the event was refused");
  }
}
BENCHMARK(JudgeByTenRules);

void JudgeByNoRules(benchmark::State& state) {
  const Rules rules;
  const Event event = TypicalNote();
  for (auto _ : state) benchmark::DoNotOptimize(rules.JudgeEvent(event.view(), {}, 0).refused());
}
BENCHMARK(JudgeByNoRules);

void LookUpAKey(benchmark::State& state) {
  const KeySet set(Keys(100'000));
  const std::vector<Bytes32> asked = Keys(200'000);  // half of them are in the set
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(set.Has(asked[i]));
    i = (i + 7919) % asked.size();
  }
}
BENCHMARK(LookUpAKey);

const SharedKeySet& BannedKeys() {
  static const SharedKeySet* const set = [] {
    auto* banned = new SharedKeySet;
    for (const Bytes32& key : Keys(100'000)) banned->Add(key);
    return banned;
  }();
  return *set;
}

void LookUpABannedKey(benchmark::State& state) {
  const SharedKeySet& set = BannedKeys();
  const std::vector<Bytes32> asked = Keys(200'000);  // half of them are banned
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(set.Has(asked[i]));
    i = (i + 7919) % asked.size();
  }
}
BENCHMARK(LookUpABannedKey)->Threads(1)->Threads(2);

void BanAKey(benchmark::State& state) {
  SharedKeySet set;
  const std::vector<Bytes32> keys = Keys(101'000);
  for (size_t n = 0; n < 100'000; ++n) set.Add(keys[n]);
  size_t i = 100'000;
  for (auto _ : state) {
    set.Add(keys[i]);
    set.Remove(keys[i]);
    if (++i == keys.size()) i = 100'000;
  }
}
BENCHMARK(BanAKey);

void MakeSetOfKeys(benchmark::State& state) {
  const std::vector<Bytes32> keys = Keys(100'000);
  for (auto _ : state) benchmark::DoNotOptimize(KeySet(keys).size());
}
BENCHMARK(MakeSetOfKeys)->Unit(benchmark::kMillisecond);

// With the argument 1, weir.yaml names a file of keys; with 0 it has the keys itself, with 2 in quotes.
void ReadKeys(benchmark::State& state) {
  const std::filesystem::path directory = std::filesystem::temp_directory_path() / "weir-rules-bench";
  std::filesystem::create_directory(directory);
  std::ofstream config(directory / "weir.yaml");
  std::ofstream file(directory / "keys.txt");
  const std::string quote(state.range(0) == 2 ? "'" : "");
  config << "relay: {write: {deny: {" << (state.range(0) == 1 ? "authors_file: keys.txt" : "authors: [");
  for (const Bytes32& key : Keys(100'000))
    (state.range(0) == 1 ? file << ToHex(key) << '\n' : config << quote << ToHex(key) << quote << ',');
  config << (state.range(0) == 1 ? "}}}\n" : "]}}}\n");
  config.close();
  file.close();
  std::vector<std::string> files;
  for (auto _ : state)
    if (!ReadRules((directory / "weir.yaml").string(), &files).ok()) state.SkipWithError("the file is wrong");
  std::filesystem::remove_all(directory);
}
BENCHMARK(ReadKeys)->Arg(1)->Arg(0)->Arg(2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir
