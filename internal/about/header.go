package about

import (
	"encoding/base64"
	"encoding/json"
)

// Header carries what is told about an asking beside a document that is somebody else's.
const Header = "Acp-Bridge-About"

// maxHeader is more than what is told takes.
const maxHeader = 16 << 10

// Encode writes what is told of who asks and what was said, for [Header]: nothing of the
// tool, which the document has.
func (a About) Encode() string {
	a = a.Told()
	data, _ := json.Marshal(About{Model: a.Model, Title: a.Title, Branch: a.Branch, Prompt: a.Prompt, Said: a.Said}) // strings always encode
	return base64.RawURLEncoding.EncodeToString(data)
}

// Decode reads what Encode wrote. What is none says nothing, and too much is cut: anybody
// may send it.
func Decode(header string) About {
	var a About
	data, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil || len(header) > maxHeader || json.Unmarshal(data, &a) != nil {
		return About{}
	}
	return About{
		Model: cutEnd(a.Model, maxTitle), Title: cutEnd(a.Title, 4*maxTitle), Branch: cutEnd(a.Branch, 4*maxTitle),
		Prompt: cutEnd(a.Prompt, maxPrompt+10), Said: cutStart(a.Said, maxSaid+10),
	}
}
