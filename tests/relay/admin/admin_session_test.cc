// Administrators in a browser: the session of a browser that has shown the token, and pages on this machine.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "relay/admin/other_site.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/admin/admin_fixture.h"

namespace weir {
namespace {

class AdminSessionTest : public AdminTest {
 protected:
  AdminSessionTest() { token_ = std::string(64, 'a'); }

  static HttpRequest With(const std::string& session, const std::string& before = "") {
    HttpRequest request = FromElsewhere();
    request.headers.emplace_back("cookie", before + "weir_live=" + session);
    return request;
  }
  static int StatusOfPage(const Admin& admin, const HttpRequest& request) {
    const auto refusal = admin.RefusalOfPage(request, AdminRight::kAll);
    return refusal ? refusal->status : 0;
  }
};

TEST_F(AdminSessionTest, NeedsTheTokenAndIsForPagesAlone) {
  const Admin admin = MakeAdmin();
  for (const char* wrong : {"", "a", "wrong"}) EXPECT_FALSE(admin.SessionFor(wrong)) << wrong;
  const std::string session = admin.SessionFor(token_).value();
  EXPECT_FALSE(Has(session, token_));
  std::string_view by;
  EXPECT_FALSE(admin.RefusalOfPage(With(session), AdminRight::kAll, &by));
  EXPECT_EQ(by, "the session of a browser");
  EXPECT_EQ(StatusOfPage(admin, With(session, "a=1; weir_live_not=2; ")), 0);
  EXPECT_EQ(StatusOf(admin, With(session)), 401) << "other routes do not know it";
}

TEST_F(AdminSessionTest, ProgramsShowTheTokenAsEver) {
  const Admin admin = MakeAdmin();
  std::string_view by;
  EXPECT_FALSE(admin.RefusalOfPage(FromElsewhere("Bearer " + token_), AdminRight::kAll, &by));
  EXPECT_EQ(by, "the token");
  EXPECT_EQ(StatusOfPage(admin, FromElsewhere("Bearer x")), 401);
  EXPECT_EQ(StatusOfPage(admin, FromElsewhere()), 401);
  HttpRequest proof = FromElsewhere(Proof());
  EXPECT_FALSE(admin.RefusalOfPage(proof, AdminRight::kAll, &by));
  EXPECT_EQ(by, Npub());
}

TEST_F(AdminSessionTest, AMadeUpOrCutSessionIsRefused) {
  const Admin admin = MakeAdmin();
  const std::string session = admin.SessionFor(token_).value();
  const size_t dot = session.find('.');
  const std::string later = std::to_string(std::stoull(session) + 1) + session.substr(dot);
  for (const std::string& bad : {std::string(), std::string("."), session.substr(0, session.size() - 1), session + "0",
                                 later, session.substr(0, dot), session.substr(dot), "-1" + session.substr(dot),
                                 "99999999999999999999" + session.substr(dot), token_})
    EXPECT_EQ(StatusOfPage(admin, With(bad)), 401) << bad;
}

TEST_F(AdminSessionTest, EndsAfterAWeekAndWithTheToken) {
  const Admin admin = MakeAdmin();
  const std::string session = admin.SessionFor(token_).value();
  clock_.Advance(7 * 24 * 3600 - 1);
  EXPECT_EQ(StatusOfPage(admin, With(session)), 0);
  EXPECT_EQ(StatusOfPage(MakeAdmin(), With(session)), 0) << "of the same token";
  clock_.Advance(1);
  EXPECT_EQ(StatusOfPage(admin, With(session)), 401);
  clock_.Set(kAdminNow);
  token_[0] = 'b';
  EXPECT_EQ(StatusOfPage(MakeAdmin(), With(session)), 401);
  token_.clear();
  const Admin without = MakeAdmin();
  EXPECT_EQ(StatusOfPage(without, With(session)), 401) << "the other administrator has a key";
  EXPECT_FALSE(without.SessionFor(""));
}

TEST_F(AdminSessionTest, SigningOutEndsEverySession) {
  const Admin admin = MakeAdmin();
  const std::string session = admin.SessionFor(token_).value();
  admin.EndSessions(FromElsewhere());
  admin.EndSessions(With("made up"));
  EXPECT_EQ(StatusOfPage(admin, With(session)), 0) << "a stranger ends none";
  const std::string other = admin.SessionFor(token_).value();
  admin.EndSessions(With(session));
  EXPECT_EQ(StatusOfPage(admin, With(session)), 401);
  EXPECT_EQ(StatusOfPage(admin, With(other)), 401);
  EXPECT_EQ(StatusOfPage(admin, With(admin.SessionFor(token_).value())), 0);
}

TEST(AdminCookies, AreNamedByTheirPort) {
  const auto at = [](const std::string& host) { return SessionCookie({.headers = {{"host", host}}}); };
  EXPECT_EQ(at("127.0.0.1:3334"), "weir_live_3334");
  EXPECT_EQ(at("[::1]:3334"), "weir_live_3334");
  for (const char* host : {"relay.example", "[::1]", "", "x:", "x:3334; Path=/"})
    EXPECT_EQ(at(host), "weir_live") << host;
  EXPECT_EQ(OperatorCookie({.headers = {{"host", "x:1"}}}), "weir_operator_1");
}

TEST_F(AdminSessionTest, LoopbackTrustsABrowserOnPagesOfThisRelayAlone) {
  trust_ = AdminFromLoopback::kTrue;
  const Admin admin = MakeAdmin();
  const struct {
    const char* what;
    HttpFields headers;
    bool trusted;
  } cases[] = {
      {"told its address",
       {{"sec-fetch-site", "none"}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "document"}},
       true},
      {"its own script", {{"sec-fetch-site", "same-origin"}, {"referer", "http://127.0.0.1:3334/live"}}, true},
      {"its own form", {{"sec-fetch-site", "same-origin"}, {"origin", "http://127.0.0.1:3334"}}, true},
      {"another site", {{"sec-fetch-site", "cross-site"}}, false},
      {"another port", {{"sec-fetch-site", "same-site"}, {"origin", "http://127.0.0.1:8080"}}, false},
      {"an old browser on another port", {{"origin", "http://127.0.0.1:8080"}}, false},
      {"a link from elsewhere", {{"sec-fetch-site", "none"}, {"referer", "http://evil.example/127.0.0.1:3334"}}, false},
      {"a proxy", {{"sec-fetch-site", "none"}, {"x-forwarded-for", "203.0.113.9"}}, false},
      {"no origin at all", {{"sec-fetch-site", "none"}, {"origin", "null"}}, false},
  };
  for (const auto& c : cases) {
    HttpRequest request = FromHere();
    request.headers.insert(request.headers.end(), c.headers.begin(), c.headers.end());
    EXPECT_EQ(StatusOfPage(admin, request), c.trusted ? 0 : 401) << c.what;
    EXPECT_NE(StatusOf(admin, request), 0) << c.what << ": other routes trust no browser";
  }
  HttpRequest rebound = FromHere();
  rebound.headers = {{"host", "evil.example"}, {"sec-fetch-site", "same-origin"}, {"origin", "http://evil.example"}};
  EXPECT_EQ(StatusOfPage(admin, rebound), 401);
  trust_ = AdminFromLoopback::kFalse;
  EXPECT_EQ(StatusOfPage(MakeAdmin(), FromHere()), 401);
}

TEST(OtherSite, IsFoundByWhatBrowsersSay) {
  const auto of = [](HttpFields headers) {
    HttpRequest request{.method = "POST", .headers = std::move(headers)};
    request.headers.emplace_back("host", "relay.example");
    return IsChangeByAnotherSite(request);
  };
  EXPECT_FALSE(of({})) << "a program";
  EXPECT_FALSE(of({{"origin", "https://relay.example"}}));
  EXPECT_FALSE(of({{"origin", "https://Relay.Example"}}));
  EXPECT_TRUE(of({{"origin", "https://evil.example"}}));
  EXPECT_TRUE(of({{"origin", "null"}}));
  EXPECT_TRUE(of({{"sec-fetch-site", "cross-site"}}));
  EXPECT_FALSE(of({{"origin", "https://public.example"}, {"sec-fetch-site", "same-origin"}}))
      << "behind a proxy that changes the Host";
  EXPECT_FALSE(IsChangeByAnotherSite({.method = "GET", .headers = {{"origin", "null"}}}));
}

}  // namespace
}  // namespace weir
