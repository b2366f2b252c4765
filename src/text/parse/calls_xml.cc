// <function=NAME><parameter=KEY>VALUE</parameter></function>: Qwen3-Coder. Not XML: nothing is
// escaped, and a closing tag may be missing.
#include <algorithm>

#include "text/parse/dialect.h"
#include "text/parse/json_scan.h"

namespace mlxcel::text {
namespace {

constexpr std::string_view kFunction = "<function=", kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=", kEnd = "</parameter>";
constexpr std::string_view kNext = "\n<parameter=";  // ends a value whose own end is missing

class XmlBody final : public CallBody {
 public:
  explicit XmlBody(const ToolSchemas& schemas) : writer_(schemas) {}

  void push(std::string_view text, Calls& calls) override {
    body_ += text;
    while (step(false, calls)) {
    }
  }

  std::string finish(Calls& calls) override {
    while (step(true, calls)) {
    }
    if (!any_) return body_whole(calls);
    std::string rest = body_.substr(at_);
    if (trim_blanks(rest).empty()) rest.clear();
    return rest;
  }

  bool opened() const override { return any_; }

 private:
  enum class State { kOutside, kInFunction, kInValue };

  // One tag further; false: it has not come yet.
  bool step(bool at_end, Calls& calls) {
    switch (state_) {
      case State::kOutside:
        return open_function(calls);
      case State::kInFunction:
        return next_parameter(at_end, calls);
      case State::kInValue:
        return end_value(at_end, calls);
    }
    return false;
  }

  // Not in this form; perhaps in JSON, as the model's kin write.
  std::string body_whole(Calls& calls) {
    auto found = json_calls(body_, ToolSchemas());
    if (!found) return body_;
    for (ToolCall& call : *found) calls.push_back(std::move(call));
    return "";
  }

  bool open_function(Calls& calls) {
    const size_t begin = body_.find(kFunction, at_);
    const size_t end = body_.find('>', begin);
    if (begin == body_.npos || end == body_.npos) return false;
    writer_.open(tag(begin + kFunction.size(), end), calls);
    any_ = true;
    at_ = end + 1;
    state_ = State::kInFunction;
    return true;
  }

  bool next_parameter(bool at_end, Calls& calls) {
    const size_t begin = body_.find(kParameter, at_);
    const size_t function_end = body_.find(kFunctionEnd, at_);
    const size_t end = begin < function_end ? body_.find('>', begin) : body_.npos;
    if (end != body_.npos) {
      writer_.key(tag(begin + kParameter.size(), end), calls);
      at_ = searched_ = end + 1;
      state_ = State::kInValue;
      return true;
    }
    const bool closed = function_end < begin;
    if (!closed && !at_end) return false;
    writer_.close(calls);
    at_ = closed ? function_end + kFunctionEnd.size() : std::min(begin, body_.size());
    state_ = State::kOutside;
    return closed;
  }

  bool end_value(bool at_end, Calls& calls) {
    const size_t from = std::max(at_, searched_ - std::min(searched_, kNext.size()));
    size_t end = body_.find(kEnd, from);
    // The line end before the next parameter may be the only byte of the value.
    const size_t next = body_.find(kNext, from);
    const bool closed = end < next;
    if (!closed) end = next;
    if (end == body_.npos) {
      searched_ = body_.size();
      const size_t function_end = body_.find(kFunctionEnd, from);
      if (function_end != body_.npos && unsure_ == body_.npos) unsure_ = function_end;
      if (!at_end) {
        grow(calls);
        return false;
      }
      end = std::min(unsure_, body_.size());
    }
    writer_.value(without_line_ends(std::string_view(body_).substr(at_, end - at_)), calls);
    at_ = closed ? end + kEnd.size() : end;
    unsure_ = body_.npos;
    state_ = State::kInFunction;
    return true;
  }

  // What is certain of a value whose end has not come.
  void grow(Calls& calls) {
    size_t end = body_.size() - std::min(body_.size(), kNext.size());
    if (unsure_ != body_.npos) end = std::min(end, unsure_ - 1);  // with the line end before it
    if (end <= at_ + 1) return;
    std::string_view value = std::string_view(body_).substr(at_, end - at_);
    if (value.starts_with('\n')) value.remove_prefix(1);
    writer_.grow(value, calls);
  }

  std::string_view tag(size_t begin, size_t end) const {
    return trim_blanks(std::string_view(body_).substr(begin, end - begin));
  }

  // One line end on each side belongs to the markup.
  static std::string_view without_line_ends(std::string_view s) {
    if (s.starts_with('\n')) s.remove_prefix(1);
    if (s.ends_with('\n')) s.remove_suffix(1);
    return s;
  }

  ArgumentWriter writer_;
  State state_ = State::kOutside;
  bool any_ = false;
  std::string body_;
  size_t at_ = 0;                      // everything before is done
  size_t searched_ = 0;                // of a value: no end before this
  size_t unsure_ = std::string::npos;  // "</function>" in a value: its end if no other comes
};

}  // namespace

std::unique_ptr<CallBody> xml_body(const ToolSchemas& schemas) {
  return std::make_unique<XmlBody>(schemas);
}

}  // namespace mlxcel::text
