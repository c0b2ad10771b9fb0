// Screen: a grid of character cells. Put writes texts into it. Frame returns the bytes that draw it on a terminal, and
// Lines returns it as text.
//
//   Screen screen(80, 24, Charset::kUtf8);
//   size_t column = screen.Put(0, 1, state.name, Ink::kStrong);
//   screen.Put(0, column + 2, state.summary, Ink::kPlain, 40);   // in at most 40 cells; a longer text ends in …
//
// The texts (names, addresses, reasons) are not trusted: a server or its clients choose them. So a Screen shows only
// characters that take one or two cells, and no text can move the cursor, change the direction of reading, or leave its
// line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// kAscii replaces a character that is not ASCII by similar ASCII characters or a question mark. kUtf8 requires that the
// program has set a locale with UTF-8 (setlocale), because the locale says how many cells a character takes.
enum class Charset : uint8_t { kUtf8, kAscii };

// The colour and weight of a text, by its meaning.
enum class Ink : uint8_t {
  kPlain,
  kStrong,
  kSoft,
  kMarked,
  kWrite,  // kWrite, kBulk and kRead: the classes of work
  kBulk,
  kRead,
  kNear,  // a level near its setpoint; kOver: a level at or above its setpoint
  kOver,
  kCalm,  // kCalm, kLimiting and kAlarm: the relay's condition (LiveMood)
  kLimiting,
  kAlarm,
};

// Returns the characters that a Screen shows for a text. Replaces control characters, invalid UTF-8 and all other
// characters that are unsafe to show by '?'. With kUtf8, leaves out characters that take no cell.
std::u32string Shown(std::string_view text, Charset charset);
// Returns the result of Shown in UTF-8.
std::string ShownText(std::string_view text, Charset charset);
// These two return the number of cells that a character, or a text, from Shown takes.
size_t WidthOf(char32_t shown);
size_t WidthOf(std::u32string_view shown);

class Screen {
 public:
  // Makes a screen of blanks; width and height are in cells.
  Screen(size_t width, size_t height, Charset charset);

  size_t width() const { return width_; }
  size_t height() const { return height_; }
  Charset charset() const { return charset_; }

  static constexpr size_t kAll = SIZE_MAX;
  // Writes a text into a row, from `column` on, in at most `cells` cells. A text that does not fit into these cells or
  // into the row is cut and ends in … (with kAscii in ~). Returns the column after the text. If the row or the column
  // is outside of the screen, does nothing and returns `column`.
  size_t Put(size_t row, size_t column, std::string_view text, Ink ink = Ink::kPlain, size_t cells = kAll);
  // Writes a text so that its last cell is the one before the column `end`.
  void PutRight(size_t row, size_t end, std::string_view text, Ink ink = Ink::kPlain, size_t cells = kAll);
  // Changes the ink of `cells` cells of a row, from `column` on. Ignores cells outside of the screen.
  void Colour(size_t row, size_t column, size_t cells, Ink ink);
  // Copies `rows` rows of the screen `from`, beginning with its row `first`, to this screen; the upper left cell goes
  // to `row` and `column`. Leaves out cells that do not fit.
  void Copy(const Screen& from, size_t first, size_t rows, size_t row, size_t column = 0);

  // Returns the rows as UTF-8, each without blanks at its end and without a line feed.
  std::vector<std::string> Lines() const;
  // Returns the bytes that draw this screen on a terminal, from the terminal's first row on.
  std::string Frame(bool colours) const;

 private:
  struct Cell {
    char32_t shown = U' ';  // 0: this cell is the right half of a wide character
    Ink ink = Ink::kPlain;
  };
  Cell& At(size_t row, size_t column) { return cells_[row * width_ + column]; }
  const Cell& At(size_t row, size_t column) const { return cells_[row * width_ + column]; }
  void Set(size_t row, size_t column, Cell cell);

  const size_t width_;
  const size_t height_;
  const Charset charset_;
  std::vector<Cell> cells_;
};

// Breaks a text at blanks into lines of at most `cells` cells. A longer word is not broken, and has a line of its own.
std::vector<std::string> Wrapped(std::string_view text, size_t cells, Charset charset);

}  // namespace weir
