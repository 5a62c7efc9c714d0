package dialect

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

// ToolSpec is what an agent registers a question tool with.
type ToolSpec struct {
	Name string `json:"name"`
	// Label is the tool's name for people.
	Label string `json:"label"`
	// Description is what the model reads about it.
	Description string `json:"description"`
	// Schema is the JSON schema of the input.
	Schema json.RawMessage `json:"schema"`
}

// specs has two files for each tool: the schema, and a text with the name, the
// label, an empty line and the description.
//
//go:embed spec
var specs embed.FS

// Spec returns the tool of a dialect. The names, fields and limits are those of
// its agent, the words are ours. Dialects that are no tools but requests of a
// protocol have none; the error wraps [ErrUnknown] then, too.
func Spec(name string) (ToolSpec, error) {
	if dialects[name] == nil {
		return ToolSpec{}, unknown(name)
	}
	text, err := specs.ReadFile("spec/" + name + ".txt")
	if err != nil {
		return ToolSpec{}, fmt.Errorf("%w: %s has no tool", ErrUnknown, name)
	}
	schema, err := specs.ReadFile("spec/" + name + ".json")
	if err != nil {
		return ToolSpec{}, err
	}
	head, description, _ := strings.Cut(string(text), "\n\n")
	tool, label, _ := strings.Cut(head, "\n")
	return ToolSpec{Name: tool, Label: label, Description: strings.TrimSpace(description), Schema: schema}, nil
}
