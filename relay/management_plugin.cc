#include "relay/management_plugin.h"

#include <optional>
#include <string>
#include <utility>

#include "relay/admin/other_site.h"
#include "relay/management/management_post.h"
#include "relay/management/moderation_methods.h"
#include "relay/management/report_methods.h"

namespace weir {
namespace {

constexpr const char* kContentType = "application/nostr+json+rpc";

}  // namespace

void ManagementPlugin::AddRoutes(HttpRouter& router) {
  router.AddStreamForContent(
      kContentType, [this](const HttpRequest& head, HttpExchange& exchange) { return BeginNip86(head, exchange); });
  router.AddStream("POST", "/api/moderation",
                   [this](const HttpRequest& head, HttpExchange& exchange) { return BeginOwn(head, exchange); });
}

ManagementPlugin::Begun ManagementPlugin::BeginNip86(const HttpRequest& head, HttpExchange& exchange) {
  return Begin(admin_->RecogniseProof(head, ProofUse::kManagement), head, {{"Access-Control-Allow-Origin", "*"}},
               exchange);
}

ManagementPlugin::Begun ManagementPlugin::BeginOwn(const HttpRequest& head, HttpExchange& exchange) {
  if (IsChangeByAnotherSite(head)) {
    ++refused_;
    return ManagementRefusal({.status = 403, .body = kOfAnotherSite});
  }
  return Begin(admin_->RecognisePage(head, ProofUse::kManagement), head, {}, exchange);
}

ManagementPlugin::Begun ManagementPlugin::Begin(Admin::Recognised recognised, const HttpRequest& head,
                                                HttpFields headers, HttpExchange& exchange) {
  std::unique_ptr<RunningLimit::Slot> slot;
  std::optional<HttpResponse> refusal;
  if (auto* const refused = std::get_if<HttpResponse>(&recognised)) {
    refusal = std::move(*refused);
  } else if (slot = calls_.Take(); slot == nullptr) {
    refusal = {.status = 503,
               .body = std::to_string(kMostAtOnce) + " calls are under way, and no more may be at once",
               .headers = {{"Retry-After", "1"}}};
  }
  if (refusal) {
    ++refused_;
    HttpResponse answer = ManagementRefusal(*std::move(refusal));
    for (auto& header : headers) answer.headers.push_back(std::move(header));
    return answer;
  }
  ++begun_;
  return std::make_shared<ManagementPost>(
      ManagementPostParts{.methods = methods_,
                          .pool = *pool_,
                          .documents = documents_,
                          .slot = std::move(slot),
                          .administrator = std::get<Administrator>(std::move(recognised)),
                          .address = head.address,
                          .headers = std::move(headers)},
      exchange);
}

Status ManagementPlugin::Start(const RelayServices& services) {
  admin_ = &services.admin;
  pool_ = std::make_unique<WorkPool>(1);
  AddModerationMethods(methods_, services.moderation);
  AddReportMethods(methods_, services.context.store, services.moderation, services.context.wall_clock);
  return Status();
}

void ManagementPlugin::Stop() {
  calls_.WaitForNone();
  pool_.reset();
}

void ManagementPlugin::AppendMetrics(MetricFamilies& families) const {
  families.Counter("weir_management_calls_total",
                   "Calls of administrators' methods, by what became of them: taken, or refused before the body.");
  families.Add(begun_.load(), {{"outcome", "taken"}});
  families.Add(refused_.load(), {{"outcome", "refused"}});
}

}  // namespace weir
