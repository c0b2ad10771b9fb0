#include "relay/management/management_methods.h"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "config/text/json_scanner.h"
#include "config/text/json_string.h"
#include "config/text/json_unescape.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "config/text/utf8.h"
#include "relay/process/logging.h"

namespace weir {
namespace {

using Type = ManagementParameter::Type;

constexpr std::string_view kFormOfCall = R"({"method":"<name>","params":[…]})";
constexpr std::string_view kSupportedMethods = "supportedmethods";

std::string Unescaped(const JsonString& string) {
  std::string text;
  AppendUnescaped(string.raw, &text);
  return text;
}

// A call as it was sent. Each parameter is the text of a JSON value.
struct SentCall {
  std::string method;
  std::vector<std::string_view> parameters;
};

bool ReadCall(JsonScanner& json, SentCall* call) {
  if (!json.Expect('{')) return false;
  bool first = true;
  for (;;) {
    const JsonScanner::Step step = json.NextItem('}', &first);
    if (step == JsonScanner::Step::kError) return false;
    if (step == JsonScanner::Step::kEnd) return json.AtEnd() || json.Fail("there is more behind its end");
    JsonString name;
    if (!json.ReadName(&name)) return false;
    JsonString method;
    if (name.raw == "method") {
      if (!json.ReadString(&method)) return json.Fail("its method " + json.error());
      call->method = Unescaped(method);
    } else if (name.raw == "params" ? !json.ReadList(&call->parameters) : !json.SkipValue()) {
      return false;
    }
  }
}

Result<SentCall> ParseCall(std::string_view body) {
  const auto error = [](std::string_view why) {
    return Status::Error("the body must be " + std::string(kFormOfCall) + ": " + std::string(why));
  };
  if (!IsUtf8(body)) return error("it is not valid UTF-8");
  SentCall call;
  JsonScanner json(body);
  if (!ReadCall(json, &call)) return error(json.error());
  if (call.method.empty()) return error("it has no method");
  return call;
}

// Returns the parameters as error messages show them: ["<public key>", "<optional reason>"].
std::string FormOf(const std::vector<ManagementParameter>& parameters) {
  std::vector<std::string> forms;
  for (const ManagementParameter& one : parameters) {
    const char* const quote = one.type == Type::kText ? "\"" : "";
    forms.push_back(fmt::format("{}<{}{}>{}", quote, one.optional ? "optional " : "", one.name, quote));
  }
  return "[" + Join(forms, ", ") + "]";
}

// Returns nullopt if the value is not of the type.
std::optional<std::string> ValueOf(std::string_view json, Type type) {
  if (type == Type::kJson) return std::string(json);
  std::string text(json);
  if (json.starts_with('"')) {
    JsonScanner scanner(json);
    JsonString string;
    scanner.ReadString(&string);
    text = Unescaped(string);
    if (type == Type::kText) return text;
  }
  const bool whole = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  return type == Type::kNumber && whole ? std::optional(std::move(text)) : std::nullopt;
}

Result<std::vector<std::string>> ValuesOf(const SentCall& call, const std::vector<ManagementParameter>& parameters) {
  const auto error = [&](const std::string& why) {
    return Status::Error(fmt::format("{} takes {}: {}", call.method, FormOf(parameters), why));
  };
  if (call.parameters.size() > parameters.size())
    return error(fmt::format("the call has {} parameters", call.parameters.size()));
  std::vector<std::string> values;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ManagementParameter& parameter = parameters[i];
    const std::string_view sent = i < call.parameters.size() ? call.parameters[i] : "null";
    if (sent == "null") {
      if (!parameter.optional) return error(fmt::format("the {} is missing", parameter.name));
      values.emplace_back();
      continue;
    }
    std::optional<std::string> value = ValueOf(sent, parameter.type);
    if (!value) {
      return error(fmt::format("the {} must be a {}, not {}", parameter.name,
                               parameter.type == Type::kText ? "string" : "whole number", Shown(sent)));
    }
    values.push_back(*std::move(value));
  }
  return values;
}

HttpResponse AnswerWith(std::string body, int status = 200) {
  return {.status = status,
          .content_type = "application/json",
          .body = std::move(body),
          .headers = {{"Cache-Control", "no-store"}}};
}

HttpResponse ErrorAnswer(std::string_view error, int status = 200) {
  return AnswerWith(R"({"result":null,"error":)" + QuotedJson(error) + "}\n", status);
}

HttpResponse AnswerOf(const ManagementResult& result) {
  const std::string after = result.after.empty() ? "" : ",\"after\":" + QuotedJson(result.after);
  return AnswerWith(R"({"result":)" + result.json + after + "}\n");
}

}  // namespace

ManagementMethods::ManagementMethods() {
  methods_.emplace(kSupportedMethods, ManagementMethod{.name = kSupportedMethods, .right = AdminRight::kRead});
}

void ManagementMethods::Add(ManagementMethod method) {
  std::string name(method.name);
  if (!methods_.emplace(name, std::move(method)).second) throw std::logic_error("two methods are named " + name);
}

std::string ManagementMethods::SupportedBy(const AdminRights& rights) const {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('[');
  for (const auto& [name, method] : methods_)
    if (name != kSupportedMethods && rights.Has(method.right)) json.String(name);
  json.Close(']');
  return std::move(json).Value();
}

HttpResponse ManagementMethods::Answer(std::string_view body, const Administrator& administrator,
                                       std::string_view address) const {
  const Result<SentCall> call = ParseCall(body);
  if (!call.ok()) return ErrorAnswer(call.status().message(), 400);
  const std::string& name = call.value().method;
  const auto found = methods_.find(name);
  if (found == methods_.end()) {
    std::vector<std::string_view> names;
    for (const auto& [known, unused] : methods_) names.push_back(known);
    const std::string_view nearest = NearestName(name, names);
    return ErrorAnswer("there is no method " + Printable(name) +
                       (nearest.empty() ? "; supportedmethods lists those that there are"
                                        : "; did you mean " + std::string(nearest) + "?"));
  }
  const ManagementMethod& method = found->second;
  if (body.size() > kMostCallBytes && !method.takes_document)
    return ErrorAnswer(fmt::format("a call of {} may have {} bytes", name, kMostCallBytes), 413);
  if (!administrator.rights.Has(method.right))
    return ManagementRefusal(Admin::RefusalOfRight(administrator, method.right));
  Result<std::vector<std::string>> values = ValuesOf(call.value(), method.parameters);
  if (!values.ok()) return ErrorAnswer(values.status().message());
  if (name == kSupportedMethods) return AnswerOf({.json = SupportedBy(administrator.rights)});
  const Result<ManagementResult> result =
      method.run({.values = std::move(values).value(), .by = std::string(administrator.name)});
  if (method.right != AdminRight::kRead) {
    std::string parameters;
    for (const std::string_view sent : call.value().parameters) parameters += " " + Shown(sent);
    LogAsked(fmt::format("management: {}{} by {} from {}{}", name, parameters, administrator.name, address,
                         result.ok() ? "" : ", refused: " + Printable(result.status().message())));
  }
  return result.ok() ? AnswerOf(result.value()) : ErrorAnswer(result.status().message());
}

HttpResponse ManagementRefusal(HttpResponse refusal) {
  HttpResponse answer = ErrorAnswer(TrimBlanks(refusal.body), refusal.status);
  for (auto& header : refusal.headers) answer.headers.push_back(std::move(header));
  return answer;
}

}  // namespace weir
