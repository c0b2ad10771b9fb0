// A request is answered alike over HTTP/1.1 and over HTTP/2, whatever else is under way and however it is cut.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "tests/relay/net/http2_fixture.h"

namespace weir {
namespace {

struct Asked {
  std::string method;
  std::string path;
  std::string body;
};

class AlikeTest : public Http2Test {
 protected:
  AlikeTest() {
    settings_.max_http_body_bytes = 50'000;
    router_.AddDeferred("POST", "/now", [](const HttpRequest& r, const HttpReply& reply) { reply({.body = r.body}); });
    router_.AddDeferred("POST", "/soon", [](const HttpRequest& r, const HttpReply& reply) {
      std::thread([reply, body = r.body] { reply({.status = 202, .body = "soon " + body}); }).detach();
    });
    router_.Add("PUT", "/v1/models/{model}",
                [](const HttpRequest& r) { return HttpResponse{.body = r.parameters[0]}; });
  }

  static Asked AnyRequest() {
    Asked asked;
    asked.method = *rc::gen::element<std::string>("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS");
    asked.path =
        *rc::gen::element<std::string>("/", "/echo%20path?a=b", "/take", "/now", "/soon", "/big?3000", "/empty",
                                       "/nowhere", "/v1/models/a%2Fb", "/%74ake", "/fault", "/a?%zz", "/%zz");
    if (asked.method == "POST" || asked.method == "PUT")
      asked.body.assign(*rc::gen::element<size_t>(0, 1, 1000, 20'000, 50'000), 'b');
    return asked;
  }
  // Asks on a connection of its own.
  RawAnswer OverOne(const Asked& asked) {
    RawClient client = Connect();
    const std::string length =
        asked.body.empty() ? "" : "Content-Length: " + std::to_string(asked.body.size()) + "\r\n";
    client.Send(asked.method + " " + asked.path + " HTTP/1.1\r\nHost: x\r\n" + length + "\r\n" + asked.body);
    return client.Answer(asked.method != "HEAD");
  }
  static std::string Text(RawAnswer answer) {
    answer.headers.erase("date");
    answer.headers.erase("connection");
    std::string text = std::to_string(answer.status);
    for (const auto& [name, value] : answer.headers) text.append("\n").append(name).append(": ").append(value);
    return text.append("\n\n").append(answer.body);
  }
};

RC_GTEST_FIXTURE_PROP(AlikeTest, AnswersAreAlike, ()) {
  Start();
  Http2Peer peer = Peer({.stream_window = *rc::gen::element(1U, 100U, 16'384U, 65'535U, 1'000'000U)});
  std::vector<Asked> requests;
  std::vector<int32_t> ids;
  const int count = *rc::gen::inRange(1, 12);
  for (int n = 0; n < count; ++n) {
    requests.push_back(AnyRequest());
    const Asked& asked = requests.back();
    ids.push_back(peer.Ask(asked.method, asked.path, asked.body));
    std::string output = peer.TakeOutput();
    while (!output.empty()) {
      const size_t bytes = std::min(output.size(), *rc::gen::element<size_t>(1, 9, 100, 10'000));
      peer.client().Send(output.substr(0, bytes));
      output.erase(0, bytes);
    }
    if (*rc::gen::arbitrary<bool>()) peer.Await(ids[*rc::gen::inRange<size_t>(0, ids.size())]);
  }
  for (int n = count - 1; n >= 0; --n) RC_ASSERT(Text(peer.Await(ids[n])) == Text(OverOne(requests[n])));
}

}  // namespace
}  // namespace weir
