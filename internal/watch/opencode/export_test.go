package opencode

var ReadEvents = readEvents
