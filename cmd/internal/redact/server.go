package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// What configures an MCP server is for that server alone, whatever it is called:
// a key may stand in a path, in an argument, in a member that nobody has heard of.
// So of a configuration only this is shown: its names and its shape, the program,
// the flags, and the host of its address.

// isServers reports whether MCP servers are configured under a key.
func isServers(key string) bool {
	return strings.EqualFold(key, "mcpServers") || strings.EqualFold(key, "mcp_servers")
}

// serverPart is a value of a server's configuration as it may be shown.
func serverPart(at place, value string) string {
	switch strings.ToLower(at.key) {
	case "name", "type", "transport", "status":
		return value
	case "url":
		return origin(value)
	case "command":
		return program(value)
	case "args":
		return argument(value)
	}
	if !at.text && !strings.ContainsAny(value, "0123456789") { // true, false or null
		return value
	}
	return Mark
}

// origin is where an address leads, without who goes there and what for.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return Mark
	}
	shown := u.Scheme + "://" + u.Host
	if shown == address || shown+"/" == address {
		return address
	}
	return shown + "/" + Mark
}

// program is the first word of a command.
func program(command string) string {
	words := shellWords(command)
	if len(words) == 0 {
		return command
	}
	drive := len(words[0]) > 2 && words[0][1] == ':' && words[0][2] == '\\'
	switch {
	case strings.ContainsAny(words[0], "=@?#&;") || strings.Contains(words[0], ":") && !drive:
		return Mark
	case words[0] == command:
		return command
	}
	return words[0] + " " + Mark
}

var (
	plainFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-[A-Za-z]|--[A-Za-z]+(-[A-Za-z]+)*)$`) })
	valueFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--[A-Za-z]+(-[A-Za-z]+)*=`) })
)

// argument is a flag without its value.
func argument(arg string) string {
	if plainFlag().MatchString(arg) || arg == "" {
		return arg
	}
	return valueFlag().FindString(arg) + Mark
}

// serverSecrets are the values in a server's configuration that are looked for
// elsewhere, too. What may be an ordinary word is hidden in its own place alone.
func serverSecrets(at place, value string) (found []string) {
	switch strings.ToLower(at.key) {
	case "name", "type", "transport", "status":
		return nil
	case "url":
		return addressSecrets(value)
	case "command":
		words := shellWords(value)
		for i, word := range words {
			if i > 0 || strings.Contains(word, "=") {
				found = append(found, argumentSecrets(words[max(i, 1)-1], word)...)
			}
		}
		return found
	case "args":
		found = argumentSecrets(at.before, value)
	}
	if !strings.ContainsAny(value, "/.:@= ") && len(value) >= leastLine && keyLike(value) {
		found = append(found, value)
	}
	return found
}

// keyLike reports whether a word is none of a language.
func keyLike(word string) bool {
	if len(word) < leastSecret {
		return false
	}
	digits := strings.ContainsFunc(word, unicode.IsDigit)
	return digits && strings.ContainsFunc(word, unicode.IsLetter) || digits && len(word) > 10 || len(word) >= 24 && !strings.ContainsAny(word, "-_")
}

// placeSecrets are the secrets in an address apart from its password and what is
// asked for: who goes there, and what is in the path and behind it.
func placeSecrets(u *url.URL) (found []string) {
	words := strings.Split(u.EscapedPath(), "/")
	words = append(words, u.User.Username())
	for part := range strings.FieldsFuncSeq(u.EscapedFragment(), func(r rune) bool { return strings.ContainsRune("&/?", r) }) {
		_, value, ok := strings.Cut(part, "=")
		if ok {
			found = append(found, value)
		}
		words = append(words, part)
	}
	for _, word := range words {
		if keyLike(word) {
			found = append(found, word)
		}
	}
	for _, word := range slices.Clone(found) {
		if plain, err := url.PathUnescape(word); err == nil && plain != word {
			found = append(found, plain)
		}
	}
	return found
}
