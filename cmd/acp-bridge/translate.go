package main

import (
	"fmt"

	"github.com/acp-bridge/acp-bridge/convert/dialect"
)

// translate writes a call as another agent's, or takes the result of that back.
func translate(req dialect.Request, o convertOptions, s streams) error {
	document, lost, err := dialect.WriteCall(o.to, req.Call)
	if err != nil {
		return err
	}
	if o.reply == "" {
		for _, what := range lost {
			fmt.Fprintf(s.err, "acp-bridge convert: %s\n", what)
		}
		_, err = fmt.Fprintf(s.out, "%s\n", document)
		return err
	}
	data, err := readInput(o.reply, "the result", s)
	if err != nil {
		return err
	}
	there, err := dialect.Decode(document, o.to)
	if err != nil {
		return fmt.Errorf("reading the %s call back: %w", o.to, err)
	}
	outcome, err := dialect.ReadResult(there, data)
	if err == nil {
		err = dialect.CheckOutcome(req, outcome)
	}
	if err != nil {
		return usagef("%s result: %w", o.to, err)
	}
	_, err = fmt.Fprintf(s.out, "%s\n", dialect.Encode(req, dialect.Reply{Outcome: outcome}).Body)
	return err
}
