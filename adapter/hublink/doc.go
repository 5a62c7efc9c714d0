// Package hublink puts the questions of a process also to a hub, and takes the
// hub's answers.
package hublink
