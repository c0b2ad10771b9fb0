#include "relay/moderation/reports.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class ReportsTest : public testing::Test {
 protected:
  // Saves the event, and returns its id.
  std::string Save(const PlainEvent& event) {
    EXPECT_EQ(SaveAll(*store_, {event}), std::vector{SaveOutcome::kSaved});
    return event.id;
  }
  std::string SaveNote(uint64_t author, const std::string& content) {
    return Save(Plain(Author(author), 100, 1, {}, content));
  }
  std::string Report(std::vector<Tag> tags, uint64_t at = 1000, const std::string& text = "") {
    return Save(Plain(Author(9), at, kReportKind, std::move(tags), text));
  }
  void Decide(const std::string& subject, Verdict verdict) { verdicts_[ToBytes(subject)] = verdict; }

  ReportPage Read(const ReportQuestion& question = {}, const Slice& slice = {}) {
    const auto find = [this](const Bytes32& subject) {
      const auto found = verdicts_.find(subject);
      return found == verdicts_.end() ? Verdict::kNone : found->second;
    };
    ReportReader reader(*store_, {.of_author = find, .of_event = find}, question, 0);
    for (slices_ = 1; reader.Next(slice).value() == Progress::kMore;) ++slices_;
    return reader.page();
  }

  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "db"));
  std::map<Bytes32, Verdict> verdicts_;
  size_t slices_ = 0;
};

TEST_F(ReportsTest, ShowWhatIsReportedByWhomAndWhy) {
  const std::string note = SaveNote(1, "buy \"now\"");
  const std::string id = Report({{"e", note, "spam"}, {"p", Author(1)}}, 1000, "third time today");
  const ReportPage page = Read();
  ASSERT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(page.after, "");
  EXPECT_EQ(ToJson(page), R"([{"id":")" + id + R"(","created_at":1000,"reporter":")" + Author(9) +
                              R"(","type":"spam","text":"third time today","answered":false,"event":{"id":")" + note +
                              R"(","verdict":"none","stored":true,"kind":1,"created_at":100,)" +
                              R"("content":"buy \"now\""},"author":{"pubkey":")" + Author(1) +
                              R"(","verdict":"none","claimed":false}}])");
}

TEST_F(ReportsTest, AboutAnAuthorNameTheAuthor) {
  Report({{"p", Author(3), "impersonation"}});
  const ReportPage page = Read();
  ASSERT_EQ(page.rows.size(), 1U);
  EXPECT_FALSE(page.rows[0].event.has_value());
  EXPECT_EQ(page.rows[0].author, ToBytes(Author(3)));
  EXPECT_FALSE(page.rows[0].author_is_claim);
  EXPECT_EQ(page.rows[0].type, "impersonation");
}

TEST_F(ReportsTest, CannotPutAnEventOnAnInnocentAuthor) {
  const std::string note = SaveNote(1, "spam");
  Report({{"e", note, "spam"}, {"p", Author(2)}}, 1001);
  Report({{"e", std::string(64, 'a'), "spam"}, {"p", Author(2)}}, 1000);
  const ReportPage page = Read();
  ASSERT_EQ(page.rows.size(), 2U);
  EXPECT_EQ(page.rows[0].author, ToBytes(Author(1))) << "the signer, not the key that the report names";
  EXPECT_FALSE(page.rows[0].author_is_claim);
  EXPECT_EQ(page.rows[1].author, ToBytes(Author(2)));
  EXPECT_TRUE(page.rows[1].author_is_claim) << "the event is not stored";
}

TEST_F(ReportsTest, WithoutAValidTargetAreLeftOut) {
  Report({});
  Report({{"e", "nothing"}, {"p"}}, 1001);
  Report({{"p", std::string(64, 'X'), "spam"}}, 1002);
  EXPECT_TRUE(Read().rows.empty());
}

TEST_F(ReportsTest, AreAnsweredByDecisionsAboutTheirTargets) {
  struct Case {
    const char* about;
    Verdict event, author;
    bool answered;
  };
  const std::string note = SaveNote(1, "a note");
  Report({{"e", note, "spam"}, {"p", Author(1)}}, 1001);
  Report({{"p", Author(1), "spam"}}, 1000);
  for (const auto& [about, event, author, answered] :
       {Case{"event", Verdict::kNone, Verdict::kNone, false}, Case{"event", Verdict::kAllowed, Verdict::kNone, true},
        Case{"event", Verdict::kBanned, Verdict::kNone, true}, Case{"event", Verdict::kNone, Verdict::kBanned, true},
        Case{"event", Verdict::kNone, Verdict::kAllowed, false},
        Case{"author", Verdict::kBanned, Verdict::kNone, false},
        Case{"author", Verdict::kNone, Verdict::kAllowed, true},
        Case{"author", Verdict::kNone, Verdict::kBanned, true}}) {
    Decide(note, event);
    Decide(Author(1), author);
    const bool is_about_event = about == std::string("event");
    const ReportPage all = Read({.only_open = false});
    ASSERT_EQ(all.rows.size(), 2U);
    EXPECT_EQ(all.rows[is_about_event ? 0 : 1].is_answered(), answered) << about;
    const ReportPage open = Read();
    EXPECT_EQ(std::ranges::count(open.rows, is_about_event, [](const ReportRow& r) { return r.event.has_value(); }),
              answered ? 0 : 1)
        << about;
  }
}

TEST_F(ReportsTest, TheBanOfTheSignerAnswersAReportThatNamesAnother) {
  Report({{"e", SaveNote(1, "a note"), "spam"}, {"p", Author(2)}});
  Decide(Author(1), Verdict::kBanned);
  EXPECT_TRUE(Read().rows.empty());
}

TEST_F(ReportsTest, ComeInPagesNewestFirst) {
  std::vector<std::string> ids;
  for (uint64_t i = 0; i < 7; ++i) ids.insert(ids.begin(), Report({{"p", Author(i + 1), "spam"}}, 1000 + i));
  std::vector<std::string> seen;
  std::string after;
  size_t pages = 0;
  do {
    ReportQuestion question = ReadReportQuestion("open", after).value();
    question.most = 3;
    const ReportPage page = Read(question);
    EXPECT_LE(page.rows.size(), 3U);
    for (const ReportRow& row : page.rows) seen.push_back(ToHex(row.place.id));
    after = page.after;
    ++pages;
  } while (!after.empty());
  EXPECT_EQ(seen, ids);
  EXPECT_EQ(pages, 3U);
}

TEST_F(ReportsTest, APageCostsABoundedAmountOfWork) {
  const std::string text(kMostReportWork / kRecordByteWork / 50, 'x');
  std::vector<PlainEvent> answered;
  for (uint64_t i = 0; i < 120; ++i)
    answered.push_back(Plain(Author(9), 2000 + i, kReportKind, {{"p", Author(1), "spam"}}, text));
  SaveAll(*store_, answered);
  Decide(Author(1), Verdict::kBanned);
  Report({{"p", Author(2), "spam"}});
  ReportPage page;
  size_t pages = 0;
  do {
    page = Read(ReadReportQuestion("open", page.after).value());
    ++pages;
  } while (page.rows.empty() && !page.after.empty());
  EXPECT_EQ(page.rows.size(), 1U);
  EXPECT_GE(pages, 3U) << "of at most 50 such reports each";
}

TEST_F(ReportsTest, AreReadInSlices) {
  for (uint64_t i = 0; i < 20; ++i) Report({{"e", SaveNote(i + 1, "note " + std::to_string(i)), "spam"}}, 1000 + i);
  const std::string whole = ToJson(Read());
  EXPECT_EQ(ToJson(Read({}, {.max_work = 1})), whole);
  EXPECT_GT(slices_, 20U);
}

TEST_F(ReportsTest, LongTextsAreCut) {
  std::string text;
  for (size_t i = 0; i < kReportCharacters + 1; ++i) text += "é";
  const std::string cut = text.substr(0, 2 * kReportCharacters) + "…";
  Report({{"e", SaveNote(1, text), text}}, 1000, text);
  const ReportPage page = Read();
  ASSERT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(page.rows[0].text, cut);
  EXPECT_EQ(page.rows[0].event->content, cut);
  EXPECT_EQ(page.rows[0].type, text.substr(0, 80) + "…");
}

TEST_F(ReportsTest, EventsThatNeedModerationComeOnce) {
  const std::string note = SaveNote(1, "a note");
  Report({{"e", note, "nudity"}}, 1000);
  Report({{"e", note, "spam"}}, 1001, "again");
  Report({{"p", Author(2), "spam"}}, 1002);
  EXPECT_EQ(EventsNeedingModeration(Read()), R"([{"id":")" + note + R"(","reason":"spam: again"}])");
  Decide(note, Verdict::kAllowed);
  EXPECT_EQ(EventsNeedingModeration(Read({.only_open = false})), "[]");
}

TEST(ReportQuestionTest, RefusesOtherParameters) {
  EXPECT_TRUE(ReadReportQuestion("", "").value().only_open);
  EXPECT_FALSE(ReadReportQuestion("all", "").value().only_open);
  EXPECT_FALSE(ReadReportQuestion("everything", "").ok());
  const std::string id(64, 'a');
  EXPECT_EQ(ReadReportQuestion("open", "12-" + id).value().after->created_at, 12U);
  const std::vector<std::string> wrong = {"12", "12-", "-" + id, "x-" + id, "12-" + id + "a", "12-A" + id.substr(1)};
  for (const std::string& after : wrong) EXPECT_FALSE(ReadReportQuestion("open", after).ok()) << after;
}

}  // namespace
}  // namespace weir
