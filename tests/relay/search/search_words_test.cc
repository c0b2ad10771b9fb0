#include "relay/search/search_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "relay/search/search_text.h"

namespace weir {
namespace {

std::vector<uint64_t> Hashes(const std::string& text, WordsFor use = WordsFor::kIndex) {
  std::vector<uint64_t> words;
  for (const WordCount& each : WordsOf(text, use).words) words.push_back(each.word);
  return words;
}

bool Finds(const std::string& text, const std::string& search) {
  const Result<std::vector<uint64_t>> words = ParseSearch(search);
  const std::vector<uint64_t> has = Hashes(text);
  return words.ok() && std::includes(has.begin(), has.end(), words.value().begin(), words.value().end());
}

TEST(SearchWords, FoldsCaseAccentsAndForms) {
  struct Case {
    const char* text;
    const char* search;
  };
  for (const Case& each :
       {Case{"Hello, World!", "hello world"}, Case{"GRÜSSE", "grüße"}, Case{"Crème brûlée", "creme BRULEE"},
        Case{"ΑΘΉΝΑ", "αθηνα"}, Case{"Ёлка", "елка"}, Case{"ﬁsh", "fish"}, Case{"ｗｉｄｅ", "wide"},
        Case{"e\u0301te\u0301", "été"}, Case{"שָׁלוֹם", "שלום"}, Case{"مُحَمَّد", "محمد"}, Case{"नमस्ते दुनिया", "दुनिया"},
        Case{"NFC가 NFD\u1100\u1161", "nfd가"}, Case{"soft\u00adhyphen", "softhyphen"}, Case{"snake_case", "case"}})
    EXPECT_TRUE(Finds(each.text, each.search)) << each.text << " / " << each.search;
}

TEST(SearchWords, FindsWordsOfScriptsWithoutSpaces) {
  struct Case {
    const char* text;
    const char* search;
  };
  for (const Case& each : {Case{"私は東京都に住んでいます", "東京"}, Case{"私は東京都に住んでいます", "京都"},
                           Case{"我爱北京天安门", "北京 天安门"}, Case{"我爱北京", "爱"},
                           Case{"これはペンです", "ペン"}, Case{"ﾃｽﾄです", "テスト"}, Case{"ภาษาไทยง่ายมาก", "ไทย"},
                           Case{"한국어를 배워요", "한국어"}, Case{"ខ្ញុំស្រលាញ់កម្ពុជា", "កម្ពុជា"}})
    EXPECT_TRUE(Finds(each.text, each.search)) << each.text << " / " << each.search;
  EXPECT_FALSE(Finds("東海 京阪", "東京"));
  EXPECT_FALSE(Finds("がっこう", "かっこう"));
}

TEST(SearchWords, TakesOnlyTheHostOfALink) {
  const std::string text = "see https://Example.com/secret/path?query=deep#part and http://other.org";
  for (const char* const found : {"see", "example", "com", "and", "other", "org", "example.com"})
    EXPECT_TRUE(Finds(text, found)) << found;
  for (const char* const lost : {"https", "secret", "path", "query", "deep", "part", "http"})
    EXPECT_FALSE(Finds(text, lost)) << lost;
}

TEST(SearchWords, PassesOverNamesThatAreNoWords) {
  const std::string npub = "npub1" + std::string(58, 'q');
  EXPECT_EQ(Hashes("nostr:" + npub + " " + npub + " " + std::string(64, 'a') + " a 7 ! 🔥 nostr:note1abc"),
            std::vector<uint64_t>{});
  EXPECT_TRUE(Finds("I like nostr: much", "nostr")) << "a plain word";
}

TEST(SearchWords, CountsTheWords) {
  const SearchWords words = WordsOf("one two two three three three");
  EXPECT_EQ(words.length, 6U);
  std::vector<uint32_t> times;
  for (const WordCount& each : words.words) times.push_back(each.times);
  std::sort(times.begin(), times.end());
  EXPECT_EQ(times, (std::vector<uint32_t>{1, 2, 3}));
}

TEST(SearchWords, BoundsTheWordsOfAText) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "word" + std::to_string(i) + " ";
  const SearchWords words = WordsOf(text);
  EXPECT_EQ(words.words.size(), kMostWords);
  EXPECT_TRUE(Finds(text, "word0 word499"));
  EXPECT_FALSE(Finds(text, "word500"));
  EXPECT_TRUE(std::is_sorted(words.words.begin(), words.words.end(),
                             [](const WordCount& a, const WordCount& b) { return a.word < b.word; }));
  std::string long_text(kMostTextBytes - 1, ' ');
  EXPECT_TRUE(Finds("early " + long_text.substr(10) + "é behind", "early"));
  EXPECT_FALSE(Finds("early " + long_text + "é behind", "behind"));
}

// A character such as U+FDFA becomes eighteen others, so a text of them would cost thirty times as much as another one.
TEST(SearchWords, BoundsTextThatUnfoldsIntoMuchMore) {
  std::string text;
  while (text.size() < kMostTextBytes) text += "\uFDFA 京";
  for (const WordsFor use : {WordsFor::kIndex, WordsFor::kSearch}) {
    const SearchWords words = WordsOf(text, use);
    EXPECT_LE(words.length, kMostPlaces);
    EXPECT_FALSE(words.words.empty());
  }
  EXPECT_TRUE(Finds("\uFDFA", "عليه"));
}

TEST(SearchWords, JoinersAndSeparatorsThatAreNotSeenMakeNoDifference) {
  EXPECT_EQ(Hashes("می\u200cخواهم क\u094dष क\u094d\u200dष zero\u200bwidth"),
            Hashes("میخواهم क\u094dष क\u094dष zerowidth"));
  EXPECT_EQ(Hashes("👩\u200d🚀 \u0301\u0301 \u3099"), Hashes("\u3099"));
}

TEST(SearchWords, PassesOverBytesThatAreNoText) {
  EXPECT_TRUE(Finds("good \xff\xfe words \xe2\x82", "good words"));
  EXPECT_TRUE(Finds(std::string("nul\0here", 8), "here"));
}

TEST(SearchText, IgnoresExtensionsButNotLinks) {
  EXPECT_EQ(ParseSearch("best apps language:en include:spam").value(), ParseSearch("best apps").value());
  EXPECT_EQ(ParseSearch("https://example.com").value(), ParseSearch("example com").value());
  EXPECT_EQ(ParseSearch("at 12:30").value(), Hashes("at 12 30"));
  EXPECT_EQ(ParseSearch("Re: lunch").value(), Hashes("re lunch"));
}

TEST(SearchText, SaysWhatIsWrong) {
  for (const char* const nothing : {"", " ", "a", "language:en", "🔥", "a b c"})
    EXPECT_EQ(ParseSearch(nothing).status().message(), "a search needs at least one word of 2 to 40 letters")
        << nothing;
  EXPECT_EQ(ParseSearch(std::string(1025, 'x')).status().message(),
            "the text of a search must have at most 1024 bytes, not 1025");
  std::string many;
  for (int i = 0; i < 33; ++i) many += "w" + std::to_string(i) + " ";
  EXPECT_EQ(ParseSearch(many).status().message(), "a search must have at most 32 words, not more");
}

}  // namespace
}  // namespace weir
