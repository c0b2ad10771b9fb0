// QuotaClient: makes calls of the quota API, either to a running gate over HTTP (AskServer), or to a QuotaApi in this
// process on a store that the client opens (AskStore).
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
#include "relay/net/http.h"

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

  // Returns the gate's URL or the store's name, for example "http://127.0.0.1:3335" or "sqlite:quota.db".
  virtual std::string name() const = 0;
  // Makes the call, waits for the answer and returns it, whatever its status is. Returns an error if the gate did not
  // answer, or if a change could not be written to the store.
  virtual Result<HttpResponse> Ask(const QuotaQuestion& question) = 0;
};

// Asks `client`. If the call is kModels, asks for one page after the other and returns all models in one answer; if the
// status of a page is not 200, returns that page's answer.
Result<HttpResponse> AskForAll(QuotaClient& client, QuotaQuestion question);

// Makes a client of the gate at `url`. `timeout` is for each request. The client sends the token, unless it is empty,
// with calls for administrators (Authorization: Bearer). If the gate answers another call with 401, the client sends
// that call once more with the token. If the URL is http:// and not of this machine, a call that needs the token is an
// error instead. Returns an error if `url` is wrong.
Result<std::unique_ptr<QuotaClient>> AskServer(const std::string& url, const std::string& token,
                                               std::chrono::milliseconds timeout);

// Makes a client that opens the store itself and answers as a gate with these settings would, with two differences. Its
// answers contain the store's own error messages (QuotaAudience::kOperator). And it does not write the configuration's
// quotas to the store, because that could undo an earlier `weir quota set`: a quota of the configuration applies only
// if the store has no quota for the model. If the store's file is missing, that is an error if `must_exist` is true;
// otherwise the file is created. A wrong configuration is an error, too.
Result<std::unique_ptr<QuotaClient>> AskStore(const QuotaSettings& settings, bool must_exist = false);

}  // namespace weir
