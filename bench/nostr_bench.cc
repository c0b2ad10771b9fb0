// Measures the cost of an event: parsing with the check of its id, the signature, matching; and the cost of a message.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"
#include "relay/nostr/messages.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

// A note of 0.68 KB with two references, as most of the network's are; `quoted` has an escape every nine characters.
std::string Note(bool quoted = false) {
  const std::string id(64, 'a');
  std::string content;
  while (content.size() < 180) content += quoted ? "a \"quote\"\n" : "plain text ";
  return Signer(1).SignedEvent(1'700'000'000, 1, "[[\"e\",\"" + id + "\",\"\",\"root\"],[\"p\",\"" + id + "\"]]",
                               content);
}

void Parse(benchmark::State& state, const std::string& json) {
  EventParser parser;
  for (auto _ : state) benchmark::DoNotOptimize(parser.Parse(json).ok());
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * json.size()));
  state.counters["bytes"] = static_cast<double>(json.size());
}

void ParsePlain(benchmark::State& state) { Parse(state, Note()); }
BENCHMARK(ParsePlain);

void ParseEscapes(benchmark::State& state) { Parse(state, Note(true)); }
BENCHMARK(ParseEscapes);

// The text is not the one that is hashed: it has white space between tokens, and escapes that NIP-01 does not use.
void ParseRewritten(benchmark::State& state) {
  std::string json = Note();
  for (size_t at = 0; (at = json.find("\",", at)) != std::string::npos; at += 3) json.insert(at + 2, " ");
  json.replace(json.find("plain"), 1, "\\u0070");
  Parse(state, json);
}
BENCHMARK(ParseRewritten);

void ParseContactList(benchmark::State& state) {
  std::string tags;
  for (int n = 0; n < 500; ++n)
    tags += (n == 0 ? "[\"p\",\"" : ",[\"p\",\"") + ToHex(Sha256(std::to_string(n))) + "\"]";
  Parse(state, Signer(1).SignedEvent(1'700'000'000, 3, "[" + tags + "]", ""));
}
BENCHMARK(ParseContactList);

void HashOfEvent(benchmark::State& state) {
  const std::string json = Note();
  for (auto _ : state) benchmark::DoNotOptimize(Sha256(json));
}
BENCHMARK(HashOfEvent);

void Verify(benchmark::State& state) {
  const Event event = EventParser().Parse(Note()).value();
  for (auto _ : state) benchmark::DoNotOptimize(VerifySignature(event.view()));
}
BENCHMARK(Verify);

// The argument is the number of values in the filter's list.
void MatchAuthors(benchmark::State& state) {
  const Event event = EventParser().Parse(Note()).value();
  Filter filter;
  filter.kinds = {1, 6, 7};
  filter.authors.emplace();
  for (int64_t n = 0; n < state.range(0); ++n) filter.authors->push_back(Sha256(std::to_string(n)));
  std::sort(filter.authors->begin(), filter.authors->end());
  for (auto _ : state) benchmark::DoNotOptimize(filter.Matches(event.view()));
}
BENCHMARK(MatchAuthors)->Arg(1)->Arg(1000);

void MatchTags(benchmark::State& state) {
  const Event event = EventParser().Parse(Note()).value();
  const Filter filter = ParseFilter("{\"kinds\":[1],\"#p\":[\"" + std::string(64, 'a') + "\"]}").value();
  for (auto _ : state) benchmark::DoNotOptimize(filter.Matches(event.view()));
}
BENCHMARK(MatchTags);

void ParseMessage(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(ParseClientMessage(text).index());
  state.counters["bytes"] = static_cast<double>(text.size());
}

void MessageEvent(benchmark::State& state) { ParseMessage(state, "[\"EVENT\"," + Note() + "]"); }
BENCHMARK(MessageEvent);

void MessageReq(benchmark::State& state) {
  ParseMessage(state, R"(["REQ","home:1",{"kinds":[1,6],"authors":[")" + std::string(64, 'a') +
                          R"("],"since":1700000000,"limit":50}])");
}
BENCHMARK(MessageReq);

void MessageReqOf500Authors(benchmark::State& state) {
  std::string authors;
  for (int n = 0; n < 500; ++n) authors += (n == 0 ? "\"" : ",\"") + ToHex(Sha256(std::to_string(n))) + "\"";
  ParseMessage(state, "[\"REQ\",\"home:1\",{\"kinds\":[1],\"authors\":[" + authors + "]}]");
}
BENCHMARK(MessageReqOf500Authors);

}  // namespace
}  // namespace weir
