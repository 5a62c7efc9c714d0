//go:build !unix

package main

const openNoWait = 0
