package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

func runSchema(_ context.Context, args []string, s streams) error {
	fs := newFlags("schema", "[DIALECT]\n\n"+
		"Print what an agent registers its question tool with: name, label, description\n"+
		"and JSON schema. Without a dialect print all of them, one JSON object a line.", s)
	name, err := fs.parse(args)
	if err != nil {
		return err
	}
	if name != "" {
		spec, err := dialect.Spec(name)
		if err != nil {
			return usageError{err}
		}
		enc := json.NewEncoder(s.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(spec)
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
