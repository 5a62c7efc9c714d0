package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/internal/helptext"
)

// shells are those that completion is written for.
var shells = []string{"bash", "zsh", "fish"}

func completionCommand(fs *flagSet) runner {
	return func(_ context.Context, args []string, s streams) error {
		shell, err := fs.parse(args)
		if err != nil {
			return err
		}
		var text string
		switch shell {
		case "bash":
			text = bashCompletion()
		case "zsh":
			text = zshCompletion()
		case "fish":
			text = fishCompletion()
		case "":
			return misused("no shell given: expected bash, zsh or fish")
		default:
			return misused("unknown shell %q: expected bash, zsh or fish%s", shell, didYouMean(shell, shells))
		}
		_, err = fmt.Fprint(s.out, text)
		return err
	}
}

// completed is what a shell can complete of a command.
type completed struct {
	command
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

func completions() (list []completed) {
	for _, c := range commands() {
		fs := newFlags(c.name, streams{})
		c.make(fs)
		done := completed{command: c}
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
func (c completed) takesFile() bool { return strings.Contains(c.args, "FILE") }

func bashCompletion() string {
	var b strings.Builder
	b.WriteString(`# bash completion for acp-bridge
_acp_bridge() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command="" words="" topics="" files="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
    --) compopt -o default; COMPREPLY=(); return ;;
    help) topics=` + shellWord(strings.Join(topicNames, " ")) + ` ;;
    -*) command=${command:-serve} ;;
    *) command=${command:-${COMP_WORDS[i]}} ;;
    esac
  done
  command=${command:-serve}
  case $command:$prev in
`)
	for _, c := range completions() {
		for _, f := range c.flags {
			switch {
			case len(f.values) > 0:
				fmt.Fprintf(&b, "  %s:%s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", c.name, helptext.Dashed(f.name), shellWord(strings.Join(f.values, " ")))
			case f.files:
				fmt.Fprintf(&b, "  %s:%s) COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames; return ;;\n", c.name, helptext.Dashed(f.name))
			case f.value != "":
				fmt.Fprintf(&b, "  %s:%s) COMPREPLY=(); return ;;\n", c.name, helptext.Dashed(f.name))
			}
		}
	}
	b.WriteString("  esac\n  case $command in\n")
	for _, c := range completions() {
		words := append(flagNames(c), c.words...)
		if c.name == serving().name {
			words = append(words, append(commandNames(), "help")...)
		}
		files := ""
		if c.takesFile() {
			files = " files=1"
		}
		fmt.Fprintf(&b, "  %s) words=%s%s ;;\n", c.name, shellWord(strings.Join(words, " ")), files)
	}
	b.WriteString(`  esac
  COMPREPLY=($(compgen -W "$words $topics" -- "$cur"))
  if [ -n "$files" ] && [ "${cur#-}" = "$cur" ]; then
    COMPREPLY+=($(compgen -f -- "$cur"))
    compopt -o filenames
  fi
}
complete -F _acp_bridge acp-bridge
`)
	return b.String()
}

func flagNames(c completed) (names []string) {
	for _, f := range c.flags {
		names = append(names, helptext.Dashed(f.name))
	}
	return append(names, "--help")
}

// shellWord is a text in single quotes.
func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func zshCompletion() string {
	var b strings.Builder
	b.WriteString("#compdef acp-bridge\n\n_acp_bridge() {\n  local -a commands\n  commands=(\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "    %s\n", shellWord(zshText(c.name)+":"+c.summary))
	}
	b.WriteString("    'help:all commands, or one'\n  )\n  local -a topics\n  topics=(\n")
	for _, name := range topicNames {
		fmt.Fprintf(&b, "    %s\n", shellWord(name+":"+zshText(topicTitle(name))))
	}
	b.WriteString("  )\n  local command=$words[2]\n" +
		"  if (( CURRENT == 2 )) && [[ $command != -* ]]; then\n    _describe command commands\n    return\n  fi\n" +
		"  [[ $command == -* || -z $command ]] && command=serve || { shift words; (( CURRENT-- )) }\n" +
		"  case $command in\n  help) _describe command commands -- topics ;;\n")
	for _, c := range completions() {
		fmt.Fprintf(&b, "  %s)\n    _arguments", c.name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, " \\\n      %s", shellWord(helptext.Dashed(f.name)+"["+zshText(f.usage)+"]"+zshValue(f)))
		}
		switch {
		case len(c.words) > 0:
			fmt.Fprintf(&b, " \\\n      %s", shellWord("1:word:("+strings.Join(c.words, " ")+")"))
		case c.takesFile():
			b.WriteString(" \\\n      '1:file:_files'")
		}
		b.WriteString(" \\\n      '--help[show its flags]' '*::: :_default' ;;\n")
	}
	b.WriteString("  esac\n}\n\nif [[ $zsh_eval_context[-1] == loadautofunc ]]; then _acp_bridge \"$@\"; else compdef _acp_bridge acp-bridge; fi\n")
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

func fishCompletion() string {
	var b strings.Builder
	b.WriteString("# fish completion for acp-bridge\ncomplete -c acp-bridge -f\n")
	first := "__fish_use_subcommand"
	for _, c := range commands() {
		fmt.Fprintf(&b, "complete -c acp-bridge -n '%s' -a %s -d %s\n", first, c.name, shellWord(c.summary))
	}
	fmt.Fprintf(&b, "complete -c acp-bridge -n '%s' -a help -d 'all commands, or one'\n", first)
	fmt.Fprintf(&b, "complete -c acp-bridge -n '__fish_seen_subcommand_from help' -a %s\n", shellWord(strings.Join(commandNames(), " ")))
	for _, name := range topicNames {
		fmt.Fprintf(&b, "complete -c acp-bridge -n '__fish_seen_subcommand_from help' -a %s -d %s\n", name, fishText(topicTitle(name)))
	}
	for _, c := range completions() {
		where := "__fish_seen_subcommand_from " + c.name
		if c.name == serving().name {
			where = first
		}
		for _, f := range c.flags {
			length := "-l"
			if len(f.name) == 1 {
				length = "-s"
			}
			fmt.Fprintf(&b, "complete -c acp-bridge -n '%s' %s %s -d %s", where, length, f.name, fishText(f.usage))
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
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c acp-bridge -n '%s' -a %s\n", where, shellWord(strings.Join(c.words, " ")))
		}
		if c.takesFile() {
			fmt.Fprintf(&b, "complete -c acp-bridge -n '%s' -F\n", where)
		}
	}
	return b.String()
}

// fishText is a text in single quotes of fish.
func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
