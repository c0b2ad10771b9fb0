// ManagementMethods: the methods by which administrators manage a running relay, in the form of NIP-86: a call is
// {"method":…,"params":[…]}, the answer is {"result":…} or {"result":null,"error":"…"}.
//
// A room that has something to manage adds its methods here, each as one entry:
//
//   methods.Add({.name = "banpubkey", .right = AdminRight::kModerate, .parameters = {{"public key"}}, .run = …});
//
// Threads: Add may be called before the relay accepts connections. Then any thread that may block may call Answer.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/admin/admin.h"
#include "relay/net/http.h"

namespace weir {

// A parameter of a method. Optional ones come last.
struct ManagementParameter {
  enum class Type : uint8_t {
    kText,
    kNumber,  // a whole number, or a string with one
    kJson,    // any value
  };
  std::string_view name;  // for error messages: "public key"
  Type type = Type::kText;
  bool optional = false;
};

struct ManagementCall {
  // A value for each parameter of the method: a text without its escapes, the digits of a number, or the JSON of a
  // value. Empty for an optional parameter that is missing or null.
  std::vector<std::string> values;
  std::string by;  // the administrator: "npub1…", "the token"
};

struct ManagementResult {
  std::string json = "true";  // a value of JSON
  // If not empty, `json` is the first part of a list, and a call with `after` returns the next part.
  std::string after = {};
};

struct ManagementMethod {
  std::string_view name;
  AdminRight right = AdminRight::kAll;
  std::vector<ManagementParameter> parameters = {};
  // May block. An error is a sentence for the administrator.
  std::function<Result<ManagementResult>(const ManagementCall& call)> run;
  bool takes_document = false;  // true if the call may have up to kMostDocumentBytes
};

class ManagementMethods {
 public:
  static constexpr size_t kMostCallBytes = size_t{64} << 10;
  static constexpr size_t kMostDocumentBytes = size_t{16} << 20;

  // Has only `supportedmethods`, which lists the methods that the caller may call.
  ManagementMethods();
  ManagementMethods(const ManagementMethods&) = delete;
  ManagementMethods& operator=(const ManagementMethods&) = delete;

  // Adds a method. REQUIRES: its name is new.
  void Add(ManagementMethod method);

  // Executes the call in `body`, and returns the answer. The status is 200 also if the call failed; it is 400 if the
  // body is no call, 403 if the administrator lacks the right, and 413 if the body is too long for the method. Logs
  // calls of methods that need more than kRead, with the administrator and `address`.
  HttpResponse Answer(std::string_view body, const Administrator& administrator, std::string_view address) const;

 private:
  std::string SupportedBy(const AdminRights& rights) const;

  std::map<std::string, ManagementMethod, std::less<>> methods_;
};

// Returns the answer to a request that no method has seen, in the same form. Keeps status and headers of `refusal`; its
// body becomes the error.
HttpResponse ManagementRefusal(HttpResponse refusal);

}  // namespace weir
