// Command release makes everything of a release, and publishes
// nothing:
//
//	go -C cmd/tools run ./release
//	go -C cmd/tools run ./release --version v1.2.3
//
// Without --version it is the newest one of CHANGELOG.md.
//
// In dist/ there are then
//
//	acp-bridge_1.2.3_SYSTEM_CPU.tar.gz, .zip    the programs, for each system
//	acp-bridge_1.2.3_SYSTEM_CPU.cdx.json        what is in them (CycloneDX)
//	acp-bridge-hub_1.2.3_oci.tar                the hub's image, for podman load
//	provenance.intoto.json                      which commit and which Go it is from
//	SHA256SUMS                                  checksums of all of these
//	npm/                                        packages, to npm publish one by one
//	homebrew/acp-bridge.rb                      a formula for a tap
//	registry/ID/                                the entry for the ACP registry
//	container/Containerfile                     an image with Claude Code in it
//	NOTES.md                                    the version's part of CHANGELOG.md
//
// Two runs of one commit with one Go make the same bytes. CHANGELOG.md must have a
// section of the version, and the module under adapter/fantasy must require it.
//
// The licence is for the owner to choose: --license takes its SPDX name, and LICENSE
// has its text. Without it the packages say that there is none.
//
// In the ACP registry, from which Zed and JetBrains install, acp-bridge is another
// program: --registry-id names the entry.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/repository"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	source, err := repository.Root()
	if err == nil {
		err = run(ctx, source, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// semantic is a version as Go, npm and the registry take it, with the v in front.
var semantic = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// spdx is a licence, or several, by their names; registered is a name that the ACP
// registry takes.
var (
	spdx       = regexp.MustCompile(`^[A-Za-z0-9.+-]+( (OR|AND|WITH) [A-Za-z0-9.+-]+)*$`)
	registered = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// run makes a release of the repository in source.
func run(ctx context.Context, source string, args []string) error {
	r := release{Source: source, Programs: programs}
	var only string
	var err error
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.StringVar(&r.Tag, "version", "", "`version` to stamp, such as v1.2.3 (default: the newest of CHANGELOG.md)")
	fs.StringVar(&r.Out, "out", "dist", "`folder` to make, in the repository; it must not be there yet")
	fs.StringVar(&r.Repository, "repository", "https://github.com/acp-bridge/acp-bridge", "`URL` under which the release will be")
	fs.StringVar(&only, "targets", "", "`systems` to build for, such as linux/amd64,darwin/arm64 (default: all)")
	fs.StringVar(&r.License, "license", "", "SPDX `name` of the licence, whose text is in LICENSE (default: none)")
	fs.StringVar(&r.RegistryID, "registry-id", "claude-code-acp-bridge", "`name` of the entry in the ACP registry")
	fs.StringVar(&r.Commit, "commit", "", "`commit` that is built (default: the one that is checked out, without changes)")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if r.Tag == "" {
		if r.Tag, err = newest(source); err != nil {
			return err
		}
	}
	if !semantic.MatchString(r.Tag) {
		return fmt.Errorf("--version must be like v1.2.3, got %q", r.Tag)
	}
	if !filepath.IsAbs(r.Out) {
		r.Out = filepath.Join(source, r.Out)
	}
	r.Targets = targets
	if only != "" {
		r.Targets = nil
		for word := range strings.SplitSeq(only, ",") {
			t, err := findTarget(word)
			if err != nil {
				return err
			}
			r.Targets = append(r.Targets, t)
		}
	}
	switch {
	case r.License != "" && !spdx.MatchString(r.License):
		return fmt.Errorf("--license must be an SPDX name such as MIT or Apache-2.0, got %q", r.License)
	case !registered.MatchString(r.RegistryID):
		return fmt.Errorf("--registry-id must be of small letters, digits and dashes, got %q", r.RegistryID)
	case r.Commit == "":
		if r.Commit, err = commitOf(ctx, r.Source); err != nil {
			return err
		}
	}
	if _, err := r.readDocuments(); err != nil { // before anything is made
		return err
	}
	if err := os.Mkdir(r.Out, 0o755); err != nil {
		return err
	}
	if err := r.build(ctx); err != nil {
		return err
	}
	return r.write()
}
