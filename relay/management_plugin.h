// ManagementPlugin: serves the methods for administrators (relay/management/management_methods.h) on a relay's port.
//
//   POST any path, Content-Type: application/nostr+json+rpc
//                           NIP-86. Needs the key of an administrator (NIP-98); pages of any site may call it, because
//                           no browser adds that proof by itself.
//   POST /api/moderation    The same call with any proof that Admin::RecognisePage knows; not for pages of other sites.
//
// Calls run one after the other on a worker of this plugin, because they wait for the store. At most kMostAtOnce are
// under way, of which one may have a body of more than ManagementMethods::kMostCallBytes; others are answered 503. A
// call is under way until its client has taken the answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <variant>

#include "relay/account/running_limit.h"
#include "relay/management/management_methods.h"
#include "relay/net/http_stream.h"
#include "relay/relay_plugin.h"

namespace weir {

class ManagementPlugin final : public RelayPlugin {
 public:
  static constexpr uint64_t kMostAtOnce = 8;

  ~ManagementPlugin() override { Stop(); }

  // Other plugins add their methods here, until their Start has returned.
  ManagementMethods& methods() { return methods_; }

  void AddRoutes(HttpRouter& router) override;
  Status Start(const RelayServices& services) override;
  void Stop() override;
  void AppendMetrics(MetricFamilies& families) const override;

 private:
  using Begun = std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>>;

  Begun BeginNip86(const HttpRequest& head, HttpExchange& exchange);
  Begun BeginOwn(const HttpRequest& head, HttpExchange& exchange);
  Begun Begin(Admin::Recognised recognised, const HttpRequest& head, HttpFields headers, HttpExchange& exchange);

  ManagementMethods methods_;
  RunningLimit calls_{kMostAtOnce};
  RunningLimit documents_{1};
  const Admin* admin_ = nullptr;  // set by Start
  std::unique_ptr<WorkPool> pool_;
  std::atomic<uint64_t> begun_{0};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace weir
