//go:build !linux

package main

func trimSoon() (stop func()) { return func() {} }

func trim() {}
