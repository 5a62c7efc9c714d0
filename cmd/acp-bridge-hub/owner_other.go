//go:build !unix

package main

// checkOwner knows of no owners here.
func checkOwner(string) error { return nil }
