package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
	"github.com/acp-bridge/acp-bridge/convert/dialect"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

func schemaCommand(fs *flagSet) runner {
	return func(_ context.Context, args []string, s streams) error {
		name, err := fs.ParseFile(args)
		if err != nil {
			return err
		}
		return printSchemas(name, s)
	}
}

func printSchemas(name string, s streams) error {
	if name != "" {
		spec, err := dialect.Spec(name)
		switch {
		case err != nil && !slices.Contains(dialect.IDs(), name):
			return misused("%w%s", err, didYouMean(name, dialect.IDs()))
		case err != nil:
			return cli.Usage(err)
		}
		_, err = io.WriteString(s.Out, clean.Indented(clean.JSON(spec))+"\n")
		return err
	}
	for _, id := range dialect.IDs() {
		spec, err := dialect.Spec(id)
		switch {
		case errors.Is(err, dialect.ErrUnknown): // no tool
			continue
		case err != nil:
			return err
		}
		if err := printJSON(s, struct {
			Dialect string `json:"dialect"`
			dialect.ToolSpec
		}{id, spec}); err != nil {
			return err
		}
	}
	return nil
}
