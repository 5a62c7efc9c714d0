package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

// shells are those that completion is written for.
var shells = []string{"bash", "zsh", "fish"}

func (p *Program) completionCommand() Command {
	return Command{
		Name: "completion", Args: "bash|zsh|fish", Summary: "print the completion for a shell",
		About: "Print a script with which a shell completes commands, flags and their values.",
		Examples: []Example{
			{"source <(" + p.Name + " completion bash)", "in ~/.bashrc"},
			{p.Name + " completion zsh >~/.zfunc/_" + p.Name, "a folder of $fpath"},
			{p.Name + " completion fish >~/.config/fish/completions/" + p.Name + ".fish", ""},
		},
		Words: shells,
		Make: func(fs *Flags) Runner {
			return func(_ context.Context, args []string, s Streams) error { return p.complete(fs, args, s.Out) }
		},
	}
}

func (p *Program) complete(fs *Flags, args []string, out io.Writer) error {
	shell, err := fs.ParseFile(args)
	if err != nil {
		return err
	}
	var text string
	switch shell {
	case "bash":
		text = p.bashCompletion()
	case "zsh":
		text = p.zshCompletion()
	case "fish":
		text = p.fishCompletion()
	case "":
		return Misused("no shell given: expected bash, zsh or fish")
	default:
		return Misused("unknown shell %q: expected bash, zsh or fish%s", shell, DidYouMean(shell, shells))
	}
	_, err = io.WriteString(out, text)
	return err
}

// function is the name of the program in a script.
func (p *Program) function() string { return "_" + strings.ReplaceAll(p.Name, "-", "_") }

// completed is what a shell can complete of a command.
type completed struct {
	Command
	flags []completedFlag
}

type completedFlag struct {
	name, usage string
	// value is what it takes, or empty; values are all that it can be. Others
	// are files or folders, or nothing that could be listed.
	value  string
	values []string
	files  bool
}

func (p *Program) completions() (list []completed) {
	for _, c := range p.All() {
		fs := p.FlagsOf(c)
		done := completed{Command: c}
		fs.VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			usage, _, _ = strings.Cut(usage, "\n")
			done.flags = append(done.flags, completedFlag{
				name: f.Name, usage: usage, value: value, values: fs.choices[f.Name],
				files: value == "file" || value == "directory" || value == "path",
			})
		})
		list = append(list, done)
	}
	return list
}

// takesFile reports whether the argument of a command is a file.
func (c completed) takesFile() bool { return strings.Contains(c.Args, "FILE") }

func (p *Program) bashCompletion() string {
	var b strings.Builder
	b.WriteString(`# bash completion for ` + p.Name + `
` + p.function() + `() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command="" words="" topics="" files="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
    --) compopt -o default; COMPREPLY=(); return ;;
    help) topics=` + shellWord(strings.Join(p.topicNames(), " ")) + ` ;;
    -*) command=${command:-` + p.Default + `} ;;
    *) command=${command:-${COMP_WORDS[i]}} ;;
    esac
  done
  command=${command:-` + p.Default + `}
  case $command:$prev in
`)
	for _, c := range p.completions() {
		for _, f := range c.flags {
			switch {
			case len(f.values) > 0:
				fmt.Fprintf(&b, "  %s:%s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", c.Name, Dashed(f.name), shellWord(strings.Join(f.values, " ")))
			case f.files:
				fmt.Fprintf(&b, "  %s:%s) COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames; return ;;\n", c.Name, Dashed(f.name))
			case f.value != "":
				fmt.Fprintf(&b, "  %s:%s) COMPREPLY=(); return ;;\n", c.Name, Dashed(f.name))
			}
		}
	}
	b.WriteString("  esac\n  case $command in\n")
	for _, c := range p.completions() {
		words := append(flagNames(c), c.Words...)
		if c.Name == p.Default {
			words = append(words, append(p.Names(), "help")...)
		}
		files := ""
		if c.takesFile() {
			files = " files=1"
		}
		fmt.Fprintf(&b, "  %s) words=%s%s ;;\n", c.Name, shellWord(strings.Join(words, " ")), files)
	}
	b.WriteString(`  esac
  COMPREPLY=($(compgen -W "$words $topics" -- "$cur"))
  if [ -n "$files" ] && [ "${cur#-}" = "$cur" ]; then
    COMPREPLY+=($(compgen -f -- "$cur"))
    compopt -o filenames
  fi
}
complete -F ` + p.function() + ` ` + p.Name + `
`)
	return b.String()
}

func flagNames(c completed) (names []string) {
	for _, f := range c.flags {
		names = append(names, Dashed(f.name))
	}
	return append(names, "--help")
}

// shellWord is a text in single quotes.
func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (p *Program) zshCompletion() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n\n%s() {\n  local -a commands\n  commands=(\n", p.Name, p.function())
	for _, c := range p.All() {
		fmt.Fprintf(&b, "    %s\n", shellWord(zshText(c.Name)+":"+c.Summary))
	}
	b.WriteString("    'help:all commands, or one'\n  )\n  local -a topics\n  topics=(\n")
	for _, t := range p.Topics() {
		fmt.Fprintf(&b, "    %s\n", shellWord(t.Name+":"+zshText(t.title())))
	}
	b.WriteString("  )\n  local command=$words[2]\n" +
		"  if (( CURRENT == 2 )) && [[ $command != -* ]]; then\n    _describe command commands\n    return\n  fi\n" +
		"  [[ $command == -* || -z $command ]] && command=" + p.Default + " || { shift words; (( CURRENT-- )) }\n" +
		"  case $command in\n  help) _describe command commands -- topics ;;\n")
	for _, c := range p.completions() {
		fmt.Fprintf(&b, "  %s)\n    _arguments", c.Name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, " \\\n      %s", shellWord(Dashed(f.name)+"["+zshText(f.usage)+"]"+zshValue(f)))
		}
		switch {
		case len(c.Words) > 0:
			fmt.Fprintf(&b, " \\\n      %s", shellWord("1:word:("+strings.Join(c.Words, " ")+")"))
		case c.takesFile():
			b.WriteString(" \\\n      '1:file:_files'")
		}
		b.WriteString(" \\\n      '--help[show its flags]' '*::: :_default' ;;\n")
	}
	fmt.Fprintf(&b, "  esac\n}\n\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then %[1]s \"$@\"; else compdef %[1]s %[2]s; fi\n", p.function(), p.Name)
	return b.String()
}

// zshText is a text in a specification of zsh.
func zshText(s string) string {
	return strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(s)
}

func zshValue(f completedFlag) string {
	switch {
	case len(f.values) > 0:
		return ":" + f.value + ":(" + strings.Join(f.values, " ") + ")"
	case f.files:
		return ":" + f.value + ":_files"
	case f.value != "":
		return ":" + zshText(f.value) + ": "
	}
	return ""
}

func (p *Program) fishCompletion() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# fish completion for %[1]s\ncomplete -c %[1]s -f\n", p.Name)
	first := "__fish_use_subcommand"
	for _, c := range p.All() {
		fmt.Fprintf(&b, "complete -c %s -n '%s' -a %s -d %s\n", p.Name, first, c.Name, shellWord(c.Summary))
	}
	fmt.Fprintf(&b, "complete -c %s -n '%s' -a help -d 'all commands, or one'\n", p.Name, first)
	fmt.Fprintf(&b, "complete -c %s -n '__fish_seen_subcommand_from help' -a %s\n", p.Name, shellWord(strings.Join(p.Names(), " ")))
	for _, t := range p.Topics() {
		fmt.Fprintf(&b, "complete -c %s -n '__fish_seen_subcommand_from help' -a %s -d %s\n", p.Name, t.Name, fishText(t.title()))
	}
	for _, c := range p.completions() {
		where := "__fish_seen_subcommand_from " + c.Name
		if c.Name == p.Default {
			where = first
		}
		for _, f := range c.flags {
			length := "-l"
			if len(f.name) == 1 {
				length = "-s"
			}
			fmt.Fprintf(&b, "complete -c %s -n '%s' %s %s -d %s", p.Name, where, length, f.name, fishText(f.usage))
			switch {
			case len(f.values) > 0:
				fmt.Fprintf(&b, " -x -a %s", shellWord(strings.Join(f.values, " ")))
			case f.files:
				b.WriteString(" -r -F")
			case f.value != "":
				b.WriteString(" -x")
			}
			b.WriteByte('\n')
		}
		if len(c.Words) > 0 {
			fmt.Fprintf(&b, "complete -c %s -n '%s' -a %s\n", p.Name, where, shellWord(strings.Join(c.Words, " ")))
		}
		if c.takesFile() {
			fmt.Fprintf(&b, "complete -c %s -n '%s' -F\n", p.Name, where)
		}
	}
	return b.String()
}

// fishText is a text in single quotes of fish.
func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
