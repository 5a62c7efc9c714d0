//go:build race

package editor_test

const raceDetector = true
