#include "evidence/processes.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "base/cat.h"

namespace mlxcel {
namespace {

bool read_entry(const std::string& id, ProcessEntry& p) {
  const std::string folder = cat("/proc/", id);
  std::ifstream in(folder + "/stat");
  std::string text;
  std::getline(in, text);
  const size_t name_from = text.find('('), name_end = text.rfind(')');  // it may hold anything
  if (name_from == std::string::npos || name_end == std::string::npos) return false;
  p.id = std::atoll(id.c_str());
  p.name = text.substr(name_from + 1, name_end - name_from - 1);
  std::istringstream rest(text.substr(name_end + 1));
  std::string skip;
  rest >> p.state >> p.parent;
  for (int i = 0; i < 9; i++) rest >> skip;
  int64_t user = 0, system = 0, waited_user = 0, waited_system = 0;
  rest >> user >> system >> waited_user >> waited_system;
  p.ticks = user + system + waited_user + waited_system;
  for (int i = 0; i < 4; i++) rest >> skip;
  rest >> p.started;
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return false;
  p.user = status.st_uid;
  return true;
}

}  // namespace

std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> all;
  DIR* d = opendir("/proc");
  if (d == nullptr) return all;
  while (const dirent* e = readdir(d)) {
    ProcessEntry p;
    if (e->d_name[0] >= '0' && e->d_name[0] <= '9' && read_entry(e->d_name, p))
      all.push_back(std::move(p));
  }
  closedir(d);
  return all;
}

std::set<int64_t> tree_of(int64_t root, const std::vector<ProcessEntry>& all) {
  std::set<int64_t> tree = {root};
  for (bool grew = true; grew;) {
    grew = false;
    for (const ProcessEntry& p : all) grew |= tree.contains(p.parent) && tree.insert(p.id).second;
  }
  return tree;
}

std::set<int64_t> ancestors_of(int64_t id, const std::vector<ProcessEntry>& all) {
  std::map<int64_t, int64_t> parent;
  for (const ProcessEntry& p : all) parent[p.id] = p.parent;
  std::set<int64_t> line;
  while (id > 0 && line.insert(id).second) id = parent.contains(id) ? parent[id] : 0;
  return line;
}

int64_t busy_ticks() {
  std::ifstream in("/proc/stat");
  std::string word;
  int64_t t[8] = {};
  in >> word;
  for (int64_t& v : t) in >> v;
  return t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
}

}  // namespace mlxcel
