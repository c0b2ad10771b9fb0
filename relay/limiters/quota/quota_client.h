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
  std::string model;  // where the path has one
  std::string body;
  std::string query = {};
};

class QuotaClient {
 public:
  virtual ~QuotaClient() = default;

  virtual std::string name() const = 0;  // "http://127.0.0.1:3335", "sqlite:quota.db"
  // Blocks. An error: it could not be asked, or what was changed could not be written down; all else is the answer's
  // status.
  virtual Result<HttpResponse> Ask(const QuotaQuestion& question) = 0;
};

// The same, and of models all, page after page, as one answer.
Result<HttpResponse> AskForAll(QuotaClient& client, QuotaQuestion question);

// The token, if there is one, goes as Authorization: Bearer with what is for administrators, and with what the gate has
// refused without it (401). Over http it goes to this machine only; asking another is an error.
Result<std::unique_ptr<QuotaClient>> AskServer(const std::string& url, const std::string& token,
                                               std::chrono::milliseconds timeout);

// As a gate with these settings would answer, but that the quotas of its configuration are left to the gate: here they
// hold only where the store has none, so that looking at a store does not undo `weir quota set`. must_exist: a file is
// not made where there is none.
Result<std::unique_ptr<QuotaClient>> AskStore(const QuotaSettings& settings, bool must_exist = false);

}  // namespace weir
