// weir quota watch, on a terminal and on none, with a gate that answers what the test says.
#include "relay/limiters/quota/quota_watch.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/limiters/quota/quota_table.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

class ScriptedClient final : public QuotaClient {
 public:
  explicit ScriptedClient(std::vector<Result<HttpResponse>> answers) : answers_(std::move(answers)) {}
  std::string name() const override { return "http://gate"; }
  Result<HttpResponse> Ask(const QuotaQuestion& question) override {
    EXPECT_EQ(question.call, QuotaRoute::Call::kModels);
    queries_.push_back(question.query);
    return answers_[std::min(asked_++, answers_.size() - 1)];
  }
  size_t asked() const { return asked_; }
  const std::vector<std::string>& queries() const { return queries_; }

 private:
  std::vector<Result<HttpResponse>> answers_;
  std::vector<std::string> queries_;
  size_t asked_ = 0;
};

HttpResponse Models(const std::vector<std::pair<std::string, int>>& models) {
  std::string body = R"({"models":[)";
  for (const auto& [model, rpm] : models) {
    body += std::string(body.ends_with('[') ? "" : ",") + R"({"model":")" + model +
            R"(","quota":{"max_rpm":10,"max_tpm":0,"max_rpd":0},"usage":{"rpm":)" + std::to_string(rpm) + "}}";
  }
  return {.body = body + "]}\n"};
}

TEST(AskForAllTest, PagesAreOneAnswer) {
  const auto page = [](const std::string& model, const std::string& next) {
    HttpResponse response = Models({{model, 1}});
    response.body.insert(response.body.rfind('}'), next.empty() ? "" : R"(,"next":")" + next + "\"");
    return response;
  };
  ScriptedClient client({page("a", "a"), page("b", "b"), page("c", "")});
  const Result<HttpResponse> all = AskForAll(client, {.call = QuotaRoute::Call::kModels});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(client.queries(), (std::vector<std::string>{"", "after=a", "after=b"}));
  const Result<AllModelStats> models = ReadModelsPage(all.value().body);
  ASSERT_EQ(models.value().models.size(), 3U);
  EXPECT_EQ(models.value().models[2].model, "c");
  EXPECT_EQ(models.value().next, "");
  ScriptedClient turning({page("a", "a"), page("a", "a")});
  EXPECT_FALSE(AskForAll(turning, {.call = QuotaRoute::Call::kModels}).ok()) << "it would never end";
  ScriptedClient fails({page("a", "a"), HttpResponse{.status = 503}});
  EXPECT_EQ(AskForAll(fails, {.call = QuotaRoute::Call::kModels}).value().status, 503);
}

// Keeps what was written, one text a turn; problems begin with "!".
class WatchTest : public testing::Test {
 protected:
  using Style = WatchParts::Style;

  Status Watch(ScriptedClient& client, Style style, size_t turns) {
    size_t turn = 1;
    return WatchQuotas(client,
                       {.style = style,
                        .times = {},
                        .write = [this](std::string_view text) { written_ += text; },
                        .complain = [this](std::string_view text) { written_ += "!" + std::string(text) + "\n"; },
                        .size = [this] { return size_; },
                        .wait =
                            [this, &turn, turns] {
                              clock_.Advance(std::chrono::milliseconds(1500));
                              return turn++ < turns;
                            },
                        .clock = clock_});
  }

  ManualWallClock clock_{1771597920};  // 2026-02-20T14:32:00Z
  TerminalSize size_{.rows = 24, .columns = 200};
  std::string written_;
};

TEST_F(WatchTest, WritesALineForEachModelInUse) {
  ScriptedClient client({Models({{"a", 3}, {"idle", 0}, {"b", 1}}), Models({{"a", 0}})});
  ASSERT_TRUE(Watch(client, Style::kLines, 2).ok());
  EXPECT_EQ(written_,
            "2026-02-20T14:32:00Z a rpm 3/10 tpm 0 rpd 0 reserved 0\n"
            "2026-02-20T14:32:00Z b rpm 1/10 tpm 0 rpd 0 reserved 0\n"
            "2026-02-20T14:32:01Z nothing is in use\n");
}

TEST_F(WatchTest, RedrawsInPlace) {
  ScriptedClient client({Models({{"a", 3}}), Models({{"a", 4}})});
  ASSERT_TRUE(Watch(client, Style::kTable, 2).ok());
  const std::string first = "\x1b[Hhttp://gate, 2026-02-20T14:32:00Z\x1b[K\nmodel ";
  const std::string second = "\x1b[Hhttp://gate, 2026-02-20T14:32:01Z\x1b[K\nmodel ";
  EXPECT_TRUE(written_.starts_with("\x1b[2J" + first)) << written_;
  const size_t again = written_.find(second);
  ASSERT_NE(again, written_.npos) << written_;
  EXPECT_TRUE(written_.substr(0, again).ends_with("\x1b[K\n\x1b[J"));
  EXPECT_TRUE(Has(written_, "██░░░░░░ 3/10"));
  EXPECT_GT(written_.find("███░░░░░ 4/10"), again);
  EXPECT_EQ(written_.find("\x1b[2J", 4), written_.npos);
}

TEST_F(WatchTest, FitsIntoTheTerminal) {
  size_ = {.rows = 6, .columns = 20};
  ScriptedClient client({Models({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}})});
  ASSERT_TRUE(Watch(client, Style::kTable, 1).ok());
  size_t lines = 0;
  std::string line;
  for (const char c : written_) {
    line += c;
    if (c != '\n') continue;
    ++lines;
    for (const std::string code : {"\x1b[2J", "\x1b[H", "\x1b[K\n"})
      if (const size_t at = line.find(code); at != line.npos) line.erase(at, code.size());
    size_t columns = 0;
    for (const char b : line) columns += (static_cast<unsigned char>(b) & 0xc0) != 0x80 ? 1 : 0;
    EXPECT_LE(columns, 20u) << line;
    line.clear();
  }
  EXPECT_EQ(lines, 5u);  // and the cursor's
  EXPECT_TRUE(Has(written_, "… and 3 more")) << written_;
}

TEST_F(WatchTest, EndsWhereTheFirstQuestionFails) {
  for (const Result<HttpResponse>& answer : {Result<HttpResponse>(Status::Error("nobody there")),
                                             Result<HttpResponse>(HttpResponse{.status = 503, .body = "x"}),
                                             Result<HttpResponse>(HttpResponse{.body = "<html>"})}) {
    ScriptedClient client({answer});
    EXPECT_FALSE(Watch(client, Style::kTable, 5).ok());
    EXPECT_EQ(client.asked(), 1u);
    EXPECT_EQ(written_, "");
  }
}

TEST_F(WatchTest, GoesOnWhereALaterOneFails) {
  ScriptedClient client({Models({{"a", 3}}), Status::Error("nobody there"), Models({{"a", 4}})});
  ASSERT_TRUE(Watch(client, Style::kLines, 3).ok());
  EXPECT_EQ(written_,
            "2026-02-20T14:32:00Z a rpm 3/10 tpm 0 rpd 0 reserved 0\n"
            "!nobody there\n"
            "2026-02-20T14:32:03Z a rpm 4/10 tpm 0 rpd 0 reserved 0\n");
  written_.clear();
  ScriptedClient other({Models({{"a", 3}}), Status::Error("nobody there")});
  ASSERT_TRUE(Watch(other, Style::kTable, 2).ok());
  const size_t problem = written_.find(", as it was before: nobody there\x1b[K\n");
  EXPECT_NE(problem, written_.npos);
  EXPECT_GT(written_.rfind(" 3/10"), problem);
}

TEST_F(WatchTest, HandsOnJsonAsItCame) {
  ScriptedClient client({Models({{"a", 3}})});
  ASSERT_TRUE(Watch(client, Style::kJson, 2).ok());
  EXPECT_EQ(written_, Models({{"a", 3}}).body + Models({{"a", 3}}).body);
}

TEST(InterruptsTest, EndAWait) {
  const Interrupts interrupts;
  EXPECT_TRUE(interrupts.Wait(std::chrono::milliseconds(1)));
  pthread_kill(pthread_self(), SIGINT);
  EXPECT_FALSE(interrupts.Wait(std::chrono::hours(1)));
}

}  // namespace
}  // namespace weir
