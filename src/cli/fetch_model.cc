#include "cli/fetch_model.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/cat.h"
#include "cli/command.h"
#include "cli/download_bar.h"
#include "hub/locate.h"

namespace mlxcel {
namespace {

// As Hugging Face's own tools read it.
bool offline_by_environment() {
  const char* value = std::getenv("HF_HUB_OFFLINE");
  const std::string_view v = value == nullptr ? "" : value;
  return v == "1" || v == "ON" || v == "on" || v == "YES" || v == "yes" || v == "TRUE" ||
         v == "true";
}

}  // namespace

void add_offline_argument(CommandLine& sub, bool& offline) {
  sub.add_flag("--offline", offline, "Never ask a hub; a model that is not here is an error");
}

Result<Downloaded> download_with_bar(DownloadOptions options, bool quiet) {
  const InterruptWaits waits;
  DownloadBar bar(options.repo, quiet);
  options.stop = interrupted;
  options.on_progress = [&](const DownloadProgress& p) { bar.progress(p); };
  options.on_note = [&](const std::string& text) { bar.note(text); };
  Result<Downloaded> done = download(options);
  if (!done && done.error().code == Code::kCancelled)
    return Error{Code::kCancelled,
                 cat(options.repo, ": stopped; what came is kept, and the same command goes on")};
  return done;
}

Result<Checkpoint> open_or_download(const std::string& name, bool offline, bool quiet) {
  TRY(ModelPlace place, locate_model(name));
  if (place.path.empty()) {
    if (offline || offline_by_environment()) return not_here(name, place, how_to_fetch(place));
    DownloadOptions options;
    options.repo = place.repo;
    const Result<Downloaded> done = download_with_bar(std::move(options), quiet);
    if (!done && done.error().code == Code::kNotFound)
      return not_here(name, place, done.error().message);
    if (!done) return done.error();
    place.path = done->path;
  }
  return open_checkpoint(place.path);
}

}  // namespace mlxcel
