// What a server says in plain text of requests that no handler took, or no administrator made, in the API's words.
#pragma once

#include "relay/server/http.h"

namespace weir {

// {"error":{"code":…,"message":…}} with status and header fields as they are: the code goes by the status, the message
// is the text, in one line.
HttpResponse PlainErrorAsJson(HttpResponse plain);

}  // namespace weir
