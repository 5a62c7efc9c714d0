package redact

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// argumentSecrets are the secrets in an argument of a command; before is the
// argument before it. They follow a flag, the name of a header or that of a
// variable, or are in an address.
func argumentSecrets(before, arg string) []string {
	found := oneArgument(before, arg)
	if words := shellWords(arg); len(words) > 1 { // a whole command: sh -c "…"
		for i, word := range words {
			found = append(found, oneArgument(words[max(i, 1)-1], word)...)
		}
	}
	return slices.DeleteFunc(found, func(v string) bool { return v == "" })
}

func oneArgument(before, arg string) (found []string) {
	flag, value := "", arg
	switch name, v, ok := strings.Cut(arg, "="); {
	case strings.HasPrefix(arg, "-H") && strings.Contains(arg, ":"):
		flag, value = "-H", arg[len("-H"):]
	case ok && strings.HasPrefix(name, "-") && !strings.ContainsAny(name, " :"):
		flag, value = name, v
	case strings.HasPrefix(before, "-") && !strings.Contains(before, "="):
		flag = before
	}
	if secretFlag(flag) {
		found = append(found, value)
	}
	if name, v, ok := strings.Cut(value, ":"); ok && !strings.HasPrefix(v, "//") && (headerFlag(flag) || secretName(name) && !strings.ContainsAny(name, " =/")) {
		found = append(found, strings.TrimSpace(v))
	}
	if name, v, ok := strings.Cut(value, "="); ok && (secretName(name) || flag == "-e" || flag == "--env") {
		found = append(found, v)
	}
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(";&,", r) || unicode.IsSpace(r) }) {
		if name, v, ok := strings.Cut(part, "="); ok && secretFlag(name) { // Pwd=…; of a database
			found = append(found, v)
		}
	}
	if strings.Contains(value, "://") {
		found = append(found, addressSecrets(value)...)
	}
	return found
}

// flagWords are words in the names of flags that take a secret. Elsewhere they
// mean something else: the variable PWD, an author.
var flagWords = []string{"auth", "oauth", "bearer", "pass", "pwd", "pat", "jwt", "cred", "creds", "pin", "otp"}

// secretFlag reports whether a flag takes a secret.
func secretFlag(flag string) bool {
	return flag != "" && (secretName(flag) || slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(flag), func(r rune) bool { return !unicode.IsLetter(r) }), func(word string) bool {
		return slices.Contains(flagWords, word)
	}))
}

// headerFlag reports whether a flag takes a header.
func headerFlag(flag string) bool {
	return flag == "-H" || strings.HasSuffix(strings.ToLower(flag), "header")
}

// addressSecrets are the secrets in an address: the password, all that is asked
// for, and what looks like a key elsewhere in it.
func addressSecrets(address string) (found []string) {
	_, rest, _ := strings.Cut(address, "://")
	if _, password, ok := strings.Cut(rest[:max(strings.LastIndex(rest, "@"), 0)], ":"); ok { // as it is written, if at all it is an address
		found = append(found, password)
	}
	u, err := url.Parse(address)
	if err != nil {
		return found
	}
	if password, ok := u.User.Password(); ok {
		found = append(found, password, url.PathEscape(password))
	}
	for _, values := range u.Query() {
		for _, v := range values {
			found = append(found, v, url.QueryEscape(v))
		}
	}
	return append(found, placeSecrets(u)...)
}

// shellWords splits a command as a shell does, but for what is in variables.
func shellWords(command string) (words []string) {
	var word strings.Builder
	var quote rune
	some := false
	end := func() {
		if some {
			words = append(words, word.String())
		}
		word.Reset()
		some = false
	}
	for _, r := range command {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, some = r, true
		case quote == 0 && unicode.IsSpace(r):
			end()
		default:
			word.WriteRune(r)
			some = true
		}
	}
	end()
	return words
}
