#include "relay/nostr/content.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

// Returns the event with its fields in this order, and the name of the content written as `name`.
Event Ordered(const std::string& event, const std::vector<std::string>& fields, const std::string& name) {
  std::string text = "{";
  for (const std::string& field : fields) {
    const size_t begin = event.find("\"" + field + "\":");
    const size_t value = begin + field.size() + 3;
    size_t end = value;
    if (event[value] == '"')
      for (++end; event[end] != '"'; ++end) end += event[end] == '\\' ? 1 : 0;
    else if (event[value] == '[')
      end = event.find("]]", value) + 1;
    else
      end = event.find_first_of(",}", value) - 1;
    text += (text.size() > 1 ? ", " : " ") + std::string("\"") + (field == "content" ? name : field) +
            "\" : " + event.substr(value, end + 1 - value);
  }
  return EventParser().Parse(text + "}").value();
}

TEST(ContentOf, FindsTheContentWhereverItIs) {
  const std::string content = "say \"content\":\"no\",\n{\"content\":\"\\\"no\"} \xe2\x82\xac";
  const std::string event = Signer(1).SignedEvent(
      1'700'000'000, 1, R"([["content",":","x,\"content\":\"no"],["\"content\":","{\"content\":\"no\""]])", content);
  const std::vector<std::vector<std::string>> orders = {
      {"id", "pubkey", "created_at", "kind", "tags", "content", "sig"},
      {"content", "tags", "id", "pubkey", "created_at", "kind", "sig"},
      {"tags", "sig", "id", "pubkey", "created_at", "kind", "content"}};
  for (const auto& order : orders)
    for (const char* name : {"content", "\\u0063ontent", "conten\\u0074"})
      EXPECT_EQ(ContentOf(Ordered(event, order, name).view()), content) << name;
}

TEST(ContentOf, MayBeEmpty) {
  const std::string event = Signer(1).SignedEvent(1'700'000'000, 1, "[]", "");
  EXPECT_EQ(ContentOf(EventParser().Parse(event).value().view()), "");
}

}  // namespace
}  // namespace weir
