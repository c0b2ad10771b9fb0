#include "relay/running/running_relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "config/text/json_string.h"
#include "config/text/parse.h"
#include "config/wire/http/http_connection.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kPatienceWithCall{120'000};
// A call that the relay is too busy to take is made so many times more, after such pauses: it takes the next part of a
// long document only a moment after it has answered the part before.
constexpr int kMostAgain = 20;
constexpr std::chrono::milliseconds kBeforeAgain{100};

}  // namespace

Result<RunningRelay> RunningRelay::Find(const RelayConfiguration& configuration, const AttachOptions& options) {
  Result<Attachment> attachment = FindAttachment(configuration, options);
  if (!attachment.ok()) return attachment.status();
  return RunningRelay(std::move(attachment).value());
}

Result<ManagementAnswer> RunningRelay::Call(std::string_view method, const std::vector<std::string>& parameters) const {
  HttpCall call{.method = "POST",
                .path = "/api/moderation",
                .headers = {{"Content-Type", "application/json"}},
                .body = fmt::format(R"({{"method":{},"params":[{}]}})", QuotedJson(method), Join(parameters, ",")),
                .timeout = kPatienceWithCall,
                .verify = !at_.is_own};
  if (!at_.token.empty()) call.headers.emplace_back("Authorization", "Bearer " + at_.token);
  HttpAnswer answer = CallHttp(at_.url, call);
  for (int again = 0; again < kMostAgain && answer.ok() && answer.status == 503; ++again) {
    std::this_thread::sleep_for(kBeforeAgain);
    answer = CallHttp(at_.url, call);
  }
  if (!answer.ok()) return Status::Error(answer.problem);
  if (answer.status == 404 || answer.status == 405)
    return Status::Error(at_.url.Origin() + " cannot be managed: it is no relay of weir, or an older one");
  Result<ManagementAnswer> read = ReadManagementAnswer(answer.body);
  if (read.ok() || (answer.status != 401 && answer.status != 403)) return read;
  return Status::Error(read.status().message() + "\n" + at_.advice);
}

Result<std::vector<std::string>> RunningRelay::List(std::string_view method) const {
  std::vector<std::string> all;
  std::vector<std::string> after;  // the parameter, except in the first call
  for (;;) {
    const Result<ManagementAnswer> answer = Call(method, after);
    if (!answer.ok()) return answer.status();
    Result<std::vector<std::string>> items = ItemsOf(answer.value().result);
    if (!items.ok()) return items;
    std::ranges::move(items.value(), std::back_inserter(all));
    if (answer.value().after.empty()) return all;
    after = {QuotedJson(answer.value().after)};
  }
}

}  // namespace weir
