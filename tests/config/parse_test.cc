#include "config/text/parse.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace weir {
namespace {

// The outcome of a parse: the value as text, or the error.
template <typename T>
std::string Said(const Result<T>& result) {
  if (!result.ok()) return result.status().message();
  if constexpr (std::is_same_v<T, bool>) {
    return result.value() ? "true" : "false";
  } else if constexpr (std::is_same_v<T, double>) {
    return FormatNumber(result.value());
  } else {
    return std::to_string(result.value());
  }
}

struct Case {
  std::string_view text;
  std::string_view said;
};

TEST(Parse, Bool) {
  static constexpr std::string_view kError = "not true or false (nor 1, 0, yes, no, on, off)";
  for (const auto& [text, said] : std::vector<Case>{{"true", "true"},
                                                    {" TRUE\n", "true"},
                                                    {"1", "true"},
                                                    {"yes", "true"},
                                                    {"On", "true"},
                                                    {"false", "false"},
                                                    {"0", "false"},
                                                    {"no", "false"},
                                                    {"OFF", "false"},
                                                    {"", kError},
                                                    {"2", kError},
                                                    {"tru", kError},
                                                    {"true false", kError}}) {
    EXPECT_EQ(Said(ParseBool(text)), said) << text;
  }
}

TEST(Parse, Number) {
  static constexpr std::string_view kNone = "not a number within 0.05..1 (fraction)";
  static constexpr std::string_view kOutside = "not within 0.05..1 (fraction)";
  for (const auto& [text, said] : std::vector<Case>{
           {"0.85", "0.85"}, {" 0.85 ", "0.85"},      {"5e-1", "0.5"},      {".5", "0.5"},     {"1", "1"},
           {"0.05", "0.05"}, {"0.0499999", kOutside}, {"85", kOutside},     {"-1", kOutside},  {"1e999", kOutside},
           {"nan", kNone},   {"inf", kNone},          {"-infinity", kNone}, {"0x1p-1", kNone}, {"0.5f", kNone},
           {"0,5", kNone},   {"0.5 0.5", kNone},      {"+0.5", kNone},      {"85 %", kNone},   {"", kNone}}) {
    EXPECT_EQ(Said(ParseNumber(text, {0.05, 1, "fraction"})), said) << text;
  }
}

TEST(Parse, Integer) {
  for (const auto& [text, said] : std::vector<Case>{{"0", "0"},
                                                    {"-5", "-5"},
                                                    {"100", "100"},
                                                    {"101", "not within -5..100"},
                                                    {"99999999999999999999", "not within -5..100"},
                                                    {"1.5", "not a whole number within -5..100"},
                                                    {"1e1", "not a whole number within -5..100"},
                                                    {"-", "not a whole number within -5..100"}}) {
    EXPECT_EQ(Said(ParseInteger(text, {-5, 100})), said) << text;
  }
}

TEST(Parse, Unsigned) {
  for (const auto& [text, said] : std::vector<Case>{{"1", "1"},
                                                    {"65535", "65535"},
                                                    {"65536", "not within 1..65535"},
                                                    {"-1", "not within 1..65535"},
                                                    {"-99999999999999999999", "not within 1..65535"},
                                                    {"99999999999999999999999", "not within 1..65535"},
                                                    {"-1x", "not a whole number within 1..65535"},
                                                    {"0x10", "not a whole number within 1..65535"}}) {
    EXPECT_EQ(Said(ParseUnsigned(text, {1, 65535})), said) << text;
  }
  const auto largest = static_cast<double>(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Said(ParseUnsigned("18446744073709551615", {0, largest})), "18446744073709551615");
}

TEST(Parse, Word) {
  const std::vector<std::string> words = {"hold", "open"};
  EXPECT_EQ(Said(ParseWord("open", words)), "1");
  EXPECT_EQ(Said(ParseWord(" HOLD ", words)), "0");
  EXPECT_EQ(Said(ParseWord("ope", words)), "not one of hold|open");
  EXPECT_EQ(Said(ParseWord("", words)), "not one of hold|open");
}

TEST(FormatNumber, WritesNumbersAsPeopleTypeThem) {
  EXPECT_EQ(FormatNumber(0), "0");
  EXPECT_EQ(FormatNumber(1e6), "1000000");
  EXPECT_EQ(FormatNumber(0.05), "0.05");
  EXPECT_EQ(FormatNumber(-0.000001), "-0.000001");
  EXPECT_EQ(FormatNumber(1e300), "1e+300");
  EXPECT_EQ(FormatNumber(5e-324), "5e-324");
}

RC_GTEST_PROP(FormatNumber, IsReadBackAsTheSameNumber, (double number)) {
  RC_PRE(std::isfinite(number));
  static constexpr double kMax = std::numeric_limits<double>::max();
  const Result<double> parsed = ParseNumber(FormatNumber(number), {-kMax, kMax});
  RC_ASSERT(parsed.ok());
  RC_ASSERT(parsed.value() == number);
}

RC_GTEST_PROP(Parse, AnyTextGivesANumberWithinTheRangeOrAnError, (const std::string& text)) {
  const Result<double> parsed = ParseNumber(text, {-2, 3});
  // RC_ASSERT does not stop at the first half of a condition.
  if (parsed.ok()) RC_ASSERT((parsed.value() >= -2 && parsed.value() <= 3));
}

TEST(Printable, EscapesAndCuts) {
  EXPECT_EQ(Printable("plain ünicode"), "plain ünicode");
  EXPECT_EQ(Printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(Printable(std::string(1000, 'x')), std::string(60, 'x') + "...");
  // This is not UTF-8, so no character has to stay whole, and a terminal should get none of these bytes.
  std::string escaped;
  for (int i = 0; i < 60; ++i) escaped += "\\x80";
  EXPECT_EQ(Printable(std::string(100, '\x80')), escaped + "...");
}

TEST(NearestName, OnlyWhenNear) {
  const std::vector<std::string_view> names = {"RATE_LIMIT_SETPOINT", "RATE_LIMIT_WRITE_KP", "PORT", "DATA_DIR"};
  EXPECT_EQ(NearestName("RATE_LIMIT_SETPONT", names), "RATE_LIMIT_SETPOINT");
  EXPECT_EQ(NearestName("RATE_LIMIT_WRITE_PK", names), "RATE_LIMIT_WRITE_KP");
  EXPECT_EQ(NearestName("PROT", names), "PORT");
  EXPECT_EQ(NearestName("DATADIR", names), "DATA_DIR");
  EXPECT_EQ(NearestName("HOME", names), "");
  EXPECT_EQ(NearestName("COMPLETELY_DIFFERENT", names), "");
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName(std::string(1 << 20, 'x'), names), "");
  EXPECT_EQ(NearestName("PORT", {}), "");
}

}  // namespace
}  // namespace weir
