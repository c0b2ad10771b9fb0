#include "relay/process/stop_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace weir {
namespace {

// A program that hangs is asked for its page, and the page may wait for something that never comes.
TEST(StopSignalsTest, APageThatIsNotDoneKeepsNoSignalFromBeingHeard) {
  StopSignals signals;
  signals.Listen();
  std::promise<void> begun;
  std::promise<void> go_on;
  std::promise<void> again;
  int pages = 0;
  signals.BeginOrderly([&] { again.set_value(); }, nullptr,
                       [&] {
                         ++pages;
                         begun.set_value();
                         go_on.get_future().wait();
                       });
  kill(getpid(), SIGUSR1);
  begun.get_future().wait();
  kill(getpid(), SIGTERM);
  EXPECT_STREQ(signals.Wait(), "SIGTERM");
  kill(getpid(), SIGTERM);
  again.get_future().wait();
  go_on.set_value();
  signals.BeginOrderly([] {});  // returns when the page is done
  EXPECT_EQ(pages, 1);
}

// The objects that a page is made of are about to go, so its end has to be waited for.
TEST(StopSignalsTest, ASecondSignalEndsAProgramWhosePageNeverEnds) {
  const auto hang = [] {
    StopSignals signals;
    signals.Listen();
    std::promise<void> begun;
    signals.BeginOrderly([] {}, nullptr,
                         [&] {
                           begun.set_value();
                           std::promise<void>().get_future().wait();
                         });
    kill(getpid(), SIGUSR1);
    begun.get_future().wait();
    kill(getpid(), SIGTERM);
    signals.Wait();
    std::thread again([] {
      for (;; std::this_thread::yield()) kill(getpid(), SIGTERM);
    });
    signals.BeginOrderly([] {});
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(StopSignalsTest, ARequestWhileAPageIsMadeGetsALaterPage) {
  StopSignals signals;
  signals.Listen();
  std::promise<void> begun[2];
  std::promise<void> go_on;
  int pages = 0;
  signals.BeginOrderly([] {}, nullptr,
                       [&] {
                         begun[pages].set_value();
                         if (pages++ == 0) go_on.get_future().wait();
                       });
  kill(getpid(), SIGUSR1);
  begun[0].get_future().wait();
  kill(getpid(), SIGUSR1);
  go_on.set_value();
  begun[1].get_future().wait();
  signals.BeginOrderly([] {});
  EXPECT_EQ(pages, 2);
}

TEST(StopSignalsTest, DoesNotCallAReplacedCallback) {
  StopSignals signals;
  signals.Listen();
  int pages = 0;
  signals.BeginOrderly([] {}, nullptr, [&] { ++pages; });
  signals.BeginOrderly([] {});
  kill(getpid(), SIGUSR1);
  kill(getpid(), SIGTERM);
  EXPECT_STREQ(signals.Wait(), "SIGTERM") << "SIGUSR1 was taken, or is";
  EXPECT_EQ(pages, 0);
}

}  // namespace
}  // namespace weir
