// Calls of administrators' methods, and what is said of wrong ones.
#include "relay/management/management_methods.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

using Type = ManagementParameter::Type;

class ManagementMethodsTest : public testing::Test {
 protected:
  ManagementMethodsTest() {
    methods_.Add({.name = "greet",
                  .right = AdminRight::kModerate,
                  .parameters = {{.name = "name"},
                                 {.name = "number", .type = Type::kNumber, .optional = true},
                                 {.name = "note", .type = Type::kJson, .optional = true}},
                  .run = [](const ManagementCall& call) -> Result<ManagementResult> {
                    if (call.values[0] == "nobody") return Status::Error("\"nobody\" cannot be greeted");
                    return ManagementResult{.json = "\"" + call.by + " greets " + call.values[0] + "|" +
                                                    call.values[1] + "|" + call.values[2] + "\""};
                  }});
    methods_.Add({.name = "list", .right = AdminRight::kRead, .run = [](const ManagementCall&) {
                    return Result<ManagementResult>(ManagementResult{.json = "[1]", .after = "a\"b"});
                  }});
    methods_.Add({.name = "take",
                  .right = AdminRight::kAll,
                  .parameters = {{.name = "document", .type = Type::kJson}},
                  .run = [](const ManagementCall&) { return Result<ManagementResult>(ManagementResult()); },
                  .takes_document = true});
  }

  HttpResponse Answer(const std::string& body, const char* rights = "all") const {
    return methods_.Answer(body, {.name = "npub1x", .rights = AdminRights::Parse(rights).value(), .payload = ""},
                           "192.0.2.1");
  }
  HttpResponse Greet(const std::string& parameters) const {
    return Answer(R"({"method":"greet","params":[)" + parameters + "]}");
  }

  ManagementMethods methods_;
};

TEST_F(ManagementMethodsTest, PassesTheParametersToTheMethod) {
  const struct {
    const char* parameters;
    const char* said;
  } cases[] = {
      {R"("a")", "a||"},    {R"("a",null,null)", "a||"}, {R"("é\n")", "é\n||"},
      {R"("a",7)", "a|7|"}, {R"( "a" , "0" )", "a|0|"},  {R"("a",null,[1,"]"])", R"(a||[1,"]"])"},
  };
  for (const auto& c : cases) {
    const HttpResponse answer = Greet(c.parameters);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "{\"result\":\"npub1x greets " + std::string(c.said) + "\"}\n") << c.parameters;
  }
}

TEST_F(ManagementMethodsTest, WrongParametersAreNamed) {
  const struct {
    const char* parameters;
    const char* part_of_error;
  } cases[] = {
      {"", "the name is missing"},
      {"null", "the name is missing"},
      {"1", "the name must be a string, not 1"},
      {R"(["a"])", "the name must be a string, not ["},
      {R"("a",1.5)", "the number must be a whole number, not 1.5"},
      {R"("a","")", "the number must be a whole number"},
      {R"("a",-1)", "the number must be a whole number, not -1"},
      {R"("a","x")", "the number must be a whole number"},
      {R"("a",1,2,3)", "the call has 4 parameters"},
  };
  for (const auto& c : cases) {
    const HttpResponse answer = Greet(c.parameters);
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.starts_with(R"({"result":null,"error":"greet takes [\"<name>\", <optional number>, )"))
        << answer.body;
    EXPECT_TRUE(Has(answer.body, c.part_of_error)) << c.parameters << answer.body;
  }
}

TEST_F(ManagementMethodsTest, ABodyThatIsNoCallIsRefused) {
  for (const char* body :
       {"", "[]", "{", "{}", R"({"params":[]})", R"({"method":1})", R"({"method":"greet","params":{}})",
        R"({"method":"greet","params":["a"]}})", R"({"method":"greet","params":["a",]})", "{\"method\":\"\xff\"}"}) {
    const HttpResponse answer = Answer(body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_TRUE(answer.body.starts_with(R"({"result":null,"error":"the body must be {\"method\")")) << answer.body;
  }
  EXPECT_EQ(Answer(R"({"jsonrpc":"2.0","id":[{"a":1}],"method":"greet","params":["a"]})").status, 200);
}

TEST_F(ManagementMethodsTest, AnUnknownMethodIsToldWithTheNearest) {
  EXPECT_TRUE(Has(Answer(R"({"method":"gret"})").body, "did you mean greet?"));
  EXPECT_TRUE(Has(Answer(R"({"method":"something"})").body, "supportedmethods lists those that there are"));
}

TEST_F(ManagementMethodsTest, AnAdministratorSeesAndCallsWhatTheRightsAllow) {
  const std::string supported = R"({"method":"supportedmethods","params":[]})";
  EXPECT_EQ(Answer(supported, "read").body, "{\"result\":[\"list\"]}\n");
  EXPECT_EQ(Answer(supported, "moderate").body, "{\"result\":[\"greet\",\"list\"]}\n");
  EXPECT_EQ(Answer(supported, "all").body, "{\"result\":[\"greet\",\"list\",\"take\"]}\n");
  const HttpResponse refused = Answer(R"({"method":"greet","params":["a"]})", "settings");
  EXPECT_EQ(refused.status, 403);
  EXPECT_TRUE(Has(refused.body, R"("error":"npub1x does not have the right \"moderate\")")) << refused.body;
}

TEST_F(ManagementMethodsTest, AnErrorOfAMethodIsAnAnswer) {
  const HttpResponse answer = Greet(R"("nobody")");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "{\"result\":null,\"error\":\"\\\"nobody\\\" cannot be greeted\"}\n");
}

TEST_F(ManagementMethodsTest, APartOfAListSaysHowToGoOn) {
  EXPECT_EQ(Answer(R"({"method":"list"})").body, "{\"result\":[1],\"after\":\"a\\\"b\"}\n");
}

TEST_F(ManagementMethodsTest, OnlyADocumentMayBeLong) {
  const auto call = [](const std::string& method, size_t bytes) {
    const std::string begin = R"({"method":")" + method + R"(","params":[")";
    return begin + std::string(bytes - begin.size() - 3, 'a') + "\"]}";
  };
  EXPECT_EQ(Answer(call("greet", ManagementMethods::kMostCallBytes)).status, 200);
  EXPECT_EQ(Answer(call("greet", ManagementMethods::kMostCallBytes + 1)).status, 413);
  EXPECT_EQ(Answer(call("take", ManagementMethods::kMostCallBytes + 1)).status, 200);
}

TEST_F(ManagementMethodsTest, ANameIsGivenOnce) {
  EXPECT_THROW(methods_.Add({.name = "list", .run = {}}), std::logic_error);
  EXPECT_THROW(methods_.Add({.name = "supportedmethods", .run = {}}), std::logic_error);
}

TEST(ManagementRefusal, KeepsTheStatusAndHeadersOfARefusal) {
  const HttpResponse answer =
      ManagementRefusal({.status = 401, .body = "no \"key\"\n", .headers = {{"WWW-Authenticate", "Nostr"}}});
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body, "{\"result\":null,\"error\":\"no \\\"key\\\"\"}\n");
  EXPECT_EQ(answer.headers.back().second, "Nostr");
}

}  // namespace
}  // namespace weir
