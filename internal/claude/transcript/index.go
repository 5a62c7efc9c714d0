package transcript

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"io"

	"github.com/tidwall/gjson"

	"github.com/acp-bridge/acp-bridge/display/clean"
	"github.com/acp-bridge/acp-bridge/internal/conn/ndjson"
)

// maxLine is the longest line that is read. The API takes requests of up to 32
// MB, so no block of a conversation is larger.
const maxLine = 32 << 20

// Skipped counts the lines of a file that were passed over.
type Skipped struct {
	// Damaged lines are no JSON object or were cut off.
	Damaged int
	// TooLong lines are over 32 MB.
	TooLong int
	// Other lines are of a type that is no part of the conversation, or of one
	// that is not known.
	Other int
}

// flags say what a line of the conversation is.
type flags uint16

const (
	isUser flags = 1 << iota
	isAssistant
	isSystem
	isAttachment
	isSide      // a sub-agent's, in the file of its parent
	isMeta      // the CLI's own
	isSynthetic // an assistant's that no model wrote
	hasResult   // holds tool results
	hasQuestion // holds a question call
	isBoundary  // a compaction
	isActive    // of the branch that the conversation is on
)

// record is a line of the conversation. Uuids and message ids are kept as
// hashes.
type record struct {
	off    int64
	id     uint64
	parent uint64
	source uint64 // the line of the tool call whose result this is
	msg    uint64 // the API message that a block belongs to
	size   int32
	flags  flags
}

// index is the first pass over a file: where its lines are and how they hang
// together.
type index struct {
	seed    maphash.Seed
	records []record
	byID    map[uint64]int32
	skipped Skipped
	sub     bool // the file is a sub-agent's
}

func buildIndex(ctx context.Context, r io.Reader, limit int, sub bool) (*index, error) {
	x := &index{seed: maphash.MakeSeed(), byID: map[uint64]int32{}, sub: sub}
	lines := ndjson.NewReader(r, limit)
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		line, err := lines.Next()
		if errors.As(err, new(*ndjson.TooLong)) {
			x.skipped.TooLong++
			continue
		}
		if err == nil || err == io.EOF {
			x.add(line, lines.Offset())
		}
		switch {
		case err == io.EOF:
			return x, nil
		case err != nil:
			return nil, err
		}
	}
}

func (x *index) add(line []byte, off int64) {
	line = bytes.TrimRight(line, " \t")
	if len(line) == 0 {
		return
	}
	kind, ok := lineKind(line)
	switch {
	case !ok, kind != 0 && !clean.ValidJSON(line):
		x.skipped.Damaged++
		return
	case kind == 0:
		x.skipped.Other++
		return
	}
	r := record{off: off, size: int32(len(line)), flags: kind}
	x.read(&r, line)
	if r.flags&isSide != 0 && !x.sub {
		return // of an old version: a sub-agent's lines, without its call's id
	}
	if r.id != 0 {
		if i, dup := x.byID[r.id]; dup {
			x.records[i] = r // written again: the later one counts, in its old place
			return
		}
		x.byID[r.id] = int32(len(x.records))
	}
	x.records = append(x.records, r)
}

// lineKind tells what a line is: 0 for a type that is no part of the
// conversation, false for what is no object with a type.
func lineKind(line []byte) (flags, bool) {
	typ := gjson.GetBytes(line, "type")
	if typ.Type != gjson.String || line[0] != '{' || line[len(line)-1] != '}' {
		return 0, false
	}
	return lineKinds[typ.Str], true
}

var lineKinds = map[string]flags{"user": isUser, "assistant": isAssistant, "system": isSystem, "attachment": isAttachment}

// read takes what the index needs from a line, in one pass over its fields.
func (x *index) read(r *record, line []byte) {
	set := func(f flags, on bool) {
		if on {
			r.flags |= f
		}
	}
	var logical uint64
	gjson.ParseBytes(line).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "uuid":
			r.id = x.hash(v)
		case "parentUuid":
			r.parent = x.hash(v)
		case "logicalParentUuid":
			logical = x.hash(v)
		case "sourceToolAssistantUUID":
			r.source = x.hash(v)
		case "subtype":
			set(isBoundary, r.flags&isSystem != 0 && v.Str == "compact_boundary")
		case "isSidechain":
			set(isSide, v.Bool())
		case "isMeta", "isCompactSummary":
			set(isMeta, v.Bool())
		case "message":
			if r.flags&isAssistant != 0 {
				r.msg = x.hash(v.Get("id"))
				set(isSynthetic, v.Get("model").Str == "<synthetic>")
			}
		}
		return true
	})
	r.parent = cmp.Or(r.parent, logical) // a compaction cuts the chain, not the conversation
	set(hasResult, r.flags&isUser != 0 && bytes.Contains(line, []byte(`"tool_result"`)))
	set(hasQuestion, r.flags&isAssistant != 0 && bytes.Contains(line, []byte(`"`+questionTool+`"`)))
}

// hash is 0 for what is no id.
func (x *index) hash(id gjson.Result) uint64 {
	if id.Type != gjson.String || id.Str == "" {
		return 0
	}
	return max(1, maphash.String(x.seed, id.Str))
}
