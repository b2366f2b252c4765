#include "hub/repo_name.h"

#include "base/cat.h"
#include "base/environment.h"

namespace mlxcel {
namespace {

std::string default_owner() {
  const std::string owner = environment("MLXCEL_DEFAULT_ORG");
  return owner.empty() ? "mlx-community" : owner;
}

}  // namespace

bool is_repo_component(const std::string& s) {
  return !s.empty() && s[0] != '.' && s.find('/') == s.npos && s.find('\0') == s.npos;
}

bool parse_repo_name(const std::string& text, RepoName& repo) {
  const size_t slash = text.find('/');
  if (slash == text.npos) {
    repo.name = text;
    return is_repo_component(text);
  }
  repo.owner = text.substr(0, slash), repo.name = text.substr(slash + 1);
  return is_repo_component(repo.owner) && is_repo_component(repo.name);
}

bool is_repo_name(const std::string& text) {
  RepoName repo;
  return parse_repo_name(text, repo) && !repo.owner.empty();
}

Result<std::string> repo_name(const std::string& text) {
  RepoName repo;
  if (parse_repo_name(text, repo))
    return cat(repo.owner.empty() ? default_owner() : repo.owner, "/", repo.name);
  const size_t scheme = text.find("://");
  std::string path;
  if (scheme != text.npos) {
    const size_t host_end = text.find('/', scheme + 3);
    if (host_end != text.npos) path = text.substr(host_end + 1);
  }
  return Error{Code::kInvalid, cat(text.empty() ? "\"\"" : text, ": expected OWNER/NAME, found ",
                                   scheme == text.npos ? "something else" : "an address",
                                   is_repo_name(path) ? cat("; did you mean ", path, "?") : "")};
}

std::string hugging_face_home() {
  if (std::string d = environment("HF_HOME"); !d.empty()) return d;
  return environment("HOME") + "/.cache/huggingface";
}

std::string hugging_face_cache() {
  if (std::string d = environment("HF_HUB_CACHE"); !d.empty()) return d;
  return hugging_face_home() + "/hub";
}

std::string cache_folder(const std::string& repo) {
  const size_t slash = repo.find('/');
  return cat(hugging_face_cache(), "/models--", repo.substr(0, slash), "--",
             repo.substr(slash + 1));
}

}  // namespace mlxcel
