// How model families mark reasoning and tool calls: one row each, one function per call format.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "text/parse/call_body.h"

namespace mlxcel::text {

struct CallMarks {
  std::string_view open, close;  // an empty close: up to the end of the message
  bool open_is_body = false;     // the opening mark is part of what the format reads
};

struct Dialect {
  std::string_view name;
  std::string_view think_open, think_close;  // empty: no reasoning
  std::span<const CallMarks> calls;          // the first that opens wins
  std::unique_ptr<CallBody> (*body)(const ToolSchemas& schemas) = nullptr;
  std::string_view dropped[2] = {};     // wrappers around several calls
  std::string_view whole_message = {};  // a message that starts with one of these is calls alone
};

// chosen by name, or by what the chat template contains.
const Dialect* find_dialect(std::string_view name);
const Dialect& detect_dialect(std::string_view chat_template);
std::span<const Dialect> dialects();

// The formats. The schemas must outlive what is made.
std::unique_ptr<CallBody> hermes_body(const ToolSchemas& schemas);
std::unique_ptr<CallBody> xml_body(const ToolSchemas& schemas);
std::unique_ptr<CallBody> glm_body(const ToolSchemas& schemas);
std::unique_ptr<CallBody> mistral_body(const ToolSchemas& schemas);
std::unique_ptr<CallBody> deepseek_body(const ToolSchemas& schemas);
std::unique_ptr<CallBody> kimi_body(const ToolSchemas& schemas);
std::unique_ptr<CallBody> gemma_body(const ToolSchemas& schemas);
std::unique_ptr<CallBody> pythonic_body(const ToolSchemas& schemas);
std::optional<Calls> json_calls(std::string_view body, const ToolSchemas& schemas);

}  // namespace mlxcel::text
