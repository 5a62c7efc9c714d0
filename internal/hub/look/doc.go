// Package look draws what a person is asked as HTML: text, Markdown, and what a
// permission is for as what it is. It is the one place of the hub that writes HTML
// by hand: everything that somebody else wrote goes through [Text] or its like,
// which escape it, and no attribute but an address and a language takes a word of
// it.
//
// What a permission is for is a [display.View], which leaves nothing out; here all of its
// parts are drawn.
package look
