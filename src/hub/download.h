// A repository of a hub into a folder: all of it under its name, or nothing.
//
//   STORE/OWNER/NAME/          the model, with .mlxcel.json, which says what it is
//   STORE/OWNER/.NAME.part/    on the way: whole files, and FILE.part; a later run goes on from
//                              here; locked by the one process that fills it
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace mlxcel {

struct DownloadProgress {
  int64_t total = 0, done = 0;  // bytes; `done` counts what an earlier run left
  int64_t received = 0;         // bytes of this run
  int files = 0, files_done = 0;
  std::string current;  // a file that is on its way
};

struct DownloadOptions {
  std::string repo;               // owner/name
  std::string revision = "main";  // a branch, a tag or a commit
  std::string file;               // part of a GGUF file's name; "": as select_files says
  std::string folder;             // "": in the store
  int connections = 4;
  bool verbose = false;                                      // a note for each file
  std::function<bool()> stop;                                // from any thread
  std::function<void(const DownloadProgress&)> on_progress;  // some times a second
  std::function<void(const std::string&)> on_note;           // waits and repeats
};

struct Downloaded {
  std::string path, commit;
  int64_t bytes = 0, received = 0;
  bool was_there = false;
};

// REQUIRES: is_repo_name(options.repo). kCancelled if it was stopped; what came so far is kept.
Result<Downloaded> download(const DownloadOptions& options);

}  // namespace mlxcel
