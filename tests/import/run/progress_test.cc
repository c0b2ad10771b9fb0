#include "import/run/progress.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "config/manual_clock.h"
#include "config/text/readable.h"
#include "import/run/progress_display.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ProgressNumbers Halfway() {
  ProgressNumbers progress;
  progress.tally[LineOutcome::kImported] = 115'000;
  progress.tally[LineOutcome::kDuplicate] = 200;
  progress.tally[LineOutcome::kBlank] = 7;
  progress.tally.bytes = 200'000'000;
  progress.input_bytes = 41'500'000;
  progress.total_bytes = 100'000'000;
  progress.events_per_s = 23'040;
  progress.bytes_per_s = 1'887'000;
  progress.begun = true;
  progress.conditions.level = 0.62;
  progress.conditions.latency = std::chrono::microseconds(3100);
  progress.conditions.throttled = 12;
  progress.conditions.throttled_time = milliseconds(3100);
  return progress;
}

TEST(ProgressLine, SaysHowItIsGettingOn) {
  EXPECT_EQ(
      ProgressLine(Halfway()),
      "import: 115200 events, 23.0k/s, load=0.62, latency=3.1ms, throttled 12 times (3.1s total), 41 %, ETA 0:31");
  ProgressNumbers worse = Halfway();
  worse.total_bytes = 0;
  worse.tally[LineOutcome::kInvalid] = 3;
  worse.conditions.limiting = "l0";
  worse.conditions.problem = "No space left on device";
  EXPECT_EQ(
      ProgressLine(worse),
      "import: 115200 events, 23.0k/s, load=0.62 (l0), latency=3.1ms, throttled 12 times (3.1s total), 3 rejected, "
      "waiting: No space left on device");
}

TEST(ProgressBar, LeavesOutWhatMattersLeast) {
  const std::pair<size_t, std::string> cases[] = {
      {120,
       "[===========>                ]   41 %  115k events  23.0k/s  41.5 MB of 100 MB  ETA 0:31  load 0.62  delay "
       "0.0ms"},
      {80, "[=======>          ]   41 %  115k events  23.0k/s  ETA 0:31  load 0.62"},
      {62, " 41 %  115k events  23.0k/s  ETA 0:31  load 0.62  delay 0.0ms"},
      {60, " 41 %  115k events  23.0k/s  ETA 0:31  load 0.62"},
      {40, " 41 %  115k events  23.0k/s  ETA 0:31"},
      {20, " 41 %  115k events"},
      {6, " 41 %"},
      {3, " 41"},
      {0, ""},
  };
  for (const auto& [columns, expected] : cases) EXPECT_EQ(ProgressBar(Halfway(), columns), expected);
}

TEST(ProgressBar, AStreamHasNoBar) {
  ProgressNumbers stream = Halfway();
  stream.total_bytes = 0;
  EXPECT_EQ(ProgressBar(stream, 80), "115k events  23.0k/s  200 MB  load 0.62  delay 0.0ms");
}

TEST(ProgressBar, AProblemIsSaidInTheFirstPlace) {
  ProgressNumbers stuck = Halfway();
  stuck.conditions.problem = "No space left on device";
  EXPECT_TRUE(ProgressBar(stuck, 100).ends_with(" 41 %  waiting: No space left on device"));
  EXPECT_EQ(ProgressBar(stuck, 30), "waiting: No space left on devi");
}

TEST(ProgressBar, ShowsTheWholeAsFull) {
  ProgressNumbers whole = Halfway();
  whole.input_bytes = 100'000'001;  // the file has grown
  const std::string bar = ProgressBar(whole, 120);
  EXPECT_NE(bar.find("==]  100 %"), std::string::npos) << bar;
  whole.input_bytes = 99'999'999;
  EXPECT_NE(ProgressBar(whole, 120).find(" 99 %"), std::string::npos);
}

RC_GTEST_PROP(ProgressBar, FitsWhateverItShows, (uint32_t columns, uint64_t imported, uint64_t done, uint64_t total)) {
  ProgressNumbers progress = Halfway();
  progress.tally[LineOutcome::kImported] = imported;
  progress.input_bytes = done;
  progress.total_bytes = total;
  progress.conditions.limiting = "l0";
  progress.conditions.delay = milliseconds(7);
  progress.tally[LineOutcome::kInvalid] = 12;
  RC_ASSERT(ProgressBar(progress, columns % 200).size() <= columns % 200);
}

TEST(RateWindow, IsOfTheLastSeconds) {
  RateWindow rates;
  EXPECT_EQ(rates.events_per_s(), 0);
  ManualClock clock;
  uint64_t events = 0;
  for (int i = 0; i < 100; ++i) {
    rates.Add(clock.Now(), events, 2 * events);
    clock.Advance(milliseconds(200));
    events += i < 50 ? 1000 : 20;
  }
  EXPECT_NEAR(rates.events_per_s(), 100, 0.01);
  EXPECT_NEAR(rates.bytes_per_s(), 200, 0.01);
}

TEST(RateWindow, AShrinkingCountHasNoRate) {
  RateWindow rates;
  ManualClock clock;
  rates.Add(clock.Now(), 5, 100);
  clock.Advance(seconds(1));
  rates.Add(clock.Now(), 7, 40);
  EXPECT_EQ(rates.bytes_per_s(), 0);
  EXPECT_DOUBLE_EQ(rates.events_per_s(), 2);
}

TEST(Remaining, IsUnknownWithoutSizeOrSpeed) {
  EXPECT_EQ(ClockTime(*Remaining(Halfway())), "0:31");
  ProgressNumbers progress = Halfway();
  progress.bytes_per_s = 0;
  EXPECT_FALSE(Remaining(progress).has_value());
  progress.bytes_per_s = 0.001;
  EXPECT_FALSE(Remaining(progress).has_value());
  progress = Halfway();
  progress.total_bytes = 0;
  EXPECT_FALSE(Remaining(progress).has_value());
}

class ProgressDisplayTest : public testing::Test {
 protected:
  ProgressDisplayParts Parts(ProgressDisplayParts::Style style) {
    return {.style = style,
            .progress = [this] { return progress_; },
            .write = [this](std::string_view text) { written_ += text; },
            .columns = [] { return size_t{60}; },
            .clock = clock_};
  }
  // Ticks for this time, five times a second. Returns what was written meanwhile.
  std::string After(ProgressDisplay& display, seconds time) {
    written_.clear();
    for (int i = 0; i < 5 * time.count(); ++i) {
      clock_.Advance(milliseconds(200));
      display.Tick();
    }
    return written_;
  }

  ManualClock clock_;
  ProgressNumbers progress_ = Halfway();
  std::string written_;
};

TEST_F(ProgressDisplayTest, ALogHasALineEveryFiveSeconds) {
  ProgressDisplay display(Parts(ProgressDisplayParts::Style::kLines));
  EXPECT_EQ(After(display, seconds(4)), "");
  const std::string text = After(display, seconds(20));
  EXPECT_EQ(std::ranges::count(text, '\n'), 4);
  EXPECT_TRUE(text.starts_with("import: 115200 events, 0/s"));
}

// Lines that were imported before do not count as speed.
TEST_F(ProgressDisplayTest, MeasuresFromWhereThisRunBegins) {
  ProgressDisplay display(Parts(ProgressDisplayParts::Style::kLines));
  progress_.begun = false;
  progress_.input_bytes = 0;
  After(display, seconds(1));
  progress_ = Halfway();
  const std::string text = After(display, seconds(5));
  EXPECT_NE(text.find(" events, 0/s"), std::string::npos) << text;
  EXPECT_EQ(text.find("ETA"), std::string::npos) << text;
}

TEST_F(ProgressDisplayTest, AProblemIsToldWhenItBeginsAndWhenItIsOver) {
  for (const auto style : {ProgressDisplayParts::Style::kLines, ProgressDisplayParts::Style::kBar}) {
    ProgressDisplay display(Parts(style));
    After(display, seconds(1));
    progress_.conditions.problem = "No space left on device";
    EXPECT_NE(After(display, seconds(1)).find("import: waiting: No space left on device\n"), std::string::npos);
    EXPECT_EQ(After(display, seconds(3)).find("import: waiting"), std::string::npos);
    progress_.conditions.problem = "";
    EXPECT_NE(After(display, seconds(1)).find("import: goes on after 4.0s\n"), std::string::npos);
    EXPECT_EQ(After(display, seconds(2)).find("import: goes on"), std::string::npos);
  }
}

TEST_F(ProgressDisplayTest, ABarIsDrawnInPlaceAndWipedAwayAtTheEnd) {
  ProgressDisplay display(Parts(ProgressDisplayParts::Style::kBar));
  const std::string text = After(display, seconds(1));
  EXPECT_EQ(std::ranges::count(text, '\r'), 5);
  EXPECT_EQ(std::ranges::count(text, '\n'), 0);
  written_.clear();
  display.Stop();
  EXPECT_EQ(written_, "\r\x1b[K");
  display.Stop();
  EXPECT_EQ(written_, "\r\x1b[K");
}

TEST_F(ProgressDisplayTest, IsSilentIfNoProgressIsWanted) {
  ProgressDisplay display(Parts(ProgressDisplayParts::Style::kNone));
  progress_.conditions.problem = "No space left on device";
  EXPECT_EQ(After(display, seconds(20)), "");
}

}  // namespace
}  // namespace weir
