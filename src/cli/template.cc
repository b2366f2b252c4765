// mlxcel template: a conversation in, the text that the model reads out.
#include <cstdio>
#include <memory>
#include <utility>

#include "base/cat.h"
#include "chat/chat_model.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/domains.h"
#include "cli/json_lines.h"

namespace mlxcel {
namespace {

struct TemplateArguments {
  std::string model, file, bos, eos;
  bool lines = false, source = false;
};

Result<text::ChatTemplate> open_template(const TemplateArguments& a) {
  if (!a.file.empty()) {
    TRY(std::string source, read_text(a.file));
    return text::ChatTemplate::create(std::move(source), a.file, a.bos, a.eos);
  }
  TRY(const Checkpoint checkpoint, open_named(a.model));
  TRY(TextModel text, load_text_model(checkpoint));
  TRY(ChatModel chat, make_chat_model(std::move(text)));
  if (!chat.chat) {
    return Error{Code::kNotFound, cat(checkpoint.path(),
                                      ": expected a chat template, found none; "
                                      "name one with --template FILE")};
  }
  return std::move(*chat.chat);
}

Result<int> run(const TemplateArguments& a) {
  TRY(const text::ChatTemplate chat, open_template(a));
  if (a.source) {
    std::fwrite(chat.source().data(), 1, chat.source().size(), stdout);
    return 0;
  }
  if (a.lines) {
    return answer_json_lines([&](const json::value& line) -> Result<json::value> {
      TRY(const text::Rendered rendered, chat.render_json(json::serialize(line)));
      return json::value(rendered.string());
    });
  }
  TRY(const std::string input, read_text("-"));
  TRY(const text::Rendered rendered, chat.render_json(input));
  std::fwrite(rendered.string().data(), 1, rendered.string().size(), stdout);
  return 0;
}

}  // namespace

Run add_template(CommandLine& sub) {
  auto a = std::make_shared<TemplateArguments>();
  auto* model = sub.add_option("-m,--model", a->model,
                               "A .gguf file, a folder, or OWNER/NAME of a stored model");
  auto* file = sub.add_option("--template", a->file, "A Jinja file instead of the model's own")
                   ->check(readable_file);
  file->excludes(model);
  sub.add_option("--bos-token", a->bos, "What bos_token is in --template FILE")->needs(file);
  sub.add_option("--eos-token", a->eos, "What eos_token is in --template FILE")->needs(file);
  sub.add_flag("--source", a->source, "Print the template itself");
  sub.add_flag("--jsonl", a->lines, "Each line of standard input is an object; a JSON string out");
  sub.footer(
      "Standard input is {\"messages\": [...], \"tools\": [...], \"add_generation_prompt\": true, "
      "...}\nwith whatever else the template reads.\n"
      "Examples:\n  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | mlxcel "
      "template -m model.gguf\n  mlxcel template --template chat.jinja --jsonl < requests.jsonl");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
