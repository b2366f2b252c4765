// GET / and GET /web/...: the page for people. Compressed once, revalidated by its hash, and held
// by a policy that lets nothing run but the page's own files.
#include <zlib.h>

#include <map>

#include "base/cat.h"
#include "server/routes/routes.h"
#include "server/web_files.h"

namespace mlxcel::server {
namespace {

struct Asset {
  std::string plain, gzip, etag, type;
};

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

std::string compressed(std::string_view content) {
  constexpr int kGzip = 15 + 16;  // the largest window, in gzip's frame
  z_stream z = {};
  CHECK(deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&z, content.size()), 0);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));  // zlib only reads it
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data()), z.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

const std::map<std::string, Asset, std::less<>>& assets() {
  static const auto all = [] {
    std::map<std::string, Asset, std::less<>> made;
    for (const WebFile& f : web_files()) {
      const auto sum = crc32(0, reinterpret_cast<const Bytef*>(f.content.data()),
                             static_cast<uInt>(f.content.size()));
      made[std::string(f.name)] = {std::string(f.content), compressed(f.content),
                                   cat("\"", sum, "-", f.content.size(), "\""), type_of(f.name)};
    }
    return made;
  }();
  return all;
}

bool lists(std::string_view header, std::string_view item) {
  return header.find(item) != std::string_view::npos;
}

}  // namespace

void web(Router&, std::shared_ptr<Exchange> x) {
  constexpr std::string_view kFolder = "/web/";
  const std::string_view path = x->request.path;
  const auto found =
      assets().find(path.starts_with(kFolder) ? path.substr(kFolder.size()) : "index.html");
  if (found == assets().end()) return x->respond(to_response({404, "no such file", "not_found"}));
  const Asset& asset = found->second;
  HttpResponse r;
  r.type = asset.type;
  r.headers = {{"ETag", asset.etag},
               {"Cache-Control", "no-cache"},  // kept, and asked for again by its hash
               {"Vary", "Accept-Encoding"},
               {"Content-Security-Policy", std::string(kPolicy)},
               {"X-Content-Type-Options", "nosniff"},
               {"Referrer-Policy", "no-referrer"}};
  if (lists(x->request.if_none_match, asset.etag)) {
    r.status = 304;
    return x->respond(r);
  }
  const bool gzip = lists(x->request.accept_encoding, "gzip");
  if (gzip) r.headers.emplace_back("Content-Encoding", "gzip");
  r.body = gzip ? asset.gzip : asset.plain;
  x->respond(r);
}

}  // namespace mlxcel::server
