#include "import/input/decoder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/import/input/compressed.h"

namespace weir {
namespace {

struct Decoded {
  std::string text;
  Status status;
};

Decoded Decode(const std::string& data, size_t piece_size, Compression compression, size_t max_output = 1 << 20) {
  const std::unique_ptr<Decoder> decoder = Decoder::Make(compression);
  Decoded decoded;
  const auto keep = [&](std::string_view bytes) {
    EXPECT_LE(bytes.size(), std::max<size_t>(piece_size, 128 << 10));
    decoded.text += bytes;
  };
  for (size_t at = 0; at < data.size() && decoded.status.ok();) {
    const size_t before = decoded.text.size();
    const Result<size_t> taken = decoder->Add(std::string_view(data).substr(at, piece_size), max_output, keep);
    EXPECT_LE(decoded.text.size() - before, max_output + (128 << 10));
    if (!taken.ok()) decoded.status = taken.status();
    if (taken.ok()) at += taken.value();
  }
  if (decoded.status.ok()) decoded.status = decoder->End();
  return decoded;
}
Decoded Decode(const std::string& data, size_t piece_size) { return Decode(data, piece_size, CompressionOf(data)); }

std::string Compress(const std::string& text, Compression compression) {
  if (compression == Compression::kNone) return text;
  return compression == Compression::kGzip ? Gzip(text) : Zstd(text);
}

std::string SomeText() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  return text;
}

RC_GTEST_PROP(Decoder, RestoresCompressedTextReadInAnyPieces, ()) {
  const auto compression = *rc::gen::element(Compression::kNone, Compression::kGzip, Compression::kZstd);
  const auto parts = *rc::gen::nonEmpty<std::vector<std::string>>();
  std::string text;
  std::string data;
  for (const std::string& part : parts) {
    const std::string grown = part + std::string(*rc::gen::inRange<size_t>(0, 200'000), 'x');
    text += grown;
    data += Compress(grown, compression);
  }
  const Decoded decoded =
      Decode(data, *rc::gen::inRange<size_t>(1, 5000), compression, *rc::gen::inRange<size_t>(1, 300'000));
  RC_ASSERT(decoded.status.ok());
  RC_ASSERT(decoded.text == text);
}

TEST(Decoder, TellsTheCompressionByTheFirstBytes) {
  EXPECT_EQ(CompressionOf(""), Compression::kNone);
  EXPECT_EQ(CompressionOf("{\"id\""), Compression::kNone);
  EXPECT_EQ(CompressionOf(Gzip("x")), Compression::kGzip);
  EXPECT_EQ(CompressionOf(Zstd("x").substr(0, 4)), Compression::kZstd);
  EXPECT_EQ(CompressionOf("\x50\x2a\x4d\x18"), Compression::kZstd);  // a frame to be skipped comes first
  EXPECT_EQ(CompressionOf("\xef\xbb\xbf{"), Compression::kNone);
}

TEST(Decoder, SaysOfDataCutAnywhereThatItIsCutOff) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string text = SomeText();
    const std::string whole = Compress(text, compression);
    const std::string data = whole + whole;  // cut in the second member too
    for (size_t size = 1; size < data.size(); ++size) {
      SCOPED_TRACE(size);
      const Decoded decoded = Decode(data.substr(0, size), 100, compression);
      if (size == whole.size()) {
        EXPECT_TRUE(decoded.status.ok()) << decoded.status.message();
        continue;
      }
      ASSERT_FALSE(decoded.status.ok());
      EXPECT_NE(decoded.status.message().find("cut off: "), std::string::npos) << decoded.status.message();
      EXPECT_EQ(decoded.text, (text + text).substr(0, decoded.text.size()));
    }
  }
}

TEST(Decoder, RefusesWhatFollowsTheDataButGzipsPadding) {
  const std::string text = SomeText();
  EXPECT_TRUE(Decode(Gzip(text) + std::string(1000, '\0'), 64).status.ok());
  for (const size_t piece : {1, 7, 100'000}) {
    for (const std::string& data : {Gzip(text) + "rubbish", Gzip(text) + std::string(3, '\0') + "x",
                                    Zstd(text) + "rubbish", Zstd(text) + "rub"}) {
      const Decoded decoded = Decode(data, piece);
      EXPECT_FALSE(decoded.status.ok());
      EXPECT_EQ(decoded.text, text);
    }
  }
  EXPECT_EQ(Decode(Gzip("a") + "rubbish", 100).status.message(),
            "not gzip data at byte " + std::to_string(Gzip("a").size()) + ": incorrect header check");
}

TEST(Decoder, SaysWhereDataIsDamaged) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string data = Compress(SomeText(), compression);
    size_t found = 0;
    for (size_t at = 12; at < data.size(); ++at) {
      std::string damaged = data;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      const Decoded decoded = Decode(damaged, 50, compression);
      // zstd's own checksum is an option that the one-line compressor does not take.
      if (!decoded.status.ok()) ++found;
    }
    EXPECT_GT(found, compression == Compression::kGzip ? data.size() - 13 : 0);
  }
  EXPECT_NE(Decode("\x28\xb5\x2f\xfdrubbish and more", 50).status.message().find("zstd data at byte"),
            std::string::npos);
}

TEST(Decoder, StopsWhereAPieceBecomesMuch) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string data = Compress(std::string(64 << 20, 'x'), compression);
    const std::unique_ptr<Decoder> decoder = Decoder::Make(compression);
    size_t at = 0;
    size_t all = 0;
    for (size_t steps = 0; at < data.size(); ++steps) {
      ASSERT_LT(steps, 5000);
      size_t made = 0;
      const auto count = [&](std::string_view bytes) { made += bytes.size(); };
      const Result<size_t> taken = decoder->Add(std::string_view(data).substr(at), 64 << 10, count);
      ASSERT_TRUE(taken.ok()) << taken.status().message();
      EXPECT_LE(made, 192 << 10);
      at += taken.value();
      all += made;
    }
    EXPECT_EQ(all, 64 << 20);
    EXPECT_TRUE(decoder->End().ok());
  }
}

TEST(Decoder, RefusesAZstdWindowThatIsTooLarge) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 24);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string data(1000, '\0');
  ZSTD_outBuffer out{data.data(), data.size(), 0};
  for (const ZSTD_EndDirective directive : {ZSTD_e_flush, ZSTD_e_end}) {  // a stream: the whole size is not known
    ZSTD_inBuffer in{"text", 4, 0};
    ASSERT_EQ(ZSTD_compressStream2(context, &out, &in, directive), 0);
  }
  ZSTD_freeCCtx(context);
  data.resize(out.pos);
  const auto nothing = [](std::string_view) {};
  EXPECT_TRUE(Decoder::Make(Compression::kZstd)->Add(data, 1000, nothing).ok());
  EXPECT_TRUE(Decoder::Make(Compression::kZstd, 24)->Add(data, 1000, nothing).ok());
  EXPECT_FALSE(Decoder::Make(Compression::kZstd, 23)->Add(data, 1000, nothing).ok());
}

TEST(Decoder, StaysAtItsError) {
  const std::unique_ptr<Decoder> decoder = Decoder::Make(Compression::kGzip);
  const auto nothing = [](std::string_view) {};
  EXPECT_FALSE(decoder->Add("rubbish, not gzip", 1000, nothing).ok());
  EXPECT_FALSE(decoder->Add(Gzip("good"), 1000, nothing).ok());
  EXPECT_FALSE(decoder->End().ok());
}

}  // namespace
}  // namespace weir
