// Reads relay/limiters/openapi.json for tests, and checks whether a value conforms to a schema of it.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <set>
#include <string>
#include <string_view>

#include "relay/limiters/quota/quota_api.h"

namespace weir {

class OpenApiDocument {
 public:
  using Element = simdjson::dom::element;
  using Object = simdjson::dom::object;

  OpenApiDocument() : root_(parser_.parse(std::string(QuotaOpenApi()))) {}

  Element root() const { return root_; }
  // Returns the document's entry for a method and a path, such as "POST" and "/v1/decide".
  Element Operation(std::string_view method, std::string_view path) const {
    std::string pointer = "/paths/";
    for (const char c : path) pointer += c == '/' ? "~1" : std::string(1, c);
    pointer += "/";
    for (const char c : method) pointer += static_cast<char>(std::tolower(c));
    return root_.at_pointer(pointer);
  }
  template <typename Route>
  std::set<int> Statuses(const Route& route) const {
    std::set<int> statuses;
    for (const auto& [status, unused] : Object(Operation(route.method, route.path)["responses"]))
      statuses.insert(std::stoi(std::string(status)));
    return statuses;
  }
  // Returns why the answer does not conform to the document; empty if it does.
  template <typename Route>
  std::string Violation(const Route& route, const HttpResponse& response) const {
    Element documented;
    const std::string status = std::to_string(response.status);
    if (Operation(route.method, route.path)["responses"][status].get(documented) != simdjson::SUCCESS)
      return "status " + status + " is not documented";
    documented = Resolved(documented);
    Element schema;
    if (documented["content"]["application/json"]["schema"].get(schema) != simdjson::SUCCESS)
      return response.body.empty() ? "" : "no body is documented: " + response.body;
    if (response.content_type != "application/json") return "it is " + response.content_type;
    simdjson::dom::parser parser;
    Element value;
    if (const auto error = parser.parse(response.body).get(value)) return simdjson::error_message(error);
    return Violation(schema, value, "the answer");
  }

  // Returns how the value violates the schema; empty if it does not. A keyword that this function does not know is a
  // violation.
  std::string Violation(Element schema, Element value, const std::string& where) const {
    for (const auto& [keyword, rule] : Object(Resolved(schema))) {
      std::string why = Violation(Resolved(schema), keyword, rule, value, where);
      if (!why.empty()) return why;
    }
    return "";
  }
  Element Resolved(Element element) const {
    std::string_view reference;
    if (element["$ref"].get(reference) != simdjson::SUCCESS) return element;
    return root_.at_pointer(reference.substr(1));
  }

 private:
  static bool IsOfType(std::string_view type, Element value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_bool();
    if (type == "integer") return value.is_int64() || value.is_uint64();
    return type == "number" && value.is_number();
  }
  static bool Has(Element object, std::string_view name) { return object[name].error() == simdjson::SUCCESS; }
  static size_t Characters(std::string_view text) {
    return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
  }

  std::string Violation(Element schema, std::string_view keyword, Element rule, Element value,
                        const std::string& where) const {
    const auto broken = [&] { return where + " is not as said by " + std::string(keyword); };
    const auto unless = [&](bool good) { return good ? "" : broken(); };
    if (keyword == "description" || keyword == "default" || keyword == "format") return "";
    if (keyword == "type") return unless(IsOfType(rule, value));
    if (keyword == "minimum") return unless(!value.is_number() || double(value) >= double(rule));
    if (keyword == "maximum") return unless(!value.is_number() || double(value) <= double(rule));
    if (keyword == "exclusiveMinimum") return unless(!value.is_number() || double(value) > double(rule));
    if (keyword == "minLength") return unless(!value.is_string() || Characters(value) >= uint64_t(rule));
    if (keyword == "maxLength") return unless(!value.is_string() || Characters(value) <= uint64_t(rule));
    if (keyword == "minProperties") return unless(!value.is_object() || Object(value).size() >= uint64_t(rule));
    if (keyword == "enum") return unless(IsAmong(rule, value));
    if (keyword == "oneOf" || keyword == "anyOf") {
      const size_t matches = Matches(rule, value, where);
      return unless(keyword == "oneOf" ? matches == 1 : matches > 0);
    }
    if (keyword == "items") return ItemsViolation(rule, value, where);
    if (!value.is_object()) return "";
    if (keyword == "required") {
      for (const Element name : simdjson::dom::array(rule))
        if (!Has(value, name)) return where + " lacks " + std::string(std::string_view(name));
      return "";
    }
    if (keyword == "properties") return PropertiesViolation(rule, value, where);
    if (keyword == "additionalProperties") {
      for (const auto& [name, unused] : Object(value))
        if (!bool(rule) && !Has(schema["properties"], name)) return where + " has " + std::string(name);
      return "";
    }
    return std::string(keyword) + " is unknown to the test";
  }
  static bool IsAmong(Element list, Element value) {
    for (const Element one : simdjson::dom::array(list))
      if (value.is_string() && std::string_view(one) == std::string_view(value)) return true;
    return false;
  }
  size_t Matches(Element list, Element value, const std::string& where) const {
    size_t count = 0;
    for (const Element schema : simdjson::dom::array(list)) count += Violation(schema, value, where).empty() ? 1 : 0;
    return count;
  }
  std::string ItemsViolation(Element schema, Element value, const std::string& where) const {
    if (!value.is_array()) return "";
    for (const Element item : simdjson::dom::array(value))
      if (std::string why = Violation(schema, item, where + "[]"); !why.empty()) return why;
    return "";
  }
  std::string PropertiesViolation(Element properties, Element value, const std::string& where) const {
    for (const auto& [name, member] : Object(value)) {
      Element schema;
      if (properties[name].get(schema) != simdjson::SUCCESS) continue;
      if (std::string why = Violation(schema, member, where + "." + std::string(name)); !why.empty()) return why;
    }
    return "";
  }

  simdjson::dom::parser parser_;
  Element root_;
};

}  // namespace weir
