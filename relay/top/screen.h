// Screen: a grid of character cells into which texts are put, and its output for a terminal or a pipe.
//
//   Screen screen(80, 24, Charset::kUtf8);
//   size_t column = screen.Put(0, 1, state.name, Ink::kStrong);
//   screen.Put(0, column + 2, state.summary, Ink::kPlain, 40);   // in 40 cells at most; a longer text ends in …
//
// The texts come from strangers (names, addresses, reasons). So only characters that take one or two cells are shown,
// and no text can move the cursor, change the direction of reading, or go beyond its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// kAscii shows a character that is not ASCII as a similar one or a few, or as a question mark. kUtf8 needs a locale
// with UTF-8 (setlocale), because the locale decides how many cells a character takes.
enum class Charset : uint8_t { kUtf8, kAscii };

// The colour and weight of a text, by its meaning.
enum class Ink : uint8_t {
  kPlain,
  kStrong,
  kSoft,
  kMarked,
  kWrite,  // the classes of work
  kBulk,
  kRead,
  kNear,  // levels: near the setpoint, and at or over it
  kOver,
  kCalm,  // moods
  kLimiting,
  kAlarm,
};

// Returns the characters of a text as they are shown. Control characters, invalid bytes of UTF-8 and all else that is
// unsafe to show become '?'. Characters that take no cell are left out.
std::u32string Shown(std::string_view text, Charset charset);
// Returns the same characters in UTF-8.
std::string ShownText(std::string_view text, Charset charset);
// Returns the number of cells that the character, or the text, takes.
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
  // Puts a text on the screen, from `column` on, in at most `cells` cells. Text that does not fit into these cells, or
  // into the row, is cut and ends in … (~ in ASCII). Returns the column after the text. Does nothing, and returns
  // `column`, if the row or the column is outside of the screen.
  size_t Put(size_t row, size_t column, std::string_view text, Ink ink = Ink::kPlain, size_t cells = kAll);
  // Puts a text so that it ends before the column `end`.
  void PutRight(size_t row, size_t end, std::string_view text, Ink ink = Ink::kPlain, size_t cells = kAll);
  // Gives `cells` cells of a row another ink. Cells outside of the screen are ignored.
  void Colour(size_t row, size_t column, size_t cells, Ink ink);
  // Copies `rows` rows of another screen, from its row `first` on, to `row` and `column` of this one. Cells that do not
  // fit are left out.
  void Copy(const Screen& from, size_t first, size_t rows, size_t row, size_t column = 0);

  // Returns the rows as text, without the blanks at their ends and without line feeds.
  std::vector<std::string> Lines() const;
  // Returns the bytes that draw the screen on a terminal, over the terminal's contents, from the first row on.
  std::string Frame(bool colours) const;

 private:
  struct Cell {
    char32_t shown = U' ';  // 0: the right half of the wide character before it
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

// Breaks a text at blanks into lines of at most `cells` cells. A word that is longer has a line of its own and is not
// broken.
std::vector<std::string> Wrapped(std::string_view text, size_t cells, Charset charset);

}  // namespace weir
