// Argument types: a dialect that writes bare text gets JSON values as the tool's schema declares.
#pragma once

#include <string>
#include <string_view>

#include "text/template/value.h"

namespace mlxcel::text {

class ToolSchemas {
 public:
  ToolSchemas() = default;
  explicit ToolSchemas(Value tools) : tools_(std::move(tools)) {}

  // `text` as the JSON value that parameter `name` of `tool` asks for: one that enum or const
  // lists, else one of its types; "$ref" is followed inside the parameters. Without a declaration:
  // JSON if it is a whole value, else a string. Where the text does not fit: a string.
  std::string typed(std::string_view tool, std::string_view name, std::string_view text) const;

  // True if parameter `name` takes a string and nothing else.
  bool is_text(std::string_view tool, std::string_view name) const;
  bool declares(std::string_view tool) const { return function(tool) != nullptr; }

 private:
  const Dict* function(std::string_view tool) const;
  const Value* parameters(std::string_view tool) const;
  const Value* property(std::string_view tool, std::string_view name) const;
  Value tools_;
};

}  // namespace mlxcel::text
