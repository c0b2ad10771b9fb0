// The header of a request over HTTP/2, and its refusals.
#include "relay/net/http2_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "relay/net/http_bounds.h"

namespace weir {
namespace {

struct Field {
  std::string name;
  std::string value;
};

class Http2HeadTest : public testing::Test {
 protected:
  // Takes the fields and returns the status of the refusal; 0 if there is none.
  int StatusOf(const std::vector<Field>& fields) {
    Http2Head head;
    request_ = HttpRequest();
    for (const Field& field : fields) {
      EXPECT_TRUE(head.Count(field.name, field.value));
      head.Take(request_, field.name, field.value);
    }
    kept_bytes_ = head.kept_bytes();
    const auto refusal = head.Finish(request_);
    return refusal ? refusal->status : 0;
  }

  HttpRequest request_;
  size_t kept_bytes_ = 0;
};

TEST_F(Http2HeadTest, MakesARequestOfItsFields) {
  EXPECT_EQ(StatusOf({{":method", "GET"},
                      {":scheme", "https"},
                      {":authority", "weir.example"},
                      {":path", "/a%20b?c=%20d#part"},
                      {"accept", "text/html"}}),
            0);
  EXPECT_EQ(request_.method, "GET");
  EXPECT_EQ(request_.path, "/a b");
  EXPECT_EQ(request_.raw_path, "/a%20b");
  EXPECT_EQ(request_.query, "c=%20d");
  EXPECT_EQ(request_.headers, (HttpFields{{"host", "weir.example"}, {"accept", "text/html"}}));
  EXPECT_EQ(kept_bytes_,
            5 * size_t{32} + std::string(":methodGET:schemehttps:authorityweir.example:path/a%20b?c=%20d#part"
                                         "accepttext/html")
                                 .size());
}

TEST_F(Http2HeadTest, TakesOneHostHoweverItIsNamed) {
  EXPECT_EQ(StatusOf({{":path", "/"}, {"host", "weir.example"}}), 0);
  EXPECT_EQ(request_.Header("host"), "weir.example");
  EXPECT_EQ(StatusOf({{":path", "/"}, {":authority", "weir.example"}, {"host", "WEIR.example"}}), 0);
  EXPECT_EQ(request_.headers, (HttpFields{{"host", "weir.example"}}));
  EXPECT_EQ(StatusOf({{":path", "/"}, {":authority", "weir.example"}, {"host", "other.example"}}), 400);
  EXPECT_EQ(StatusOf({{":path", "/"}, {":authority", "weir.example"}, {"host", ""}}), 400);
}

TEST_F(Http2HeadTest, RefusesATargetThatIsNotWellFormed) {
  for (const char* target : {"", "relative", "/%zz"}) EXPECT_EQ(StatusOf({{":path", target}}), 400) << target;
  EXPECT_EQ(StatusOf({{":method", "OPTIONS"}, {":path", "*"}}), 0);
}

TEST_F(Http2HeadTest, KeepsNoFieldBeyondItsBoundAndRefusesTheRequest) {
  const std::string half(kMaxHeaderBytes / 2, 'x');
  EXPECT_EQ(StatusOf({{":path", "/"}, {"x-first", half}, {"x-second", half}, {"x-third", "short"}}), 431);
  EXPECT_EQ(request_.headers, (HttpFields{{"x-first", half}}));
  EXPECT_EQ(request_.path, "/") << "the answer may depend on it";
  EXPECT_EQ(kept_bytes_, size_t{kMaxHeaderBytes});
}

TEST_F(Http2HeadTest, TheConnectionEndsAtFourTimesTheBound) {
  Http2Head head;
  const std::string value(kMaxHeaderBytes - 33, 'x');  // a field counts 32 bytes more
  for (int n = 0; n < 4; ++n) EXPECT_TRUE(head.Count("a", value));
  EXPECT_FALSE(head.Count("", ""));
}

}  // namespace
}  // namespace weir
