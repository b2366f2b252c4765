// Names of repositories, OWNER/NAME, and what the environment says about where things are.
#pragma once

#include <string>

#include "base/result.h"

namespace mlxcel {

struct RepoName {
  std::string owner, name;  // owner may be empty
};

// False for what can only be a path.
bool parse_repo_name(const std::string& text, RepoName& repo);
bool is_repo_name(const std::string& text);  // OWNER/NAME
// No way up, nothing hidden.
bool is_repo_component(const std::string& text);
// OWNER/NAME for NAME as well. An Error for an address or a path.
Result<std::string> repo_name(const std::string& text);

std::string hugging_face_home();
std::string hugging_face_cache();
// Of a repository in the Hugging Face cache, "models--owner--name".
std::string cache_folder(const std::string& repo);

}  // namespace mlxcel
