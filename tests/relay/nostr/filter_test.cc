// Fields that a filter may have or not; the events that it matches are also in event_property_test.cc.
#include "relay/nostr/filter.h"

#include <gtest/gtest.h>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

const std::string kA(64, 'a');
const std::string kB(64, 'b');

std::string ErrorOf(std::string_view json, const FilterLimits& limits = {}) {
  const Result<Filter> filter = ParseFilter(json, limits);
  return filter.ok() ? "taken" : filter.status().message();
}

bool Matches(const std::string& filter, const Event& event) {
  return ParseFilter(filter).value().Matches(event.view());
}

TEST(Filter, ReadsEveryField) {
  const Result<Filter> parsed =
      ParseFilter(R"( { "kinds":[7,1,7],"#t":["b","a","\u0062"],"since":5,"until":9,"limit":0,"#E":[],"ids":[")" + kB +
                  "\",\"" + kA + "\"],\"authors\":[\"" + kA + "\"],\"#e\":[\"" + kB + "\"]}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Filter& filter = parsed.value();
  EXPECT_EQ(*filter.kinds, (std::vector<uint16_t>{1, 7}));
  EXPECT_EQ(filter.ids->size(), 2U);
  EXPECT_LT(filter.ids->front(), filter.ids->back());
  EXPECT_EQ(filter.since, 5U);
  EXPECT_EQ(filter.until, 9U);
  EXPECT_EQ(filter.limit, 0U);
  EXPECT_EQ(filter.tags, (std::vector<TagCondition>{{'E', {}}, {'e', {kB}}, {'t', {"a", "b"}}}));
  EXPECT_TRUE(filter.MatchesNothing());
}

TEST(Filter, IsWrittenAsItWasMeant) {
  EXPECT_EQ(ToJson(Filter()), "{}");
  EXPECT_EQ(ToJson(ParseFilter(R"({"limit":3,"#t":["\"","é"],"kinds":[],"until":18446744073709551615})").value()),
            R"({"kinds":[],"#t":["\"","é"],"limit":3})");
}

TEST(Filter, HasASearchOnlyIfItsReaderCanSearch) {
  const std::string json = R"({"kinds":[1],"search":"a \"b\" é"})";
  EXPECT_FALSE(ParseFilter(json).ok());
  const Filter filter = ParseFilter(json, {.search = true}).value();
  EXPECT_EQ(filter.search, "a \"b\" é");
  EXPECT_EQ(ToJson(filter), json);
  EXPECT_EQ(ParseFilter(R"({"search":["a"]})", {.search = true}).status().message(),
            "search must be a string, not an array");
}

TEST(Filter, RefusesWhatItDoesNotKnowByName) {
  const std::string hex = "64 lower-case hexadecimal digits, not ";
  const std::string upper(64, 'A');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "a filter must be a JSON object, not the end of the text"},
      {"[]", "a filter must be a JSON object, not an array"},
      {"{}{}", "nothing may follow the filter's object, but there is an object"},
      {R"({"search":"x"})", R"(unknown field "search")"},
      {R"({"#ee":[]})", R"(unknown field "#ee")"},
      {R"({"#":[]})", R"(unknown field "#")"},
      {R"({"#1":[]})", R"(unknown field "#1")"},
      {R"({"&t":["a"]})", R"(unknown field "&t")"},
      {R"({"kinds":[1],"k\u0069nds":[2]})", "the field kinds must be there only once"},
      {R"({"#t":["a"],"#t":["b"]})", "the field #t must be there only once"},
      {R"({"kinds":1})", "kinds must be an array, not 1"},
      {R"({"kinds":null})", "kinds must be an array, not null"},
      {R"({"kinds":[1,2,65536]})", "kinds[2] must be a whole number from 0 to 65535, not 65536"},
      {R"({"kinds":[-1]})", "kinds[0] must be a whole number from 0 to 65535, not -1"},
      {R"({"kinds":["1"]})", R"(kinds[0] must be a whole number from 0 to 65535, not "1")"},
      {R"({"kinds":[1,]})", "kinds[1] must be a whole number from 0 to 65535, not ]"},
      {R"({"kinds":[1 2]})", "JSON must have , or ] at byte 12, not 2"},
      {R"({"ids":["ab"]})", "ids[0] must be " + hex + "\"ab\""},
      {R"({"ids":[[]]})", "ids[0] must be " + hex + "an array"},
      {R"({"authors":[")" + upper + "\"]}", "authors[0] must be " + hex + '"' + upper + '"'},
      {R"({"#e":["x"]})", "#e[0] must be " + hex + "\"x\""},
      {R"({"#p":[")" + kA + R"(",""]})", "#p[1] must be " + hex + "\"\""},
      {R"({"#t":["a",1]})", "#t[1] must be a string, not 1"},
      {R"({"#t":["\ud800"]})", "#t[0] has half of a surrogate pair, \\ud800"},
      {R"({"#t":"a"})", "#t must be an array, not \"a\""},
      {R"({"since":-1})", "since must be a whole number, 0 or more, not -1"},
      {R"({"since":1.5})", "since must be a whole number, 0 or more, not 1.5"},
      {R"({"until":1e9})", "until must be a whole number, 0 or more, not 1e9"},
      {R"({"until":"5"})", "until must be a whole number, 0 or more, not \"5\""},
      {R"({"limit":-5})", "limit must be a whole number, 0 or more, not -5"},
      {R"({"limit":null})", "limit must be a whole number, 0 or more, not null"},
      {R"({"limit":1e999})", "limit must be a whole number, 0 or more, not 1e999"},
      {R"({"limit":{}})", "limit must be a whole number, 0 or more, not an object"},
      {"{\"#t\":[\"\xFF\"]}", "a filter must be valid UTF-8"},
      {"{\"a\nb\":1}", "the name of a field has a control character that is not escaped"},
      {R"({"a\nb":1})", R"(unknown field "a\x0ab")"},
  };
  for (const auto& [json, error] : cases) EXPECT_EQ(ErrorOf(json), error) << json;
}

TEST(Filter, NumbersBeyondAllBoundsMeanTheHighest) {
  const Filter filter = ParseFilter(R"({"until":99999999999999999999999,"limit":18446744073709551616})").value();
  EXPECT_EQ(filter.until, UINT64_MAX);
  EXPECT_EQ(filter.limit, UINT64_MAX);
}

TEST(Filter, ValuesOfAllListsCountTogether) {
  const FilterLimits limits{.max_values = 3};
  EXPECT_EQ(ErrorOf(R"({"kinds":[1,2],"#t":["a"]})", limits), "taken");
  EXPECT_EQ(ErrorOf(R"({"kinds":[1,1],"#t":["a","b"]})", limits),
            "the lists of a filter must have at most 3 values together, not more");
}

TEST(Filter, MatchesByEachCondition) {
  const Signer signer(1);
  const Event event =
      EventParser().Parse(signer.SignedEvent(100, 7, R"([["t","a"],["t","b"],["e",")" + kA + "\"]]", "x")).value();
  const std::string ids = "{\"ids\":[\"" + kA + "\",\"" + ToHex(event.view().id()) + "\"]}";
  const std::string author = ToHex(signer.pubkey());
  for (const std::string& yes :
       {std::string("{}"), ids, "{\"authors\":[\"" + author + "\"]}", std::string(R"({"kinds":[1,7]})"),
        std::string(R"({"since":100,"until":100})"), std::string(R"({"#t":["z","b"]})"),
        "{\"#t\":[\"a\"],\"#e\":[\"" + kA + "\"]}", std::string(R"({"limit":0})")}) {
    EXPECT_TRUE(Matches(yes, event)) << yes;
  }
  for (const std::string& no :
       {"{\"ids\":[\"" + kA + "\"]}", "{\"authors\":[\"" + kA + "\"]}", std::string(R"({"kinds":[1,8]})"),
        std::string(R"({"kinds":[]})"), std::string(R"({"ids":[]})"), std::string(R"({"since":101})"),
        std::string(R"({"until":99})"), std::string(R"({"#t":["z"]})"), std::string(R"({"#T":["a"]})"),
        std::string(R"({"#t":[]})"), "{\"#t\":[\"a\"],\"#e\":[\"" + kB + "\"]}"}) {
    EXPECT_FALSE(Matches(no, event)) << no;
  }
}

TEST(Filter, KnowsWhenNothingCanMatch) {
  for (const char* nothing : {R"({"ids":[]})", R"({"authors":[]})", R"({"kinds":[]})", R"({"#t":[]})",
                              R"({"since":2,"until":1})", R"({"#a":["x"],"#t":[]})"}) {
    EXPECT_TRUE(ParseFilter(nothing).value().MatchesNothing()) << nothing;
  }
  for (const char* some : {"{}", R"({"limit":0})", R"({"since":1,"until":1})", R"({"#t":[""]})"}) {
    EXPECT_FALSE(ParseFilter(some).value().MatchesNothing()) << some;
  }
}

}  // namespace
}  // namespace weir
