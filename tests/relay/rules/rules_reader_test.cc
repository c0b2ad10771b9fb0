#include "relay/rules/rules_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/nostr/npub.h"
#include "relay/nostr/signature.h"
#include "relay/rules/describe_rules.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

class RulesReaderTest : public testing::Test {
 protected:
  Result<RulesRead> Read(const std::string& text, const RulesRead* running = nullptr) {
    return ReadRules(directory_.Write("weir.yaml", text), &files_, running);
  }
  std::string ErrorOf(const std::string& text) {
    const Result<RulesRead> read = Read(text);
    if (read.ok()) return "no error";
    const std::string prefix = directory_.path() + "/";
    std::string message = read.status().message();
    for (size_t at = 0; (at = message.find(prefix)) != message.npos;) message.erase(at, prefix.size());
    return message;
  }

  const TempDirectory directory_;
  std::vector<std::string> files_;
  const std::string hex_ = std::string(64, 'a');
};

TEST_F(RulesReaderTest, ReadsAllThatThereIs) {
  const Signer alice(1);
  directory_.Write("friends.txt", "# friends\n\n  " + hex_ + "  # first\r\n" + ToNpub(alice.pubkey()));
  const Result<RulesRead> read = Read(R"(
relay:
  write:
    allow: {authors: [)" + std::string(64, 'b') +
                                      R"(], authors_file: friends.txt, open_kinds: [7], kinds: [0-3, 7],
            addresses: [10.0.0.0/8]}
    deny: {kinds: [2], tags: {t: [casino, gambling]}, words: ["(?i)free bitcoin"]}
    exempt: {kinds: [7]}
    rates: [{by: author, limit: 30/minute, kinds: [1]}, {by: address, limit: 5/second, below: regular}]
    proof_of_work: [{kinds: [1], bits: 16}]
    age: [{oldest: 30d, newest: 15m}]
  read:
    allow: {readers_file: friends.txt}
    deny: {kinds: [3], tags: {t: [nsfw]}}
quota: {shadow: true}
)");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const RuleSet& set = read.value().rules->set();
  EXPECT_EQ(set.allow_write.authors.size(), 3U);
  EXPECT_TRUE(set.allow_write.authors.Has(alice.pubkey()));
  EXPECT_EQ(set.allow_write.open_kinds.InWords(), "7");
  EXPECT_EQ(set.allow_write.kinds.InWords(), "0-3, 7");
  EXPECT_TRUE(set.allow_write.addresses.Has(*ParseAddressBytes("10.1.1.1")));
  EXPECT_EQ(set.deny_write.tags.size(), 2U);
  EXPECT_EQ(set.exempt.kinds.InWords(), "7");
  ASSERT_EQ(set.rates.size(), 2U);
  EXPECT_EQ(set.rates[0].rate, (Rate{.events = 30, .per = std::chrono::minutes(1)}));
  EXPECT_EQ(set.rates[1].by, RateBy::kAddress);
  EXPECT_EQ(set.rates[1].kinds, KindSet::All());
  EXPECT_EQ(set.rates[0].below, std::nullopt);
  EXPECT_EQ(set.rates[1].below, Rung::kRegular);
  EXPECT_EQ(set.work[0].bits, 16U);
  EXPECT_EQ(set.ages[0].oldest_s, 30U * 86'400);
  EXPECT_EQ(set.ages[0].newest_s, 900U);
  EXPECT_EQ(set.allow_read.readers.size(), 2U);
  EXPECT_TRUE(set.deny_read.tags.Has('t', "nsfw"));
  EXPECT_EQ(read.value().summary, "15 rules");
  EXPECT_EQ(files_.size(), 3U) << "weir.yaml, and a file of keys for each list that names one";
}

TEST_F(RulesReaderTest, WithoutTheSectionThereAreNoRules) {
  for (const char* text : {"", "quota: {shadow: true}\n", "relay: {}\n"}) {
    const Result<RulesRead> read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_FALSE(read.value().rules->judges_writes());
    EXPECT_FALSE(read.value().rules->judges_reads());
    EXPECT_EQ(read.value().summary, "no rules");
  }
  ASSERT_TRUE(ReadRules("", &files_).ok());
}

TEST_F(RulesReaderTest, AFileThatLostItsSectionIsAnError) {
  const Result<RulesRead> running = Read("relay: {write: {deny: {kinds: [4]}}}\n");
  ASSERT_TRUE(running.ok());
  const Result<RulesRead> emptied = Read("", &running.value());
  ASSERT_FALSE(emptied.ok());
  EXPECT_TRUE(Has(emptied.status().message(), "say `relay: {}`")) << emptied.status().message();
  EXPECT_TRUE(Read("relay: {}\n", &running.value()).ok());
}

TEST_F(RulesReaderTest, ErrorsSayWhereAndWhatWasExpected) {
  directory_.Write("bad.txt", hex_ + "\nnpub1\n");
  directory_.Write("empty.txt", "# none\n");
  const std::pair<std::string, std::string> cases[] = {
      {"relay: {wrte: {}}",
       "weir.yaml:1:9: relay: found the key \"wrte\", expected one of write, read, retention; did you mean \"write\"?"},
      {"relay:\n  write:\n    deny: {words: [a, \"(\"]}",
       "weir.yaml:3:23: relay.write.deny.words[1]: found \"(\", which is no regular"},
      {"relay: {write: {deny: {authors: [alice]}}}",
       "weir.yaml:1:34: relay.write.deny.authors[0]: found \"alice\", which is not a public key"},
      {"relay: {write: {deny: {authors: []}}}", "weir.yaml:1:33: relay.write.deny.authors: found an empty list"},
      {"relay: {write: {deny: {authors_file: bad.txt}}}",
       "weir.yaml:1:38: relay.write.deny.authors_file: bad.txt:2:1: found \"npub1\""},
      {"relay: {write: {deny: {authors_file: empty.txt}}}", "empty.txt: found no key, expected one a line"},
      {"relay: {write: {deny: {authors_file: none.txt}}}", "none.txt: cannot be read: No such file"},
      {"relay: {write: {deny: {kinds: [65536]}}}",
       "relay.write.deny.kinds[0]: found \"65536\", expected a kind or a range of kinds within 0..65535"},
      {"relay: {write: {deny: {kinds: [7-3]}}}", "found \"7-3\", expected a kind or a range"},
      {"relay: {write: {deny: {kinds: [1-9, 3]}}}",
       "weir.yaml:1:37: relay.write.deny.kinds[1]: found kinds that the list has already"},
      {"relay: {write: {deny: {addresses: [10.0.0.1/8]}}}", "the network is 10.0.0.0/8"},
      {"relay: {write: {deny: {tags: {topic: [x]}}}}",
       "found the tag \"topic\", expected a tag whose name is one letter"},
      {"relay: {write: {deny: {tags: {}}}}", "found no tag with a value"},
      {"relay: {write: {deny: {tags: {p: [" + ToNpub(Signer(1).pubkey()) + "]}}}}",
       "relay.write.deny.tags.p[0]: found an npub, expected 64 hex digits"},
      {"relay: {write: {rates: [{by: author, limit: 30}]}}", "found \"30\", expected a rate such as 30/minute"},
      {"relay: {write: {rates: [{by: author, limit: 0/minute}]}}", "expected a rate such as"},
      {"relay: {write: {rates: [{by: tag, limit: 1/day}]}}", "expected one of author, address, kind"},
      {"relay: {write: {rates: [{by: kind, limit: 1/day}, {by: kind, limit: 1/day}]}}", "found the same rate again"},
      {"relay: {write: {rates: [{by: author, limit: 1/day, below: reported}]}}", "expected one of stranger, newcomer"},
      {"relay: {write: {rates: []}}", "found an empty list"},
      {"relay: {write: {proof_of_work: [{bits: 0}]}}", "expected a whole number within 1..256"},
      {"relay: {write: {age: [{kinds: [1]}]}}", "found neither oldest nor newest"},
      {"relay: {write: {age: [{oldest: 30}]}}", "expected a time such as 30d, 12h, 15m or 90s"},
      {"relay: {write: {age: [{oldest: 3651d}]}}", "of at most ten years"},
      {"relay: {write: {allow: {words: [a]}}}", "found the key \"words\""},
      {"relay: {read: {deny: {words: [a]}}}", "found the key \"words\""},
      {"relay: {write: {allow: {readers: [a]}}}", "found the key \"readers\""},
  };
  for (const auto& [text, part] : cases) {
    const std::string message = ErrorOf(text);
    EXPECT_TRUE(Has(message, part)) << text << "\n" << message;
  }
}

TEST_F(RulesReaderTest, RulesThatCanHaveNoEffectAreErrors) {
  directory_.Write("keys.txt", hex_);
  const std::pair<const char*, const char*> cases[] = {
      {"relay: {write: {allow: {kinds: [1, 4]}, deny: {kinds: [4-5]}}}",
       "weir.yaml:1:36: relay.write.allow.kinds[1]: found kinds that relay.write.deny.kinds denies"},
      {"relay: {write: {allow: {kinds: [1]}, deny: {kinds: [4]}}}", "relay.write.allow.kinds does not allow"},
      {"relay: {read: {allow: {kinds: [1]}, deny: {kinds: [4]}}}", "relay.read.allow.kinds does not allow"},
      {"relay: {write: {rates: [{by: kind, limit: 1/day, kinds: [24133]}]}}",
       "relay.write.rates[0]: applies to no event"},
      {"relay: {write: {deny: {kinds: [1]}, proof_of_work: [{bits: 9, kinds: [1]}]}}", "applies to no event"},
      {"relay: {write: {allow: {kinds: [7]}, age: [{oldest: 1d, kinds: [1]}]}}", "applies to no event"},
      {"relay: {write: {exempt: {kinds: [0-65535]}, deny: {words: [x]}}}",
       "relay.write.deny.words: applies to no event"},
      {"relay: {write: {exempt: {kinds: [1]}}}", "relay.write.exempt: has no effect"},
      {"relay: {write: {allow: {open_kinds: [1]}}}", "relay.write.allow.open_kinds: has no effect"},
      {"relay: {write: {allow: {authors_file: keys.txt, open_kinds: [7, 4]}, deny: {kinds: [4]}}}",
       "relay.write.allow.open_kinds[1]: found kinds that are denied"},
      {"relay: {read: {allow: {open_kinds: [1]}}}", "found the key \"open_kinds\""},
  };
  for (const auto& [text, part] : cases) {
    const std::string message = ErrorOf(text);
    EXPECT_TRUE(Has(message, part)) << text << "\n" << message;
  }
}

TEST_F(RulesReaderTest, TakesAHundredThousandKeysInAFileAndInAList) {
  std::string lines;
  std::string items;
  for (int n = 0; n < 100'000; ++n) {
    const std::string key = ToHex(Sha256(std::to_string(n)));
    lines += key + "\n";
    items += (n == 0 ? "" : ",") + key;
  }
  directory_.Write("keys.txt", lines);
  for (const std::string& text : {std::string("relay: {write: {deny: {authors_file: keys.txt}}}"),
                                  "relay: {write: {deny: {authors: [" + items + "]}}}"}) {
    const Result<RulesRead> read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status().message();
    const KeySet& keys = read.value().rules->set().deny_write.authors;
    EXPECT_EQ(keys.size(), 100'000U);
    EXPECT_TRUE(keys.Has(Sha256("99999")));
    EXPECT_FALSE(keys.Has(Sha256("100000")));
  }
}

TEST_F(RulesReaderTest, HasRoomForSixteenRates) {
  std::string rates;
  for (int n = 1; n <= 16; ++n) rates += "{by: author, limit: " + std::to_string(n) + "/day}, ";
  EXPECT_TRUE(Read("relay: {write: {rates: [" + rates + "]}}").ok());
  EXPECT_TRUE(Has(ErrorOf("relay: {write: {rates: [" + rates + "{by: kind, limit: 1/day}]}}"),
                  "relay.write.rates[16]: found more than 16 rates"));
}

TEST_F(RulesReaderTest, ASecretKeyIsNotRepeatedInTheError) {
  const std::string secret = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";
  directory_.Write("keys.txt", secret + "\n");
  for (const std::string& list : {"authors: [" + secret + "]", std::string("authors_file: keys.txt")}) {
    const std::string message = ErrorOf("relay: {write: {deny: {" + list + "}}}");
    EXPECT_TRUE(Has(message, "this is a secret key")) << message;
    EXPECT_FALSE(Has(message, secret.substr(0, 8))) << message;
  }
}

TEST_F(RulesReaderTest, RatesThatStayGoOnWithTheirCounts) {
  const Result<RulesRead> first = Read("relay: {write: {rates: [{by: author, limit: 1/day}]}}");
  ASSERT_TRUE(first.ok());
  const Result<RulesRead> second =
      Read("relay: {write: {rates: [{by: kind, limit: 1/day}, {by: author, limit: 1/day}]}}", &first.value());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value().rules->set().rates[1].counts, first.value().rules->set().rates[0].counts);
  EXPECT_NE(second.value().rules->set().rates[0].counts, nullptr);
}

TEST_F(RulesReaderTest, AnchorsLetReadingAndWritingShareAList) {
  const Result<RulesRead> read =
      Read("relay:\n  write: {deny: {kinds: &spam [1984, 4-5]}}\n  read: {deny: {kinds: *spam}}\n");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read.value().rules->set().deny_read.kinds.InWords(), "4-5, 1984");
}

TEST(DescribeRules, NamesEachRuleAndWhatItDoes) {
  RuleSet set;
  EXPECT_TRUE(DescribeRules(set).empty());
  set.deny_write.kinds.Add(4, 4);
  set.rates.push_back({.by = RateBy::kAuthor, .rate = {.events = 30, .per = std::chrono::minutes(1)}});
  set.rates.push_back({.by = RateBy::kKind, .rate = {.events = 5, .per = std::chrono::hours(1)}, .kinds = {}});
  set.rates[1].kinds.Add(1, 1);
  set.rates[1].kinds.Add(4, 4);
  EXPECT_EQ(DescribeRules(set),
            (std::vector<std::string>{
                "relay.write.deny.kinds: no events of kind 4 are taken",
                "relay.write.rates[0]: at most 30 events of one author a minute, all kinds",
                "relay.write.rates[1]: at most 5 events of one kind an hour, kinds 1, 4",
                "relay.write.exempt.kinds: kinds 20000-29999 exempt from tags, words, rates, proof of work and age"}));
}

}  // namespace
}  // namespace weir
