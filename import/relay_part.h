// A part of an import through a relay (relay_destination.h): chunks of one input that are joined and sent as the body
// of one POST. The answer to the POST says what became of their lines.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "import/input/chunk.h"
#include "import/serve/import_answer.h"
#include "import/settled.h"

namespace weir {

// The largest weight (WeightOf) of a part. It keeps the lines of a part below the number of rejects that an answer can
// name (ImportPost::kMostRejects), so the answer names all rejects.
inline constexpr uint64_t kMostPartWeight = 1 << 20;

// Appends the next chunk to `*part` and returns true. Returns false, and changes nothing, if one of the two is a line
// that is too long, if their inputs differ, or if the part would be too heavy.
bool Join(const Chunk& next, Chunk* part);

// Returns the body as two pieces, to be sent one after the other; they point into `part`.
std::array<std::string_view, 2> BodyOf(const Chunk& part);

// Moves the part into the result, with the outcomes of its lines: `done` is the last line of the answer, `rejects` are
// the rejects before it. Returns an error, and leaves `*part` unchanged, if the answer does not fit the part.
Result<SettledChunk> Settle(Chunk* part, const ImportProgress& done, std::vector<ImportReject> rejects);

}  // namespace weir
