package proxy

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"
)

// edit returns the object with the member that path leads to replaced by what
// change makes of it; change gets nil where there is none yet. Objects on the
// way are made where they are missing, or null. All else stays as it is
// written. The object is returned as it is if there is something else on the
// way.
func edit(object []byte, change func(old []byte) []byte, path ...string) []byte {
	if len(path) == 0 {
		return change(object)
	}
	object = unlessSet("{}")(object)
	parsed := gjson.ParseBytes(object)
	if !parsed.IsObject() {
		return object
	}
	old, at := member(parsed, path[0])
	next := edit(old, change, path[1:]...)
	if old != nil {
		return slices.Concat(object[:at], next, object[at+len(old):])
	}
	end := bytes.LastIndexByte(object, '}')
	head, key := bytes.TrimRight(object[:end], " \t\r\n"), `"`+path[0]+`":` // our own names need no escapes
	if !bytes.HasSuffix(head, []byte("{")) {
		key = "," + key
	}
	return slices.Concat(head, []byte(key), next, object[end:])
}

// unlessSet is a change of what is missing, or null.
func unlessSet(value string) (change func(old []byte) []byte) {
	return func(old []byte) []byte {
		if old == nil || string(old) == "null" {
			return []byte(value)
		}
		return old
	}
}

// member finds a member and where it stands. Of a key that comes twice the last
// counts.
func member(object gjson.Result, key string) (raw []byte, at int) {
	object.ForEach(func(k, v gjson.Result) bool {
		if k.Str == key {
			raw, at = []byte(v.Raw), v.Index
		}
		return true
	})
	return raw, at
}
