// HTTP/2 behind its preface: whatever frames a client sends, and in whatever pieces (the first byte gives their size),
// the answer consists of whole frames.
#include <string>

#include "relay/net/http2_stage.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/served.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

constexpr size_t kFrameHead = 9;
constexpr char kSettings = 4;

HttpRouter Routes() {
  HttpRouter router;
  router.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
  router.Add("GET", "/large", [](const HttpRequest&) { return HttpResponse{.body = std::string(200'000, 'x')}; });
  router.AddDeferred("POST", "/echo", [](const HttpRequest& r, const HttpReply& reply) {
    reply({.body = r.body, .trailers = {{"grpc-status", "0"}}});
  });
  return router;
}

void CheckFrames(std::string_view said) {
  Must(said.size() >= kFrameHead && said[3] == kSettings, "the server's preface are its settings");
  while (!said.empty()) {
    Must(said.size() >= kFrameHead);
    size_t size = 0;
    for (size_t i = 0; i < 3; ++i) size = size << 8 | static_cast<uint8_t>(said[i]);
    Must(size + kFrameHead <= said.size(), "the last frame is whole");
    said.remove_prefix(kFrameHead + size);
  }
}

void Check(std::string_view text) {
  static Served served(Routes());
  const size_t step = size_t{16} * (1 + TakeByte(&text));
  const std::string sent = std::string(kHttp2Preface) + std::string(text);
  CheckFrames(served.Answer(Cut(sent, step)));
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
