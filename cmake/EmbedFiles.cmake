# Writes OUTPUT, a source file with the bytes of FILES (a list), for web_files() of server/web_files.h.
set(arrays "")
set(entries "")
set(count 0)
foreach(path IN LISTS FILES)
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  get_filename_component(name ${path} NAME)
  string(APPEND arrays "const unsigned char kFile${count}[] = {${bytes}};\n")
  string(APPEND entries "    {\"${name}\", {reinterpret_cast<const char*>(kFile${count}), sizeof kFile${count}}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"server/web_files.h\"

namespace mlxcel::server {
namespace {
${arrays}
const WebFile kFiles[] = {
${entries}};
}  // namespace

std::span<const WebFile> web_files() { return kFiles; }

}  // namespace mlxcel::server
")
