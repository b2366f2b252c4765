// From a model's name to its checkpoint, by way of a hub if it is not on this machine.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/command_line.h"
#include "formats/checkpoint.h"
#include "hub/download.h"

namespace mlxcel {

// --offline
void add_offline_argument(CommandLine& sub, bool& offline);

// A path, or a name that hub/locate.h locates; downloads what is nowhere, unless `offline` or
// HF_HUB_OFFLINE say no.
Result<Checkpoint> open_or_download(const std::string& name, bool offline, bool quiet);

// hub/download.h with a progress bar, until Ctrl-C.
Result<Downloaded> download_with_bar(DownloadOptions options, bool quiet);

}  // namespace mlxcel
