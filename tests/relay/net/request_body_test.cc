#include "relay/net/request_body.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/asio/buffer.hpp>
#include <optional>
#include <sstream>

namespace weir {
namespace {

struct Taken {
  std::string body;
  std::string rest;  // input that is not the body's
  boost::system::error_code error;
  bool done = false;
};

// Feeds a body as the stage does: a piece is used up before the next comes.
Taken Take(const std::string& header, const std::vector<std::string>& pieces) {
  RequestParser parser;
  parser.eager(false);
  parser.body_limit(boost::none);
  boost::system::error_code error;
  EXPECT_EQ(parser.put(boost::asio::buffer(header), error), header.size());
  EXPECT_TRUE(parser.is_header_done()) << error.message();
  Taken taken;
  RequestBody body(std::move(parser), [&](std::string_view piece) { taken.body += piece; });
  for (const std::string& piece : pieces) {
    std::string_view left = piece;
    while (!left.empty() && !body.done() && !taken.error) {
      const size_t used = body.Put(left, taken.error);
      EXPECT_TRUE(used > 0 || taken.error);
      left.remove_prefix(used);
    }
    taken.rest += left;
  }
  taken.done = body.done();
  return taken;
}

std::string Header(const std::string& more) { return "POST / HTTP/1.1\r\nHost: x\r\n" + more + "\r\n"; }
const std::string& ChunkedHeader() {
  static const std::string header = Header("Transfer-Encoding: chunked\r\n");
  return header;
}

std::vector<std::string> Cut(const std::string& text) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = *rc::gen::inRange<size_t>(1, *rc::gen::element<size_t>(2, 4, 30, 400));
    pieces.push_back(text.substr(at, bytes));
    at += bytes;
  }
  return pieces;
}

std::string AnyBytes() {
  return *rc::gen::container<std::string>(*rc::gen::inRange<size_t>(0, 200),
                                          rc::gen::element('\r', '\n', '0', 'a', '\0', ';', '\xff'));
}

RC_GTEST_PROP(RequestBody, IsTheSameHoweverItIsCut, ()) {
  std::string body;
  std::string wire;
  for (int n = *rc::gen::inRange(0, 8); n > 0; --n) {
    const std::string chunk = AnyBytes() + "x";
    body += chunk;
    std::ostringstream size;
    size << std::hex << chunk.size();
    wire += size.str() + *rc::gen::element<std::string>("", ";a", ";a=b", ";a=\"b;c\"") + "\r\n" + chunk + "\r\n";
  }
  wire += *rc::gen::element<std::string>("0\r\n\r\n", "000\r\n\r\n", "0;last\r\n\r\n", "0\r\nA: b\r\nC: d\r\n\r\n");
  const std::string after = *rc::gen::element<std::string>("", "GET / HTTP/1.1\r\n\r\n", "\r\n0");
  const Taken taken = Take(ChunkedHeader(), Cut(wire + after));
  RC_ASSERT(!taken.error);
  RC_ASSERT(taken.done);
  RC_ASSERT(taken.body == body);
  RC_ASSERT(taken.rest == after);
}

RC_GTEST_PROP(RequestBody, WithAKnownLengthIsTheSameHoweverItIsCut, ()) {
  const std::string body = AnyBytes();
  const std::string after = AnyBytes();
  const Taken taken = Take(Header("Content-Length: " + std::to_string(body.size()) + "\r\n"), Cut(body + after));
  RC_ASSERT(!taken.error);
  RC_ASSERT(taken.done);
  RC_ASSERT(taken.body == body);
  RC_ASSERT(taken.rest == after);
}

// Either the error is found, or more is waited for; what was good before has been taken.
RC_GTEST_PROP(RequestBody, IsNeverMadeOfWhatIsNotWellFormed, ()) {
  const std::string good = "3\r\nabc\r\n";
  const std::string bad =
      *rc::gen::element<std::string>("x\r\n", "\r\n\r\n", "-1\r\n", "1 1\r\n", "11111111111111111\r\n", "1\nx\r\n",
                                     "1;=\r\nx", "1\r\nxy\r\n", "0\r\nbad trailer\r\n\r\n");
  const Taken taken = Take(ChunkedHeader(), Cut(good + bad + "0\r\n\r\n"));
  RC_ASSERT(taken.error.failed());
  RC_ASSERT(!taken.done);
  RC_ASSERT(taken.body == "abc" || taken.body == "abcx");
}

TEST(RequestBody, ALineWithoutAnEndIsNotKept) {
  for (const std::string begin : {"1;a=", "0\r\nA: "}) {
    const Taken taken = Take(ChunkedHeader(), {begin, std::string(20'000, 'a'), "a"});
    EXPECT_TRUE(taken.error.failed());
    const Taken slow = Take(ChunkedHeader(), [&] {
      std::vector<std::string> pieces(17'000, "a");
      pieces.insert(pieces.begin(), begin);
      return pieces;
    }());
    EXPECT_TRUE(slow.error.failed());
  }
}

TEST(RequestBody, ARequestWithoutOneIsDone) {
  EXPECT_TRUE(Take(Header(""), {}).done);
  EXPECT_TRUE(Take(Header("Content-Length: 0\r\n"), {}).done);
}

TEST(RequestBody, MayBeLongerThanAnyLimit) {
  const std::string piece(1 << 20, 'x');
  const Taken taken = Take(Header("Content-Length: 5000000000\r\n"), {piece, piece, piece});
  EXPECT_FALSE(taken.error);
  EXPECT_EQ(taken.body.size(), 3U << 20);
}

}  // namespace
}  // namespace weir
