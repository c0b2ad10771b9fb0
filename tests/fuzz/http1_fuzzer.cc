// HTTP/1.1 behind the socket: the same bytes get the same answer whether they come at once or in pieces. The first byte
// gives the size of the pieces.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "relay/net/http_stream.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/served.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

// Answers with the number of bytes when all have come.
class Counts final : public HttpStreamHandler {
 public:
  explicit Counts(HttpExchange& exchange) : exchange_(exchange) {}

  void OnBody(std::string_view piece) override { bytes_ += piece.size(); }
  void OnBodyEnd() override {
    exchange_.Begin({.body = std::to_string(bytes_)});
    exchange_.End();
  }
  void OnShutdown() override {}
  void OnEnd(std::string_view) override {}

 private:
  HttpExchange& exchange_;
  size_t bytes_ = 0;
};

HttpRouter Routes() {
  HttpRouter router;
  router.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
  router.AddDeferred("POST", "/echo", [](const HttpRequest& r, const HttpReply& reply) { reply({.body = r.body}); });
  router.Add("PUT", "/v1/models/{model}", [](const HttpRequest& r) { return HttpResponse{.body = r.parameters[0]}; });
  router.AddForAccept("application/nostr+json", [](const HttpRequest&) { return HttpResponse{.body = "{}"}; });
  router.AddStream(
      "POST", "/count",
      [](const HttpRequest&, HttpExchange& exchange) -> std::variant<HttpResponse, std::shared_ptr<HttpStreamHandler>> {
        return std::make_shared<Counts>(exchange);
      });
  return router;
}

void EraseAll(std::string* text, std::string_view begin, std::string_view end) {
  for (size_t at = 0; (at = text->find(begin, at)) != text->npos;)
    text->erase(at, std::min(text->find(end, at + begin.size()), text->size() - end.size()) + end.size() - at);
}

// Removes everything that depends on the present second, and on whether the body came with its header.
std::string Comparable(std::string said) {
  EraseAll(&said, "Date: ", "\r\n");
  EraseAll(&said, "HTTP/1.1 100 Continue\r\n", "\r\n");
  return said;
}

void Check(std::string_view text) {
  static Served served(Routes());
  const size_t step = 1 + TakeByte(&text);
  const std::string whole = served.Answer(std::span(&text, 1));
  const std::string in_pieces = served.Answer(Cut(text, step));
  // HTTP/2 has a fuzz target of its own.
  if (whole.find("HTTP/1.1 101 ") != whole.npos || text.find("PRI * HTTP/2.0") != text.npos) return;
  // An invalid header is refused at once, or only when the header ends.
  const std::string all = Comparable(whole);
  const std::string some = Comparable(in_pieces);
  const std::string rest = all.substr(std::min(some.size(), all.size()));
  const bool refuses = rest.starts_with("HTTP/1.1 400 ") || rest.starts_with("HTTP/1.1 505 ");
  Must(all.starts_with(some) && (rest.empty() || refuses), whole + "\n-- in pieces:\n" + in_pieces);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
