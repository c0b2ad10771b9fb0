#include "relay/admin/admin.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "config/text/hex.h"
#include "config/text/parse.h"

namespace weir {
namespace {

bool EqualInAnyCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string PortInName(const HttpRequest& request) {
  const std::string_view host = request.Header("host");
  const std::string_view port = host.substr(std::min(host.find_last_of(":]"), host.size()));
  return port.size() > 1 && port[0] == ':' && port.find_first_not_of("0123456789", 1) == port.npos
             ? "_" + std::string(port.substr(1))
             : "";
}

// Takes a time that does not reveal how much of the text is right.
bool AreEqual(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string SessionCookie(const HttpRequest& request) { return "weir_live" + PortInName(request); }
std::string OperatorCookie(const HttpRequest& request) { return "weir_operator" + PortInName(request); }

bool CameByTls(const HttpRequest& request) { return request.secure || request.Header("x-forwarded-proto") == "https"; }

Admin::Admin(std::string token, LoopbackTrust loopback, std::unique_ptr<AdminProof> proof, const WallClock& clock)
    : loopback_(std::move(loopback)),
      token_(std::move(token)),
      token_is_set_(false),
      proof_(std::move(proof)),
      clock_(clock) {}

Admin::Admin(std::string token_of_setting, LoopbackTrust loopback)
    : loopback_(std::move(loopback)),
      token_(std::move(token_of_setting)),
      token_is_set_(true),
      clock_(WallClock::System()) {}

bool Admin::IsToken(std::string_view offered) const { return !token_.empty() && AreEqual(offered, token_); }

std::optional<HttpResponse> Admin::RefusalOfToken(std::string_view offered) const {
  if (token_.empty())
    return Answer(403, token_is_set_ ? "this gate has no token, because WEIR_ADMIN_TOKEN was not set when it started"
                                     : "there is no token, because this relay could not write one");
  if (IsToken(offered)) return std::nullopt;
  return Answer(401, token_is_set_ ? "this is not the token of WEIR_ADMIN_TOKEN"
                                   : "wrong token; each start of the relay makes a new one");
}

std::optional<HttpResponse> Admin::RefusalOfProof(const HttpRequest& request, std::string_view offered) const {
  const std::optional<AdminProof::Refused> refused = proof_->Refusal(request, offered);
  if (!refused) return std::nullopt;
  HttpResponse answer = Answer(refused->status, refused->why);
  if (refused->wait) {
    answer.headers.emplace_back("Retry-After",
                                std::to_string(std::chrono::ceil<std::chrono::seconds>(*refused->wait).count()));
  }
  return answer;
}

std::string Admin::TokenHint() const {
  if (token_is_set_) return token_.empty() ? "… (WEIR_ADMIN_TOKEN is not set)" : "<the value of WEIR_ADMIN_TOKEN>";
  return std::string("<the content of admin.token in the relay's data directory>") +
         (token_.empty() ? " (there is none: it could not be written)" : "");
}

HttpResponse Admin::Answer(int status, const std::string& why) const {
  HttpResponse response{.status = status, .body = "for administrators only: " + why + "\n"};
  response.body.append(kWaysToBeAdmin);
  response.body +=
      "\n"
      "- the token: Authorization: Bearer " +
      TokenHint() +
      "\n"
      "- from this machine, by a name of loopback (http://127.0.0.1:…), without a proxy" +
      (loopback_.trusted ? "" : " (not here: " + loopback_.why + ")") + "\n";
  if (proof_)
    response.body.append("- ").append(proof_->hint()).append(proof_->is_set() ? "\n" : " (it is not set here)\n");
  if (status != 401) return response;
  if (!token_.empty()) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (proof_ && proof_->is_set()) response.headers.emplace_back("WWW-Authenticate", std::string(proof_->scheme()));
  return response;
}

std::optional<HttpResponse> Admin::Refusal(const HttpRequest& request, std::string_view* by) const {
  std::string_view unused;
  std::string_view& known_by = by != nullptr ? *by : unused;
  const std::string why = loopback_.trusted ? WhyNotFromHere(request)
                                            : std::string("the request shows no token") + (proof_ ? " and no key" : "");
  known_by = "being on this machine";
  if (why.empty()) return std::nullopt;
  const std::string_view authorization = request.Header("authorization");
  const size_t space = std::min(authorization.find(' '), authorization.size());
  const std::string_view scheme = authorization.substr(0, space);
  const std::string_view proof = authorization.substr(std::min(space + 1, authorization.size()));
  known_by = "the token";
  if (EqualInAnyCase(scheme, "bearer")) return RefusalOfToken(proof);
  if (proof_) known_by = proof_->name();
  if (proof_ && EqualInAnyCase(scheme, proof_->scheme())) return RefusalOfProof(request, proof);
  return Answer(token_.empty() && !(proof_ && proof_->is_set()) ? 403 : 401, why);
}

std::optional<HttpResponse> Admin::RefusalOfPage(const HttpRequest& request, std::string_view* by) const {
  if (IsSession(request.Cookie(SessionCookie(request)))) {
    if (by != nullptr) *by = "the session of a browser";
    return std::nullopt;
  }
  if (loopback_.trusted && IsFromHere(request)) {
    if (by != nullptr) *by = "being on this machine";
    return std::nullopt;
  }
  return Refusal(request, by);
}

std::optional<std::string> Admin::SessionFor(std::string_view token) const {
  if (!IsToken(token)) return std::nullopt;
  return SessionUntil(clock_.NowSeconds() + std::chrono::seconds(kSessionLasts).count());
}

void Admin::EndSessions(const HttpRequest& request) const {
  if (IsSession(request.Cookie(SessionCookie(request)))) ++ended_sessions_;
}

bool Admin::IsSession(std::string_view session) const {
  const Result<uint64_t> end = ParseUnsigned(session.substr(0, session.find('.')), {.min = 0, .max = 1e15});
  return !token_.empty() && end.ok() && clock_.NowSeconds() < end.value() &&
         AreEqual(session, SessionUntil(end.value()));
}

// Returns the time at which the session ends, followed by a proof of the token for this time.
std::string Admin::SessionUntil(uint64_t end) const {
  const std::string text = std::to_string(end);
  const std::string signed_text = "weir live session " + text + " " + std::to_string(ended_sessions_);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), token_.data(), static_cast<int>(token_.size()),
       reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), mac.data(), &size);
  return text + "." + ToHex(mac.data(), size);
}

}  // namespace weir
