#include "relay/plugins/policy_plugin.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/relay/plugins/scripted_plugin.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The verdicts of questions, by their ids.
class Verdicts {
 public:
  OnPluginVerdict For(const std::string& id) {
    return [this, id](PluginVerdict verdict) {
      const std::lock_guard lock(mutex_);
      verdicts_[id] = (verdict.action == PluginAction::kAccept ? "accept" : verdict.refusal) +
                      (verdict.answered ? "" : " (unanswered)");
    };
  }
  // Waits for a verdict.
  std::string Of(const std::string& id) {
    EXPECT_TRUE(Eventually([&] { return Has(id); })) << id;
    const std::lock_guard lock(mutex_);
    return verdicts_[id];
  }
  bool Has(const std::string& id) {
    const std::lock_guard lock(mutex_);
    return verdicts_.contains(id);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> verdicts_;
};

constexpr const char* kNoAnswer = "error: the write plugin of this relay gave no answer; try again later (unanswered)";

class PolicyPluginTest : public testing::Test {
 protected:
  void Open(PolicyPluginOptions options) {
    auto started = PolicyPlugin::Start(std::move(options));
    ASSERT_TRUE(started.ok()) << started.status().message();
    plugin_ = std::move(started).value();
  }
  void Open(size_t processes = 1) { Open(script_.Options(clock_, processes)); }
  void Ask(const std::string& id) { plugin_->Ask({.id = id, .line = id + "\n"}, verdicts_.For(id)); }
  void Advance(Duration time) {
    clock_.Advance(time);
    plugin_->Wake();
  }
  // Moves the clock, piece by piece, until the condition holds.
  template <typename Condition>
  void AdvanceUntil(Condition condition, Duration step = milliseconds(100)) {
    ASSERT_TRUE(Eventually([&] {
      Advance(step);
      return condition();
    }));
  }
  uint64_t faults(PluginFault fault) { return plugin_->Stats().faults[static_cast<size_t>(fault)]; }

  ManualClock clock_{TimePoint{std::chrono::hours(1)}};
  ScriptedPlugin script_;
  Verdicts verdicts_;
  std::unique_ptr<PolicyPlugin> plugin_;
};

TEST_F(PolicyPluginTest, PassesQuestionsAndAnswersOn) {
  Open();
  Ask("a");
  Ask("b");
  EXPECT_EQ(script_.Hear(), "a");
  EXPECT_EQ(script_.Hear(), "b");
  EXPECT_EQ(plugin_->Stats().under_way, 2U);
  script_.Answer("b", "reject", "no");
  script_.Answer("a", "accept");
  EXPECT_EQ(verdicts_.Of("a"), "accept");
  EXPECT_EQ(verdicts_.Of("b"), "blocked: no");
  EXPECT_EQ(plugin_->Stats().under_way, 0U);
  EXPECT_EQ(plugin_->Trouble(), "");
}

TEST_F(PolicyPluginTest, AQuestionGoesToTheProcessThatOwesLeast) {
  Open(2);
  Ask("slow");
  EXPECT_EQ(script_.Hear(0), "slow");
  for (const char* id : {"a", "b", "c"}) {
    Ask(id);
    EXPECT_EQ(script_.Hear(1), id);
    script_.Answer(id, "accept", "", 1);
    EXPECT_EQ(verdicts_.Of(id), "accept");
  }
  EXPECT_FALSE(verdicts_.Has("slow"));
  script_.Answer("slow", "accept");
  EXPECT_EQ(verdicts_.Of("slow"), "accept");
}

// Address 1 has asked a thousand questions when address 2 asks one.
TEST_F(PolicyPluginTest, AnAddressWithManyQuestionsLetsOthersGoFirst) {
  Open();
  const std::string end(1000, 'x');
  for (int i = 0; i < 1000; ++i)
    plugin_->Ask({.id = "many", .line = "many" + end + "\n", .address = 1}, verdicts_.For("many"));
  EXPECT_TRUE(script_.HearSome());
  plugin_->Ask({.id = "one", .line = "one" + end + "\n", .address = 2}, verdicts_.For("one"));
  int heard = 0;
  while (script_.Hear().starts_with("many")) ++heard;
  EXPECT_LT(heard, 50) << "the pipe and the dialogue have some of them already";
  script_.Answer("one", "accept");
  EXPECT_EQ(verdicts_.Of("one"), "accept");
}

TEST_F(PolicyPluginTest, AnEndlessQueueFailsByTheTimeOut) {
  Open();
  const std::string line = std::string(10'000, 'x') + "\n";
  for (int i = 0; i < 20; ++i) plugin_->Ask({.id = std::to_string(i), .line = line}, verdicts_.For(std::to_string(i)));
  EXPECT_TRUE(script_.HearSome());
  Advance(seconds(5));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(verdicts_.Of(std::to_string(i)), kNoAnswer);
  EXPECT_EQ(faults(PluginFault::kTimeout), 20U);
}

TEST_F(PolicyPluginTest, ASlowAnswerHoldsBackNoOther) {
  Open();
  Ask("slow");
  Ask("a");
  EXPECT_EQ(script_.Hear(), "slow");
  EXPECT_EQ(script_.Hear(), "a");
  script_.Answer("a", "accept");
  EXPECT_EQ(verdicts_.Of("a"), "accept");
  Advance(seconds(5));
  EXPECT_EQ(verdicts_.Of("slow"), kNoAnswer);
  EXPECT_EQ(faults(PluginFault::kTimeout), 1U);
  EXPECT_TRUE(Has(plugin_->Trouble(), "events are refused"));
  script_.Answer("slow", "accept");
  Ask("b");
  EXPECT_EQ(script_.Hear(), "b");
  script_.Answer("b", "accept");
  EXPECT_EQ(verdicts_.Of("b"), "accept");
  EXPECT_EQ(plugin_->Trouble(), "");
  EXPECT_EQ(faults(PluginFault::kUnasked), 0U);
}

TEST_F(PolicyPluginTest, FailsOpenIfTheOperatorSaysSo) {
  PolicyPluginOptions options = script_.Options(clock_);
  options.on_failure = PluginFailure::kAccept;
  Open(std::move(options));
  Ask("a");
  script_.Hear();
  Advance(seconds(5));
  EXPECT_EQ(verdicts_.Of("a"), "accept (unanswered)");
  EXPECT_TRUE(Has(plugin_->Trouble(), "accepted without it"));
}

TEST_F(PolicyPluginTest, TheEndOfAProcessFailsWhatItWasSent) {
  Open();
  Ask("a");
  EXPECT_EQ(script_.Hear(), "a");
  script_.End();
  EXPECT_EQ(verdicts_.Of("a"), kNoAnswer);
  Ask("b");
  EXPECT_EQ(script_.started(), 1U) << "it is started again after a pause";
  AdvanceUntil([&] { return script_.started() == 2; });
  EXPECT_EQ(script_.Hear(1), "b");
  script_.Answer("b", "accept", "", 1);
  EXPECT_EQ(verdicts_.Of("b"), "accept") << "the question waited for the new process";
}

TEST_F(PolicyPluginTest, TheEndOfAProcessGivesItsQuestionsNoMoreTime) {
  Open();
  plugin_->Ask({.id = "sent", .line = std::string(1 << 20, 'x') + "\n"}, verdicts_.For("sent"));
  Ask("b");
  EXPECT_TRUE(script_.HearSome());
  Advance(seconds(3));
  script_.End();
  EXPECT_EQ(verdicts_.Of("sent"), kNoAnswer);
  AdvanceUntil([&] { return script_.started() == 2; });
  EXPECT_EQ(script_.Hear(1), "b");
  Advance(seconds(2));
  EXPECT_EQ(verdicts_.Of("b"), kNoAnswer);
}

TEST_F(PolicyPluginTest, WhileItCannotRunItFailsAtOnce) {
  Open();
  script_.FailStarts("no such file");
  script_.End();
  ASSERT_TRUE(Eventually([&] { return faults(PluginFault::kEnded) == 1; }));
  AdvanceUntil([&] { return faults(PluginFault::kStart) > 0; });
  Ask("a");
  EXPECT_EQ(verdicts_.Of("a"), kNoAnswer);
  script_.FailStarts("");
  Advance(std::chrono::minutes(1));
  script_.AwaitStart(2);
  Ask("b");
  EXPECT_EQ(script_.Hear(1), "b");
  script_.Answer("b", "accept", "", 1);
  EXPECT_EQ(verdicts_.Of("b"), "accept");
}

TEST_F(PolicyPluginTest, ThePausesBetweenItsStartsGrow) {
  Open();
  script_.FailStarts("no such file");
  script_.End();
  const TimePoint begin = clock_.Now();
  AdvanceUntil([&] { return faults(PluginFault::kStart) == 15; }, seconds(1));
  EXPECT_GE(clock_.Now() - begin, seconds(231)) << "from 0.1 s, twice as long each time, to 30 s";
}

TEST_F(PolicyPluginTest, RefusesAllQuestionsOnceItIsToStop) {
  Open();
  Ask("a");
  EXPECT_EQ(script_.Hear(), "a");
  plugin_->StopSoon();
  Ask("b");
  for (const char* id : {"a", "b"}) EXPECT_EQ(verdicts_.Of(id), "error: the relay is shutting down (unanswered)");
  EXPECT_EQ(script_.Hear(), "") << "the end of its input";
}

TEST_F(PolicyPluginTest, ASilentProcessIsEndedAndStartedAgain) {
  Open();
  Ask("a");
  EXPECT_EQ(script_.Hear(), "a");
  Advance(seconds(5));
  EXPECT_EQ(verdicts_.Of("a"), kNoAnswer);
  Advance(seconds(10));
  EXPECT_EQ(script_.Hear(), "") << "the end of its input";
  AdvanceUntil([&] { return script_.started() == 2; });
  EXPECT_EQ(faults(PluginFault::kEnded), 1U);
}

TEST_F(PolicyPluginTest, AFullPipeHoldsBackNoCaller) {
  Open();
  const std::string large(10'000, 'x');
  for (int i = 0; i < 100; ++i)
    plugin_->Ask({.id = std::to_string(i), .line = large + "\n"}, verdicts_.For(std::to_string(i)));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(script_.Hear(), large);
    script_.Answer(std::to_string(i), "accept");
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(verdicts_.Of(std::to_string(i)), "accept");
}

TEST_F(PolicyPluginTest, ReplacesItsProcessesWithoutLosingALine) {
  const TempDirectory directory;
  PolicyPluginOptions options = script_.Options(clock_);
  options.command.command = "run " + directory.Write("plugin", "one");
  Open(std::move(options));
  Ask("old");
  EXPECT_EQ(script_.Hear(0), "old");
  directory.Write("plugin", "a new one");
  AdvanceUntil([&] { return script_.started() == 2; });
  Ask("new");
  EXPECT_EQ(script_.Hear(1), "new");
  script_.Answer("new", "accept", "", 1);
  EXPECT_EQ(verdicts_.Of("new"), "accept");
  script_.Answer("old", "accept", "", 0);
  EXPECT_EQ(verdicts_.Of("old"), "accept");
  plugin_->Wake();
  EXPECT_EQ(script_.Hear(0), "") << "the end of its input";
  EXPECT_EQ(faults(PluginFault::kEnded), 0U);
}

TEST_F(PolicyPluginTest, KeepsTheOldProcessIfTheNewOneCannotStart) {
  const TempDirectory directory;
  PolicyPluginOptions options = script_.Options(clock_);
  options.command.command = "run " + directory.Write("plugin", "one");
  Open(std::move(options));
  script_.FailStarts("a syntax error");
  directory.Write("plugin", "a bad one");
  AdvanceUntil([&] { return faults(PluginFault::kStart) == 1; });
  Ask("a");
  EXPECT_EQ(script_.Hear(0), "a");
  script_.Answer("a", "accept");
  EXPECT_EQ(verdicts_.Of("a"), "accept");
}

TEST_F(PolicyPluginTest, StopSettlesEveryQuestion) {
  PolicyPluginOptions options = script_.Options(clock_);
  options.on_failure = PluginFailure::kAccept;
  Open(std::move(options));
  Ask("a");
  EXPECT_EQ(script_.Hear(), "a");
  plugin_->Stop();
  EXPECT_EQ(verdicts_.Of("a"), "error: the relay is shutting down (unanswered)");
  Ask("b");
  EXPECT_EQ(verdicts_.Of("b"), "error: the relay is shutting down (unanswered)");
  EXPECT_EQ(script_.Hear(), "");
}

TEST_F(PolicyPluginTest, AProgramThatCannotRunIsAnErrorAtTheStart) {
  const auto started = PolicyPlugin::Start({.name = "write", .command = {.command = "/nowhere/plugin"}});
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().message(), "the write plugin: /nowhere/plugin cannot be run: No such file or directory");
}

TEST_F(PolicyPluginTest, EndsTheWholeProcessGroup) {
  const TempDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Open({.name = "write", .command = {.command = "sleep 1000 > " + pipe + " & cat > /dev/null"}});
  const Descriptor held_by_sleep(open(pipe.c_str(), O_RDONLY));
  plugin_->Stop();
  char byte = 0;
  EXPECT_EQ(read(held_by_sleep.number(), &byte, 1), 0) << "the end of the pipe";
}

TEST_F(PolicyPluginTest, EndsAProcessThatHasLeftItsGroup) {
  const TempDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Open({.name = "write",
        .command = {.command = "exec perl -e 'setpgrp(0, getpgrp(getppid())); open(F, \">\", \"" + pipe +
                               "\"); sleep 1000'"}});
  const Descriptor held(open(pipe.c_str(), O_RDONLY));
  plugin_->Stop();
  char byte = 0;
  EXPECT_EQ(read(held.number(), &byte, 1), 0) << "the end of the pipe";
}

TEST_F(PolicyPluginTest, AProcessThatReadsNoMoreIsEnded) {
  Open(
      {.name = "write", .command = {.command = "exec < /dev/null; exec sleep 1000"}, .timeout = std::chrono::hours(1)});
  plugin_->Ask({.id = "a", .line = std::string(1 << 20, 'x') + "\n"}, verdicts_.For("a"));
  EXPECT_EQ(verdicts_.Of("a"), kNoAnswer);
  EXPECT_GE(faults(PluginFault::kEnded), 1U);
}

TEST_F(PolicyPluginTest, AProcessInheritsNoDescriptor) {
  const TempDirectory directory;
  const std::string list = directory / "descriptors";
  const Descriptor secret(dup(STDIN_FILENO));
  Open({.name = "write",
        .command = {.command =
                        "ls /proc/self/fd > " + list + ".new; mv " + list + ".new " + list + "; cat > /dev/null"}});
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(list); }));
  EXPECT_EQ(TextOf(list), "0\n1\n2\n3\n") << "3 is that of ls";
}

}  // namespace
}  // namespace weir
