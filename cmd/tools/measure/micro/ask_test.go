package micro_test

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/convert"
	"github.com/acp-bridge/acp-bridge/convert/ask"
)

// BenchmarkFloor is the least that reading the call can cost: check that it is
// JSON, and fill the same structs.
func BenchmarkFloor(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if !gjson.Valid(fourQuestions) {
			b.Fatal("invalid")
		}
		c := walk(fourQuestions)
		if len(c.Questions) != 4 {
			b.Fatal("questions")
		}
	}
}

// walk fills the structs in one pass and checks nothing.
func walk(input string) (c convert.Call) {
	gjson.Parse(input).ForEach(func(_, list gjson.Result) bool {
		list.ForEach(func(_, v gjson.Result) bool {
			var q convert.Question
			v.ForEach(func(k, v gjson.Result) bool {
				switch k.Str {
				case "question":
					q.Text = v.Str
				case "header":
					q.Header = v.Str
				case "multiSelect":
					q.MultiSelect = v.Type == gjson.True
				case "options":
					v.ForEach(func(_, v gjson.Result) bool {
						var o convert.Option
						v.ForEach(func(k, v gjson.Result) bool {
							switch k.Str {
							case "label":
								o.Label = v.Str
							case "description":
								o.Description = v.Str
							}
							return true
						})
						q.Options = append(q.Options, o)
						return true
					})
				}
				return true
			})
			c.Questions = append(c.Questions, q)
			return true
		})
		return true
	})
	return c
}

// BenchmarkParseAndBuild parses and validates the call and builds all of its
// permission requests. The target is 3 times the floor and 160 allocations.
func BenchmarkParseAndBuild(b *testing.B) {
	input := []byte(fourQuestions)
	b.ReportAllocs()
	for b.Loop() {
		c, err := convert.Parse(input, convert.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		for q := range c.Questions {
			ask.New(c, q, ask.Options{}).Request()
		}
	}
}

// BenchmarkSecretFields looks for fields that take a secret: it is done for each
// form on each wire.
func BenchmarkSecretFields(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if ask.SecretFields("How shall the service be deployed?", json.RawMessage(benchForm)) != nil {
			b.Fatal("secret")
		}
	}
}

// fourQuestions is a call as large as Claude Code sends them.
const fourQuestions = `{"questions":[` +
	`{"question":"Which database should the service use for its orders?","header":"Database","multiSelect":false,"options":[{"label":"PostgreSQL (Recommended)","description":"Relational, proven, runs everywhere"},{"label":"SQLite","description":"A file beside the program, no server"},{"label":"MongoDB","description":"Documents without a schema"},{"label":"None","description":"Keep everything in memory"}]},` +
	`{"question":"Which features should the first version have?","header":"Features","multiSelect":true,"options":[{"label":"Authentication","description":"Login, roles and sessions"},{"label":"Caching","description":"Answers kept in memory for a minute"},{"label":"Audit log","description":"Who did what, when"},{"label":"Metrics","description":"Counters for the operators"}]},` +
	`{"question":"How should the service be deployed?","header":"Deployment","multiSelect":false,"options":[{"label":"Container","description":"One image, any host"},{"label":"Systemd","description":"A unit on a virtual machine"},{"label":"Serverless","description":"Scales to zero, starts slowly"}]},` +
	`{"question":"Which licence should the repository carry?","header":"Licence","multiSelect":false,"options":[{"label":"MIT","description":"Short and permissive"},{"label":"Apache-2.0","description":"Permissive, with a patent grant"}]}]}`

const benchForm = `{"type":"object","properties":{` +
	`"environment":{"type":"string","title":"Environment","description":"Where the service is deployed to","oneOf":[{"const":"staging","title":"Staging"},{"const":"production","title":"Production"}]},` +
	`"branch":{"type":"string","title":"Branch","description":"The branch that is built, as in origin/main"},` +
	`"replicas":{"type":"integer","title":"Replicas","minimum":1,"maximum":9},` +
	`"note":{"type":"string","title":"Note for the release","description":"What users are told about this version"}},"required":["environment"]}`
