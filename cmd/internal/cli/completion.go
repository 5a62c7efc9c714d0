package cli

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// scripts complete in a shell what the program says that can follow, see [Program.complete].
// NAME is the program, FUNCTION a name for its function.
var scripts = map[string]string{
	"bash": `# bash completion for NAME
FUNCTION() {
  local list=$(NAME completion -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) cur=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=($(compgen -W "$(tail -n +2 <<<"$list" | cut -f1)" -- "$cur"))
  case $list in
  default*) compopt -o default ;;
  files*) COMPREPLY+=($(compgen -f -- "$cur")); compopt -o filenames ;;
  esac
}
complete -F FUNCTION NAME
`,
	"zsh": `#compdef NAME
FUNCTION() {
  local -a list
  list=("${(@f)$(NAME completion -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  local kind=$list[1]
  shift list
  list=("${(@)${(@)list//:/\\:}/$'\t'/:}")
  (( $#list )) && _describe NAME list
  case $kind in
  default) _default ;;
  files) _files ;;
  esac
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then FUNCTION "$@"; else compdef FUNCTION NAME; fi
`,
	"fish": `# fish completion for NAME
function FUNCTION
  set -l words (commandline -opc) (commandline -ct)
  set -l list (NAME completion -- $words[2..-1] 2>/dev/null)
  printf '%s\n' $list | tail -n +2
  test "$list[1]" = words; or __fish_complete_path (commandline -ct)
end
complete -c NAME -f -a '(FUNCTION)'
`,
}

func (p *Program) completionCommand() Command {
	shells := slices.Sorted(maps.Keys(scripts))
	return Command{
		Name: "completion", Args: "bash|zsh|fish", Summary: "print the completion for a shell",
		About: "Print a script with which a shell completes commands, flags and their values. It runs " + p.Name + " to know them.",
		Examples: []Example{
			{"source <(" + p.Name + " completion bash)", "in ~/.bashrc"},
			{p.Name + " completion zsh >~/.zfunc/_" + p.Name, "a folder of $fpath"},
			{p.Name + " completion fish >~/.config/fish/completions/" + p.Name + ".fish", ""},
		},
		Words: shells,
		Make: func(fs *Flags) Runner {
			return func(_ context.Context, args []string, s Streams) error {
				if len(args) > 1 && args[0] == "--" { // a script asks
					kind, list := p.complete(args[1 : len(args)-1])
					fmt.Fprintln(s.Out, kind)
					for _, e := range list {
						fmt.Fprintf(s.Out, "%s\t%s\n", e.Line, e.What)
					}
					return nil
				}
				shell, err := fs.ParseFile(args)
				script, ok := scripts[shell]
				switch {
				case err != nil:
					return err
				case shell == "":
					return Misused("no shell given: expected bash, zsh or fish")
				case !ok:
					return Misused("unknown shell %q: expected bash, zsh or fish%s", shell, DidYouMean(shell, shells))
				}
				_, err = strings.NewReplacer("NAME", p.Name, "FUNCTION", "_"+strings.ReplaceAll(p.Name, "-", "_")).WriteString(s.Out, script)
				return err
			}
		},
	}
}

// What can follow beside what [Program.complete] lists.
const (
	wordsOnly  = "words"
	files      = "files"
	anyDefault = "default" // what the shell thinks: they are the words of another program
)

// complete lists what can follow these words of a command line, and what it is good for.
func (p *Program) complete(words []string) (kind string, list []Example) {
	name := p.Default
	for i, w := range words {
		if w == "--" {
			return anyDefault, nil
		}
		if i == 0 && !strings.HasPrefix(w, "-") {
			name = w
		}
	}
	kind = wordsOnly
	if name == "help" {
		for _, t := range p.topics() {
			list = append(list, Example{t.Name, t.title()})
		}
		return kind, append(p.summaries(), list...)
	}
	c, ok := p.Find(name)
	if !ok {
		return kind, nil
	}
	fs := p.FlagsOf(c)
	if len(words) > 0 {
		if f := fs.Lookup(strings.TrimLeft(words[len(words)-1], "-")); f != nil && strings.HasPrefix(words[len(words)-1], "-") {
			if value, _ := flag.UnquoteUsage(f); value != "" {
				return fs.values(f.Name, value)
			}
		}
	} else {
		list = append(p.summaries(), Example{"help", "all commands, or one"})
	}
	for _, w := range c.Words {
		list = append(list, Example{w, ""})
	}
	fs.VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		usage, _, _ = strings.Cut(usage, "\n")
		list = append(list, Example{Dashed(f.Name), usage})
	})
	if strings.Contains(c.Args, "FILE") {
		kind = files
	}
	return kind, append(list, Example{"--help", "show its flags"})
}

// values are what a flag can be.
func (f *Flags) values(name, value string) (kind string, list []Example) {
	if value == "file" || value == "directory" || value == "path" {
		return files, nil
	}
	for _, v := range f.choices[name] {
		list = append(list, Example{v, ""})
	}
	return wordsOnly, list
}

func (p *Program) summaries() (list []Example) {
	for _, c := range p.All() {
		list = append(list, Example{c.Name, c.Summary})
	}
	return list
}
