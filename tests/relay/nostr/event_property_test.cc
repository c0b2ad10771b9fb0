// The fast code against the slow: random events, as odd clients write them and with broken bytes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"
#include "tests/relay/nostr/random_event.h"

namespace weir {
namespace {

std::vector<std::pair<std::string, std::string>> LetterTags(const ReferenceEvent& event) {
  std::vector<std::pair<std::string, std::string>> tags;
  for (const auto& tag : event.tags) {
    if (tag.size() > 1 && tag[0].size() == 1 && std::isalpha(static_cast<unsigned char>(tag[0][0])) != 0) {
      tags.emplace_back(tag[0], tag[1]);
    }
  }
  return tags;
}

uint64_t Expiration(const ReferenceEvent& event) {
  for (const auto& tag : event.tags) {
    if (tag.size() < 2 || tag[0] != "expiration") continue;
    if (!std::regex_match(tag[1], std::regex("0|[1-9][0-9]*"))) continue;
    return std::max(1ULL, std::strtoull(tag[1].c_str(), nullptr, 10));
  }
  return 0;
}

// Everything that the record says.
void ExpectSame(EventView event, const ReferenceEvent& expected) {
  RC_ASSERT(EventView::WellFormed(event.record()));
  RC_ASSERT(ToHex(event.id()) == expected.id);
  RC_ASSERT(ToHex(event.pubkey()) == expected.pubkey);
  RC_ASSERT(ToHex(event.signature().data(), 64) == expected.sig);
  RC_ASSERT(event.created_at() == expected.created_at);
  RC_ASSERT(event.kind() == expected.kind);
  RC_ASSERT(event.expiration() == Expiration(expected));
  RC_ASSERT(std::string(event.json()) == expected.minimal_json);
  RC_ASSERT(event.is_protected() ==
            std::any_of(expected.tags.begin(), expected.tags.end(), [](const auto& tag) { return tag[0] == "-"; }));
  std::vector<std::pair<std::string, std::string>> tags;
  for (const TagView tag : event.tags()) tags.emplace_back(std::string{tag.letter}, tag.value);
  RC_ASSERT(tags == LetterTags(expected));
  for (const std::string name : {"e", "nonce", "é", ""}) {
    std::vector<std::vector<std::string>> named = expected.tags;
    std::erase_if(named, [&](const auto& tag) { return tag[0] != name; });
    RC_ASSERT(TagsNamed(event, name) == named);
  }
}

RC_GTEST_PROP(EventProperty, AnEventIsTakenHoweverItIsWritten, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  EventParser parser;
  for (unsigned n = 0; n < 20; ++n) {
    const ReferenceEvent event = random.Event();
    const std::string json = random.Write(event, n % 4);
    const auto reference = ReadReferenceEvent(json);
    RC_ASSERT(reference.has_value());
    RC_ASSERT(reference->HasItsId());
    const Result<Event> parsed = parser.Parse(json);
    if (!parsed.ok()) RC_LOG() << json << "\n" << parsed.status().message();
    RC_ASSERT(parsed.ok());
    ExpectSame(parsed.value().view(), *reference);
  }
}

RC_GTEST_PROP(EventProperty, WhatIsStoredIsTakenAgainUnchanged, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  EventParser parser;
  const Result<Event> first = parser.Parse(random.Write(random.Event(), 3));
  RC_ASSERT(first.ok());
  const Result<Event> again = parser.Parse(first.value().view().json());
  RC_ASSERT(again.ok());
  RC_ASSERT(*again.value().record() == *first.value().record());
}

// Most mutations break the id, so it is mended where there still is one.
RC_GTEST_PROP(EventProperty, BrokenBytesAreJudgedAsTheReferenceJudgesThem, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  EventParser parser;
  for (unsigned n = 0; n < 30; ++n) {
    std::string json = random.Mutated(random.Write(random.Event(), n % 4));
    std::optional<ReferenceEvent> reference = ReadReferenceEvent(json);
    if (reference && !reference->HasItsId()) {
      RC_ASSERT(!parser.Parse(json).ok());
      json.replace(json.find(reference->id), 64, reference->true_ids[random.Below(2)]);
      reference = ReadReferenceEvent(json);
    }
    const Result<Event> parsed = parser.Parse(json);
    const bool good = reference && reference->HasItsId();
    if (parsed.ok() != good) RC_LOG() << json << "\n" << parsed.status().message();
    RC_ASSERT(parsed.ok() == good);
    if (parsed.ok()) ExpectSame(parsed.value().view(), *reference);
    FindId(json);
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
    if (!EventView::WellFormed(broken)) continue;
    const EventView view(broken);
    size_t size = 0;
    for (const TagView tag : view.tags()) size += tag.value.size();
    RC_ASSERT(size + view.json().size() < broken.size());
    (void)view.signature();
  }
}

// Values that meet often enough.
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

Bytes32 Bytes(const std::string& hex) {
  Bytes32 bytes;
  RC_ASSERT(FromHex(hex, bytes.data(), bytes.size()));
  return bytes;
}

// Sorted by hand, to judge the parser's sorting too.
Filter Fast(const ReferenceFilter& slow) {
  Filter fast;
  const auto unique = [](auto values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  };
  const auto all_bytes = [&](const std::vector<std::string>& list) {
    std::vector<Bytes32> values;
    for (const std::string& hex : list) values.push_back(Bytes(hex));
    return unique(values);
  };
  if (slow.ids) fast.ids = all_bytes(*slow.ids);
  if (slow.authors) fast.authors = all_bytes(*slow.authors);
  if (slow.kinds) fast.kinds = unique(std::vector<uint16_t>(slow.kinds->begin(), slow.kinds->end()));
  for (const auto& [letter, values] : slow.tags) fast.tags.push_back({letter, unique(values)});
  std::sort(fast.tags.begin(), fast.tags.end(), [](const auto& a, const auto& b) { return a.letter < b.letter; });
  fast.since = slow.since.value_or(0);
  fast.until = slow.until.value_or(UINT64_MAX);
  fast.limit = slow.limit;
  return fast;
}

RC_GTEST_PROP(FilterProperty, MatchesWhatTheReferenceMatches, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  EventParser parser;
  std::vector<ReferenceEvent> events;
  for (int n = 0; n < 8; ++n) events.push_back(random.Event());
  for (int n = 0; n < 20; ++n) {
    const ReferenceFilter slow = RandomFilter(random, events);
    const Filter fast = Fast(slow);
    for (const ReferenceEvent& event : events) {
      const Event parsed = parser.Parse(random.Write(event, 1)).value();
      RC_ASSERT(fast.Matches(parsed.view()) == slow.Matches(event));
      if (fast.MatchesNothing()) RC_ASSERT(!slow.Matches(event));
    }
  }
}

RC_GTEST_PROP(FilterProperty, AFilterIsTheSameAfterItsJson, ()) {
  RandomEvents random(*rc::gen::arbitrary<uint64_t>());
  const std::vector<ReferenceEvent> events = {random.Event(), random.Event(), random.Event()};
  const Filter filter = Fast(RandomFilter(random, events));
  const Result<Filter> again = ParseFilter(ToJson(filter));
  RC_LOG() << ToJson(filter) << again.status().message();
  RC_ASSERT(again.ok());
  RC_ASSERT(again.value() == filter);
}

}  // namespace
}  // namespace weir
