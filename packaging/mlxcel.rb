# Homebrew formula: brew install --build-from-source ./packaging/mlxcel.rb --HEAD, from a clone. Not tried on a Mac yet.
class Mlxcel < Formula
  desc "Runs language models, with answers that never depend on load"
  homepage "https://github.com/mlxcel/mlxcel"
  license "Apache-2.0"
  head "file://#{File.expand_path("..", __dir__)}", using: :git

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "boost"
  depends_on "cli11"
  depends_on "curl"
  depends_on "fmt"
  depends_on "highway"
  depends_on "icu4c"
  depends_on "libedit"
  depends_on "oniguruma"
  depends_on "openssl@3"
  depends_on "prometheus-cpp"
  depends_on "spdlog"

  def install
    system "cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DMLXCEL_TESTS=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match "mlxcel", shell_output("#{bin}/mlxcel --version")
  end
end
