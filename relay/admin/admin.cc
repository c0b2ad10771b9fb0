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

constexpr std::string_view kThisMachine = "being on this machine";

struct Authorization {
  std::string_view scheme;
  std::string_view proof;
};
Authorization AuthorizationOf(const HttpRequest& request) {
  const std::string_view value = request.Header("authorization");
  const size_t space = std::min(value.find(' '), value.size());
  return {value.substr(0, space), value.substr(std::min(space + 1, value.size()))};
}

std::optional<HttpResponse> RefusalUnless(AdminRight needed, Admin::Recognised recognised, std::string_view* by) {
  if (auto* const refusal = std::get_if<HttpResponse>(&recognised)) return std::move(*refusal);
  const auto& administrator = std::get<Administrator>(recognised);
  if (!administrator.rights.Has(needed)) return Admin::RefusalOfRight(administrator, needed);
  if (by != nullptr) *by = administrator.name;
  return std::nullopt;
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

Admin::Recognised Admin::RecogniseToken(std::string_view offered) const {
  if (token_.empty())
    return Answer(403, token_is_set_ ? "this gate has no token, because WEIR_ADMIN_TOKEN was not set when it started"
                                     : "there is no token, because this relay could not write one");
  if (IsToken(offered)) return Administrator{.name = "the token", .payload = ""};
  return Answer(401, token_is_set_ ? "this is not the token of WEIR_ADMIN_TOKEN"
                                   : "wrong token; each start of the relay makes a new one");
}

Admin::Recognised Admin::RecogniseProof(const HttpRequest& request, std::string_view offered, ProofUse use) const {
  std::variant<Administrator, AdminProof::Refused> judged = proof_->Recognise(request, offered, use);
  const auto* const refused = std::get_if<AdminProof::Refused>(&judged);
  if (refused == nullptr) return std::get<Administrator>(std::move(judged));
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

Admin::Recognised Admin::Recognise(const HttpRequest& request, ProofUse use) const {
  const std::string why = loopback_.trusted ? WhyNotFromHere(request)
                                            : std::string("the request shows no token") + (proof_ ? " and no key" : "");
  if (why.empty()) return Administrator{.name = kThisMachine, .payload = ""};
  const Authorization shown = AuthorizationOf(request);
  if (EqualInAnyCase(shown.scheme, "bearer")) return RecogniseToken(shown.proof);
  if (proof_ && EqualInAnyCase(shown.scheme, proof_->scheme())) return RecogniseProof(request, shown.proof, use);
  return Answer(token_.empty() && !(proof_ && proof_->is_set()) ? 403 : 401, why);
}

Admin::Recognised Admin::RecognisePage(const HttpRequest& request, ProofUse use) const {
  if (IsSession(request.Cookie(SessionCookie(request))))
    return Administrator{.name = "the session of a browser", .payload = ""};
  if (loopback_.trusted && IsFromHere(request)) return Administrator{.name = kThisMachine, .payload = ""};
  return Recognise(request, use);
}

Admin::Recognised Admin::RecogniseProof(const HttpRequest& request, ProofUse use) const {
  const Authorization shown = AuthorizationOf(request);
  if (proof_ && EqualInAnyCase(shown.scheme, proof_->scheme())) return RecogniseProof(request, shown.proof, use);
  HttpResponse refusal{.status = 401, .body = "for administrators only: this needs "};
  refusal.body += proof_ ? proof_->hint() : "a key, which this server does not take";
  if (proof_) refusal.headers.emplace_back("WWW-Authenticate", std::string(proof_->scheme()));
  return refusal;
}

std::optional<HttpResponse> Admin::Refusal(const HttpRequest& request, AdminRight needed, std::string_view* by) const {
  return RefusalUnless(needed, Recognise(request), by);
}

std::optional<HttpResponse> Admin::RefusalOfPage(const HttpRequest& request, AdminRight needed,
                                                 std::string_view* by) const {
  return RefusalUnless(needed, RecognisePage(request), by);
}

HttpResponse Admin::RefusalOfRight(const Administrator& administrator, AdminRight needed) {
  return {.status = 403,
          .body = std::string(administrator.name) + " does not have the right \"" + std::string(NameOf(needed)) +
                  "\", which this needs; WEIR_RELAY_ADMINS gives rights\n"};
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
