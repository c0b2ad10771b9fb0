// QuotaClient: the quota API, wherever it is: a gate that runs, or a store that this process opens for itself.
//
//   auto client = AskServer("http://127.0.0.1:3335", token, seconds(5));
//   auto answer = client.value()->Ask({.call = QuotaRoute::Call::kModels});
//
// One thread at a time.
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
  std::string model;  // if the path has one
  std::string body;
  std::string query = {};
};

class QuotaClient {
 public:
  virtual ~QuotaClient() = default;

  virtual std::string name() const = 0;  // "http://127.0.0.1:3335", "sqlite:quota.db"
  // Blocks. Returns an error if it could not be asked, or if a change could not be written down; else the answer, with
  // its status.
  virtual Result<HttpResponse> Ask(const QuotaQuestion& question) = 0;
};

// The same, but all models, page after page, become one answer.
Result<HttpResponse> AskForAll(QuotaClient& client, QuotaQuestion question);

// The token, if there is one, goes as Authorization: Bearer with what is for administrators, and with what the gate has
// refused without it (401). Over http it goes to this machine only; asking another is an error.
Result<std::unique_ptr<QuotaClient>> AskServer(const std::string& url, const std::string& token,
                                               std::chrono::milliseconds timeout);

// Answers as a gate with these settings would, but its configuration's quotas hold here only if the store has none, so
// that looking at a store does not undo `weir quota set`: they are left to the gate. If `must_exist`, a file that is
// missing is not made.
Result<std::unique_ptr<QuotaClient>> AskStore(const QuotaSettings& settings, bool must_exist = false);

}  // namespace weir
