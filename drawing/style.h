// The style sheet of charts, built into the program.
#pragma once

#include <vector>

#include "base/files/files.h"

namespace strata::drawing {

// Contains only chart.css.
const std::vector<EmbeddedFile>& embedded_files();
inline const EmbeddedFile& style_sheet() { return embedded_files().front(); }

}  // namespace strata::drawing
