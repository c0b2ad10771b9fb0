// The answers to calls of a relay's methods for administrators (relay/management/management_methods.h), as programs on
// the command line read them, show them, or send them again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"

namespace weir {

// The answer {"result":…,"after":…} or {"result":null,"error":…}.
struct ManagementAnswer {
  std::string result;  // JSON
  std::string after;   // not empty: the result is a part of a list, and a call with this text returns the next part
};
// Returns the first line of the error if the answer has one, or an error if the body is no such answer.
Result<ManagementAnswer> ReadManagementAnswer(std::string_view body);

// Returns the JSON of each item of a list. Returns an error if `list` is none.
Result<std::vector<std::string>> ItemsOf(std::string_view list);
// Divides a document of `exportmoderation` into documents of at most `most_bytes` each, unless one decision alone is
// longer. A short document, and a text that is no such document, comes back as it is.
std::vector<std::string> PartsOfDocument(std::string_view document, size_t most_bytes);
// Returns an item as a line: the values of an object with two spaces between them, or the value itself. Public keys in
// a member "pubkey" become npubs.
std::string LineOf(std::string_view item);

}  // namespace weir
