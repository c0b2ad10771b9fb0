#include "import/sql/sql_splitter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

using Statements = std::vector<std::string>;  // "LINE:TEXT", or "LINE-END LINE:TEXT"

// Adds the text in pieces of this many bytes.
Status Split(const std::string& sql, size_t piece, Statements* statements, size_t most_bytes = 1 << 20) {
  SqlSplitter splitter(most_bytes);
  const auto take = [statements](const SqlStatement& statement) {
    const std::string end = statement.end_line == statement.line ? "" : "-" + std::to_string(statement.end_line);
    statements->push_back(std::to_string(statement.line) + end + ":" + statement.text);
    return Status();
  };
  for (size_t at = 0; at < sql.size(); at += piece)
    if (Status added = splitter.Add(std::string_view(sql).substr(at, piece), take); !added.ok()) return added;
  return splitter.End(take);
}

Statements SplitWhole(const std::string& sql) {
  Statements statements;
  EXPECT_EQ(Split(sql, std::max<size_t>(1, sql.size()), &statements).message(), "") << sql;
  return statements;
}

TEST(SqlSplitter, DividesAtDelimitersOutsideOfQuotesAndComments) {
  struct Case {
    std::string sql;
    Statements statements;
  };
  for (const Case& c : {
           Case{"", {}},
           Case{" \r\n;; ;\t", {}},
           Case{"SELECT 1;", {"1:SELECT 1"}},
           Case{"SELECT 1;\n  SELECT\n2;SELECT 3;", {"1:SELECT 1", "2-3:SELECT\n2", "3:SELECT 3"}},
           Case{"INSERT INTO t VALUES (';', \";\", `;`);b;", {"1:INSERT INTO t VALUES (';', \";\", `;`)", "1:b"}},
           Case{R"(a 'it''s;' "\";" 'x\\';b `\`;c;)", {R"(1:a 'it''s;' "\";" 'x\\')", R"(1:b `\`)", "1:c"}},
           Case{"-- x;'\na;# y;\"\n--\nb;--c;", {"2:a", "4:b", "4:--c"}},
           Case{"a -- x;\nb;", {"1-2:a -- x;\nb"}},
           Case{"a --1;b;", {"1:a --1", "1:b"}},
           Case{"/* x;\n' */ a /* ; */ b;c;", {"2:a /* ; */ b", "2:c"}},
           Case{"/*!40101 SET NAMES utf8 */;\n/*M!100 a */;/**/;/*;*/b;",
                {"1:/*!40101 SET NAMES utf8 */", "2:/*M!100 a */", "2:b"}},
           Case{"DELIMITER ;;\nBEGIN a; b; END;;\n delimiter ; \nc;DELIMITERS;",
                {"2:BEGIN a; b; END", "4:c", "4:DELIMITERS"}},
           Case{"a;\nDELIMITER //\nb;\n//c//\nDELIMITER\nd//", {"1:a", "3-4:b;\n", "4:c", "6:d"}},
           Case{"DELIMITER ;;", {}},
           Case{"a; -- the end", {"1:a"}},
           Case{"a; /* the\nend */", {"1:a"}},
       }) {
    EXPECT_EQ(SplitWhole(c.sql), c.statements) << c.sql;
  }
}

TEST(SqlSplitter, SaysWhereAnOpenQuotationAndATooLongStatementBegin) {
  Statements statements;
  const std::string open = Split("a;\nb 'c;\nd;", 3, &statements).message();
  EXPECT_TRUE(Has(open, "line 2: ") && Has(open, "'")) << open;
  EXPECT_EQ(statements, Statements{"1:a"});
  const std::string long_one = Split("a;\n\nb" + std::string(5000, 'x') + ";c;", 100, &statements, 1000).message();
  EXPECT_TRUE(long_one.starts_with("line 3: ")) << long_one;
}

// A pipe that was cut would otherwise look like a whole one.
TEST(SqlSplitter, SaysWhereAStatementOrACommentBeginsThatHasNoEnd) {
  struct Case {
    std::string sql;
    std::string_view error;
  };
  for (const Case& c : {
           Case{"a;\nb\nc", "line 2: the statement that begins here has no ; "},
           Case{"a;\nb -- ;", "line 2: the statement that begins here has no ; "},
           Case{"a;\nDELIMITER //\nb;\n", "line 3: the statement that begins here has no // "},
           Case{"a;\n\n/* b;\n", "line 3: the comment that begins here has no end"},
           Case{"a;\nb\n/* c;\n", "line 3: the comment that begins here has no end"},
       }) {
    Statements statements;
    const std::string said = Split(c.sql, 3, &statements).message();
    EXPECT_TRUE(said.starts_with(c.error)) << said;
    EXPECT_EQ(statements, Statements{"1:a"}) << c.sql;
  }
}

TEST(SqlSplitter, StopsAtTheFirstErrorOfItsReader) {
  SqlSplitter splitter;
  int calls = 0;
  const Status split = splitter.Add("a;b;c;" + std::string(100, ' '), [&calls](const SqlStatement&) {
    return ++calls == 2 ? Status::Error("no more") : Status();
  });
  EXPECT_EQ(split.message(), "no more");
  EXPECT_EQ(calls, 2);
}

RC_GTEST_PROP(SqlSplitterProperty, DoesNotDependOnThePieces, ()) {
  static const std::vector<std::string> kParts = {
      "a", ";", "'", "\"",           "`",           "\\",   "\n", " ",  "--",   "-- ", "#",     "/*",        "*/",
      "/", "*", "!", "DELIMITER ;;", "delimiter ;", "/*M!", ";;", "$$", "\r\n", "é",   "DELIM", "ITER $$\n", "b;"};
  std::string sql;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kParts))) sql += part;
  Statements whole;
  Statements cut;
  const std::string said = Split(sql, std::max<size_t>(1, sql.size()), &whole).message();
  RC_ASSERT(Split(sql, *rc::gen::inRange<size_t>(1, 40), &cut).message() == said);
  RC_ASSERT(whole == cut);
}

}  // namespace
}  // namespace weir
