#include "relay/doctor/instance_facts.h"

#include "config/text/parse.h"
#include "config/wire/http/http_connection.h"
#include "relay/process/http_error_words.h"

namespace weir {
namespace {

constexpr uint64_t kMostAnswer = 8 << 20;
constexpr size_t kMostWords = 600;

HttpCall CallFor(const InstanceQuestion& question, const std::string& path) {
  HttpCall call;
  call.path = path;
  call.max_answer_bytes = kMostAnswer;
  call.verify = !question.is_local;
  return call;
}

// Returns only the first line, because another program may have answered with a whole HTML page.
std::string Words(const std::string& body) {
  return std::string(TrimBlanks(body.substr(0, std::min(body.find('\n'), kMostWords))));
}

std::string Health(const ServerUrl& url, const InstanceQuestion& question) {
  HttpCall call = CallFor(question, "/v1/health");
  call.verify = true;
  if (question.token && (url.tls || url.is_loopback())) {
    const Result<std::string> token = question.token();
    if (token.ok()) call.headers = {{"Authorization", "Bearer " + token.value()}};
  }
  const HttpAnswer answer = CallHttp(url, call);
  return answer.ok() && (answer.status == 200 || answer.status == 503) ? Words(answer.body) : "";
}

}  // namespace

InstanceFacts AskInstance(const InstanceQuestion& question) {
  InstanceFacts facts{.url = question.url, .is_local = question.is_local};
  const Result<ServerUrl> url = ParseServerUrl(question.url);
  if (!url.ok()) {
    facts.problem = url.status().message();
    return facts;
  }
  const HttpAnswer metrics = CallHttp(url.value(), CallFor(question, "/metrics"));
  facts.nobody_listens = metrics.nobody_listens;
  if (!metrics.ok()) {
    facts.problem = metrics.problem;
    return facts;
  }
  facts.metrics = Scrape(metrics.body);
  if (facts.metrics.Sum("weir_build_info") <= 0) {
    facts.is_stranger = true;
    facts.problem = "the answer of /metrics (status " + std::to_string(metrics.status) + ") is not from weir";
    return facts;
  }
  const HttpAnswer ready = CallHttp(url.value(), CallFor(question, "/readyz"));
  facts.ready = ready.status == 200;
  facts.ready_text = ready.ok() ? ErrorWordsIn(ready.body, kMostWords) : ready.problem;
  for (const char* sign : {"weir_quota_store_breaker", "weir_quota_store_problem", "weir_quota_store_warning"})
    if (facts.health_text.empty() && facts.metrics.Get(sign) > 0) facts.health_text = Health(url.value(), question);
  return facts;
}

}  // namespace weir
