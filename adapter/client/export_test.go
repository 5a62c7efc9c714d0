package client

// Columns is the width of a line.
var Columns = width
