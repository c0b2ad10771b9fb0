// Attacks by WebSocket frames, compression and HTTP.
#include <zlib.h>

#include "relay/nostr/signature.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"
#include "tests/hostile/http2_bytes.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// Sends the same small frame again and again, many in one piece.
std::string Repeat(Arena& arena, double scale, const std::string& frame, size_t connections,
                   const std::string& headers = "") {
  Crowd crowd(arena.port(), AttackerAddress(), connections, headers);
  std::string piece;
  while (piece.size() < (64 << 10)) piece += frame;
  crowd.Run(Scaled(8s, scale), Reads::kAll, [&](size_t) { return piece; });
  return crowd.Heard();
}

// A message that never ends: each frame adds one byte to a text.
std::string Fragments(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 64);
  std::string piece;
  while (piece.size() < (64 << 10)) piece += ClientFrame(kContinuation, "x", false);
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(8s, scale), Reads::kAll,
            [&](size_t i) { return sent[i]++ == 0 ? ClientFrame(kText, "[", false) : piece; });
  return crowd.Heard();
}

std::string CloseOfNothing(Arena& arena, double scale) {
  return Repeat(arena, scale, TextFrame(R"(["CLOSE","a"])"), 64);
}

std::string Pings(Arena& arena, double scale) { return Repeat(arena, scale, ClientFrame(kPing, "p"), 64); }

// Returns a raw deflate stream without its last four bytes, as permessage-deflate requires.
std::string Deflated(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -12, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_SYNC_FLUSH);
  out.resize(out.size() - stream.avail_out - 4);
  deflateEnd(&stream);
  return out;
}

std::string Inflate(Arena& arena, double scale) {
  const std::string text = R"(["CLOSE",")" + std::string(262'000, 'z') + "\"]";
  const std::string frame = ClientFrame(kText, Deflated(text), true, 4);
  return Repeat(arena, scale, frame, 8, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n");
}

std::string Bodies(Arena& arena, double scale) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), Scaled(190, scale));
  std::vector<size_t> sent(crowd.size());
  const std::string piece(32 << 10, 'b');
  crowd.Run(Scaled(8s, scale), Reads::kNothing, [&](size_t i) {
    if (sent[i]++ == 0)
      return std::string("POST /not/there HTTP/1.1\r\nHost: relay.example\r\nContent-Length: 1048576\r\n\r\n");
    return sent[i] <= 32 ? piece : std::string();
  });
  return std::to_string(crowd.open()) + " still open";
}

std::string BadSignatures(Arena& arena, double scale) {
  Crowd crowd(arena.port(), AttackerAddress(), 8);
  std::string event = Signer(31).SignedEvent(Now(), 1, "[]", "forged");
  const size_t signature = event.find("\"sig\":\"") + 7;
  event.replace(signature, 64, std::string(64, '0'));
  const std::string frame = EventFrame(event);
  crowd.Run(Scaled(8s, scale), Reads::kAll, [&](size_t) { return std::string(frame); });
  return crowd.Heard();
}

std::string Pages(Arena& arena, double scale) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 64);
  std::string piece;
  for (int n = 0; n < 100; ++n) {
    for (const char* path : {"/metrics", "/", "/readyz"}) piece += Get(path);
    piece += Get("/", "Accept: application/nostr+json\r\n");
  }
  crowd.Run(Scaled(8s, scale), Reads::kAll, [&](size_t) { return piece; });
  return std::to_string(crowd.open()) + " still open";
}

// Each stream asks for a large answer and gives no window for it.
std::string AnswersWithoutWindow(Arena& arena, double scale) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), Scaled(190, scale));
  std::string all(kHttp2Preface);
  all += Http2Frame(kSettings, 0, 0, std::string("\0\4\0\0\0\0", 6));
  for (uint32_t n = 0; n < 128; ++n) all += Http2Frame(kHeaders, kWholeRequest, 2 * n + 1, HeaderBlock("/metrics"));
  crowd.SendOnce([&](size_t) { return all; }, Scaled(8s, scale), Reads::kAll);
  return std::to_string(crowd.open()) + " still open";
}

// A header field of 4 KB is sent once; after that a single byte stands for it.
std::string PackedHeaders(Arena& arena, double scale) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 64);
  const std::string field = std::string("\x40\x01k\x7f\xbd\x1d", 6) + std::string(3900, 'v');
  std::vector<uint32_t> streams(crowd.size());
  crowd.Run(Scaled(8s, scale), Reads::kAll, [&](size_t i) {
    uint32_t& stream = streams[i];
    std::string piece;
    if (stream == 0) {
      piece = std::string(kHttp2Preface) + Http2Frame(kSettings, 0, 0, "") +
              Http2Frame(kHeaders, kWholeRequest, 1, HeaderBlock("/") + field);
      stream = 1;
    }
    for (int n = 0; n < 64; ++n)
      piece += Http2Frame(kHeaders, kWholeRequest, stream += 2, HeaderBlock("/") + std::string(15, '\xbe'));
    return piece;
  });
  return std::to_string(crowd.open()) + " still open";
}

// Wrong tokens, and requests for the sign-in form, a hundred at a time.
std::string SignIns(Arena& arena, double scale) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 64);
  const std::string body = "token=" + std::string(4000, 'x');
  std::string all;
  for (int n = 0; n < 100; ++n) all += Post("/live/session", body) + Get("/live", "Accept: text/html\r\n");
  crowd.Run(Scaled(8s, scale), Reads::kAll, [&](size_t) { return all; });
  return std::to_string(crowd.open()) + " still open";
}

// All listeners that are allowed, and some more, with an administrator's token.
std::string LiveListeners(Arena& arena, double scale) {
  const std::string authorization = Authorization(arena);
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), Scaled(150, scale));
  crowd.SendOnce([&](size_t) { return Get("/live/events", authorization); }, Scaled(20s, scale), Reads::kNothing);
  return std::to_string(crowd.open()) + " still open";
}

std::string Auths(Arena& arena, double scale) {
  std::string event = Signer(32).SignedEvent(Now(), 22'242, R"([["relay","ws://a"],["challenge","b"]])", "");
  return Repeat(arena, scale, TextFrame("[\"AUTH\"," + event + "]"), 16);
}

std::string Connects(Arena& arena, double scale) {
  const auto end = std::chrono::steady_clock::now() + Scaled(8s, scale);
  size_t connected = 0;
  while (std::chrono::steady_clock::now() < end) connected += Crowd(arena.port(), AttackerAddress(), 16).size();
  return std::to_string(connected) + " handshakes";
}

}  // namespace

std::vector<Attack> FrameAttacks() {
  return {
      {"fragments", "64 connections of 1-byte fragments", {}, nullptr, Fragments},
      {"closes", "64 connections that close what is not open", {}, nullptr, CloseOfNothing},
      {"pings", "64 connections of pings", {}, nullptr, Pings},
      {"inflate",
       "frames of 300 bytes that inflate to 262 KB on 8 connections",
       {"WEIR_COMPRESSION=true"},
       nullptr,
       Inflate},
      {"bodies", "190 posts of 1 MiB to a path that is not there", {}, nullptr, Bodies},
      {"bad_signatures", "8 connections of forged events", {}, nullptr, BadSignatures},
      {"auths", "16 connections of answers to challenges that were not asked", {}, nullptr, Auths},
      {"pages", "64 connections ask for all pages, 400 at a time", {}, nullptr, Pages},
      {"sign_ins", "64 connections sign in at /live with wrong tokens, 100 at a time", {}, nullptr, SignIns},
      {"live_listeners", "150 that follow /live and read nothing", {}, nullptr, LiveListeners},
      {"http2_answers",
       "190 connections of 128 requests whose answers have no window",
       {},
       nullptr,
       AnswersWithoutWindow},
      {"http2_fields", "64 connections of requests whose headers unpack to 60 KB", {}, nullptr, PackedHeaders},
      {"connects", "16 connections come and go as fast as they can", {}, nullptr, Connects},
  };
}

}  // namespace weir
