// The files of web/, compiled in, so that the page needs nothing beside the program.
#pragma once

#include <span>
#include <string_view>

namespace mlxcel::server {

struct WebFile {
  std::string_view name;  // "index.html"
  std::string_view content;
};

std::span<const WebFile> web_files();

}  // namespace mlxcel::server
