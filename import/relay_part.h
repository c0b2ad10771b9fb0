// A part of an import through a relay (relay_destination.h): chunks of one input (input/chunk.h) that are joined into
// one and sent as the body of one POST. The answer to the POST has the outcomes of their lines.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "import/input/chunk.h"
#include "import/serve/import_answer.h"
#include "import/settled.h"

namespace weir {

// The largest weight (WeightOf), in bytes, of a part that has several chunks. A part has fewer lines than the number of
// rejects that an answer can name (ImportPost::kMostRejects), so the answer names all rejects.
inline constexpr uint64_t kMostPartWeight = 1 << 20;

// Appends the next chunk to `*part` and returns true. Returns false, and changes nothing, if one of the two is of kind
// kTooLong, if their inputs differ, or if the part would weigh more than kMostPartWeight.
bool Join(const Chunk& next, Chunk* part);

// Returns the body of the POST as two texts. The first is empty, or a line feed that keeps the relay from removing
// bytes at the start of the part that look like a byte order mark. The texts are valid while `part` exists and does not
// change.
std::array<std::string_view, 2> BodyOf(const Chunk& part);

// Moves the part into the result, and adds the outcomes of its lines from the answer: `done` is the last line of the
// answer, and `rejects` are the rejects before it. Returns an error, and leaves `*part` unchanged, if the answer does
// not match the part: in its number of lines, in its number of rejects, or in the line numbers of the rejects.
Result<SettledChunk> Settle(Chunk* part, const ImportProgress& done, std::vector<ImportReject> rejects);

}  // namespace weir
