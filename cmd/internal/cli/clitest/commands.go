package clitest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/cli"
)

// Texts are all that a program's help says in prose.
func Texts(p *cli.Program) (all []string) {
	for _, c := range p.All() {
		all = append(all, c.About)
		for _, row := range c.Table {
			all = append(all, row.What)
		}
	}
	for _, t := range p.Topics() {
		all = append(all, t.Text)
	}
	return all
}

// Commands are the command lines of a program in texts:
//
//   - a line that is indented by two and begins with the program, with the lines that
//     continue it, up to a column that says what it does
//   - in a sentence, the program and a command or flag, and the words behind it that
//     are of a command line: flags and their values, files, names of commands
func Commands(p *cli.Program, texts ...string) (lines []string) {
	name := regexp.QuoteMeta(p.Name)
	whole := regexp.MustCompile(`(?m)^  (?:sudo )?(` + name + `(?: [^\n]*)?)$`)
	for _, text := range texts {
		text = regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, "")
		for _, m := range whole.FindAllStringSubmatch(text, -1) {
			line, _, _ := strings.Cut(m[1], "  ")
			lines = append(lines, strings.TrimSuffix(line, "."))
		}
		text = strings.ReplaceAll(whole.ReplaceAllString(text, ""), "\n", " ")
		text = regexp.MustCompile(` {3,}`).ReplaceAllString(text, " ") // indented lines, no columns
		for _, m := range regexp.MustCompile(`(?:^|[\s(`+"`"+`])`+name+`((?: [^\s`+"`"+`]+)+)`).FindAllStringSubmatch(text, -1) {
			if words := typedWords(p, strings.Fields(m[1])); len(words) > 0 {
				lines = append(lines, p.Name+" "+strings.Join(words, " "))
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// typedWords are those of a sentence that are of a command line.
func typedWords(p *cli.Program, words []string) (typed []string) {
	c, _ := p.Find(p.Default)
	names := p.Names()
	for _, t := range p.Topics() {
		names = append(names, t.Name)
	}
	value := false // of the flag before
	for i, w := range words {
		word := strings.TrimRight(w, ".,:;)")
		flag, isFlag := strings.CutPrefix(word, "--")
		switch {
		case value:
			value = false
		case isFlag:
			flag, _, given := strings.Cut(flag, "=")
			f := p.FlagsOf(c).Lookup(flag)
			if f == nil {
				return nil
			}
			b, isBool := f.Value.(interface{ IsBoolFlag() bool })
			value = !given && (!isBool || !b.IsBoolFlag())
		case i == 0 && word == "help":
		case i == 0:
			named, ok := p.Find(word)
			if !ok {
				return nil
			}
			c = named
		case typed[0] == "help" && !slices.Contains(names, word),
			typed[0] != "help" && !slices.Contains(c.Words, word) && !regexp.MustCompile(`^\w+\.(json|md|token)$|^(opencode|kilo)$`).MatchString(word):
			return typed
		}
		if typed = append(typed, word); word != w {
			break
		}
	}
	if value || len(typed) == 1 && typed[0] == "help" {
		return typed[:len(typed)-1]
	}
	return typed
}
