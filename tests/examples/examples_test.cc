// The example of throttle/EMBEDDING.md that needs Boost; throttle/examples has the others. The text between "//
// example:" and "// end of example" is quoted there word for word; examples_are_quoted checks it.
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <string>

#include "tests/throttle/scripted_monitor.h"
#include "throttle/adaptive_limiter.h"
#include "throttle/await_admission.h"

namespace {

// example: a coroutine
boost::asio::awaitable<std::string> Store(weir::AdaptiveLimiter& limiter, std::string event, uint64_t connection) {
  weir::Admission admission = co_await weir::AwaitAdmission(limiter, weir::Operation::kWrite, weir::Cost{event.size()},
                                                            weir::Party{connection});
  if (!admission.admitted()) co_return "rate-limited: " + std::string(admission.reason());
  // … store it; the permit ends with `admission`.
  co_return "ok";
}
// end of example

TEST(Examples, ACoroutine) {
  weir::ScriptedMonitor monitor;
  weir::AdaptiveLimiter limiter(monitor);
  boost::asio::io_context io;
  auto answer = boost::asio::co_spawn(io, Store(limiter, "an event", 7), boost::asio::use_future);
  io.run();
  EXPECT_EQ(answer.get(), "ok");
}

}  // namespace
