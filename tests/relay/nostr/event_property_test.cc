// The fast code against the slow: random events, as odd clients write them and with broken bytes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"
#include "tests/relay/nostr/nostr_checks.h"
#include "tests/relay/nostr/random_event.h"

namespace weir {
namespace {

RC_GTEST_PROP(EventProperty, AnEventIsTakenHoweverItIsWritten, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  for (unsigned n = 0; n < 20; ++n) {
    const ReferenceEvent event = random.Event();
    const std::string json = random.Write(event, n % 4);
    const auto reference = ReadReferenceEvent(json);
    RC_ASSERT(reference.has_value());
    RC_ASSERT(reference->HasItsId());
    CheckEvent(json);
  }
}

RC_GTEST_PROP(EventProperty, BrokenBytesAreJudgedAsTheReferenceJudgesThem, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  for (unsigned n = 0; n < 30; ++n) {
    const std::string json = random.Mutated(random.Write(random.Event(), n % 4));
    CheckEvent(json);
    CheckCanonical(json);
  }
}

RC_GTEST_PROP(EventProperty, AnyBytesAreAnErrorAndNoMore, (const std::string& bytes)) {
  RC_ASSERT(!EventParser().Parse(bytes).ok());
  RC_ASSERT(FindId(bytes).empty());
}

RC_GTEST_PROP(EventProperty, ARecordWithABrokenHeadIsNoticedOrHarmless, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  const ReferenceEvent event = random.Event();
  std::string record = *EventParser().Parse(random.Write(event, 0)).value().record();
  for (unsigned n = 0; n < 30; ++n) {
    std::string broken = record;
    if (random.OneIn(3)) broken.resize(random.Below(broken.size()));
    if (!broken.empty())
      broken[random.Below(std::min<size_t>(broken.size(), 120))] = static_cast<char>(random.Below(256));
    CheckRecord(broken);
  }
}

// Takes values from the events, so that filters match often enough.
ReferenceFilter RandomFilter(RandomEvents& random, const std::vector<ReferenceEvent>& events) {
  ReferenceFilter filter;
  const auto some = [&](auto value_of) {
    std::vector<decltype(value_of(events[0]))> values;
    for (uint64_t n = random.Below(5); n > 0; --n) values.push_back(value_of(events[random.Below(events.size())]));
    return values;
  };
  if (random.OneIn(3)) filter.ids = some([](const ReferenceEvent& event) { return event.id; });
  if (random.OneIn(3)) filter.authors = some([](const ReferenceEvent& event) { return event.pubkey; });
  if (random.OneIn(3)) filter.kinds = some([](const ReferenceEvent& event) { return event.kind; });
  if (random.OneIn(3)) filter.since = events[0].created_at;
  if (random.OneIn(3)) filter.until = events[1].created_at;
  if (random.OneIn(3)) filter.limit = random.Below(10);
  for (const char letter : {'t', 'd', 'E'}) {
    if (!random.OneIn(4)) continue;
    filter.tags.emplace_back(letter, some([&](const ReferenceEvent& event) {
                               for (const auto& tag : event.tags) {
                                 if (tag.size() > 1 && tag[0] == std::string{letter}) return tag[1];
                               }
                               return std::to_string(random.Below(3));
                             }));
  }
  return filter;
}

RC_GTEST_PROP(FilterProperty, IsReadAndMatchesAsTheReferenceDoes, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  std::vector<ReferenceEvent> events;
  for (int n = 0; n < 8; ++n) events.push_back(*ReadReferenceEvent(random.Write(random.Event(), 1)));
  for (int n = 0; n < 20; ++n) {
    const Filter filter = Fast(RandomFilter(random, events));
    const std::string json = ToJson(filter);
    const Result<Filter> read = ParseFilter(json);
    RC_LOG() << json << read.status().message();
    RC_ASSERT(read.ok());
    RC_ASSERT(read.value() == filter);
    CheckFilter(json, events);
    CheckFilter(random.Mutated(json), events);
  }
}

}  // namespace
}  // namespace weir
