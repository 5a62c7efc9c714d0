//go:build race

package web

// RaceDetector says whether the tests run with it.
const RaceDetector = true
