# A stand-in for Homebrew: installs a formula as Homebrew would, from the archive
# that the formula names for this system, and runs the formula's own test.
#   ruby brew.rb FORMULA PREFIX
require "digest"
require "fileutils"
require "open-uri"
require "open3"
require "pathname"
require "tmpdir"

module Utils
  def self.safe_popen_read(*command)
    out, status = Open3.capture2(*command.map(&:to_s))
    raise "#{command.join(" ")}: #{status}" unless status.success?
    out
  end
end

class Pathname
  def install(*names)
    mkpath
    names.each { |name| FileUtils.cp(name, self, preserve: true) }
  end
  alias plain_write write
  def write(text)
    dirname.mkpath
    plain_write(text)
  end
end

class Formula
  PREFIX = Pathname(ARGV.fetch(1))
  class << self
    attr_reader :test_block, :values
    def set(name, value = nil) = (@values ||= {})[name] = value
    %i[desc homepage license].each { |name| define_method(name) { |value| set(name, value) } }
    def version(value = nil) = value ? set(:version, value) : values[:version]
    def url(value) = set(:url, value)
    def sha256(value) = set(:sha256, value)
    def on_macos = (yield if RUBY_PLATFORM.include?("darwin"))
    def on_linux = (yield if RUBY_PLATFORM.include?("linux"))
    def on_intel = (yield if RUBY_PLATFORM.start_with?("x86_64"))
    def on_arm = (yield if RUBY_PLATFORM.match?(/^(arm64|aarch64)/))
    def test(&block) = @test_block = block
  end
  def version = self.class.version
  def bin = PREFIX/"bin"
  def man1 = PREFIX/"share/man/man1"
  def generate_completions_from_executable(program, *args)
    %w[bash zsh fish].each { |shell| (PREFIX/"completions/#{program.basename}.#{shell}").write Utils.safe_popen_read(program, *args, shell) }
  end
  def shell_output(command) = `#{command}`.tap { raise "#{command}: #{$?}" unless $?.success? }
  def assert_match(want, text) = text.include?(want) || raise("expected #{want.inspect} in #{text}")
end

load ARGV.fetch(0)
values = AcpBridge.values
archive = URI.parse(values[:url]).open("rb", &:read)
raise "wrong checksum" unless Digest::SHA256.hexdigest(archive) == values[:sha256]
Dir.mktmpdir do |dir|
  Dir.chdir(dir) do
    File.binwrite("archive.tar.gz", archive)
    system("tar", "xzf", "archive.tar.gz") || raise("tar")
    AcpBridge.new.install
  end
end
AcpBridge.new.instance_eval(&AcpBridge.test_block)
