#include "throttle/limits/descriptors/descriptor_rules.h"

#include "tests/throttle/limits/descriptors/descriptor_fixture.h"

namespace weir {
namespace {

class DescriptorRulesTest : public DescriptorFixture {
 protected:
  // Returns the path of the rule whose limit applies, or "".
  std::string PathOf(std::string_view descriptor) const {
    const auto entries = EntriesOf(descriptor);
    std::string name;
    const auto* limit = DescriptorRules::LimitOf(*rules_->Find("d"), entries, &name);
    return limit == nullptr ? "" : limit->path;
  }
  std::string NameOf(std::string_view descriptor) const {
    const auto entries = EntriesOf(descriptor);
    std::string name;
    EXPECT_NE(DescriptorRules::LimitOf(*rules_->Find("d"), entries, &name), nullptr) << descriptor;
    return name;
  }
};

TEST_F(DescriptorRulesTest, TakesTheMostSpecificOfALevel) {
  Rule({.key = "address", .limit = PerUnit(10)});
  Rule({.key = "address", .value = "10.0.*", .limit = PerUnit(20)});
  Rule({.key = "address", .value = "10.*.6", .limit = PerUnit(30)});
  Rule({.key = "address", .value = "10.0.0.5", .limit = PerUnit(0)});
  EXPECT_EQ(PathOf("address=10.0.0.5"), "address_10.0.0.5");
  EXPECT_EQ(PathOf("address=10.0.0.6"), "address_10.0.*") << "the first pattern that matches";
  EXPECT_EQ(PathOf("address=10.1.0.6"), "address_10.*.6");
  EXPECT_EQ(PathOf("address=11.0.0.6"), "address");
  EXPECT_EQ(PathOf("address="), "address");
  EXPECT_EQ(PathOf("other=10.0.0.5"), "");
}

TEST_F(DescriptorRulesTest, ALimitIsOfItsOwnDepthAlone) {
  Node* node = Rule({.key = "key", .value = "value", .limit = PerUnit(300)});
  Rule({.key = "subkey", .limit = PerUnit(3)}, node);
  Rule({.key = "free"});
  EXPECT_EQ(PathOf("key=value"), "key_value");
  EXPECT_EQ(PathOf("key=value/subkey=x"), "key_value.subkey");
  EXPECT_EQ(PathOf("key=value/subkey=x/more=y"), "");
  EXPECT_EQ(PathOf("key=value/other=x"), "");
  EXPECT_EQ(PathOf("subkey=x"), "");
  EXPECT_EQ(PathOf("free=x"), "");
  EXPECT_EQ(PathOf(""), "");
}

TEST_F(DescriptorRulesTest, DoesNotGoBackUpTheTree) {
  Node* exact = Rule({.key = "a", .value = "1"});
  Node* any = Rule({.key = "a"});
  Rule({.key = "b", .limit = PerUnit(1)}, exact);
  Rule({.key = "c", .limit = PerUnit(1)}, any);
  EXPECT_EQ(PathOf("a=1/b=x"), "a_1.b");
  EXPECT_EQ(PathOf("a=1/c=x"), "") << "the value was taken, and has no c";
  EXPECT_EQ(PathOf("a=2/c=x"), "a.c");
}

TEST_F(DescriptorRulesTest, AKeyWithAnUnderscoreIsNoValue) {
  Rule({.key = "user_admin", .limit = PerUnit(1000)});
  Rule({.key = "user", .limit = PerUnit(1)});
  EXPECT_EQ(PathOf("user=admin"), "user") << "who chooses a value chooses no rule";
  EXPECT_EQ(PathOf("user_admin=x"), "user_admin");
}

TEST_F(DescriptorRulesTest, AStarStandsForAnyText) {
  const struct {
    const char* pattern;
    std::vector<const char*> matches;
    std::vector<const char*> others;
  } cases[] = {
      {"foo*", {"foo", "foobar", "foo*"}, {"fo", "xfoo", ""}},
      {"*foo", {"foo", "barfoo"}, {"foox", ""}},
      {"*", {"", "x", "any text"}, {}},
      {"ab*ba", {"abba", "abxba"}, {"aba", "ab", "abbax"}},
      {"a*b*c", {"abc", "axbxc", "abbc", "abcbc"}, {"acb", "ab", "bc", "axc"}},
      {"a**b", {"ab", "axxb"}, {"a", "b"}},
      {"*x*x*", {"xx", "axbxc"}, {"x", ""}},
      {"api:*:v*:end", {"api:1:v2:end", "api::v:end"}, {"api:1:w2:end", "api:v:end"}},
  };
  for (const auto& c : cases) {
    rules_ = std::make_shared<DescriptorRules>();
    domain_ = nullptr;
    Rule({.key = "k", .value = c.pattern, .limit = PerUnit(1)});
    for (const char* text : c.matches) EXPECT_NE(PathOf(std::string("k=") + text), "") << c.pattern << " " << text;
    for (const char* text : c.others) EXPECT_EQ(PathOf(std::string("k=") + text), "") << c.pattern << " " << text;
  }
}

TEST_F(DescriptorRulesTest, CountsEachValueApartUnlessTheyShareAThreshold) {
  Rule({.key = "a", .limit = PerUnit(1)});
  Rule({.key = "file", .value = "files-*", .limit = PerUnit(1), .share_threshold = true});
  Rule({.key = "file", .value = "own-*", .limit = PerUnit(1)});
  Rule({.key = "file", .value = "f*", .limit = PerUnit(1)});
  EXPECT_NE(NameOf("a=1"), NameOf("a=2"));
  EXPECT_EQ(NameOf("file=files-1"), NameOf("file=files-2"));
  EXPECT_NE(NameOf("file=own-1"), NameOf("file=own-2"));
  EXPECT_NE(NameOf("file=files-1"), NameOf("file=files*")) << "a value that looks like the pattern";
}

TEST_F(DescriptorRulesTest, NoTwoDescriptorsAreOneName) {
  Node* a = Rule({.key = "a", .limit = PerUnit(1)});
  Rule({.key = "b", .limit = PerUnit(1)}, a);
  EXPECT_NE(NameOf("a=1b2"), NameOf("a=1/b=2"));
  EXPECT_NE(NameOf("a=1_b"), NameOf("a=1/b="));
}

TEST_F(DescriptorRulesTest, RefusesContradictoryDescriptors) {
  Rule({.key = "a", .value = "1", .limit = PerUnit(1)});
  Rule({.key = "a", .value = "x*"});
  Rule({.key = "a"});
  EXPECT_EQ(ErrorOf({.key = "a", .value = "1"}), "the descriptor a_1 is there twice");
  EXPECT_EQ(ErrorOf({.key = "a", .value = "x*"}), "the descriptor a_x* is there twice");
  EXPECT_EQ(ErrorOf({.key = "a"}), "the descriptor a is there twice");
  EXPECT_EQ(ErrorOf({.key = "a", .value = "1", .share_threshold = true}), "the descriptor a_1 is there twice");
  EXPECT_EQ(ErrorOf({.key = ""}), "a descriptor has no key");
  EXPECT_NE(ErrorOf({.key = "b", .value = "x", .share_threshold = true}), "");
  EXPECT_EQ(ErrorOf({.key = "c", .limit = {{.name = "n", .replaces = {"n"}}}}), "the limit n replaces itself");
  EXPECT_EQ(ErrorOf({.key = "e", .limit = {{.replaces = {""}}}}), "a limit replaces one without a name");
  EXPECT_EQ(rules_->AddDomain("d"), nullptr);
}

TEST_F(DescriptorRulesTest, RefusesDescriptorsThatCanMatchNothing) {
  const auto error = [&](const std::string& before, const std::string& value) {
    rules_ = std::make_shared<DescriptorRules>();
    domain_ = nullptr;
    Rule({.key = "a", .value = before, .limit = PerUnit(1)});
    return ErrorOf({.key = "a", .value = value, .limit = PerUnit(0)});
  };
  const std::pair<const char*, const char*> hidden[] = {{"10.*", "10.0.*"},  {"*", "x*"},   {"*x*", "*x"},
                                                        {"a*b*c", "a*bb*c"}, {"x*", "x**"}, {"*", ""},
                                                        {"**", "*"},         {"", "*"},     {"", "**"}};
  for (const auto& [before, value] : hidden) EXPECT_NE(error(before, value), "") << before << " " << value;
  const std::pair<const char*, const char*> others[] = {{"10.0.*", "10.*"}, {"x*", "*x"}, {"x*", ""},     {"", "x*"},
                                                        {"*x", "*xy"},      {"*", "x"},   {"a*b", "a*b*"}};
  for (const auto& [before, value] : others) EXPECT_EQ(error(before, value), "") << before << " " << value;
  EXPECT_EQ(error("10.*", "10.0.*"),
            "the descriptor a_10.0.* can match nothing: the value 10.* stands before it and matches everything that it "
            "would match");
  EXPECT_EQ(error("", "*"),
            "the descriptor a_* matches everything that the one without a value does; keep one of them");
  EXPECT_EQ(ErrorOf({.key = "user*"}), "the key user* can match nothing: a * stands for any text only in values");
}

TEST_F(DescriptorRulesTest, CountsOfRulesOutliveAReload) {
  Rule({.key = "a", .limit = PerUnit(1)});
  rules_->limits().front().counts->hits = 7;
  const DescriptorRules after(rules_.get());
  auto& again = const_cast<DescriptorRules&>(after);
  Node* domain = again.AddDomain("d");
  EXPECT_TRUE(domain->Add({.key = "a", .limit = PerUnit(2)}).ok());
  EXPECT_TRUE(domain->Add({.key = "b", .limit = PerUnit(2)}).ok());
  EXPECT_EQ(after.counted().at({"d", "a"})->hits, 7u);
  EXPECT_EQ(after.counted().at({"d", "b"})->hits, 0u);
}

// Among ten thousand values of a key, the right rule is found. Rules beyond the first thousand are counted together.
TEST_F(DescriptorRulesTest, HoldsTenThousandRules) {
  constexpr int kRules = 10'000;
  Node* node = Rule({.key = "tenant", .value = "t"});
  for (int i = 0; i < kRules; ++i) {
    Rule({.key = "user", .value = std::to_string(i), .limit = PerUnit(static_cast<uint32_t>(i))}, node);
  }
  for (int i = 0; i < kRules; ++i) {
    const std::string text = "tenant=t/user=" + std::to_string(i);
    const auto entries = EntriesOf(text);
    std::string name;
    const auto* limit = DescriptorRules::LimitOf(*rules_->Find("d"), entries, &name);
    ASSERT_NE(limit, nullptr);
    EXPECT_EQ(limit->limit.requests_per_unit, static_cast<uint32_t>(i));
  }
  EXPECT_EQ(rules_->limits().size(), size_t{kRules});
  EXPECT_EQ(rules_->counted().size(), DescriptorRules::kMostCounted + 2) << "with the others and the overrides";
}

}  // namespace
}  // namespace weir
