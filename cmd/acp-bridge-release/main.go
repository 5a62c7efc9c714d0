// Command acp-bridge-release makes everything of a release, and publishes
// nothing:
//
//	go run ./cmd/acp-bridge-release --version v1.2.3
//
// In dist/ there is then an archive for each system with its checksum, the npm
// packages that carry the same programs, the entry for the ACP registry, a
// Homebrew formula and a container file. Two runs of one commit with one Go make
// the same bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "acp-bridge-release:", err)
		os.Exit(1)
	}
}

// semantic is a version as Go, npm and the registry take it, with the v in front.
var semantic = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

func run(ctx context.Context, args []string) error {
	r := release{Source: ".", Programs: programs}
	var only string
	fs := flag.NewFlagSet("acp-bridge-release", flag.ContinueOnError)
	fs.StringVar(&r.Tag, "version", "", "`version` to stamp, such as v1.2.3")
	fs.StringVar(&r.Out, "out", "dist", "`folder` to make; it must not be there yet")
	fs.StringVar(&r.Repository, "repository", "https://github.com/acp-bridge/acp-bridge", "`URL` under which the release will be")
	fs.StringVar(&only, "targets", "", "`systems` to build for, such as linux/amd64,darwin/arm64 (default: all)")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if !semantic.MatchString(r.Tag) {
		return fmt.Errorf("--version must be like v1.2.3, got %q", r.Tag)
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
	if err := os.Mkdir(r.Out, 0o755); err != nil {
		return err
	}
	if err := r.build(ctx); err != nil {
		return err
	}
	return r.write()
}
