// Package look draws what a person is asked as HTML: text, Markdown, and what a
// permission is for as what it is. It is the one place of the hub that writes HTML
// by hand: everything that somebody else wrote goes through [Text] or its like,
// which escape it, and no attribute but an address and a language takes a word of
// it.
//
// Nothing of what is permitted is left out. A way of drawing that does not know a
// member of the input shows it in a table below; an input that could be read in two
// ways is shown as it is written.
package look
