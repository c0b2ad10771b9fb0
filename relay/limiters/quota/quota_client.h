// QuotaClient: asks the quota API, either that of a running gate over HTTP, or one that this process runs itself on a
// store that it opens.
//
//   auto client = AskServer("http://127.0.0.1:3335", token, seconds(5));
//   auto answer = client.value()->Ask({.call = QuotaRoute::Call::kModels});
//
// Threads: one at a time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "config/status.h"
#include "relay/limiters/quota/quota_api.h"
#include "relay/limiters/quota/quota_settings.h"
#include "relay/server/http.h"

namespace weir {

struct QuotaQuestion {
  QuotaRoute::Call call{};
  std::string model;       // the {model} of the path, if the call has one
  std::string body;        // JSON, if the call has a body
  std::string query = {};  // the query of the URL, without '?'
};

class QuotaClient {
 public:
  virtual ~QuotaClient() = default;

  // Returns the address of the gate or the name of the store: "http://127.0.0.1:3335", "sqlite:quota.db".
  virtual std::string name() const = 0;
  // Returns the answer, whatever its status. Blocks. Returns an error if the gate could not be asked, or if a change
  // could not be written to the store.
  virtual Result<HttpResponse> Ask(const QuotaQuestion& question) = 0;
};

// Asks `client`. If the question is for all models (kModels), asks for page after page and returns all of them as one
// answer; if the status of a page is not 200, returns that answer.
Result<HttpResponse> AskForAll(QuotaClient& client, QuotaQuestion question);

// Makes a client of a gate. `timeout` is for each request. The token, unless it is empty, is sent with the calls for
// administrators (Authorization: Bearer), and with a second try of a call that the gate has answered with 401. It is
// sent to another machine only over https: with http, such a call is an error. Returns an error if `url` is wrong.
Result<std::unique_ptr<QuotaClient>> AskServer(const std::string& url, const std::string& token,
                                               std::chrono::milliseconds timeout);

// Makes a client that opens the store itself and answers as a gate with these settings would. But it does not write the
// quotas of the configuration to the store, so that a look at the store does not undo `weir quota set`: such a quota
// applies here only if the store has none for the model. If `must_exist` is true, a file that is missing is an error;
// otherwise it is made. Returns an error also if the configuration is wrong.
Result<std::unique_ptr<QuotaClient>> AskStore(const QuotaSettings& settings, bool must_exist = false);

}  // namespace weir
