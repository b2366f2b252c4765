#include "evidence/sweep.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/cat.h"
#include "evidence/csv.h"
#include "evidence/process.h"
#include "evidence/stale.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder(const std::string& name) {
  const fs::path path = fs::path(testing::TempDir()) / ("sweep_test_" + name);
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string weights(char fill) { return std::string(100000, fill); }

// Names in order, with what stands for a duplicate.
std::string listed(const fs::path& folder) {
  auto models = find_models(folder.string());
  EXPECT_TRUE(models) << (models ? "" : models.error().message);
  if (!models) return "";
  mark_duplicates(*models);
  std::string all;
  for (const FoundModel& m : *models)
    all += cat(all.empty() ? "" : " ", m.name, m.duplicate_of.empty() ? "" : "=" + m.duplicate_of);
  return all;
}

TEST(ModelStore, CollapsesTheSameCheckpoint) {
  const fs::path f = fresh_folder("same");
  for (const char* name : {"pixtral-12b", "pixtral-12b-4bit", "other-config", "other-weights"}) {
    write(f / name / "config.json", std::string(name) == "other-config" ? "{\"a\":1}" : "{}");
    write(f / name / "model.safetensors", weights('x'));
  }
  std::string changed = weights('x');
  changed[99990] = 'y';  // a fine-tune: same config, same names and sizes
  write(f / "other-weights" / "model.safetensors", changed);
  // The longer name comes first, since a slash sorts behind a dash.
  EXPECT_EQ(listed(f), "other-config other-weights pixtral-12b-4bit pixtral-12b=pixtral-12b-4bit");
}

TEST(ModelStore, FollowsLinksAndGgufs) {
  const fs::path f = fresh_folder("links");
  write(f / "a" / "config.json", "{}");
  write(f / "a" / "x.safetensors", weights('1'));
  fs::create_directory_symlink(f / "a", f / "b");
  write(f / "org" / "repo" / "m.Q4_1.gguf", weights('2'));
  write(f / "copy.gguf", weights('2'));
  write(f / "split-00001-of-00002.gguf", weights('3'));
  write(f / "split-00002-of-00002.gguf", weights('4'));
  write(f / "empty" / "notes.txt", "");
  EXPECT_EQ(listed(f), "a b=a copy m.Q4_1=copy split-00001-of-00002");
  const auto models = find_models(f.string());
  EXPECT_EQ(models->back().bytes, 200000);  // both parts
  EXPECT_FALSE(find_models((f / "absent").string()));
}

TEST(ModelStore, WithoutAConfigOnlyThePathCounts) {
  const fs::path f = fresh_folder("bare");
  write(f / "a" / "x.safetensors", weights('1'));
  write(f / "b" / "x.safetensors", weights('1'));
  fs::create_directory_symlink(f / "a", f / "c");
  EXPECT_EQ(listed(f), "a b c=a");
}

std::vector<FoundModel> models(const std::vector<std::pair<std::string, int64_t>>& sizes) {
  std::vector<FoundModel> all;
  for (const auto& [name, bytes] : sizes) all.push_back({name, name, name, bytes, name, ""});
  return all;
}

TEST(Sweep, PlansSkipsAndCrashers) {
  SweepOptions o;
  o.memory_bytes = 1000, o.last = {"a"};
  auto m = models({{"a", 10}, {"b", 850}, {"c", 851}, {"d", 10}});
  m[3].identity = "a";
  const auto plan = plan_sweep(m, o);
  std::string order;
  for (const SweepEntry& e : plan) order += cat(e.model.name, "[", e.skip, "] ");
  EXPECT_EQ(order, "c[SKIP:oom_estimate] d[SKIP:duplicate_of=a] b[] a[] ");
  o.memory_factor = 1.209;  // 1000 * 0.85 / 1.209 = 703
  EXPECT_EQ(plan_sweep(models({{"b", 704}}), o)[0].skip, "SKIP:oom_estimate");
  EXPECT_EQ(plan_sweep(models({{"b", 703}}), o)[0].skip, "");
  o.dedup = false;
  for (const SweepEntry& e : plan_sweep(m, o))
    EXPECT_EQ(e.skip.find("duplicate"), std::string::npos);
}

TEST(Sweep, FailedBeforeIsOfTheNewestRowHere) {
  const auto table = [](const std::string& file, const std::string& rows) {
    return *parse_table(file, "model,hardware,status\n" + rows);
  };
  const std::vector<BenchTable> tables = {
      table("cpu_h_2026-09-01.csv", "a,h,FAIL:bench\nb,h,FAIL:bench\nc,other,FAIL:bench\n"),
      table("cpu_h_2026-09-02.csv", "a,h,ok\nb,h,SKIP:oom_estimate\nd,h,FAIL:bench\n")};
  EXPECT_EQ(failed_before(tables, "h"), (std::set<std::string>{"b", "d"}));
}

json::object record_of(const std::string& model, bool publishable) {
  RecordParts p;
  p.kind = "decode", p.command = {"mlxcel"}, p.program.version = "0.1.0";
  p.program.commit = "0123abcd", p.machine.label = "h", p.machine.cpu = "x";
  p.model = {model, "Q4_1", {{"a.gguf", 1, std::string(64, '0')}}};
  p.metrics = {{"decode_tok_s", "tok/s", {100, 100, publishable ? 101.0 : 150.0}}};
  p.results = {{"prompt_tokens", 512}, {"gen_tokens", 128}, {"backend", {{"name", "cpu"}}}};
  return make_record(p);
}

TEST(Sweep, GoesOnAfterFailuresAndTellsEachRow) {
  SweepOptions o;
  o.memory_bytes = int64_t{1} << 40, o.cooldown_s = 3, o.big_cooldown_s = 9;
  const auto plan =
      plan_sweep(models({{"big", kBigModel + 1}, {"bad", 10}, {"noisy", 10}, {"good", 10}}), o);
  std::vector<std::string> told;
  std::vector<double> rests;
  SweepHooks hooks;
  hooks.measure = [](const FoundModel& m) -> Result<std::vector<json::object>> {
    if (m.name == "bad") return Error{Code::kInvalid, "/a/b/program:\nexit status 139"};
    return std::vector{record_of(m.name, m.name != "noisy")};
  };
  hooks.on_row = [&](const SweepRow& r) -> Status {
    told.push_back(cat(r.model, " ", r.status));
    return Ok{};
  };
  std::string progress;
  hooks.on_progress = [&](const std::string& line) { progress += line + "\n"; };
  hooks.rest = [&](double s) { rests.push_back(s); };
  hooks.interrupted = [] { return false; };
  const auto r = run_sweep(plan, o, hooks);
  ASSERT_TRUE(r);
  EXPECT_EQ(told, (std::vector<std::string>{"big ok", "bad FAIL:bench", "noisy NOT_PUBLISHABLE",
                                            "good ok"}));
  EXPECT_EQ(rests, (std::vector<double>{9, 9, 3, 3}));
  EXPECT_NE(progress.find("model 2 of 4: bad (0.0 GB), 0:0"), std::string::npos) << progress;
  const std::string note = sweep_note("cpu_h_2026-11-30.csv", *r, o, "mlxcel bench decode all",
                                      machine_facts(), {"0.1.0", "0123abcd"});
  EXPECT_NE(note.find("- bad: program: exit status 139\n"), std::string::npos) << note;
  EXPECT_NE(note.find("- Order: big, bad, noisy, good"), std::string::npos);
  EXPECT_NE(note.find("- noisy: [\"decode_tok_s: spread"), std::string::npos) << note;
}

TEST(Sweep, AnInterruptionKeepsWhatItHas) {
  const auto plan = plan_sweep(models({{"a", 1}, {"b", 1}, {"c", 1}}), {.memory_bytes = 1000});
  int measured = 0;
  bool whole = true;  // whether the model under way had something to keep
  SweepHooks hooks;
  hooks.measure = [&](const FoundModel& m) -> Result<std::vector<json::object>> {
    measured++;
    if (measured == 2 && !whole) return Error{Code::kInvalid, "exit status 130"};
    return std::vector{record_of(m.name, true)};
  };
  hooks.on_row = [](const SweepRow&) -> Status { return Ok{}; };
  int rests = 0, begun = 0;
  hooks.on_progress = [&](const std::string&) { begun++; };
  hooks.rest = [&](double) { rests++; };
  hooks.interrupted = [&] { return measured >= 2; };
  auto r = run_sweep(plan, {.cooldown_s = 3}, hooks);
  ASSERT_TRUE(r);
  EXPECT_EQ(rests, 2);  // none for a model that is not begun
  EXPECT_EQ(begun, 2);
  ASSERT_EQ(r->rows.size(), 2u);
  EXPECT_EQ(r->rows[1].model, "b");
  EXPECT_EQ(r->not_reached, std::vector<std::string>{"c"});
  measured = 0, whole = false;  // its process was interrupted as well: no failure of its own
  r = run_sweep(plan, {}, hooks);
  ASSERT_TRUE(r);
  ASSERT_EQ(r->rows.size(), 1u);
  EXPECT_EQ(r->rows[0].model, "a");
  EXPECT_EQ(r->not_reached, (std::vector<std::string>{"b", "c"}));
}

TEST(Sweep, RowsAreATable) {
  const std::string text = csv_header() + csv_record_row(record_of("a", true)) +
                           csv_status_row("b", "SKIP:duplicate_of=a", "h");
  const auto t = parse_table("cpu_h_2026-11-30.csv", text);
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->rows.at(0).number("decode_tok_s"), 100);
  EXPECT_EQ(t->rows.at(0).status(), "ok");
  EXPECT_EQ(t->rows.at(1).status(), "SKIP:duplicate_of=a");
  json::object record = record_of("a", true);
  EXPECT_EQ(csv_table_stem(record).substr(0, 6), "cpu_h_");
  record.at("machine").as_object()["label"] = "x86_64-2c";  // its name can be read again
  const auto name = parse_table_name(csv_table_stem(record) + ".csv");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->hardware, "x86-64-2c");
}

class Checkout {
 public:
  explicit Checkout(const std::string& name) : path_(fresh_folder(name)) {
    sh("git init -q && git config user.email a@b && git config user.name x");
    edit("src/evidence/a.cc", "1");
    edit("docs/a.md", "1");
    commit();
    edit("build/mlxcel", "program");
  }
  void sh(const std::string& command) {
    const auto r = run_process(cat("cd '", path_.string(), "' && ", command));
    EXPECT_TRUE(r && r->status == 0) << command;
    output_ = r ? r->output : "";
  }
  void edit(const std::string& file, const std::string& text) { write(path_ / file, text); }
  void commit() { sh("git add src docs && git commit -qm x"); }
  std::string head() {
    sh("git rev-parse --short=8 HEAD");
    return output_.substr(0, 8);
  }
  void age_program(int seconds) {
    fs::last_write_time(path_ / "build/mlxcel",
                        fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }
  std::string reason(const std::string& stamp) {
    const auto r = stale_reason((path_ / "build/mlxcel").string(), stamp);
    EXPECT_TRUE(r);
    return r ? *r : "?";
  }

 private:
  fs::path path_;
  std::string output_;
};

TEST(Stale, FindsAProgramOfOtherSources) {
  if (run_process("git --version >/dev/null 2>&1")->status != 0) GTEST_SKIP() << "no git";
  Checkout c("stale");
  const std::string first = c.head();
  EXPECT_EQ(c.reason(first), "");
  c.edit("docs/a.md", "2");  // nothing that is compiled
  EXPECT_EQ(c.reason(first), "");
  c.edit("src/evidence/a.cc", "2");
  EXPECT_NE(c.reason(first).find("src/evidence/a.cc has changed"), std::string::npos);
  c.age_program(-5);  // built after the edit
  EXPECT_EQ(c.reason(first + "-dirty"), "");
  // A clean stamp says that the edit came after the build, whatever the files' times say.
  EXPECT_NE(c.reason(first).find("has changed"), std::string::npos);
  c.age_program(60);
  EXPECT_NE(c.reason(first + "-dirty").find("has changed"), std::string::npos);
  c.commit();
  EXPECT_NE(c.reason(first).find("has changed"), std::string::npos);
  EXPECT_EQ(c.reason(c.head()), "");
  c.edit("src/evidence/new.cc", "1");
  EXPECT_NE(c.reason(c.head()).find("new.cc"), std::string::npos);
  EXPECT_NE(c.reason("ffffffff").find("not in this checkout"), std::string::npos);
  // Outside of a checkout there is nothing to compare with.
  EXPECT_EQ(*stale_reason("/bin/sh", "0123abcd"), "");
}

}  // namespace
}  // namespace mlxcel
