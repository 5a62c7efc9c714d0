class AcpBridge < Formula
  desc "{{.About}}"
  homepage "{{.Repository}}"
  version "{{.Version}}"
{{- with .License}}
  license "{{.}}"
{{- end}}

{{- range $os, $name := .Systems}}

  on_{{$os}} do
{{- range $name}}
    on_{{.Brew}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{- end}}

  def install
    bin.install "acp-bridge", "acp-bridge-hub"
    %w[acp-bridge acp-bridge-hub].each do |name|
      generate_completions_from_executable(bin/name, "completion")
      (man1/"#{name}.1").write Utils.safe_popen_read(bin/name, "man")
    end
  end

  test do
    assert_match "acp-bridge v#{version}", shell_output("#{bin}/acp-bridge version")
    assert_match "acp-bridge-hub v#{version}", shell_output("#{bin}/acp-bridge-hub version")
    assert_match "order-processor", shell_output("#{bin}/acp-bridge demo --answers '[1,[1],\"order-processor\"]'")
  end
end
