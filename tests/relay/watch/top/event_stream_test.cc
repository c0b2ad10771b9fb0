// Events from a stream that is cut anywhere.
#include "relay/watch/top/event_stream.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

Events Read(const std::vector<std::string>& pieces) {
  Events events;
  EventStreamReader reader([&](const std::string& name, const std::string& data) { events.emplace_back(name, data); });
  for (const std::string& piece : pieces)
    if (!reader.Take(piece).ok()) events.emplace_back("error", "");
  return events;
}

TEST(EventStream, TellsNamesAndData) {
  EXPECT_EQ(Read({"retry: 1000\n\n"
                  "event: state\ndata: {\"a\":1}\n\n"
                  ": a comment\n\n"
                  "event: tick\ndata:no blank\n\n"
                  "data: 1\ndata: 2\n\n"
                  "event: without data\n\n"
                  "data: not whole yet\n"}),
            (Events{{"state", "{\"a\":1}"}, {"tick", "no blank"}, {"", "1\n2"}}));
  EXPECT_EQ(Read({"event: a\r\ndata: 1\r\n\r\nevent: b\rdata: 2\r\r"}), (Events{{"a", "1"}, {"b", "2"}}));
}

RC_GTEST_PROP(EventStream, AnyCutGivesTheSameEvents, (const std::vector<uint8_t>& sizes)) {
  const auto ends = *rc::gen::element<std::string>("\n", "\r\n", "\r");
  std::string stream;
  for (const char* line : {"retry: 1000", "", "event: state", "data: {\"x\":[1,2]}", "", ":", "", "event: tick",
                           "data: a", "data: b", "", "data", ""})
    stream += line + ends;
  std::vector<std::string> pieces;
  size_t at = 0;
  for (const uint8_t size : sizes) {
    pieces.push_back(stream.substr(std::min(at, stream.size()), size % 9));
    at += size % 9;
  }
  pieces.push_back(stream.substr(std::min(at, stream.size())));
  RC_ASSERT(Read(pieces) == Read({stream}));
  RC_ASSERT(Read(pieces).size() == 3U);
}

TEST(EventStream, MoreThanAnEventCanHaveIsAnError) {
  for (const std::string end : {"", "\n"}) {
    EventStreamReader reader([](const std::string&, const std::string&) { FAIL(); });
    const std::string line = "data: " + std::string(64 << 10, 'x').append(end);
    Status status;
    size_t taken = 0;
    while (status.ok() && taken < 10 * EventStreamReader::kMostBytes) {
      status = reader.Take(line);
      taken += line.size();
    }
    EXPECT_FALSE(status.ok());
    EXPECT_LE(taken, EventStreamReader::kMostBytes + line.size());
  }
}

}  // namespace
}  // namespace weir
