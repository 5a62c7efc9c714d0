package client

// Screen is for tests from outside.
type Screen = screen

// Columns is the width of a line.
var Columns = width
