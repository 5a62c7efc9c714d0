package acptest

import (
	"fmt"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/display/clean"
)

// Must returns a value that a test needs, and ends the test if there is none.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Must2 is Must for two values.
func Must2[A, B any](a A, b B, err error) (A, B) { return Must(a, err), b }

// Err returns the error of a call that returns something else, too.
func Err[T any](_ T, err error) error { return err }

// Labels draws Labels, those that could be mistaken for something else among them.
var Labels = rapid.OneOf(
	rapid.StringN(1, 12, -1),
	rapid.SampledFrom([]string{"a", "a, b", `"`, `say "x"`, ",", ", ", " - ", "__other__", "__done__", "__option_1__", "__option_2__", "1", "Other"}),
).Filter(func(s string) bool { return !clean.Blank(s) && utf8.ValidString(s) })

// Call draws a question call for a property, one that keeps to the default limits.
func Call(t *rapid.T) convert.Call {
	texts := rapid.SliceOfNDistinct(Labels, 1, 4, rapid.ID[string]).Draw(t, "questions")
	c := convert.Call{Session: "s", ID: "id", Name: "AskUserQuestion"}
	for i, text := range texts {
		q := convert.Question{Text: text, MultiSelect: rapid.Bool().Draw(t, fmt.Sprint("multi", i))}
		for _, l := range rapid.SliceOfNDistinct(Labels, 2, 4, rapid.ID[string]).Draw(t, fmt.Sprint("options", i)) {
			q.Options = append(q.Options, convert.Option{Label: l})
		}
		c.Questions = append(c.Questions, q)
	}
	return c
}
