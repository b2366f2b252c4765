// The protocol of the Hugging Face hub, as far as downloading a model needs it.
//
//   GET /api/models/OWNER/NAME/revision/REVISION?blobs=true   the commit and its files
//   GET /OWNER/NAME/resolve/COMMIT/FILE                       a file; X-Linked-Size and
//   X-Linked-ETag,
//                                                             or ETag, say what it must be
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hub/http.h"
#include "hub/part_file.h"

namespace mlxcel {

struct RepoFile {
  std::string path;  // in the repository
  FileFacts facts;

  std::string name() const { return path.substr(path.rfind('/') + 1); }
};

struct Repo {
  std::string name;    // owner/name
  std::string commit;  // of the revision
  std::vector<RepoFile> files;
};

// Where the hub is, and who asks.
struct HubAccess {
  std::string endpoint;  // "https://huggingface.co"
  HttpOptions http;
};
// HF_ENDPOINT, HF_TOKEN or the token that HF's own login stored, HF_HUB_DOWNLOAD_TIMEOUT,
// SSL_CERT_FILE. An Error for a token that would travel unencrypted to another machine.
Result<HubAccess> hub_access_from_environment();

// One per thread.
class HubClient {
 public:
  using Note = std::function<void(const std::string&)>;  // told about every wait

  HubClient(const HubAccess& access, Note note)
      : access_(access), http_(access.http), note_(std::move(note)) {}

  Result<Repo> list(const std::string& repo, const std::string& revision);
  // Until the file is whole and right. Waits and goes on after what may pass (a cut, 429, 5xx).
  // `grew`: by how many bytes; negative if a file started again.
  Status fetch(const Repo& repo, const RepoFile& file, PartFile& part,
               const std::function<void(int64_t)>& grew);

 private:
  Result<HttpAnswer> get_once(const Repo& repo, const RepoFile& file, PartFile& part,
                              const std::function<void(int64_t)>& grew);
  Status pause(const HttpAnswer& answer, int failures, const std::string& what);
  Error refused(const HttpAnswer& answer, const std::string& repo, const std::string& what) const;

  const HubAccess& access_;
  HttpClient http_;
  Note note_;
};

// The Repo in the answer to a listing. kCorrupt if it is none.
Result<Repo> parse_listing(const std::string& repo, const std::string& text);

}  // namespace mlxcel
