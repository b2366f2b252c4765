// Which added tokens only a template may write. In what a person typed their spelling is text.
#pragma once

#include "text/tokenizer_spec.h"

namespace mlxcel {

// All special tokens. Of the others, since many files do not say "special" of them: the ends of a
// turn, the marks of reasoning and tools, and what is spelled like a control token (<|...|>,
// [TOOL_RESULTS]). Not <table> or a run of blanks: these are tokens of ordinary text.
bool is_control(const AddedToken& token);

}  // namespace mlxcel
